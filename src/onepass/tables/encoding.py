"""Rows of a table's columns, by a plan. A column comes as an Arrow array: text, or what the text stands for.

Numbers stand first, at the place of their column. A category is a 1 at the place of its hash, seeded by the column's
name; a date is a number (days, relative to the plan's neutral one), the day of the week and, if it has a clock, the
hour; words are a bag. A missing value is a feature of its own, and a missing number the neutral one besides. Behind
them stand bins and leading bits of numbers, and behind these the crosses of columns: so rows of a narrower encoding are
the beginnings of those of a wider one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.rows import Floats, Rows
from onepass.tables import dates
from onepass.tables.bags import bag_of_words, words_of
from onepass.tables.bins import bins_of, leading
from onepass.tables.column_values import Mask, Places, categories, moments, no_value, numbers
from onepass.tables.crosses import cross_place
from onepass.tables.feature_names import FeatureNames, Met
from onepass.tables.hashing import bin_hashes, hash_of, hashes_of, murmur3_of
from onepass.tables.plan import CATEGORY, DATE, NUMBER, Column, TablePlan, bin_count
from onepass.tables.sorting import KEEP_SUM, sort_columns, tidy

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
THURSDAY = 3  # the first day of 1970
NOTHING = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
SHORT = np.int64(64)  # features of a row that are sorted by insertion
NO_PLACE = np.uint32(2**32 - 1)  # −1: the last of all


class Encoded(NamedTuple):
    """Rows, and the names of hashed features among them."""

    rows: Rows
    met: list[Met]


class Crosses(NamedTuple):
    """Hashes of values, a line for each column that is crossed; which lines are, and where their features begin."""

    tokens: Places
    pairs: Places
    first: int
    stretch: int


def encode(columns: Mapping[str, Any], plan: TablePlan, known: FeatureNames | None = None) -> Encoded:
    """The rows of these columns, by name; with `known` names those met besides. Raises CellError."""
    size = len(next(iter(columns.values())))
    work = _Work(plan, size, known)
    for column in plan.used:
        array = columns[column.name]
        if column.kind == NUMBER:
            work.number(column, *numbers(array, column.name, plan.missing))
        elif column.kind == DATE:
            work.date(column, *moments(array, column.form, column.name))
        elif column.kind == CATEGORY:
            work.category(column, array)
        else:
            work.words(column.name, array)
    return work.done()


class ParsedColumn(NamedTuple):
    """A column's values, numbers or hashes, 0 where they are missing, and where that is."""

    values: npt.NDArray[Any]
    absent: Mask


def encode_parsed(
    columns: Mapping[str, ParsedColumn], plan: TablePlan, known: FeatureNames | None, met: list[Met]
) -> Encoded:
    """The same of columns that were read and hashed already: numbers and categories. `met`: names among them."""
    work = _Work(plan, len(next(iter(columns.values())).values), known)
    for column in plan.used:
        if column.kind == NUMBER:
            work.number(column, *columns[column.name])
        else:
            work.hashed(column, *columns[column.name])
    work.met += met
    return work.done()


class _Work:
    """A batch that is being encoded, column by column."""

    def __init__(self, plan: TablePlan, size: int, known: FeatureNames | None) -> None:
        self.plan, self.size, self.known = plan, size, known
        self.values = np.zeros((len(plan.numbers), size))  # one row for each column: it is filled so
        self.places = list[Places]()
        self.bag = NOTHING
        self.met = list[Met]()
        self.filled = 0
        self.bent = list[Places]()
        self.crossed = {name for pair in plan.crosses for name in pair}
        self.tokens = dict[str, Places]()  # hashes of the values of columns that are crossed; −1: none
        self.mask = np.int64((1 << plan.bits) - 1)

    def number(self, column: Column, values: Floats, absent: Mask) -> None:
        """A column that has a place of its own."""
        if self.plan.missing == "indicator" and absent.any():
            values = np.where(absent, column.neutral, values)
            self.missing(column.name, absent)
        self.values[self.filled] = values - column.neutral if column.constant else values
        self.filled += 1
        if self.plan.bins:
            self._bend(column, values, absent)
        if column.name in self.crossed:
            known = bin_hashes(column.name, len(column.coarse) + 1)[bins_of(values, np.array(column.coarse))]
            self._cross(column.name, known, absent)

    def _bend(self, column: Column, values: Floats, absent: Mask) -> None:
        """The bin that a number falls in, and its leading bits."""
        skip = absent | (values == float(column.constant)) if column.constant else absent
        start = self.plan.groups.bins + self.plan.bin_starts[len(self.bent) // 2]
        codes = bins_of(values, np.array(column.borders)) + start if column.borders else np.full(self.size, -1)
        bits = leading(values) + start + bin_count(column)
        self.bent += [np.where(skip, -1, codes), np.where(skip, -1, bits)] if skip.any() else [codes, bits]

    def _cross(self, name: str, known: Places, absent: Mask) -> None:
        """What other columns are crossed with."""
        lost = hash_of(name, "") if self.plan.missing == "indicator" else -1
        self.tokens[name] = np.where(absent, lost, known)

    def missing(self, name: str, absent: Mask) -> None:
        """The feature that a value is missing."""
        hashed = hash_of(name, "")
        self.places.append(np.where(absent, hashed & int(self.mask), -1))
        self._name(np.array([hashed], np.uint32), [f"{name} missing"])

    def date(self, column: Column, when: Places, absent: Mask) -> None:
        """A date as a number, a day of the week and an hour."""
        clock, name = column.clock, column.name
        self._refuse_missing(name, absent)
        unit = dates.DAY / 24 if column.form in dates.TIMES else dates.DAY
        days = np.where(
            absent, 0.0, when / unit - column.neutral
        )  # relative: days since 1970 hardly differ from each other
        if self.plan.missing == "indicator" and absent.any():
            self.missing(name, absent)
        self.values[self.filled] = days
        self.filled += 1
        if column.form not in dates.TIMES:
            self._part(name, "weekday", WEEKDAYS, (when // dates.DAY + THURSDAY) % 7, absent)
        if clock:
            hours = [f"{hour:02d}" for hour in range(24)]
            self._part(name, "hour", hours, when % dates.DAY // (dates.DAY // 24), absent)

    def _part(self, name: str, part: str, values: Any, codes: Places, absent: Mask) -> None:
        """A part of a date, as a category."""
        hashes = np.array([hash_of(f"{name} {part}", value) for value in values], np.uint32)
        self.places.append(np.where(absent, -1, (hashes.astype(np.int64) & self.mask)[codes]))
        used = np.unique(codes[~absent])
        self._name(hashes[used], [f"{name} {part}={values[code]}" for code in used.tolist()])

    def category(self, column: Column, array: Any) -> None:
        """Text, or anything else that is taken for its own sake."""
        name, (codes, words, known) = column.name, categories(array)
        hashes = hashes_of(words, murmur3_of(name.encode(errors="replace")))
        there = known.all() and not array.null_count
        absent = np.zeros(self.size, np.bool_) if there else ~np.append(known, False)[codes]
        self._refuse_missing(name, absent)
        lit = known
        if column.constant:
            lit = known & (words.to_numpy(zero_copy_only=False) != column.constant)
        places = np.append(np.where(lit, hashes.astype(np.int64) & self.mask, -1), -1)
        self.places.append(places[codes])
        if name in self.crossed:
            self._cross(name, np.append(hashes.astype(np.int64), -1)[codes], absent)
        if self.plan.missing == "indicator" and absent.any():
            self.missing(name, absent)
        if self.known is not None:
            used = np.flatnonzero((np.bincount(codes, minlength=len(words) + 1)[:-1] > 0) & known)
            texts = words.take(used.tolist()).to_pylist() if used.size else []
            self._name(hashes[used], [f"{name}={text}" for text in texts])

    def hashed(self, column: Column, hashes: Places, absent: Mask) -> None:
        """Categories whose hashes are known, and their names noted."""
        places, lost = hashes & self.mask, absent.any()
        self.places.append(np.where(absent, -1, places) if lost else places)
        if column.name in self.crossed:
            self._cross(column.name, hashes, absent)
        if self.plan.missing == "indicator" and lost:
            self.missing(column.name, absent)

    def words(self, name: str, array: Any) -> None:
        """A text, as a bag of its words."""
        import pyarrow

        alone = self.plan.words_alone
        seed = 0 if alone else murmur3_of(name.encode(errors="replace"))
        texts = array.cast(pyarrow.string())
        bag = bag_of_words(texts, self.plan.bits, seed)
        self.bag = bag if self.bag is NOTHING else _together(self.bag, bag)
        if self.known is not None and not self.known.full:
            hashes, words = words_of(texts, self.plan.bits, seed, self.known.known)
            self._name(hashes, [f'word "{word}"' if alone else f'{name}: "{word}"' for word in words])

    def done(self) -> Encoded:
        """All of it, as rows."""
        places, bent = self._stacked(self.places, np.uint32), self._stacked(self.bent, np.int64)
        sort_columns(places)
        bag = self.bag if self.bag is not NOTHING else Rows(np.zeros(self.size + 1, np.int64), *NOTHING[1:])
        crosses = self._crosses()
        room = self.values.size + places.size + bag.values.size + bent.size + self.size * len(crosses.pairs)
        rows = Rows(np.zeros(self.size + 1, np.int64), np.empty(room, np.int32), np.empty(room))
        used = int(_join(self.values, places, tuple(bag), bent, crosses, tuple(rows)))
        return Encoded(Rows(rows.indptr, _trimmed(rows.indices, used), _trimmed(rows.values, used)), self.met)

    def _stacked(self, given: list[Places], kind: type) -> npt.NDArray[Any]:
        """Columns of places as one array, a line for each."""
        found: npt.NDArray[Any] = np.empty((len(given), self.size), kind)
        for line, places in zip(found, given, strict=True):
            line[:] = places
        return found

    def _crosses(self) -> Crosses:
        at = {name: line for line, name in enumerate(self.tokens)}
        pairs = np.array([[at[first], at[second]] for first, second in self.plan.crosses], np.int64).reshape(-1, 2)
        return Crosses(
            self._stacked(list(self.tokens.values()), np.int64), pairs, self.plan.groups.crosses, self.plan.stretch
        )

    def _name(self, hashes: npt.NDArray[np.uint32], names: list[str]) -> None:
        if self.known is not None and len(names):
            self.met.append(Met(hashes, names))

    def _refuse_missing(self, name: str, absent: Mask) -> None:
        if self.plan.missing == "error" and absent.any():
            raise no_value(int(absent.argmax()), name)


# --- rows -------------------------------------------------------------------------------------------------------------


@jit
def _join(values: Any, places: Any, words: Any, bent: Any, crosses: Any, rows: Any) -> Any:
    """Numbers that are not 0, then hashed features in order of place (two in one place add), bins, and crosses."""
    (bag_ends, bag_at, bag), (indptr, indices, data) = words, rows
    k, first = 0, values.shape[0]
    for i in range(indptr.size - 1):
        for j in range(first):
            if values[j, i] != 0.0:
                indices[k], data[k] = j, values[j, i]
                k += 1
        begin, rising, before = k, True, NO_PLACE
        for j in range(places.shape[0]):
            place = places[j, i]
            if place != NO_PLACE:
                rising = rising and (k == begin or before < place)
                indices[k], data[k], before = first + place, 1.0, place
                k += 1
        for j in range(bag_ends[i], bag_ends[i + 1]):
            indices[k], data[k], rising = first + bag_at[j], bag[j], False
            k += 1
        if not rising:
            k = _sorted(indices, data, begin, k)
        for j in range(bent.shape[0]):
            if bent[j, i] >= 0:
                indices[k], data[k] = bent[j, i], 1.0
                k += 1
        for j in range(crosses.pairs.shape[0]):
            one, other = crosses.tokens[crosses.pairs[j, 0], i], crosses.tokens[crosses.pairs[j, 1], i]
            if one >= 0 and other >= 0:
                indices[k] = crosses.first + j * crosses.stretch + cross_place(one, other, crosses.stretch)
                data[k] = 1.0
                k += 1
        indptr[i + 1] = k
    return k


@jit
def _sorted(indices: Any, data: Any, begin: Any, end: Any) -> Any:
    """The row's new end after sorting it and joining what falls together: few features by insertion, in place."""
    if end - begin > SHORT:
        return tidy(indices, data, begin, end, KEEP_SUM)
    last = begin
    for j in range(begin, end):
        index, value, p = indices[j], data[j], last
        while p > begin and indices[p - 1] > index:
            p -= 1
        if p > begin and indices[p - 1] == index:
            data[p - 1] += value
        else:
            for q in range(last, p, -1):
                indices[q], data[q] = indices[q - 1], data[q - 1]
            indices[p], data[p] = index, value
            last += 1
    return last


def _trimmed(array: Any, used: int) -> Any:
    """The part that is used; copied where much is not."""
    return array[:used] if 8 * used >= 7 * array.size else array[:used].copy()


def _together(left: Rows, right: Rows) -> Rows:
    """The features of both, row by row; sorted when they are joined."""
    ends = left.indptr + right.indptr
    where = np.zeros(int(ends[-1]), np.bool_)
    for i in range(len(ends) - 1):
        where[ends[i] : ends[i] + left.indptr[i + 1] - left.indptr[i]] = True
    indices, values = np.empty(where.size, np.int32), np.empty(where.size)
    indices[where], indices[~where] = left.indices, right.indices
    values[where], values[~where] = left.values, right.values
    return Rows(ends, indices, values)
