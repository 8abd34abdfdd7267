"""Data to try things on: a newswire that is drawn, not downloaded, scikit-learn's digits, and RCV1 from its files.

The newswire imitates RCV1 as dekel2008 used it: a Zipf vocabulary, five categories, documents of about 240 words,
features log2(1 + count). Document i depends on (seed, i) alone, so a stream has any length, can be cut anywhere, and
fresh documents are the next ones: the true risk of a model can be measured as closely as one likes.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from onepass._jit import allocating
from onepass.errors import DataError
from onepass.io import lyrl2004
from onepass.rows import Array, Floats, Ints, Rows
from onepass.splitmix import GOLDEN, finalize

CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT", "OTHER")
SHARES = (0.40, 0.10, 0.26, 0.18, 0.06)  # how often each is written
FAMILIES = (0, 0, 1, 0, 1)  # categories of one family share part of their vocabulary
WORDS = 240  # in an average document


class _Urn(NamedTuple):
    """Walker's alias tables, one row per category: a word costs one random number."""

    keep: Floats  # (categories, vocabulary)
    other: npt.NDArray[np.int32]


@dataclass(frozen=True)
class Newswire:
    """Documents of five categories, drawn from `seed`.

    Parameters
    ----------
    seed : int, default 0
        All documents depend on it.
    vocabulary : int, default 50_000
        Words, which are the features.

    Examples
    --------
    >>> wire = Newswire(seed=1)
    >>> X, y = wire.documents(0, 1000)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 50000), ['CCAT', 'ECAT', 'GCAT', 'MCAT', 'OTHER'])
    >>> pair, labels = wire.documents(0, 10, categories=("ECAT", "MCAT"))
    >>> set(labels.tolist()) <= {"ECAT", "MCAT"}
    True
    """

    seed: int = 0
    vocabulary: int = 50_000

    @cached_property
    def _urn(self) -> _Urn:
        rng = np.random.default_rng([self.seed, 0])
        zipf = 1.0 / (np.arange(self.vocabulary) + 2.7) ** 1.05
        family = rng.normal(size=(1 + max(FAMILIES), self.vocabulary))
        own = rng.normal(size=(len(CATEGORIES), self.vocabulary))
        topical = (rng.random(self.vocabulary) < TOPICAL) & (np.arange(self.vocabulary) >= COMMON)
        keep = np.empty((len(CATEGORIES), self.vocabulary))
        other = np.empty((len(CATEGORIES), self.vocabulary), dtype=np.int32)
        for c, kin in enumerate(FAMILIES):
            tilt = np.where(topical, KIN * family[kin] + OWN * own[c], 0.0)
            weight = zipf * np.exp(tilt)
            keep[c], other[c] = _alias(weight / weight.sum())
        return _Urn(keep, other)

    def documents(
        self, first: int, last: int, categories: Sequence[str] = CATEGORIES
    ) -> tuple[Any, npt.NDArray[np.str_]]:
        """(X, labels) of documents first, …, last − 1, all of the given categories."""
        rows, codes = self.rows(first, last, categories)
        shape = (last - first, self.vocabulary)
        X = scipy.sparse.csr_array((rows.values, rows.indices, rows.indptr.astype(np.int32)), shape=shape)
        return X, np.array(categories)[codes]

    def rows(self, first: int, last: int, categories: Sequence[str] = CATEGORIES) -> tuple[Rows, Ints]:
        """(Rows, numbers of the categories) of the same documents."""
        unknown = [name for name in categories if name not in CATEGORIES]
        if unknown or len(set(categories)) < 2:
            raise ValueError(f"categories: at least two of {', '.join(CATEGORIES)} expected, got {list(categories)}")
        if not 0 <= first <= last:
            raise ValueError(f"documents {first} to {last}: 0 ≤ first ≤ last expected")
        chosen = np.array([CATEGORIES.index(name) for name in categories], dtype=np.int64)
        shares = np.cumsum(np.array(SHARES)[chosen])
        starts = range(first, max(last, first + 1), 2048)
        parts = [
            _write(self._urn, chosen, shares / shares[-1], self.seed, start, min(start + 2048, last))
            for start in starts
        ]
        lengths, indices, values, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Rows(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), indices, values), codes

    def stream(
        self, documents: int, categories: Sequence[str] = CATEGORIES, chunk: int = 2048
    ) -> Iterator[tuple[Any, Array]]:
        """The first so many documents, in chunks of (X, labels)."""
        for first in range(0, documents, chunk):
            yield self.documents(first, min(first + chunk, documents), categories)


COMMON = 100  # words as common as "the" lean to no topic
TOPICAL, KIN, OWN = 0.3, 0.45, 0.75  # share of words that lean to a topic, and how much to the family, to the category
STRAY = 0.25  # up to this part of a document may be in the words of another category


def digits() -> tuple[Array, Ints]:
    """scikit-learn's 1797 handwritten digits, 64 features between 0 and 1, in an order shuffled once for all.

    Returns
    -------
    (array, array)
        X, 1797 × 64, and the digits.

    Examples
    --------
    >>> X, y = digits()
    >>> X.shape, sorted(set(y.tolist()))
    ((1797, 64), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] / 16.0, y[order]


def rcv1(folder: str | os.PathLike[str], kind: str | None = None) -> tuple[Any, npt.NDArray[np.str_]]:
    r"""(X, categories) of RCV1-v2 from a folder with its files, without the documents of several categories.

    Parameters
    ----------
    folder : path
        Where the files are.
    kind : str or None, default None
        "tokens" (log2(1 + count) of every word) or "vectors" (as they are). None: tokens if they are there.

    Returns
    -------
    (sparse array, array of str)
        X, a row for each document, and its category.

    Raises
    ------
    DataError
        If the files are not there, or not what they should be.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> text = ".I 1\n.W\nbank bank bank rate\n\n.I 2\n.W\nrain\n"
    >>> _ = (folder / "lyrl2004_tokens_train.dat").write_text(text)
    >>> _ = (folder / "rcv1-v2.topics.qrels").write_text("M13 1 1\nMCAT 1 1\nG01 2 1\nGCAT 2 1\n")
    >>> X, y = rcv1(folder)
    >>> X.toarray().tolist(), y.tolist()
    ([[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ['MCAT', 'GCAT'])
    """
    documents, categories, _ = lyrl2004.read(folder, kind)
    indptr, indices, values = documents.rows
    X = scipy.sparse.csr_array((values, indices, indptr), shape=(len(documents.ids), documents.width))
    single = categories != ""
    return X[single], categories[single]


def fetch_rcv1() -> tuple[Any, npt.NDArray[np.str_]]:
    """(X, categories) of RCV1-v2's vectors, fetched (or found where they were kept) by scikit-learn's `fetch_rcv1`.

    Returns
    -------
    (sparse array, array of str)
        X, a row for each document of one category, and that category.

    Raises
    ------
    DataError
        If they could not be fetched.

    Examples
    --------
    >>> X, y = fetch_rcv1()  # doctest: +SKIP
    """
    from sklearn.datasets import fetch_rcv1

    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # one for each attempt
            fetched = fetch_rcv1()
    except OSError as error:  # no network, no room, a file that is not what it should be
        raise DataError(
            f"RCV1 could not be fetched ({error})",
            remedy="give a folder with the files of RCV1-v2, or use the built-in newswire",
        ) from error
    places = [fetched.target_names.tolist().index(name) for name in lyrl2004.TOP]
    bits = fetched.target.tocsc()[:, places].toarray().astype(np.int64) @ (1 << np.arange(len(places)))
    ids = np.asarray(fetched.sample_id, dtype=np.int64)
    categories = lyrl2004.Topics(dict(zip(ids.tolist(), bits.tolist(), strict=True))).of(ids)
    single = categories != ""
    return scipy.sparse.csr_array(fetched.data)[single], categories[single]


def _alias(p: Floats) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Walker's tables for the distribution p: word w with probability keep[w], else other[w], after a uniform w."""
    n = p.size
    keep, other = p * n, np.arange(n, dtype=np.int32)
    small, large = [int(i) for i in np.flatnonzero(keep < 1.0)], [int(i) for i in np.flatnonzero(keep >= 1.0)]
    while small and large:
        s, g = small.pop(), large[-1]
        other[s] = g
        keep[g] -= 1.0 - keep[s]
        if keep[g] < 1.0:
            small.append(large.pop())
    return np.minimum(keep, 1.0), other


@allocating
def _write(urn: _Urn, chosen: Ints, shares: Floats, seed: int, first: int, last: int):  # type: ignore[no-untyped-def]
    """(distinct words per document, their numbers, log2(1 + count), category per document)."""
    vocabulary = urn.keep.shape[1]
    to_unit = 2.0**-53
    count = np.zeros(vocabulary, dtype=np.int64)
    met = np.empty(16 * WORDS, dtype=np.int32)
    n = last - first
    lengths, codes = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    indices, values = np.empty(n * WORDS * 2, dtype=np.int32), np.empty(n * WORDS * 2)
    end = 0
    for i in range(n):
        state = finalize(finalize(np.uint64(seed) * GOLDEN + GOLDEN) + np.uint64(first + i) * GOLDEN)
        draws = np.empty(4)
        for d in range(4):
            state += GOLDEN
            draws[d] = (finalize(state) >> np.uint64(11)) * to_unit
        code = np.searchsorted(shares, draws[0], side="right")
        codes[i] = code
        stray = chosen[int(draws[1] * chosen.size)]
        part = STRAY * draws[2] * draws[2]
        words = int(WORDS * (0.25 + 1.5 * draws[3]))
        distinct = 0
        for _ in range(words):
            state += GOLDEN
            u = (finalize(state) >> np.uint64(11)) * to_unit
            state += GOLDEN
            place = (finalize(state) >> np.uint64(11)) * to_unit * vocabulary
            word = int(place)
            category = stray if u < part else chosen[code]
            if place - word >= urn.keep[category, word]:
                word = urn.other[category, word]
            if count[word] == 0:
                met[distinct] = word
                distinct += 1
            count[word] += 1
        found = np.sort(met[:distinct])
        if end + distinct > indices.size:
            grown = np.empty(2 * indices.size, dtype=np.int32), np.empty(2 * indices.size)
            grown[0][:end], grown[1][:end] = indices[:end], values[:end]
            indices, values = grown
        for word in found:
            indices[end] = word
            values[end] = math.log2(1.0 + count[word])
            count[word] = 0
            end += 1
        lengths[i] = distinct
    return lengths, indices[:end].copy(), values[:end].copy(), codes
