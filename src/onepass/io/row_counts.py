"""How many rows files will have, as far as that can be known before the first is learned.

The number sets the price of a watched model and nothing else: a wrong guess costs a little and makes nothing false.
So it need not be exact: Parquet, Arrow and NumPy know it, the lines of a small text are counted, and the size of a
large one over the mean length of its first lines tells it roughly. Those lines are rows that count, and a price may
not depend on rows that it is paid for: so a guess is at least 4,096, since then only candidates that were frozen
after these lines, and whose elders were too, have a price that depends on it.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable

from onepass.errors import OnepassError
from onepass.io import detect
from onepass.io.formats import FORMATS
from onepass.io.sources import HEAD, expand, is_direct

LINES = 256  # of a text whose mean length is taken for that of all
PIECE = 1 << 16
SMALL = 1 << 24  # bytes of a text whose lines are counted
FEWEST = 16 * LINES  # rows that a guess says: prices near it lie on rounds above a quarter, of elders above an eighth


def expected_rows(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    format: str | None = None,
    compression: str | None = None,
) -> int | None:
    """How many rows these files have, about; None where one of them does not tell.

    >>> expected_rows("-") is None
    True
    """
    try:
        found = [_of_file(path, format, compression) for path in expand(paths)]
    except (OnepassError, OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None  # what is wrong is said when the file is read
    known = [rows for rows in found if rows is not None]
    return sum(known) or None if len(known) == len(found) else None


def _of_file(path: str, format: str | None, compression: str | None) -> int | None:
    if not is_direct(path, compression):
        return None
    with open(path, "rb") as file:
        head = file.read(HEAD)
    form = format or detect.detect(head, path)
    if not FORMATS[form].binary:
        return _of_text(path)
    known = {"parquet": _of_parquet, "arrow": _of_arrow, "npy": _of_npy, "npz": _of_npz}
    return known[form](path) if form in known else None


def _of_text(path: str) -> int:
    """Lines: counted, or the size of the file over the mean length of the first of them."""
    size, text = os.path.getsize(path), b""
    with open(path, "rb") as file:
        if size <= SMALL:
            return sum(bool(line.strip()) for line in file)
        while text.count(b"\n") < LINES and len(text) < SMALL and (piece := file.read(PIECE)):
            text += piece
    whole = text.split(b"\n")[:LINES]
    return max(FEWEST, round(size * len(whole) / (sum(map(len, whole)) + len(whole))))


def _of_parquet(path: str) -> int:
    from pyarrow import parquet

    return int(parquet.read_metadata(path).num_rows)


def _of_arrow(path: str) -> int | None:
    """Of a file (not a stream), whose batches can be looked up without reading them."""
    import pyarrow

    with open(path, "rb") as file:
        if not file.read(6).startswith(b"ARROW1"):
            return None
    with pyarrow.memory_map(path) as mapped, pyarrow.ipc.open_file(mapped) as reader:
        return sum(int(reader.get_batch(number).num_rows) for number in range(reader.num_record_batches))


def _of_npy(path: str) -> int:
    import numpy as np

    return len(np.load(path, mmap_mode="r", allow_pickle=False))


def _of_npz(path: str) -> int:
    from onepass.io.arrays import Member

    with zipfile.ZipFile(path) as archive:
        return int(Member(archive, "y", path).shape[0])
