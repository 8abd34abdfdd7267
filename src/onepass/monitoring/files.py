"""The state file of a monitor: what it counts and holds, which model it watches, and the SHA-256 of it all.

The hash finds accidents; the checks of every field find the rest, as far as no kernel may read or write outside its
arrays. A file that is refused stays as it is, and so does one that a run did not come to replace.
"""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from onepass import __version__
from onepass.container import Array, Kind, Path, raw_bytes
from onepass.container import read as read_container
from onepass.errors import CheckpointError, ModelError, printable
from onepass.files import replacing, sha256
from onepass.guards.drift import ENOUGH, Jumper, are_ranks
from onepass.models import LinearModel
from onepass.monitoring.kernels import MOST_HELD, MOST_POINTS, Capital, Watch
from onepass.state_checks import need_same_shapes

if TYPE_CHECKING:
    from onepass.monitoring.monitor import Monitor

FORMAT = 1
STATE = Kind("monitor's state", "onepass-monitor", 1 << 20, ModelError)
PARTS: dict[str, type[Any]] = {"capital": Capital, "jumper": Jumper}  # of a Watch, each of arrays
PLAIN = ("ranks", "borders", "score", "rows")  # arrays of its own
MOST_BYTES = 1 << 30


def identity(model: LinearModel) -> str:
    """What tells a model from others: its weights, and all by which it is judged."""
    told = {
        "classes": list(model.classes),
        "bias": model.bias,
        "radius": model.radius,
        "cut": model.cut,
        "certificate": model.about.get("certificate"),
        "scores": None if model.scores is None else model.scores.as_dict(),
    }
    weights = np.ascontiguousarray(model.weights, dtype="<f8")
    return sha256(json.dumps(told, sort_keys=True, default=str).encode(), raw_bytes(weights))


def write(path: Path, monitor: Monitor, watch: Watch) -> None:
    """Write the state, atomically."""
    from safetensors.numpy import save

    arrays = _arrays(watch)
    content = {
        "format": FORMAT,
        "version": __version__,
        "model": identity(monitor.model),
        "delta": monitor.delta,
        "risk": monitor.risk,
        "seed": monitor.seed,
    }
    content["sha256"] = _hash(content, arrays)
    with replacing(path) as file:
        file.write(save(arrays, metadata={STATE.key: json.dumps(content, sort_keys=True)}))


def read(path: Path, model: LinearModel) -> tuple[dict[str, Any], dict[str, Array]]:
    """(what is said, arrays) of a file that `write` wrote for this model, or a ModelError that says what is wrong."""
    try:
        content, _, arrays = read_container(path, STATE, MOST_BYTES, lambda said, _: _check_content(said))
        if _hash(content, arrays) != content["sha256"]:
            raise ModelError("damaged: its content does not have the SHA-256 that it names")
        if content["model"] != identity(model):
            raise ModelError("it watches another model: give this one a state file of its own")
    except ModelError as error:
        raise ModelError(f"{printable(os.fspath(path))}: {error}") from None
    return content, arrays


def checked(arrays: dict[str, Array], pattern: Watch) -> Watch:
    """The state that the arrays hold; a ModelError unless a monitor like the pattern's can have it."""
    try:
        return _checked(arrays, pattern)
    except (CheckpointError, KeyError):
        raise ModelError("the state is not that of a monitor of this model") from None


def _checked(arrays: dict[str, Array], pattern: Watch) -> Watch:
    names = {name for name, _ in _named(pattern)}
    points = arrays["points"]
    used = int(arrays["rows"][3]) if arrays["rows"].shape == pattern.rows.shape else -1
    fine = set(arrays) == names and points.shape == (used, 4) and used <= MOST_POINTS and points.dtype == np.float64
    _need(fine and points.dtype == np.float64)
    whole = np.zeros((MOST_POINTS, 4))
    whole[:used] = points
    parts = {
        name: kind._make(np.array(arrays[f"{name}.{field}"]) for field in kind._fields) for name, kind in PARTS.items()
    }
    plain: dict[str, Any] = {name: np.array(arrays[name]) for name in PLAIN}
    watch = Watch(**parts, **plain, points=whole)
    for part, like in zip(watch, pattern, strict=True):
        need_same_shapes(part, like, "the monitor's state")
    _check_numbers(watch, pattern)
    return watch


def _check_numbers(watch: Watch, pattern: Watch) -> None:
    rows, labelled, bag, _, rang, since = (int(number) for number in watch.rows)
    capital, ranks = watch.capital, watch.ranks
    tested = pattern.score[1] < math.inf
    _need(0 <= labelled <= rows and bag == int(pattern.rows[2]) + rows * tested and 0 <= since <= max(rang, 0) <= rows)
    _need((watch.score[1] == pattern.score[1]) and 1.0 <= watch.score[0] <= 2 * ENOUGH)
    _need((rang > 0) == (watch.score[0] >= watch.score[1]))
    for counts in (capital.counted, capital.rang, capital.since, capital.grows_from, watch.jumper.grows_from):
        _need((counts >= 0).all() and (counts <= rows).all())
    _need(capital.counted[0] == labelled and (capital.counted <= labelled).all())
    _need((capital.total >= 0.0).all() and (capital.total <= capital.counted).all())
    for held in (capital.held, capital.peak):
        _need((held >= 0.0).all() and (held <= MOST_HELD).all())
    for held in (watch.jumper.moments[:, :1], capital.growth, watch.jumper.growth):
        _need((held >= 0.0).all() and (held <= 2 * ENOUGH).all())
    moments = watch.jumper.moments
    _need((np.abs(moments) <= moments[:, :1] * (1.0 + 1e-9)).all())
    _need((watch.borders == pattern.borders).all() and are_ranks(ranks) and int(ranks[0, 0]) == bag)
    _need((np.diff(ranks) <= np.diff(pattern.ranks)).all())


def _check_content(content: dict[str, Any]) -> None:
    if content.get("format") != FORMAT:
        raise ModelError(f"written by onepass {printable(str(content.get('version')))}, in another format")
    delta, risk = content.get("delta"), content.get("risk", 0)
    fine = isinstance(delta, float) and 0.0 < delta < 1.0 and (risk is None or isinstance(risk, float))
    if not fine or type(content.get("seed")) is not int or not isinstance(content.get("model"), str):
        raise ModelError("damaged: its header does not say what a monitor's state says")


def _need(condition: Any) -> None:
    if not condition:
        raise CheckpointError("the monitor's state")


def _named(watch: Watch) -> list[tuple[str, Array]]:
    parts = [
        (f"{name}.{field}", array)
        for name, kind in PARTS.items()
        for field, array in zip(kind._fields, getattr(watch, name), strict=True)
    ]
    return [*parts, *((name, getattr(watch, name)) for name in PLAIN), ("points", watch.points)]


def _arrays(watch: Watch) -> dict[str, Array]:
    arrays = dict(_named(watch))
    arrays["points"] = watch.points[: int(watch.rows[3])]
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _hash(content: dict[str, Any], arrays: dict[str, Array]) -> str:
    plain = {name: value for name, value in content.items() if name != "sha256"}
    parts = [part for name in sorted(arrays) for part in (name.encode(), raw_bytes(arrays[name]))]
    return sha256(json.dumps(plain, sort_keys=True).encode(), *parts)
