"""What a reader yields: some rows, their labels, and where they stood."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.rows import AnyRows, count

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[Any]


class Origin(NamedTuple):
    """Where a chunk was read: its file, its first line (or row, in formats without lines) and its bytes.

    Attributes
    ----------
    path : str
        The file.
    line : int
        Of the chunk's first line, from 1.
    start, stop : int
        Bytes start … stop of the file's text, after decompression; rows, where the file is not text.
    consumed : int
        Bytes of all files read so far, as they lie on disk: what is done of `total_bytes`.
    lines : int, default 0
        How many lines (or rows) the chunk spans, blank and bad ones too.

    Examples
    --------
    >>> Origin("data.svm", line=1, start=0, stop=12, consumed=12)
    Origin(path='data.svm', line=1, start=0, stop=12, consumed=12, lines=0)
    """

    path: str
    line: int  # of the chunk's first line, from 1
    start: int  # bytes start … stop of the file's text, after decompression; rows, where the file is not text
    stop: int
    consumed: int  # bytes of all files read so far, as they lie on disk: what is done of `total_bytes`
    lines: int = 0  # how many lines (or rows) the chunk spans, blank and bad ones too


class Chunk(NamedTuple):
    """Consecutive examples of one file: rows, labels as given, origin.

    Attributes
    ----------
    rows : Rows or Dense
        The examples.
    labels : array or None
        Float64 or text; None if there are none.
    origin : Origin
        Where they stood.

    Examples
    --------
    >>> from onepass.rows import Dense
    >>> chunk = Chunk(Dense(np.zeros((3, 2))), np.array([1.0, -1.0, 1.0]), Origin("-", 1, 0, 12, 12))
    >>> chunk.size, chunk.origin.path
    (3, '-')
    """

    rows: AnyRows
    labels: Labels | None
    origin: Origin

    @property
    def size(self) -> int:
        """How many examples."""
        return count(self.rows)
