"""Documents of several categories, and the problems that they pose: one for each pair of categories."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from onepass import datasets
from onepass.errors import DataError
from onepass.io import open_stream
from onepass.rows import Dense, Ints

FETCH = "rcv1"  # in place of a path: fetch it
MOST = 5  # categories that are paired
LEAST = 50  # documents that a pair must have
REACH = 10.0  # rows are scaled up until the longest has this length


class Problem(NamedTuple):
    """Two categories: which documents they have, and 0 or 1 for each."""

    number: int  # among all pairs of the corpus, for the seeds
    name: str
    places: Ints
    codes: Ints


@dataclass(frozen=True, eq=False)
class Corpus:
    """Rows X with one category each."""

    name: str
    X: Any
    labels: npt.NDArray[np.str_]
    categories: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @cached_property
    def longest(self) -> float:
        """The length of the longest row."""
        return float(np.sqrt(self.X.multiply(self.X).sum(axis=1).max(initial=0.0)))

    def scaled(self) -> Corpus:
        """Rows long enough for weights of length 1 to reach a margin of 1: the longest at least 10.

        The Perceptron does not notice, and rows of log2(1 + count) are longer anyway.
        """
        if self.longest >= REACH * (1.0 - 1e-9) or self.longest == 0.0:
            return self
        scale = REACH / self.longest
        said = f"rows were scaled by {scale:.4g}: the longest has length {REACH:g}"
        return replace(self, X=scale * self.X, remarks=(*self.remarks, said))


def pairs(corpus: Corpus) -> list[Problem]:
    """The problem of each pair of categories that has documents enough.

    >>> X = scipy.sparse.csr_array(np.ones((90, 1)))
    >>> wires = Corpus("three", X, np.repeat(["a", "b", "c"], [60, 20, 10]), ("a", "b", "c"))
    >>> [(problem.name, len(problem.places)) for problem in pairs(wires)]
    [('a / b', 80), ('a / c', 70)]
    """
    found = []
    for number, (first, second) in enumerate(combinations(corpus.categories, 2)):
        places = np.flatnonzero((corpus.labels == first) | (corpus.labels == second))
        codes = (corpus.labels[places] == second).astype(np.int64)
        if len(places) >= LEAST and 0 < codes.sum() < len(places):
            found.append(Problem(number, f"{first} / {second}", places, codes))
    if not found:
        raise DataError(f"{corpus.name}: no two categories with {LEAST} documents together")
    return found


def newswire(documents: int, seed: int = 0) -> Corpus:
    """The built-in newswire: five categories, drawn.

    >>> newswire(100).categories
    ('CCAT', 'ECAT', 'GCAT', 'MCAT', 'OTHER')
    """
    X, labels = datasets.Newswire(seed).documents(0, documents)
    return Corpus(f"newswire, {documents:,} documents, seed {seed}", X, labels, datasets.CATEGORIES)


def read(data: str | os.PathLike[str]) -> Corpus:
    """A folder with the files of RCV1-v2, a file of labelled rows, or "rcv1": fetched, where there is a network."""
    path = os.fspath(data)
    if os.path.isdir(path):
        return _of_news(*datasets.rcv1(path))
    if path == FETCH and not os.path.lexists(path):
        return _of_news(*datasets.fetch_rcv1())
    return _of_file(path)


def _of_news(X: Any, labels: npt.NDArray[np.str_]) -> Corpus:
    counts = {category: int((labels == category).sum()) for category in datasets.CATEGORIES}
    there = tuple(category for category, count in counts.items() if count)
    absent = ", ".join(category for category, count in counts.items() if not count)
    said = (f"no document is of {absent} alone",) if absent else ()
    return Corpus(f"RCV1-v2, {len(labels):,} documents", X, labels, there, said)


def _of_file(path: str) -> Corpus:
    """The rows of a file, in any format that `open_stream` reads; of more than five labels the five most frequent."""
    parts, labels = list[Any](), list[Any]()
    with open_stream(path) as stream:
        for chunk in stream:
            if chunk.labels is None:
                raise DataError("rows without labels", source=path)
            rows = chunk.rows
            if isinstance(rows, Dense):
                parts.append(scipy.sparse.csr_array(rows.values))
            else:
                start, end = int(rows.indptr[0]), int(rows.indptr[-1])
                arrays = (rows.values[start:end], rows.indices[start:end], rows.indptr - start)
                shape = (len(rows.indptr) - 1, int(rows.indices[start:end].max(initial=0)) + 1)
                parts.append(scipy.sparse.csr_array(arrays, shape=shape))
            labels += [label if isinstance(label, str) else f"{label:.17g}" for label in chunk.labels.tolist()]
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], width)
    names = np.array(labels)
    values, counts = np.unique(names, return_counts=True)
    chosen = sorted(values[np.argsort(-counts, kind="stable")[:MOST]].tolist(), key=_as_number)
    if len(values) < 2:
        raise DataError("one label only; two are needed to tell apart", source=path)
    said = (f"the {MOST} most frequent of {len(values)} labels were taken",) if len(values) > MOST else ()
    X = scipy.sparse.csr_array(scipy.sparse.vstack(parts))
    return Corpus(f"{os.path.basename(path)}, {len(names):,} rows", X, names, tuple(chosen), said)


def _as_number(label: str) -> tuple[float, str]:
    try:
        return float(label), label
    except ValueError:
        return float("inf"), label
