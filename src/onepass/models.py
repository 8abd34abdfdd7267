"""Models: what a pass gives away, able to predict and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from onepass import model_files
from onepass._jit import by_type, jit
from onepass.errors import DataError
from onepass.executor import ThreadExecutor
from onepass.labels import Label
from onepass.loop import head_of, score
from onepass.rows import LARGEST, AnyRows, Array, Dense, Floats, Ints, Rows, count, onto_ball, part
from onepass.trace.log import SHIFTS, Log
from onepass.validate import accept, block, blocks, stated_columns, validate_rows

STRIP = 128  # rows that all hypotheses judge in one call
SCORES = 1 << 20  # that are held at a time beyond those asked for: rows times classes


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

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the model, atomically: see onepass.model_files.

        overwrite  False: a file that is there stays, the model is kept beside it, and an OutputTakenError says where
        """
        said = {"classes": list(self.classes), "bias": self.bias, "radius": self.radius, "about": self.about}
        model_files.write(path, said, self.weights, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> LinearModel:
        """Read a model that `save` wrote; every size is checked before it is believed, and nothing is executed."""
        said, weights = model_files.read(path, max_bytes)
        return cls(weights, tuple(said["classes"]), float(said["bias"]), said["radius"], said["about"])

    def decision(self, X: Any) -> Floats:
        """Scores: one per row for two classes (positive: the second class), else one per row and class."""
        one = self._one_row(X)
        if one is not None:
            return one
        head = head_of(self.weights, self.bias)
        rows, canonical = _within(X, self.features)
        scores = np.empty((count(rows), self.weights.shape[1]))
        for first, piece in _pieces(rows, canonical, self.radius):
            score(head, piece, scores[first : first + count(piece)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def decisions(self, X: Any) -> Iterator[tuple[slice, Floats]]:
        """(places of rows, their scores as `decision` gives them), a bounded number of scores at a time."""
        yield from self._decisions(*_within(X, self.features))

    def _decisions(self, rows: AnyRows, canonical: bool) -> Iterator[tuple[slice, Floats]]:
        head, outputs = head_of(self.weights, self.bias), self.weights.shape[1]
        for first, piece in _pieces(rows, canonical, self.radius, max(1, SCORES // outputs)):
            scores = np.empty((count(piece), outputs))
            score(head, piece, scores)
            yield slice(first, first + len(scores)), scores[:, 0] if outputs == 1 else scores

    def chosen(self, X: Any) -> Ints:
        """The place of every row's class among `classes`; in memory, one number a row and a bounded block of scores."""
        one = self._one_row(X)
        if one is not None:
            return places(one, len(self.classes))
        rows, canonical = _within(X, self.features)
        found = np.empty(count(rows), dtype=np.int64)
        for where, scores in self._decisions(rows, canonical):
            found[where] = places(scores, len(self.classes))
        return found

    def _one_row(self, X: Any) -> Floats | None:
        """The scores of one dense row that a kernel takes as it is: then nothing else need be looked at."""
        width, outputs = self.features, self.weights.shape[1]
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (1, width)):
            return None
        if not (width and self.radius is None and X.flags.c_contiguous and X.flags.writeable):
            return None
        if not np.abs(X).max() <= LARGEST:
            return None
        scores = np.empty((1, outputs))
        score(head_of(self.weights, self.bias), Dense(X), scores)
        return scores[:, 0] if outputs == 1 else scores

    def predict(self, X: Any) -> Array:
        """The label of every row."""
        return np.asarray(np.array(self.classes)[self.chosen(X)])


@dataclass(frozen=True, eq=False)
class VotedModel:
    """The weighted majority of all hypotheses' own predictions. (Freund and Schapire 1999.)

    Every hypothesis is judged on every row, from the dot products with the update rows, which are taken through lists
    of the updates that have a feature.
    """

    log: Log
    q: Ints
    width: int
    classes: tuple[Label, ...]
    bias: float = 1.0
    radius: float | None = None

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the model with the update rows that its members are made of, as `LinearModel.save` does."""
        said = {"classes": list(self.classes), "bias": self.bias, "radius": self.radius, "width": self.width}
        model_files.write_vote(path, said, {**self.log.cut()._asdict(), "q": self.q}, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> VotedModel:
        """Read a model that `save` wrote; every index and length is checked, and nothing is executed."""
        said, arrays = model_files.read_vote(path, max_bytes)
        q, updates = arrays.pop("q"), arrays["a"].size
        scratch = np.zeros(updates, dtype=np.int64)
        log = Log(row=scratch, cursor=np.array([updates, arrays["values"].size]), **arrays)
        return cls(log, q, said["width"], tuple(said["classes"]), said["bias"], said["radius"])

    def decision(self, X: Any) -> Floats:
        """Votes as a share of all: for two classes second less first, else one share per class."""
        return self._scores(self.shares(X))

    def _scores(self, shares: Floats) -> Floats:
        return shares[:, 1] - shares[:, 0] if len(self.classes) == 2 else shares

    def shares(self, X: Any) -> Floats:
        """The share of all votes that each class gets, (rows, classes); a score of exactly 0 is no vote."""
        none = np.empty((0, len(self.classes)))
        return np.concatenate([none, *self._each(X, lambda _, rows: self._shares(rows))])

    def _shares(self, rows: AnyRows) -> Floats:
        """The same of a few kernel-ready rows."""
        votes = np.zeros((count(rows), len(self.classes)), dtype=np.int64)
        _vote(self.log, self._postings, self.bias, rows, self.q, votes)
        return np.asarray(votes / max(1, int(self.q.sum())))

    def chosen(self, X: Any) -> Ints:
        """The place of every row's class among `classes`."""

        def choose(first: int, rows: AnyRows) -> Ints:
            return places(self._scores(self._shares(rows)), len(self.classes))

        return np.concatenate([np.empty(0, dtype=np.int64), *self._each(X, choose)])

    def member_errors(self, X: Any, y: Any) -> Floats:
        """How often each hypothesis errs on rows X with labels y; a score of exactly 0 errs."""
        truth = np.array([self.classes.index(label) for label in np.asarray(y).tolist()], dtype=np.int64)

        def judge(first: int, rows: AnyRows) -> Ints:
            errors = np.zeros(self.q.size, dtype=np.int64)
            true = truth[first : first + count(rows)]
            _judge(self.log, self._postings, self.bias, rows, true, len(self.classes), errors)
            return errors

        return np.asarray(sum(self._each(X, judge)) / max(1, len(truth)))

    def _each(self, X: Any, work: Callable[[int, AnyRows], Any]) -> list[Any]:
        """The work done on all rows, a few at a time, on all cores; what is counted does not depend on the order."""
        pieces = (
            (first + start, part(piece, start, min(start + STRIP, count(piece))))
            for first, piece in _pieces(*_within(X, self.width), self.radius)
            for start in range(0, count(piece), STRIP)
        )
        with ThreadExecutor() as executor:
            return executor.map(lambda piece: work(*piece), pieces)

    @cached_property
    def _postings(self) -> Rows:
        """Per feature, the updates whose rows have it, and their values there."""
        import scipy.sparse

        shape = (self.q.size - 1, self.width)
        by_feature = scipy.sparse.csr_array((self.log.values, self.log.indices, self.log.indptr), shape=shape).tocsc()
        return Rows(by_feature.indptr.astype(np.int64), by_feature.indices.astype(np.int32), by_feature.data)

    def predict(self, X: Any) -> Array:
        """The label of every row."""
        return np.asarray(np.array(self.classes)[self.chosen(X)])


def _within(X: Any, features: int) -> tuple[AnyRows, bool]:
    rows = accept(X)
    width, canonical = validate_rows(rows, 1 << 31, stated_columns(X))
    if width > features or (isinstance(rows, Dense) and width < features):
        raise DataError(f"X: {width} features, but the model was trained on {features}")
    return rows, canonical


def _pieces(rows: AnyRows, canonical: bool, radius: float | None, most: int = 1 << 62) -> Iterator[tuple[int, AnyRows]]:
    """(number of the first row, kernel-ready rows), at most so many at a time."""
    for begin, end in blocks(rows):
        for first in range(begin, end, most):
            piece = block(rows, first, min(first + most, end), canonical)
            yield first, onto_ball(piece, radius) if radius is not None else piece


def places(scores: Floats, classes: int) -> Ints:
    """The place of the class that the scores of each row choose; where only one class was ever met, that one's."""
    if scores.ndim == 1:
        return (scores > 0.0).astype(np.int64) if classes == 2 else np.zeros(len(scores), dtype=np.int64)
    return np.asarray(np.argmax(scores, axis=1), dtype=np.int64)


def _spread_rows(rows, i, postings, products):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        f, x = np.uint64(rows.indices[j]), rows.values[j]
        for p in range(np.uint64(postings.indptr[f]), np.uint64(postings.indptr[f + np.uint64(1)])):
            products[np.uint32(postings.indices[p])] += x * postings.values[p]


def _spread_dense(rows, i, postings, products):  # type: ignore[no-untyped-def]
    for f in range(np.uint64(rows.values.shape[1])):
        x = rows.values[i, f]
        if x != 0.0:
            for p in range(np.uint64(postings.indptr[f]), np.uint64(postings.indptr[f + np.uint64(1)])):
                products[np.uint32(postings.indices[p])] += x * postings.values[p]


_spread = by_type({Rows: _spread_rows, Dense: _spread_dense})  # products[u] += ⟨x_i, row of update u⟩


@jit
def _guess(log: Log, products: Floats, classes: int, guesses: Ints) -> None:
    """guesses[j] = the class that hypothesis j predicts; −1 where its score is exactly 0."""
    scores = np.zeros(classes)  # two classes: only the second's
    for j in range(guesses.size):
        if classes == 2:
            guesses[j] = 1 if scores[1] > 0.0 else (0 if scores[1] < 0.0 else -1)
        else:
            guesses[j] = np.argmax(scores) if scores.max() > scores.min() else -1
        if j < guesses.size - 1:
            product = products[j] * log.a[j]
            if classes == 2:
                scores[1] += log.label[j] * product
            else:
                scores[log.label[j]] += product
                scores[log.rival[j]] -= product
            if log.shift[j]:
                scores *= SHIFTS[log.shift[j]]


@jit
def _vote(log: Log, postings: Rows, bias: float, rows: AnyRows, q: Ints, votes: Ints) -> None:
    """votes[i, c] += q_j for every hypothesis j that predicts class c for row i."""
    products, guesses = np.empty(q.size - 1), np.empty(q.size, dtype=np.int64)
    for i in range(np.uint64(votes.shape[0])):
        products[:] = bias
        _spread(rows, i, postings, products)
        _guess(log, products, votes.shape[1], guesses)
        for j in range(q.size):
            if guesses[j] >= 0:
                votes[i, guesses[j]] += q[j]


@jit
def _judge(log: Log, postings: Rows, bias: float, rows: AnyRows, truth: Ints, classes: int, errors: Ints) -> None:
    """errors[j] += 1 for every row that hypothesis j predicts wrong."""
    products, guesses = np.empty(errors.size - 1), np.empty(errors.size, dtype=np.int64)
    for i in range(np.uint64(truth.size)):
        products[:] = bias
        _spread(rows, i, postings, products)
        _guess(log, products, classes, guesses)
        for j in range(errors.size):
            errors[j] += guesses[j] != truth[i]
