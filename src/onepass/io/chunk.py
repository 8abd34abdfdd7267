"""What a reader yields: some rows, their labels, and where they stood."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.rows import AnyRows, count

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[Any]


class Origin(NamedTuple):
    """Where a chunk was read: its file, its first line (or row, in formats without lines) and its bytes."""

    path: str
    line: int  # of the chunk's first line, from 1
    start: int  # bytes start … stop of the file's text, after decompression; rows, where the file is not text
    stop: int
    consumed: int  # bytes of all files read so far, as they lie on disk: what is done of `total_bytes`
    lines: int = 0  # how many lines (or rows) the chunk spans, blank and bad ones too


class Chunk(NamedTuple):
    """Consecutive examples of one file: rows, labels as given (float64 or text; None if there are none), origin."""

    rows: AnyRows
    labels: Labels | None
    origin: Origin

    @property
    def size(self) -> int:
        """How many examples.

        >>> import numpy as np
        >>> from onepass.rows import Dense
        >>> Chunk(Dense(np.zeros((3, 2))), np.array([1.0, -1.0, 1.0]), Origin("-", 1, 0, 12, 12)).size
        3
        """
        return count(self.rows)
