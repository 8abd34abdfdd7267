"""What each column of a table is: a value that is decided once, is part of the model, and reads any later table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from onepass.errors import ModelError, printable

NUMBER, CATEGORY, WORDS, DATE, LEFT_OUT = "number", "category", "words", "date", "left out"
KINDS = (NUMBER, CATEGORY, WORDS, DATE, LEFT_OUT)
PLURAL = {NUMBER: "numbers", CATEGORY: "categories", WORDS: "words", DATE: "dates", LEFT_OUT: "left out"}
NULLS = ("", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?")  # what says that a value is missing
LOOKED_AT = 256  # rows that decide: they are learned from, and no certificate counts them
MOST_NAMED = 12  # columns that a line lists
PLAIN, BINS, CROSSES = "plain", "bins", "crosses"  # encodings: each has the features of those before it, and more
ENCODINGS = (PLAIN, BINS, CROSSES)
CROSSED = (NUMBER, CATEGORY)  # kinds whose values can be crossed
MOST_CROSSES = 2016  # pairs: all of 64 columns
LEADING = 257  # places of a number's leading bits: 0, and two signs × 32 exponents × 4 steps
BORDERS = ("borders", "coarse")  # fields of a column that are lists of numbers


class CellError(Exception):
    """A value that cannot be learned from, by its row in the batch."""

    def __init__(self, row: int, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.row, self.message, self.remedy = row, message, remedy


class Column(NamedTuple):
    """What one column is."""

    name: str
    kind: str
    neutral: float = 0.0  # of numbers and dates: stands for a value that is missing
    form: str = ""  # of dates: how they are written
    clock: bool = False  # of dates: whether they have a time of day
    reason: str = ""  # why it is left out
    borders: tuple[float, ...] = ()  # of numbers: of the bins that they fall in, where these are features
    constant: str = ""  # the one value of the first rows: it is no feature, and others are once they come
    coarse: tuple[float, ...] = ()  # of numbers: borders of the wider bins by which they are crossed with other columns


class Groups(NamedTuple):
    """Where groups of features begin: numbers stand from 0 on, hashed values from `hashed`, and so on to `end`."""

    hashed: int
    bins: int
    crosses: int
    end: int


@dataclass(frozen=True)
class TablePlan:
    """The columns but the target, in the order of the table that they were found in.

    label: "number" or "text", what the target holds; "" where there is none. labels: those among the rows that decided.
    looked_at: how many rows decided; 0 where all was declared. missing: "indicator" (a feature of its own, and the
    neutral value), "zero", or "error".
    """

    columns: tuple[Column, ...]
    target: str | None = None
    label: str = ""
    labels: tuple[float | str, ...] = ()
    bits: int = 18
    missing: str = "indicator"
    looked_at: int = 0
    bins: bool = False  # whether numbers give their bin and their leading bits besides
    crosses: tuple[tuple[str, str], ...] = ()  # pairs of columns whose values together are a feature

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that features are made of."""
        return tuple(column for column in self.columns if column.kind != LEFT_OUT)

    @property
    def numbers(self) -> tuple[Column, ...]:
        """Columns whose values have a place of their own, by place."""
        return tuple(column for column in self.used if column.kind in (NUMBER, DATE))

    @property
    def width(self) -> int:
        """More features than this there cannot be."""
        return self.groups.end

    @property
    def groups(self) -> Groups:
        """Where features of each kind begin: narrower encodings are the first features of wider ones."""
        hashed = len(self.numbers)
        bins = hashed + (1 << self.bits if self.hashes else 0)
        crosses = bins + self.bin_starts[-1]
        return Groups(hashed, bins, crosses, crosses + self.stretch * len(self.crosses))

    @property
    def bin_starts(self) -> tuple[int, ...]:
        """Where the bins of each number begin, and behind them its leading bits; last, where all of them end."""
        sizes = [bin_count(column) + LEADING for column in self.used if column.kind == NUMBER] if self.bins else []
        return tuple(itertools.accumulate(sizes, initial=0))

    @property
    def stretch(self) -> int:
        """How many places each pair of crossed columns has, for itself."""
        return max(1, (1 << self.bits) // len(self.crosses)) if self.crosses else 0

    @property
    def encodings(self) -> tuple[str, ...]:
        """The encodings that differ from the one before, the narrowest first."""
        more = {BINS: self.bins and any(column.kind == NUMBER for column in self.used), CROSSES: bool(self.crosses)}
        return (PLAIN, *(name for name, there in more.items() if there))

    def narrowed(self, encoding: str) -> TablePlan:
        """The plan of a narrower encoding: its rows are those of this one up to its width."""
        if encoding == CROSSES:
            return self
        columns = tuple(column._replace(coarse=()) for column in self.columns)
        if encoding == BINS:
            return replace(self, columns=columns, crosses=())
        return replace(self, columns=tuple(column._replace(borders=()) for column in columns), bins=False, crosses=())

    @property
    def hashes(self) -> bool:
        """Whether some features are hashed: a missing number's, too, is."""
        return self.missing == "indicator" or any(column.kind != NUMBER for column in self.used)

    @property
    def words_alone(self) -> bool:
        """Whether rows are the words of one column: then these hash like any text, without the column's name."""
        return [column.kind for column in self.used] == [WORDS]

    def lines(self) -> list[str]:
        """One line for each kind of column, for people."""
        told = []
        for kind in KINDS:
            names = [_told(column) for column in self.columns if column.kind == kind and not column.constant]
            if names:
                more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
                told.append(f"{PLURAL[kind]}: {', '.join(names[:MOST_NAMED])}{more}")
        same = [printable(f"{column.name} ({column.constant})") for column in self.columns if column.constant]
        if same:
            more = f" and {len(same) - MOST_NAMED} more" if len(same) > MOST_NAMED else ""
            told.append(f"left out while they stay the same: {', '.join(same[:MOST_NAMED])}{more}")
        return told + self._made_of_them()

    def _made_of_them(self) -> list[str]:
        """What bins and crosses add, and what that costs."""
        told, groups = [], self.groups
        if self.bins:
            more, places = 2 * len(self.bin_starts) - 2, groups.crosses - groups.bins
            told.append(f"bins: up to {more} more features a row, in {places:,} places")
        if self.crosses:
            columns = len({name for pair in self.crosses for name in pair})
            told.append(
                f"crosses: {len(self.crosses):,} pairs of {columns} columns, each one more feature a row, in "
                f"{groups.end - groups.crosses:,} places ({self.stretch:,} a pair)"
            )
        return told

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for a model file."""
        said = asdict(self)
        return {
            **said,
            "columns": [
                {**column._asdict(), **{name: list(getattr(column, name)) for name in BORDERS}}
                for column in self.columns
            ],
            "labels": list(self.labels),
            "crosses": [list(pair) for pair in self.crosses],
        }

    @classmethod
    def from_dict(cls, said: Any) -> TablePlan:
        """The plan that `as_dict` gave; ModelError for what cannot be one."""
        _need(isinstance(said, dict) and set(said) == set(cls.__dataclass_fields__), "")
        _need(isinstance(said["columns"], list), ".columns")
        columns = tuple(_column(one) for one in said["columns"])
        names = [column.name for column in columns]
        _need(len(set(names)) == len(names) and said["target"] not in names, ".columns")
        _need(said["target"] is None or isinstance(said["target"], str), ".target")
        _need(said["label"] in ("", "number", "text"), ".label")
        _need(
            isinstance(said["labels"], list) and all(isinstance(one, float | int | str) for one in said["labels"]),
            ".labels",
        )
        _need(type(said["bits"]) is int and 1 <= said["bits"] <= 30, ".bits")
        _need(said["missing"] in ("indicator", "zero", "error"), ".missing")
        _need(type(said["looked_at"]) is int and said["looked_at"] >= 0, ".looked_at")
        _need(type(said["bins"]) is bool, ".bins")
        crosses = _crosses(said["crosses"], {column.name for column in columns if column.kind in CROSSED})
        return cls(**{**said, "columns": columns, "labels": tuple(said["labels"]), "crosses": crosses})


def bin_count(column: Column) -> int:
    """How many bins a number falls in."""
    return len(column.borders) + 1 if column.borders else 0


def _crosses(said: Any, names: set[str]) -> tuple[tuple[str, str], ...]:
    _need(isinstance(said, list) and len(said) <= MOST_CROSSES, ".crosses")
    for pair in said:
        _need(isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair), ".crosses")
        _need(pair[0] != pair[1] and set(pair) <= names, ".crosses")
    found = tuple((first, second) for first, second in said)
    _need(len({frozenset(pair) for pair in found}) == len(found), ".crosses")
    return found


def _plain(column: Column) -> dict[str, Any]:
    return column._asdict() | {name: list(getattr(column, name)) for name in BORDERS}


def _column(said: Any) -> Column:
    _need(isinstance(said, dict) and set(said) == set(Column._fields), ".columns")
    for name in BORDERS:
        _need(isinstance(said[name], list) and all(isinstance(one, float) for one in said[name]), ".columns")
        _need(all(map(math.isfinite, said[name])) and said[name] == sorted(set(said[name])), ".columns")
    column = Column(**{**said, **{name: tuple(said[name]) for name in BORDERS}})
    texts = (column.name, column.form, column.reason, column.constant)
    _need(all(isinstance(text, str) for text in texts) and column.kind in KINDS, ".columns")
    _need(isinstance(column.neutral, float) and math.isfinite(column.neutral), ".columns")
    _need(type(column.clock) is bool, ".columns")
    return column


def _told(column: Column) -> str:
    name = printable(column.name)
    return f"{name} ({column.reason})" if column.reason else name


def listed(names: Iterable[str]) -> str:
    """Names for a message, not all of very many."""
    known = list(names)
    return printable(", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else ""))


def _need(condition: bool, field: str) -> None:
    if not condition:
        raise ModelError(f"its field 'table{field}' is missing or wrong")
