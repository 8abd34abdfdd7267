"""Models: what a pass gives away, able to predict and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onepass import model_files
from onepass._jit import jit
from onepass.errors import DataError
from onepass.labels import Label
from onepass.loop import head_of, score
from onepass.rows import AnyRows, Array, Floats, Ints, accept, block, blocks, count, onto_ball, survey
from onepass.trace.log import SHIFTS, Log


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
        """Write the model, atomically: see onepass.model_files."""
        said = {"classes": list(self.classes), "bias": self.bias, "radius": self.radius, "about": self.about}
        model_files.write(path, said, self.weights)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> LinearModel:
        """Read a model that `save` wrote; every size is checked before it is believed, and nothing is executed."""
        said, weights = model_files.read(path, max_bytes)
        return cls(weights, tuple(said["classes"]), float(said["bias"]), said["radius"], said["about"])

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
                scores *= SHIFTS[log.shift[j]]
