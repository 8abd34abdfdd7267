"""Spans of rows, the pieces of work that threads are given.

Sums run over BLOCKs that never move, so neither the cut nor the number of threads can be seen in a result. A span is
small enough that Ctrl-C is answered at once.
"""

from __future__ import annotations

from typing import NamedTuple

BLOCK = 1024  # rows whose numbers are always added together first
WORK = 2e8  # elementary steps in one kernel call: about a tenth of a second


class Span(NamedTuple):
    """Rows first..last − 1."""

    first: int
    last: int


def split_rows(n: int, cost: float, threads: int) -> list[Span]:
    """Rows 0..n − 1 in whole blocks: two spans for each thread, more if a row's cost in elementary steps asks for it.

    >>> split_rows(5000, cost=1, threads=1)
    [Span(first=0, last=5000)]
    """
    blocks = -(-n // BLOCK)
    pieces = max(2 * threads if threads > 1 else 1, int(n * cost / WORK) + 1)
    size = -(-blocks // min(pieces, blocks)) * BLOCK
    return [Span(first, min(first + size, n)) for first in range(0, n, size)]
