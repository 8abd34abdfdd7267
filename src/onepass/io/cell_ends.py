"""Where the cells of plain records end: 64 bytes are looked at at once, before any cell is read.

Walking from cell to cell, whoever reads one must first know where the last one ended; here all ends are known before,
and the processor reads several cells at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass._jit import equal_bytes, jit, lower_bytes, trailing_zeros
from onepass.io.chunk import Bytes
from onepass.rows import Ints

NEWLINE, RETURN, SPACE, TAB = np.uint8(10), np.uint8(13), np.uint8(32), np.uint8(9)
BEYOND_ASCII = np.uint8(0x80)
NO_QUOTE = 0xFF  # a byte that no text holds
SPACES_BEGIN = (0xC2, 0xE1, 0xE2, 0xE3)  # so begin spaces beyond ASCII, which Arrow trims
STEP = 64


def cell_ends(text: Bytes, end: int, mark: str, quote: str | None, cells: int) -> tuple[Ints, int] | None:
    """(where each cell of text[:end] ends: at a mark or a newline, how many carriage returns there are).

    None: it holds quotes, control characters or spaces beyond ASCII, is no UTF-8, or has not so many cells.
    """
    ends = np.empty(cells + STEP, np.int64)
    quoted = np.uint8(ord(quote) if quote else NO_QUOTE)
    found, returns, strange, beyond = map(int, _find_ends(text, np.uint64(end), np.uint8(ord(mark)), quoted, ends))
    if found != cells or strange or (beyond and not _is_plain_text(text[:end])):
        return None
    return ends[:cells], returns


def _is_plain_text(text: Bytes) -> bool:
    """Whether it is UTF-8 without spaces beyond ASCII."""
    try:
        text.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return not np.isin(text, np.array(SPACES_BEGIN, np.uint8)).any()


@jit
def _find_ends(text: Any, end: Any, mark: Any, quote: Any, ends: Any) -> Any:
    """(cells, carriage returns, strange bytes: 0 if there are none, bytes beyond ASCII likewise).

    It stops when there are more cells than room for their ends.
    """
    one, step = np.uint64(1), np.uint64(STEP)
    n, p, returns, strange, beyond = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    room = np.uint64(ends.size)
    while p + step <= end and n + step <= room:
        newlines, back = equal_bytes(text, p, NEWLINE), equal_bytes(text, p, RETURN)
        found = newlines | equal_bytes(text, p, mark)
        fine = found | back | equal_bytes(text, p, TAB)
        strange |= (lower_bytes(text, p, SPACE) & ~fine) | equal_bytes(text, p, quote)
        beyond |= ~lower_bytes(text, p, BEYOND_ASCII)
        while found != np.uint64(0):
            ends[n] = p + trailing_zeros(found)
            found &= found - one
            n += one
        while back != np.uint64(0):
            back &= back - one
            returns += one
        p += step
    while p < end and n < room:
        c = text[p]
        if c in (NEWLINE, mark):
            ends[n] = p
            n += one
        elif c == RETURN:
            returns += one
        else:
            strange |= np.uint64((c < SPACE and c != TAB) or c == quote)
            beyond |= np.uint64(c >= BEYOND_ASCII)
        p += one
    return n, returns, strange, beyond
