"""What `onepass check` says of a table: each column's kind, values, gaps, and the command that learns from it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from onepass.cli import terminal
from onepass.errors import printable
from onepass.tables.plan import DATE, LEFT_OUT, LOOKED_AT, NUMBER, WORDS, Column, TablePlan
from onepass.text_table import text_table

if TYPE_CHECKING:
    from onepass.io import Stream
    from onepass.rows import Rows

EXAMPLES = 3  # values shown of a column
LONG = 18  # letters of one that are shown
OUTSIDE = 0.1  # share of a column beyond which it is told that bins no longer fit


class ColumnCounts:
    """What the rows of a table have shown of its columns."""

    def __init__(self, table: TablePlan) -> None:
        self.table = table
        self.rows = 0
        self._met = np.zeros(table.width or 1, np.int64)  # rows that each feature stood in
        self._outgrown = Outgrown(len(table.numbers))
        self._least, self._most = np.full(len(table.numbers), np.inf), np.full(len(table.numbers), -np.inf)

    def count(self, rows: Rows) -> None:
        """Look at some more rows."""
        self.rows += len(rows.indptr) - 1
        self._met += np.bincount(rows.indices, minlength=self._met.size)
        self._outgrown.count(rows)
        own = rows.indices < len(self.table.numbers)
        np.minimum.at(self._least, rows.indices[own], rows.values[own])
        np.maximum.at(self._most, rows.indices[own], rows.values[own])

    def of(self, column: Column, stream: Stream) -> terminal.Record:
        """What is known of one column."""
        found: terminal.Record = {"name": column.name, "kind": column.kind, "examples": _examples(stream, column.name)}
        if column.kind == LEFT_OUT:
            return found | {"reason": column.reason}
        found["missing"] = self._missing(column.name) / max(self.rows, 1)
        if column.kind in (NUMBER, DATE):
            place = self.table.numbers.index(column)
            shift = column.neutral if column.kind == DATE or column.constant else 0.0
            least, most = float(self._least[place]), float(self._most[place])
            if self._met[place] < self.rows:  # 0 is not stored
                least, most = min(least, 0.0), max(most, 0.0)
            found |= {"least": least + shift, "most": most + shift}
            if column.kind == NUMBER and not column.constant:
                found["outside"] = self._outgrown.share(place)
        elif column.kind != WORDS and stream.feature_names is not None:
            found["distinct"] = stream.feature_names.distinct(column.name) + bool(column.constant)
        if column.constant:
            found["first_rows"] = column.constant
        return found

    def _missing(self, name: str) -> int:
        from onepass.tables.hashing import hash_of

        place = len(self.table.numbers) + (hash_of(name, "") & ((1 << self.table.bits) - 1))
        return int(self._met[place]) if place < self._met.size else 0


class Outgrown:
    """How many values of each number lie outside what the first rows held, where bins have their borders."""

    def __init__(self, numbers: int) -> None:
        self._low, self._high = np.full(numbers, np.inf), np.full(numbers, -np.inf)
        self._outside = np.zeros(numbers, np.int64)
        self._rows = 0

    def count(self, rows: Rows) -> None:
        """Look at some more rows."""
        size, numbers = len(rows.indptr) - 1, len(self._low)
        own = rows.indices < numbers
        values = np.zeros((size, numbers))
        values[np.repeat(np.arange(size), np.diff(rows.indptr))[own], rows.indices[own]] = rows.values[own]
        first = values[: max(0, LOOKED_AT - self._rows)]
        self._low = np.minimum(self._low, first.min(axis=0, initial=np.inf))
        self._high = np.maximum(self._high, first.max(axis=0, initial=-np.inf))
        later = values[len(first) :]
        self._outside += ((later < self._low) | (later > self._high)).sum(axis=0)
        self._rows += size

    def share(self, place: int) -> float:
        """Of the rows behind the first."""
        return float(self._outside[place] / max(1, self._rows - LOOKED_AT))


def outgrown(columns: list[terminal.Record]) -> list[str]:
    """What to tell of numbers that have left where their bins are."""
    return [
        f"{100 * column['outside']:.3g} % of column {printable(column['name'])} lie outside what the first {LOOKED_AT} "
        "rows held: they share the outer bins, and only their leading bits tell them apart"
        for column in columns
        if column.get("outside", 0.0) > OUTSIDE
    ]


def _examples(stream: Stream, name: str) -> list[str]:
    return [printable(value) for value in stream.examples.get(name, ())][:EXAMPLES]


def lines(columns: list[terminal.Record]) -> list[str]:
    """The columns as a table for people."""
    heading = ["column", "kind", "values", "missing", "for example"]
    return text_table([heading, *map(_line, columns)], "<").splitlines()


def _line(column: terminal.Record) -> list[str]:
    shown = ", ".join(value if len(value) <= LONG else value[: LONG - 1] + "…" for value in column["examples"])
    if column["kind"] == LEFT_OUT:
        return [printable(column["name"]), LEFT_OUT, column["reason"], "", shown]
    values = ""
    if "distinct" in column:
        values = f"{column['distinct']:,} different"
    elif column["kind"] == NUMBER:
        values = f"{column['least']:.6g} to {column['most']:.6g}"
    if "first_rows" in column:
        values += f" (at first always {printable(column['first_rows'])})"
    missing = f"{100 * column['missing']:.3g} %" if column["missing"] else ""
    return [printable(column["name"]), column["kind"], values, missing, shown]


def command_for(paths: tuple[str, ...], table: TablePlan | None, reading: Any, *, bad: bool = False) -> str:
    """The `train` command to copy; where there are bad lines, it leaves them out."""
    words = ["onepass", "train", *paths]
    for name, value in reading.arguments().items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is False:
            words.append(f"--no-{name.replace('_', '-')}")
        else:
            for one in value if isinstance(value, tuple) else (value,):
                words += [option, str(one)]
    if table is not None and table.target is not None and reading.target is None:
        words += ["--target", table.target]
    elif table is not None and reading.target is None:
        words += ["--target", "NAME"]
    if bad and reading.on_error == "stop":
        words += ["--on-error", "skip"]
    return shlex.join([*words, "-o", "model.safetensors", "--report", "model.html"])
