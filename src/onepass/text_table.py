"""Tables for people, as plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[str]], align: str) -> str:
    """Rows of cells, the first of them the columns' names, as lines whose columns stand below each other.

    rows   cells of one line each
    align  "<" or ">" for every column; the last one is for all that follow

    >>> print(text_table([["city", "people", "share"], ["Łódź", "664,860", "1.7 %"], ["東京", "14", "9 %"]], "<>"))
    city   people  share
    Łódź  664,860  1.7 %
    東京       14    9 %
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    sides = align.ljust(len(widths), align[-1])
    return "\n".join(
        "  ".join(_pad(cell, width, side) for cell, width, side in zip(row, widths, sides, strict=False)).rstrip()
        for row in rows
    )


def _pad(cell: str, width: int, side: str) -> str:
    room = " " * (width - _width(cell))
    return cell + room if side == "<" else room + cell


def _width(text: str) -> int:
    """Places on a terminal: two for a wide letter, none for an accent that joins the letter before it."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
