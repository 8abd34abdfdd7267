"""What the chunks are: files cut at constant numbers of bytes, partitions of Dask collections, delayed calls.

The borders are fixed before any row is read and do not depend on the number of workers: they are part of the result.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from onepass.errors import DataError
from onepass.io import open_stream
from onepass.io.formats import FORMATS
from onepass.io.sources import Identity, is_direct
from onepass.scale.chunks import Chunk, DataChunk, FileChunk, pairs_of_rows
from onepass.tables.plan import TablePlan

LARGEST_CHUNK = 64 << 20  # bytes
CHUNKS = 128  # into which files are cut, where a chunk then has rows enough
ROWS = 1000  # that a chunk should have
SAMPLE = 1 << 16  # bytes of the first file that tell how long a row is


@dataclass(frozen=True)
class Inputs:
    """Chunks in their order, what comes with each (None for files), and what is known of all."""

    chunks: list[Chunk]
    data: list[Any]
    features: int | None = None
    names: tuple[str, ...] | None = None  # of a data frame's columns
    table: TablePlan | None = None  # what the columns of files are, where that was found
    decided: dict[str, Any] = field(default_factory=dict)  # what else the first file settled
    void: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    format: str | None = None
    identity: tuple[Identity, ...] = field(default=())

    @property
    def chunk_names(self) -> list[str]:
        """What messages call each chunk."""
        return [str(chunk) for chunk in self.chunks]

    @property
    def bytes(self) -> int | None:
        """To be read in all, where that is known."""
        sizes = [chunk.bytes for chunk in self.chunks if isinstance(chunk, FileChunk)]
        return sum(sizes) if len(sizes) == len(self.chunks) else None


def cut(
    data: Any, y: Any = None, *, target: str | None = None, chunk_bytes: int | None = None, **reading: Any
) -> Inputs:
    r"""The chunks of files, a Dask array, data frame or bag, or a list of delayed pairs (X, y).

    Parameters
    ----------
    data : path, paths or collection
        Paths, globs or folders; a Dask array, data frame or bag; or a list of pairs (X, y), delayed or not.
    y : dask array or None, default None
        The labels beside a Dask array.
    target : str or None, default None
        The label's column of a data frame or a table.
    chunk_bytes : int or None, default None
        Cuts plain files: svmlight, vw and JSON lines at line ends, Parquet between row groups; other formats and
        compressed files are one chunk each. None: a 128th of all, but at least some 1,000 rows and at most 64 MB,
        whatever the number of workers.
    \*\*reading
        Options of `onepass.io.open_stream`, for files.

    Returns
    -------
    Inputs
        The chunks, for `learn`.

    Raises
    ------
    DataError
        If a file cannot be spread over workers, or there are no examples.
    ValueError, TypeError
        If an argument cannot be so, or a chunk stands there twice.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.svm"
    >>> _ = file.write_text("1 1:0.5\n-1 2:1\n" * 50)
    >>> [chunk.span for chunk in cut(file, chunk_bytes=300).chunks]
    [(0, 300), (300, 600), (600, 750)]
    """
    whole = isinstance(chunk_bytes, (int, np.integer)) and not isinstance(chunk_bytes, bool)
    if chunk_bytes is not None and not (whole and chunk_bytes >= 1):
        raise ValueError(f"chunk_bytes: a positive whole number expected, got {chunk_bytes!r}")
    if isinstance(data, (str, os.PathLike)) or (
        isinstance(data, Sequence) and data and all(isinstance(path, (str, os.PathLike)) for path in data)
    ):
        if y is not None:
            raise TypeError("y: files hold their own labels")
        return _files(data, chunk_bytes, reading | ({} if target is None else {"target": target}))
    if reading:
        raise TypeError(f"{next(iter(reading))!r} is an option for reading files, and these are none")
    return _collection(data, y, target)


# --- files ------------------------------------------------------------------------------------------------------------


def _files(paths: Any, chunk_bytes: int | None, reading: dict[str, Any]) -> Inputs:
    reading.pop("threads", None)  # a task parses in its own thread
    defaults = reading.pop("defaults", None)
    with open_stream(
        paths, defaults=defaults, **reading
    ) as stream:  # opened to learn the format, and that every file is there
        format, files, known = stream.format, stream.paths, stream.identity
        notes = tuple(stream.notes)
        if defaults is not None and FORMATS[format].table:  # its first rows settle what the columns are, for all
            stream.look_ahead()
        table = stream.table if defaults is not None else None
        decided = stream.decided
        void = () if stream.duplicate_reason is None else (stream.duplicate_reason,)  # why no certificate can be given
    reading = reading | {"format": format}
    if table is not None:
        reading |= {name: value for name, value in decided.items() if name not in ("target", "width")}
        reading |= {"kinds": "found", "named": True, "plan": table}
    size = _chunk_size(files, known) if chunk_bytes is None else int(chunk_bytes)
    chunks: list[Chunk] = []
    for path, identity in zip(files, known, strict=True):
        if identity is None:
            raise DataError("only plain files can be spread over workers", source=path, remedy="save it first")
        where = os.path.abspath(path)
        for span, taken in _spans(path, identity, format, reading.get("compression"), size):
            chunks.append(FileChunk(len(chunks), where, span, identity.size, identity.ends, reading, taken))
    if not chunks:
        raise DataError("no examples", source=files[0])
    kept = tuple(identity for identity in known if identity is not None)
    return Inputs(
        chunks, [None] * len(chunks), void=void, notes=notes, format=format, identity=kept, table=table, decided=decided
    )


def _chunk_size(files: Sequence[str], known: Sequence[Identity | None]) -> int:
    """Bytes of a chunk of these files: a matter of the files alone, and not of who will read them."""
    total = sum(identity.size for identity in known if identity is not None)
    with open(files[0], "rb") as file:
        sample = file.read(SAMPLE)
    row = len(sample) / max(1, sample.count(b"\n"))  # of a format without lines: too long, so fewer chunks
    return max(1, int(max(min(total / CHUNKS, LARGEST_CHUNK), ROWS * row)))


def _spans(
    path: str, identity: Identity, format: str, compression: str | None, chunk_bytes: int
) -> Iterable[tuple[tuple[int, int] | None, int]]:
    """(part of the file, its bytes)."""
    if identity.size == 0:
        return
    if not FORMATS[format].spanned or not is_direct(path, compression):
        yield None, identity.size
    elif format == "parquet":
        yield from _row_groups(path, chunk_bytes)
    else:
        for start in range(0, identity.size, chunk_bytes):
            stop = min(start + chunk_bytes, identity.size)
            yield (start, stop), stop - start


def _row_groups(path: str, chunk_bytes: int) -> Iterable[tuple[tuple[int, int], int]]:
    import pyarrow
    from pyarrow import parquet

    try:
        footer = parquet.read_metadata(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"damaged or cut short ({error})", source=path) from error
    first, size = 0, 0
    for group in range(footer.num_row_groups):
        size += footer.row_group(group).total_byte_size
        if size >= chunk_bytes or group == footer.num_row_groups - 1:
            yield (first, group + 1), size
            first, size = group + 1, 0


# --- collections ------------------------------------------------------------------------------------------------------


def _collection(data: Any, y: Any, target: str | None) -> Inputs:
    kind = type(data).__module__.split(".")[:2]
    if kind == ["dask", "array"]:
        return _array(data, y)
    if hasattr(data, "npartitions") and hasattr(data, "columns"):
        return _frame(data, target)
    if kind == ["dask", "bag"]:
        from dask import delayed

        parts = [delayed(pairs_of_rows, pure=True)(part) for part in data.to_delayed(optimize_graph=True)]
        return _numbered(parts, "partition")
    if isinstance(data, Sequence) and len(data):
        if y is not None:
            raise TypeError("y: delayed chunks are pairs (X, y) of their own")
        return _numbered(list(data), "delayed")
    raise TypeError(
        "data: files, a Dask array, data frame or bag, or a list of delayed pairs (X, y) expected, "
        f"got {type(data).__name__}"
    )


def _array(X: Any, y: Any) -> Inputs:
    if y is None:
        raise TypeError("y: a Dask array of labels expected beside X")
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(f"X, y: two dimensions and one expected, got {X.ndim} and {y.ndim}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    sizes = X.chunks[0]
    if not np.isnan(sizes).any() and not np.isnan(y.chunks[0]).any():
        if X.shape[0] != y.shape[0]:
            raise ValueError(f"y: {y.shape[0]} labels for {X.shape[0]} rows")
        y = y.rechunk((sizes,))
    elif len(sizes) != y.numblocks[0]:
        raise ValueError(f"y: {y.numblocks[0]} blocks for the {len(sizes)} of X, and their sizes are not known")
    blocks = zip(X.to_delayed()[:, 0], y.to_delayed(), strict=True)
    return replace(_numbered([tuple(pair) for pair in blocks], "block"), features=int(X.shape[1]))


def _frame(frame: Any, target: str | None) -> Inputs:
    if target is None or target not in frame.columns:
        known = ", ".join(map(str, list(frame.columns)[:20]))
        raise ValueError(f"target: the label's column expected, one of {known}; got {target!r}")
    names = tuple(str(name) for name in frame.columns if name != target)
    inputs = _numbered(list(frame.to_delayed()), "partition")
    chunks: list[Chunk] = [DataChunk(chunk.number, f"partition {chunk.number}", target) for chunk in inputs.chunks]
    return replace(inputs, chunks=chunks, features=len(names), names=names)


def _numbered(parts: list[Any], what: str) -> Inputs:
    keys = dict[str, int]()
    for number, part in enumerate(parts):
        key = "".join(str(getattr(piece, "key", "")) for piece in (part if isinstance(part, tuple) else (part,)))
        if key and key in keys:
            raise ValueError(f"chunks {keys[key]} and {number} are the same delayed call: rows would count twice")
        keys[key] = number
    return Inputs([DataChunk(number, f"{what} {number}") for number in range(len(parts))], parts)
