"""Columns that cross: two values together are a feature, `job=retired × age in [35, 41)`.

A number is crossed by bins of eighths, with borders from the first rows as `bins` has them. What is hashed are the
hashes of the two values; every pair of columns has a stretch of places of its own, so that one of many values crowds no
other. Which values stand behind a place is found by trying those that were met.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.errors import Argument, DataError, Phrase, printable
from onepass.tables.hashing import murmur3_pair
from onepass.tables.plan import CROSSED, MOST_CROSSES, Column

EIGHTHS = 8  # quantiles of a number that is crossed
FEW_COLUMNS = 64  # a table with fewer has all of them crossed, where crosses are left to it
ALL, LEFT_TO_TABLE = "all", "auto"  # words in place of pairs
Pair = tuple[str, str]


def pairs_of(
    wanted: Sequence[str], columns: Sequence[Column], named: Callable[[str], str], path: str
) -> tuple[Pair, ...]:
    """The pairs that are asked for: `all`, or `job*age` one by one or with commas between. Raises DataError.

    `named` gives the name of a column that is named or numbered, or raises.
    """
    able = [column.name for column in columns if column.kind in CROSSED and not column.constant]
    kinds = {column.name: column.kind for column in columns}
    found = dict[Pair, None]()
    for one in _each(wanted, kinds):
        if one in (ALL, LEFT_TO_TABLE):
            if one == ALL or len(columns) < FEW_COLUMNS:
                found |= dict.fromkeys(itertools.combinations(able, 2))
        else:
            found[_pair(one, kinds, named, path)] = None
    if len(found) > MOST_CROSSES:
        raise DataError(
            f"{len(found):,} pairs of columns would be as many more features in every row; at most {MOST_CROSSES:,} "
            "are crossed",
            source=path,
            argument="cross",
            remedy=Phrase("{}, or {} some columns", Argument("cross", "FIRST*SECOND"), Argument("ignore")),
        )
    if ALL in wanted and not found:
        raise DataError("there are no two columns to cross, of numbers or categories", source=path, argument="cross")
    return tuple(found)


def _each(wanted: Sequence[str], names: Any) -> list[str]:
    """Pairs that were named one by one, or several with commas between them."""
    found = list[str]()
    for one in wanted:
        whole = one in (ALL, LEFT_TO_TABLE) or any(_halves(one, names))
        found += [one] if whole else [part.strip() for part in one.split(",") if part.strip()]
    return found


def _halves(text: str, names: Any) -> list[Pair]:
    """The ways to part a text at a `*` so that both sides are columns."""
    cuts = [place for place, letter in enumerate(text) if letter == "*"]
    halves = [(text[:cut].strip(), text[cut + 1 :].strip()) for cut in cuts]
    return [(first, second) for first, second in halves if first in names and second in names]


def _pair(text: str, kinds: dict[str, str], named: Callable[[str], str], path: str) -> Pair:
    """The two columns that one word names, in the order of the table."""
    if "*" not in text:
        raise DataError(
            f"{printable(text)!r} names no two columns", source=path, remedy=Argument("cross", "FIRST*SECOND")
        )
    halves = _halves(text, kinds)
    names = halves[0] if halves else tuple(named(part.strip()) for part in text.split("*", 1))
    for name in names:
        if kinds.get(name) not in CROSSED:
            kind = kinds.get(name, "the label")
            message = f"column {printable(name)!r} cannot be crossed: it is {kind}, no number and no category"
            raise DataError(message, source=path, argument="cross")
    if names[0] == names[1]:
        raise DataError(f"column {printable(names[0])!r} is crossed with itself", source=path, argument="cross")
    first, second = sorted(names, key=list(kinds).index)
    return first, second


@jit
def cross_place(first: Any, second: Any, stretch: Any) -> Any:
    """Where in its pair's stretch of places the cross of two values stands, by their hashes."""
    return np.int64((murmur3_pair(first, second) * np.uint64(stretch)) >> np.uint64(32))


@jit
def cross_places(first: Any, second: Any, stretch: Any, found: Any) -> None:
    """The same of all values of one column with all of another: found[i, j]."""
    for i in range(first.size):
        for j in range(second.size):
            found[i, j] = cross_place(first[i], second[j], stretch)


def all_places(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], stretch: int) -> npt.NDArray[np.int64]:
    """`cross_places`, given back."""
    found = np.empty((len(first), len(second)), np.int64)
    with np.errstate(over="ignore"):
        cross_places(first, second, stretch, found)
    return found
