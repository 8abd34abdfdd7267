"""Whether a stored state can be that of a pass: every index and length that a kernel will trust, checked before.

A hash finds accidents. This finds the rest: whatever the file says, no kernel reads or writes outside its arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepass.candidates import MOST, FrozenCandidates
from onepass.errors import CheckpointError
from onepass.guards import duplicates
from onepass.guards.repeats import FEWEST, KEPT, Repeats, no_repeats
from onepass.guards.repeats import MOST as LARGEST
from onepass.io.chunk import Origin
from onepass.io.formats import FORMATS
from onepass.io.sources import Identity
from onepass.io.stream import Position
from onepass.labels import Labels
from onepass.passes import Pass
from onepass.runs.shifting import SINCE as LAZY_SINCE
from onepass.runs.shifting import Lazy, empty_lazy
from onepass.trace import Survivor
from onepass.trace.columns import FEATURES, SINCE, Columns, empty_columns
from onepass.trace.grid import BINS, point
from onepass.trace.log import SHIFTS, Log
from onepass.trace.tally import empty_tally


def check_state(state: Any, run: Pass) -> None:
    """Raise CheckpointError unless the state is one that a pass with this one's options can have."""
    fresh = run.state()
    _need(isinstance(state, dict) and set(state) == set(fresh), "other fields than this version has")
    _numbers(state)
    labels = state["_labels"]
    _need(isinstance(labels, Labels) and isinstance(labels.classes, tuple), "labels")
    _need(all(isinstance(label, bool | int | float | str) for label in labels.classes), "labels")
    _need(labels == fresh["_labels"] if run.options["classes"] else len(labels.classes) <= 2, "labels")
    outputs = run.trace().terms.outputs
    _learner(state["learner"], fresh["learner"], state["rounds"], outputs, run)
    guards = state["guards"]
    _need(isinstance(guards, dict) and set(guards) == set(fresh["guards"]), "the guards")
    order = guards["order"]
    _same_shapes(order, fresh["guards"]["order"], "the order alarm")
    _need(0 <= order.place[1] < order.seen.size and order.place[0] >= 0, "the order alarm")
    _repeats(guards["repeats"])
    _duplicates(guards["duplicates"])
    width = state["_dense_width"]
    _need(width is None or (type(width) is int and 0 <= width <= _width(state)), "the width")
    _watched(state["_watched"], fresh["_watched"], (1 + _width(state), outputs))


def check_position(position: Position) -> None:
    """Raise CheckpointError, naming the field, unless a stream can have been there."""
    numbers = ("file", "at", "line", "consumed", "rows", "skipped", "quarantined", "flags")
    for name in numbers:
        _has(_is_count(getattr(position, name)), name)
    _has(type(position.format) is str and position.format in FORMATS, "format")
    _has(type(position.truncated) is bool, "truncated")
    for name in ("changed", "faults", "notes"):
        texts = getattr(position, name)
        _has(type(texts) is tuple and all(type(text) is str for text in texts), name)
    _has(type(position.identity) is tuple and all(map(_is_identity, position.identity)), "identity")
    _has(type(position.labels) is tuple and all(map(_is_label, position.labels)), "labels")
    _has(position.file < max(1, len(position.identity)), "file")
    if None not in position.identity:
        _has(position.consumed <= sum(known.size for known in position.identity if known is not None), "consumed")


def _is_count(number: Any) -> bool:
    return type(number) is int and 0 <= number < 1 << 62


def _is_identity(known: Any) -> bool:
    if not isinstance(known, Identity):
        return known is None
    texts = (known.path, known.ends)
    moment = type(known.modified) is int and abs(known.modified) < 1 << 63
    return all(type(text) is str for text in texts) and _is_count(known.size) and moment


def _is_label(pair: Any) -> bool:
    """Whether this is a label that was met, with the place where it was."""
    if type(pair) is not tuple or len(pair) != 2 or not isinstance(pair[0], float | str):
        return False
    origin = pair[1]
    return isinstance(origin, Origin) and type(origin.path) is str and all(map(_is_count, origin[1:]))


def _has(condition: Any, name: str) -> None:
    if not condition:
        raise CheckpointError(f"damaged: its field 'position.{name}' is missing or not what it should be")


def _numbers(state: dict[str, Any]) -> None:
    for name in ("rows", "rounds"):
        _need(_is_count(state[name]), name)
    _need(state["rounds"] <= state["rows"], "rounds")
    _need(type(state["stopped"]) is bool, "stopped")
    for name, least in (("_R", 0.0), ("_longest_row", -1.0)):
        value = state[name]
        _need((value is None and name == "_R") or (isinstance(value, float) and least < value < math.inf), name)
    for name in ("_void", "_assumed"):
        _need(isinstance(state[name], tuple) and all(isinstance(text, str) for text in state[name]), name)


def _width(state: dict[str, Any]) -> int:
    """Features that the learner has weights for."""
    learner = state["learner"]
    return len(learner["weights"]) - 1 if "weights" in learner else int(learner["lazy"].B.size) - 1


def _learner(state: Any, fresh: dict[str, Any], rounds: int, outputs: int, run: Pass) -> None:
    _need(isinstance(state, dict) and set(state) == set(fresh), "the learner")
    ledger = state["ledger"]
    _need(isinstance(ledger, dict) and set(ledger) == set(fresh["ledger"]), "the tally")
    for name in ("updates", "since", "entered"):
        _need(_is_count(ledger[name]), name)
    _need(ledger["since"] <= rounds, "rounds")
    _same_shapes(ledger["tally"], empty_tally(BINS), "the tally")
    _need(ledger["first"] is None or isinstance(ledger["first"], Survivor), "the first hypothesis")
    if "lazy" in state:
        _lazy(state["lazy"], rounds, run)
        return
    weights = state["weights"]
    _alike(weights, fresh["weights"], "weights")
    _need(len(weights) >= 1 and weights.shape[1] == outputs and bool(np.isfinite(weights).all()), "weights")
    _need(len(weights) - 1 <= (run.n_features or run.max_features), "weights")
    _same_shapes(state["step"], fresh["step"], "the learner's state")
    _log(state, rounds, outputs)
    _columns(state, rounds, outputs, run)


def _log(state: dict[str, Any], rounds: int, outputs: int) -> None:
    log, width = state["log"], len(state["weights"]) - 1
    _need(isinstance(log, Log), "the log")
    types = {"label": "i4", "rival": "i4", "a": "f8", "scale": "f8", "margin": "f8", "shift": "u1", "indices": "i4"}
    for name, array in log._asdict().items():
        kind = types.get(name, "f8" if name == "values" else "i8")
        _need(isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == np.dtype(kind), "the log")
    _need(log.cursor.size == 2, "the log")
    k, end = (int(number) for number in log.cursor)
    per_update = (log.row, log.round, log.label, log.rival, log.a, log.scale, log.margin, log.shift)
    _need(all(array.size == k for array in per_update) and log.indptr.size == k + 1, "the log")
    _need(log.indices.size == log.values.size == end and log.indptr[0] == 0 and log.indptr[-1] == end, "the log")
    _need(bool((np.diff(log.indptr) >= 0).all()), "the log")
    _need(not end or (log.indices.min() >= 0 and log.indices.max() < width), "the log")
    _need(not k or log.shift.max() < SHIFTS.size, "the log")
    ends = np.concatenate([[0], log.round, [rounds + 1]])
    _need(bool((np.diff(ends) > 0).all()) and state["ledger"]["entered"] == k, "the log")
    if k and outputs == 1:
        _need(bool((np.abs(log.label) == 1).all()), "the log")
    elif k:
        both = np.concatenate([log.label, log.rival])
        _need(both.min() >= 0 and both.max() < outputs, "the log")


def _columns(state: dict[str, Any], rounds: int, outputs: int, run: Pass) -> None:
    columns = state["columns"]
    if columns is None:
        return
    _need(isinstance(columns, Columns) and state["log"].updates == 0, "the columns")
    _need(columns.classes == outputs and columns.bits in (1, 2, 3), "the columns")
    _need(type(columns.limit) is int and columns.limit == run.max_trace_memory // 8, "the columns")
    fold, fresh = columns.fold, empty_columns(0, 1, 0).fold
    _need(type(fold) is type(fresh), "the columns")
    for array, pattern in zip(fold, fresh, strict=True):
        _alike(array, pattern, "the columns")
    n, weights = fold.A.size, fold.v.size
    _need(2 <= n <= fold.M.shape[1] and fold.mass.size == fold.kappa.size == n, "the columns")
    _need(len(fold.M) == fold.longest.size == weights and weights % outputs == 0, "the columns")
    _need(outputs <= weights <= state["weights"].size, "the columns")
    _need(fold.kappa[0] == 0 and bool((np.diff(fold.kappa) > 0).all()), "the columns")
    _need(fold.lower.size > 0 and fold.lower.min() >= 0 and fold.lower.max() < n, "the columns")
    _need(fold.state.size == fold.record.size == 4 and bool(np.isfinite(fold.state).all()), "the columns")
    _need(0 <= fold.state[SINCE] <= rounds, "the columns")
    _need(0 <= fold.record[FEATURES] <= weights // outputs - 1, "the columns")


def _lazy(lazy: Any, rounds: int, run: Pass) -> None:
    _need(isinstance(lazy, Lazy), "the shifted learner")
    for array, pattern in zip(lazy, empty_lazy(0), strict=True):
        _alike(array, pattern, "the shifted learner")
    n = lazy.kappa.size
    _need(n <= BINS and lazy.state.size == empty_lazy(0).state.size, "the shifted learner")
    _need(all(part.size == n for part in (lazy.A, lazy.G, lazy.mass)), "the shifted learner")
    _need(lazy.P.size == lazy.B.size and lazy.M.shape == (lazy.B.size, n), "the shifted learner")
    _need(1 <= lazy.B.size <= 1 + (run.n_features or run.max_features), "the shifted learner")
    _need(lazy.kappa.tolist() == [float(point(i)) for i in range(n)], "the shifted learner")
    _need(0 <= lazy.state[LAZY_SINCE] <= rounds, "the shifted learner")


def _repeats(repeats: Any) -> None:
    fresh = no_repeats()
    _need(isinstance(repeats, Repeats), "the repeat alarm")
    for array, pattern in zip(repeats, fresh, strict=True):
        _alike(array, pattern, "the repeat alarm")
    _need(repeats.ring.shape == fresh.ring.shape and repeats.place.shape == fresh.place.shape, "the repeat alarm")
    size = len(repeats.table)
    _need(repeats.table.shape[1] == 2 and FEWEST <= size <= LARGEST and size & (size - 1) == 0, "the repeat alarm")
    kept = int(np.count_nonzero(repeats.table[:, 0]))  # a search must come to an empty place
    _need(repeats.place[KEPT] == kept and kept < size, "the repeat alarm")


def _duplicates(sketch: Any) -> None:
    fresh, what = duplicates.no_duplicates(), "the sketch of repeated rows"
    _need(isinstance(sketch, duplicates.Duplicates), what)
    for array, pattern in zip(sketch, fresh, strict=True):
        _alike(array, pattern, what)
    size = len(sketch.table)
    _need(sketch.scope.shape == fresh.scope.shape and sketch.table.shape[1] == 3, what)
    _need(duplicates.FEWEST <= size <= duplicates.MOST and size & (size - 1) == 0, what)
    held = int(np.count_nonzero(sketch.table[:, duplicates.COUNT]))  # a search must come to an empty place
    _need(sketch.scope[duplicates.HELD] == held and held < size, what)
    _need(int(sketch.table[:, duplicates.COUNT].max()) <= int(sketch.scope[duplicates.ROWS]) < 1 << 62, what)


def _watched(watched: Any, fresh: dict[str, FrozenCandidates], shape: tuple[int, ...]) -> None:
    _need(isinstance(watched, dict) and set(watched) == set(fresh), "the candidates")
    for kind, one in watched.items():
        _need(isinstance(one, FrozenCandidates) and one.what == fresh[kind].what, "the candidates")
        _same_shapes(one.tally, empty_tally(MOST), "the candidates")
        _need(isinstance(one.live, dict), "the candidates")
        for number, weights in one.live.items():
            _need(type(number) is int and 0 <= number < MOST, "the candidates")
            _need(isinstance(weights, np.ndarray) and weights.dtype == np.float64, "the candidates")
            _need(weights.shape == shape, "the candidates")


def _same_shapes(value: Any, pattern: Any, what: str) -> None:
    parts = [(value, pattern)] if isinstance(pattern, np.ndarray) else None
    if parts is None:
        _need(type(value) is type(pattern), what)
        parts = list(zip(value, pattern, strict=True))
    for part, like in parts:
        _alike(part, like, what)
        _need(part.shape == like.shape, what)


def _alike(array: Any, pattern: Any, what: str) -> None:
    _need(isinstance(array, np.ndarray) and array.dtype == pattern.dtype and array.ndim == pattern.ndim, what)


def _need(condition: Any, what: str) -> None:
    if not condition:
        raise CheckpointError(f"its state is not that of a pass with these options ({what.lstrip('_')})")
