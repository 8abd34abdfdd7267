"""VotedModel: the other way to use a conversion's weights, the weighted majority of the members' own predictions."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onepass import model_files
from onepass._jit import allocating, by_type, jit
from onepass.executor import ThreadExecutor
from onepass.labels import Label
from onepass.models import LinearModel, places, within
from onepass.models import pieces as pieces_of
from onepass.rows import AnyRows, Array, Dense, Floats, Ints, Rows, count, part
from onepass.trace.log import SHIFTS, Deltas, Log

STRIP = 128  # rows that all hypotheses judge in one call


@dataclass(frozen=True, eq=False)
class VotedModel:
    """The weighted majority of all hypotheses' own predictions. (Freund and Schapire 1999.)

    Every hypothesis is judged on every row, from the dot products with the update rows, which are taken through lists
    of the updates that have a feature.

    Attributes
    ----------
    log : Log
        The updates that its members are made of.
    q : array of int
        Votes of each member, the living hypothesis last.
    width : int
        Features.
    classes : tuple of label
        What it predicts.
    bias : float, default 1.0
        The constant feature: 1, or 0 for a model without intercept.
    radius : float or None, default None
        R: rows outside the ball are scaled onto it. None: no scaling.

    Examples
    --------
    >>> from onepass import Pass
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> run = Pass("margin", conversion="average", radius=3.0, classes=[0, 1], horizon=400)
    >>> run.feed(X, X[:, 0] > 0)
    >>> model = run.model(how="vote")
    >>> model.classes, int(model.q.sum())  # every round is one vote
    ((0, 1), 400)
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
        said["deltas"] = isinstance(self.log, Deltas)
        model_files.write_vote(path, said, {**self.log.cut()._asdict(), "q": self.q}, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> VotedModel:
        """Read a model that `save` wrote; every index and length is checked, and nothing is executed."""
        said, arrays = model_files.read_vote(path, max_bytes)
        q, updates = arrays.pop("q"), arrays["a"].size
        scratch = np.zeros(updates, dtype=np.int64)
        kind = Deltas if said["deltas"] else Log
        log = kind(row=scratch, cursor=np.array([updates, arrays["values"].size]), **arrays)
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
        _vote(self.log, self._postings, self.bias, rows, self.q, votes, self._outputs)
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
            _judge(self.log, self._postings, self.bias, rows, true, errors, (len(self.classes), self._outputs))
            return errors

        return np.asarray(sum(self._each(X, judge)) / max(1, len(truth)))

    def _each(self, X: Any, work: Callable[[int, AnyRows], Any]) -> list[Any]:
        """The work done on all rows, a few at a time, on all cores; what is counted does not depend on the order."""
        strips = (
            (first + start, part(piece, start, min(start + STRIP, count(piece))))
            for first, piece in pieces_of(*within(X, self.width), self.radius)
            for start in range(0, count(piece), STRIP)
        )
        with ThreadExecutor() as executor:
            return executor.map(lambda piece: work(*piece), strips)

    @property
    def _outputs(self) -> int:
        """Numbers that a row times an update comes to."""
        return len(self.classes) if isinstance(self.log, Deltas) and len(self.classes) > 2 else 1

    @cached_property
    def _postings(self) -> Rows:
        """Per feature (of deltas: per place in the weights) the updates that have it, and their values there."""
        import scipy.sparse

        places = (self.width + 1) * self._outputs if isinstance(self.log, Deltas) else self.width
        shape = (self.q.size - 1, places)
        by_feature = scipy.sparse.csr_array((self.log.values, self.log.indices, self.log.indptr), shape=shape).tocsc()
        return Rows(by_feature.indptr.astype(np.int64), by_feature.indices.astype(np.int32), by_feature.data)

    def predict(self, X: Any) -> Array:
        """The label of every row."""
        return np.asarray(np.array(self.classes)[self.chosen(X)])


def load(path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> LinearModel | VotedModel:
    """Read a model that `train`, `save` or the command line wrote; nothing in it is executed.

    A model that learned from a table applies its own columns to a DataFrame or an Arrow table, in whatever order.

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int, default 16 GB
        Refuse a file whose header promises more.

    Returns
    -------
    LinearModel or VotedModel
        A model that predicts; a table, a DataFrame or an array, as it learned from.

    Raises
    ------
    ModelError
        If the file is no model, was changed, or is of another version.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow
    >>> from onepass import train
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> table = pyarrow.table({"size": [1.0, -1.0] * 200, "good": ["yes", "no"] * 200})
    >>> train(table, target="good", numeric=["size"]).model.save(file)
    >>> load(file).predict(pyarrow.table({"colour": ["red"], "size": [0.5]})).tolist()
    ['yes']
    """
    kind = VotedModel if model_files.is_vote(path, max_bytes) else LinearModel
    return kind.load(path, max_bytes)


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


def _spread_places_rows(rows, i, postings, products):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        _spread_places(postings, np.int64(rows.indices[j]) + 1, np.float64(rows.values[j]), products)


def _spread_places_dense(rows, i, postings, products):  # type: ignore[no-untyped-def]
    for f in range(rows.values.shape[1]):
        if rows.values[i, f] != 0.0:
            _spread_places(postings, f + 1, np.float64(rows.values[i, f]), products)


@jit
def _spread_places(postings: Rows, line: int, x: float, products: Floats) -> None:
    """products[u, c] += x·d for every update u that changes weight (line, c) by d; line 0 is the intercept."""
    outputs = products.shape[1]
    for c in range(outputs):
        for p in range(postings.indptr[line * outputs + c], postings.indptr[line * outputs + c + 1]):
            products[postings.indices[p], c] += x * postings.values[p]


_spread = by_type({Rows: _spread_rows, Dense: _spread_dense})  # products[u] += ⟨x_i, row of update u⟩
_spread_deltas = by_type({Rows: _spread_places_rows, Dense: _spread_places_dense})  # the same for places


def _multiply_rows(log, postings, bias, rows, i, products):  # type: ignore[no-untyped-def]
    products[:, 0] = bias
    _spread(rows, i, postings, products[:, 0])


def _multiply_deltas(log, postings, bias, rows, i, products):  # type: ignore[no-untyped-def]
    products[:] = 0.0
    _spread_places(postings, 0, 1.0, products)
    _spread_deltas(rows, i, postings, products)


def _add_row(log, j, products, scores):  # type: ignore[no-untyped-def]
    product = products[j, 0] * log.a[j]
    if scores.size == 2:
        scores[1] += log.label[j] * product
    else:
        scores[log.label[j]] += product
        scores[log.rival[j]] -= product
    if log.shift[j]:
        scores *= SHIFTS[log.shift[j]]


def _add_delta(log, j, products, scores):  # type: ignore[no-untyped-def]
    first = 1 if scores.size == 2 else 0
    for c in range(products.shape[1]):
        scores[first + c] += log.a[j] * products[j, c]


_multiply = by_type({Log: _multiply_rows, Deltas: _multiply_deltas})  # row i times the change of every update
_add = by_type({Log: _add_row, Deltas: _add_delta})  # the scores after update j


@allocating
def _guess(log: Log, products: Floats, classes: int, guesses: Ints) -> None:
    """guesses[j] = the class that hypothesis j predicts; −1 where its score is exactly 0."""
    scores = np.zeros(classes)  # two classes: only the second's
    for j in range(guesses.size):
        if classes == 2:
            guesses[j] = 1 if scores[1] > 0.0 else (0 if scores[1] < 0.0 else -1)
        else:
            guesses[j] = np.argmax(scores) if scores.max() > scores.min() else -1
        if j < guesses.size - 1:
            _add(log, j, products, scores)


@allocating
def _vote(log: Log, postings: Rows, bias: float, rows: AnyRows, q: Ints, votes: Ints, width: int) -> None:
    """votes[i, c] += q_j for every hypothesis j that predicts class c for row i."""
    products, guesses = np.empty((q.size - 1, width)), np.empty(q.size, dtype=np.int64)
    for i in range(np.uint64(votes.shape[0])):
        _multiply(log, postings, bias, rows, i, products)
        _guess(log, products, votes.shape[1], guesses)
        for j in range(q.size):
            if guesses[j] >= 0:
                votes[i, guesses[j]] += q[j]


@allocating
def _judge(
    log: Log, postings: Rows, bias: float, rows: AnyRows, truth: Ints, errors: Ints, shape: tuple[int, int]
) -> None:
    """errors[j] += 1 for every row that hypothesis j predicts wrong; shape: classes, and products of an update."""
    classes, width = shape
    products, guesses = np.empty((errors.size - 1, width)), np.empty(errors.size, dtype=np.int64)
    for i in range(np.uint64(truth.size)):
        _multiply(log, postings, bias, rows, i, products)
        _guess(log, products, classes, guesses)
        for j in range(errors.size):
            errors[j] += guesses[j] != truth[i]
