"""Models: what a pass gives away, able to predict and nothing else.

A saved model is a safetensors file: one tensor of weights, and a JSON text that says what they are, with the SHA-256 of
both. It cannot hold code. The hash finds accidents, not forgers: who can write the file can write the hash. The same
model is the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onepass import __version__
from onepass._jit import jit
from onepass.errors import DataError, ModelError, printable
from onepass.files import replacing, sha256
from onepass.labels import Label
from onepass.loop import head_of, score
from onepass.rows import AnyRows, Array, Floats, Ints, accept, block, blocks, count, onto_ball, survey
from onepass.trace.log import SHIFT, Log

FORMAT = 1  # of model files


@dataclass(frozen=True, eq=False)
class LinearModel:
    """One weight vector (several classes: one per class) with its intercept.

    >>> model = LinearModel(np.array([[-1.0], [2.0]]), ("no", "yes"))
    >>> model.predict([[0.25], [0.75]]).tolist()
    ['no', 'yes']
    """

    weights: Floats  # (1 + features, outputs), intercept first
    classes: tuple[Label, ...]
    bias: float = 1.0
    radius: float | None = None
    about: dict[str, Any] = field(
        default_factory=dict
    )  # learner, options, certificate, data: plain values, for reading

    @property
    def features(self) -> int:
        return len(self.weights) - 1

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, atomically."""
        from safetensors.numpy import save

        content = {
            "format": FORMAT,
            "version": __version__,
            "classes": list(self.classes),
            "bias": self.bias,
            "radius": self.radius,
            "about": self.about,
        }
        weights = np.ascontiguousarray(self.weights, dtype="<f8")
        content["sha256"] = _hash(content, weights)
        with replacing(path) as file:
            file.write(save({"weights": weights}, metadata={"onepass": json.dumps(content, sort_keys=True)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> LinearModel:
        """Read a model that `save` wrote; every size is checked before it is believed, and nothing is executed."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        def refuse(why: str) -> ModelError:
            return ModelError(f"{printable(os.fspath(path))}: {why}")

        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > max_bytes:
                raise refuse(f"{size:,} bytes are more than max_bytes={max_bytes:,} allows")
            data = file.read(max_bytes + 1)
        content = _content(data, refuse)
        try:
            tensors = load(data)
        except (SafetensorError, KeyError, ValueError, TypeError, MemoryError) as error:
            raise refuse(f"not a model file: {error}") from None
        weights = tensors.get("weights")
        outputs = 1 if len(content["classes"]) <= 2 else len(content["classes"])
        if set(tensors) != {"weights"} or weights is None or weights.dtype != np.float64:
            raise refuse("one tensor 'weights' of float64 expected")
        if weights.ndim != 2 or len(weights) < 1 or weights.shape[1] != outputs:
            raise refuse(f"weights of shape {weights.shape} do not fit {len(content['classes'])} classes")
        if _hash(content, weights) != content["sha256"]:
            raise refuse("damaged: its content does not have the SHA-256 that it names")
        if not np.isfinite(weights).all():
            raise refuse("its weights are not all finite numbers")
        classes = tuple(content["classes"])
        return cls(weights, classes, float(content["bias"]), content["radius"], content["about"])

    def decision(self, X: Any) -> Floats:
        """Scores: one per row for two classes (positive: the second class), else one per row and class."""
        rows = _within(X, self.features)
        scores = np.empty((count(rows[0]), self.weights.shape[1]))
        for first, piece in _pieces(*rows, self.radius):
            head = head_of(self.weights, self.bias)
            score(head, piece, scores[first : first + count(piece)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """The label of every row."""
        return _named(self.decision(X), self.classes)


@dataclass(frozen=True, eq=False)
class VotedModel:
    """The weighted majority of all hypotheses' own predictions. (Freund and Schapire 1999.)

    Every hypothesis is judged on every row, from the dot products with the update rows: a row costs as much as a pass
    over the log.
    """

    log: Log
    q: Ints
    width: int
    classes: tuple[Label, ...]
    bias: float = 1.0
    radius: float | None = None

    def decision(self, X: Any) -> Floats:
        """Votes as a share of all: for two classes second less first, else one share per class."""
        shares = self.shares(X)
        return shares[:, 1] - shares[:, 0] if len(self.classes) == 2 else shares

    def shares(self, X: Any) -> Floats:
        """The share of all votes that each class gets, (rows, classes); a score of exactly 0 is no vote."""
        votes = np.zeros((count(accept(X)), len(self.classes)))
        guesses = np.empty(self.q.size, dtype=np.int64)
        for i, x in self._rows(X):
            _guess(self.log, self.bias, x, len(self.classes), guesses)
            votes[i] = np.bincount(guesses + 1, weights=self.q, minlength=len(self.classes) + 1)[1:]
        return np.asarray(votes / max(1, int(self.q.sum())))

    def member_errors(self, X: Any, y: Any) -> Floats:
        """How often each hypothesis errs on rows X with labels y; a score of exactly 0 errs."""
        names = list(self.classes)
        errors = np.zeros(self.q.size, dtype=np.int64)
        labels = np.asarray(y).tolist()
        guesses = np.empty(self.q.size, dtype=np.int64)
        for i, x in self._rows(X):
            _guess(self.log, self.bias, x, len(names), guesses)
            errors += guesses != names.index(labels[i])
        return np.asarray(errors / max(1, len(labels)))

    def predict(self, X: Any) -> Array:
        """The label of every row."""
        return _named(self.decision(X), self.classes)

    def _rows(self, X: Any) -> Iterator[tuple[int, Floats]]:
        for first, piece in _pieces(*_within(X, self.width), self.radius):
            for i in range(count(piece)):
                yield first + i, _dense_row(piece, i, self.width)


def _content(data: bytes, refuse: Callable[[str], ModelError]) -> dict[str, Any]:
    """The JSON text of a model file, with every field there and of its kind."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(len(data) - 8, 1 << 24) or data[8:9] != b"{":
        raise refuse("not a model file (it does not begin as a safetensors file does)")
    try:
        content = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["onepass"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise refuse("not a onepass model (its header does not say so)") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise refuse("not a onepass model (its header does not say so)")
    if content["format"] > FORMAT:
        raise refuse(f"written by onepass {content.get('version')}, in a newer format than this version reads")
    kinds = {"classes": list, "bias": float, "radius": (float, type(None)), "about": dict, "sha256": str}
    for name, kind in kinds.items():
        if name not in content or not isinstance(content[name], kind):  # type: ignore[arg-type]
            raise refuse(f"its field {name!r} is missing or not what it should be")
    if not all(isinstance(label, (int, float, str)) for label in content["classes"]) or not content["classes"]:
        raise refuse("its classes are not labels")
    return content


def _hash(content: dict[str, Any], weights: Floats) -> str:
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return sha256(json.dumps(plain, sort_keys=True).encode(), weights.tobytes())


def _within(X: Any, features: int) -> tuple[AnyRows, bool]:
    rows = accept(X)
    width, canonical = survey(rows, 1 << 31)
    if width > features:
        raise DataError(f"X: {width} features, but the model was trained on {features}")
    return rows, canonical


def _pieces(rows: AnyRows, canonical: bool, radius: float | None) -> Any:
    for first, last in blocks(rows):
        piece = block(rows, first, last, canonical)
        yield first, onto_ball(piece, radius) if radius is not None else piece


def _dense_row(rows: AnyRows, i: int, width: int) -> Floats:
    x = np.zeros(width)
    if len(rows) == 1:
        x[: rows.values.shape[1]] = rows.values[i]
    else:
        part = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        x[rows.indices[part]] = rows.values[part]
    return x


def _named(scores: Floats, classes: tuple[Label, ...]) -> Array:
    names = np.array(classes)
    if scores.ndim == 1:
        names = names if len(names) == 2 else np.repeat(names, 2)
        return np.asarray(names[(scores > 0.0).astype(np.int64)])
    return np.asarray(names[np.argmax(scores, axis=1)])


@jit
def _guess(log: Log, bias: float, x: Floats, classes: int, guesses: Ints) -> None:
    """guesses[j] = the class that hypothesis j predicts for x; −1 where its score is exactly 0."""
    scores = np.zeros(classes)  # two classes: only the second's
    for j in range(guesses.size):
        if classes == 2:
            guesses[j] = 1 if scores[1] > 0.0 else (0 if scores[1] < 0.0 else -1)
        else:
            guesses[j] = np.argmax(scores) if scores.max() > scores.min() else -1
        if j < guesses.size - 1:
            product = bias
            for p in range(np.uint64(log.indptr[j]), np.uint64(log.indptr[j + 1])):
                product += x[np.uint32(log.indices[p])] * log.values[p]
            product *= log.a[j]
            if classes == 2:
                scores[1] += log.label[j] * product
            else:
                scores[log.label[j]] += product
                scores[log.rival[j]] -= product
            if log.shift[j]:
                scores *= SHIFT
