"""Models: what a pass gives away, able to predict and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass._jit import jit
from onepass.errors import DataError
from onepass.labels import Label
from onepass.loop import head_of, score
from onepass.rows import AnyRows, Array, Floats, Ints, accept, block, blocks, count, onto_ball, survey
from onepass.trace.log import SHIFT, Log


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

    @property
    def features(self) -> int:
        return len(self.weights) - 1

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
        rows = _within(X, self.width)
        outputs = 1 if len(self.classes) == 2 else len(self.classes)
        votes = np.zeros((count(rows[0]), outputs), dtype=np.int64)
        for first, piece in _pieces(*rows, self.radius):
            for i in range(count(piece)):
                x = _dense_row(piece, i, self.width)
                _vote(self.log, self.q, self.bias, x, votes[first + i], np.zeros(outputs))
        shares = votes / max(1, int(self.q.sum()))
        return shares[:, 0] if outputs == 1 else shares

    def predict(self, X: Any) -> Array:
        """The label of every row."""
        return _named(self.decision(X), self.classes)


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
def _vote(log: Log, q: Ints, bias: float, x: Floats, votes: Ints, scores: Floats) -> None:
    """Add q_j to the class that hypothesis j predicts for x, for every j; a score of exactly 0 is no vote."""
    for j in range(q.size):
        if scores.size == 1:
            votes[0] += q[j] * ((scores[0] > 0.0) - np.int64(scores[0] < 0.0))
        elif j > 0:
            votes[np.argmax(scores)] += q[j]
        if j < q.size - 1:
            product = bias
            for p in range(np.uint64(log.indptr[j]), np.uint64(log.indptr[j + 1])):
                product += x[np.uint32(log.indices[p])] * log.values[p]
            product *= log.a[j]
            if scores.size == 1:
                scores[0] += log.label[j] * product
            else:
                scores[log.label[j]] += product
                scores[log.rival[j]] -= product
            if log.shift[j]:
                scores[:] *= SHIFT
