"""How a table's text is written: what separates fields, whether a header stands first, where a record's fields are."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from typing import Any

import numpy as np

from onepass.tables.column_values import is_number
from onepass.tables.plan import NULLS

SPACES = " "  # separates fields by any number of spaces and tabs
MARKS = ",;\t|"


def mark_of(head: bytes, quote: str | None) -> str | None:
    """What separates the fields of a table that begins like this; None if nothing does in the same way in every line.

    >>> mark_of(b"a;b\\n1,5;2\\n", None), mark_of(b"1  2\\n 3 4\\n", None), mark_of(b"so it is\\nyes\\n", None)
    (';', ' ', None)
    """
    lines = [line for line in head.decode("utf-8", "replace").split("\n")[:-1][:20] if line.strip()]
    lines = lines or [head.decode("utf-8", "replace")]
    for mark in MARKS:
        quoting: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
        with suppress(csv.Error):
            counts = [len(row) for row in csv.reader(lines, delimiter=mark, **quoting)]
            if counts and counts[0] > 1 and np.mean([size == counts[0] for size in counts]) > 0.5:
                return mark
    counts = [len(line.split()) for line in lines]
    return (
        SPACES
        if counts[0] > 1 and len({*counts}) == 1 and not any(mark in line for line in lines for mark in ",;")
        else None
    )


def looks_like_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: no number in it, and no cell that stands again in its own column.

    >>> looks_like_header([["age", "city"], ["31", "Rome"]]), looks_like_header([["ham", "hello"], ["ham", "good day"]])
    (True, False)
    """
    first, *rest = rows
    if any(_numeral(cell) for cell in first if cell.strip()):
        return False
    return not any(cell and cell == row[j] for row in rest for j, cell in enumerate(first) if j < len(row))


def _numeral(cell: str) -> bool:
    return is_number(cell.strip()) or cell.strip() in NULLS


def fields_of(record: bytes, delimiter: str, quote: str | None) -> list[tuple[int, bytes]] | None:
    """(column from 1, content) of each field, by the rules of `Quotes`; None if a carriage return stands among them.

    >>> fields_of(b'a,"b ""c"" ,",3', ",", '"')
    [(1, b'a'), (4, b'b "c" ,'), (15, b'3')]
    """
    if delimiter == SPACES:
        return [(found.start() + 1, found[0]) for found in re.finditer(rb"[^ \t\r]+", record)]
    fields, at = list[tuple[int, bytes]](), 0
    mark = b"" if quote is None else quote.encode()
    plain = re.compile(b"[^" + re.escape(delimiter.encode()) + b"]*")
    quoted = re.compile(b"(?:[^%b]|%b%b)*" % ((re.escape(mark),) * 3)) if mark else plain
    while True:
        start, content = at + 1, b""
        if mark and record[at : at + 1] == mark:
            found = quoted.match(record, at + 1)
            content = found[0].replace(mark + mark, mark) if found else b""
            start, at = start + 1, (found.end() if found else at) + 1
        rest = plain.match(record, at)
        text = rest[0] if rest else b""
        at += len(text)
        if b"\r" in text.removesuffix(b"\n").removesuffix(b"\r"):
            return None
        fields.append((start, content + text))
        if at >= len(record):
            return fields
        at += 1
