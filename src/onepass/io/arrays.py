"""NumPy's own files: .npy with the label in a column, .npz with X and y, or with a SciPy CSR matrix and y.

Nothing is unpickled. Sizes come from the header and are held against the file's before anything is allocated; members
of an .npz are read in step, a few rows at a time, and their checksums are verified.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.lib import format as npy

from onepass._jit import jit
from onepass.errors import Argument, DataError, Phrase, printable
from onepass.io.blocks import Work
from onepass.io.chunk import Labels
from onepass.io.lines import BadLine, LineError, Parsed
from onepass.io.options import between
from onepass.io.sources import Source
from onepass.rows import Dense, Rows
from onepass.tables.sorting import KEEP_SUM, tidy

CELLS = 1 << 17  # numbers in a chunk


@dataclass(frozen=True)
class Npy:
    """A two-dimensional array of numbers.

    target: the label's column (−1 is the last). labelled: False needs none. features: how many a model has; an array of
    just so many columns then holds no label.
    """

    target: int | str | None = None
    labelled: bool = True
    features: int | None = None

    splits = True

    def __post_init__(self) -> None:
        try:
            int(self.target or 0)
        except ValueError:
            raise ValueError(f"target: columns of .npy have numbers, not names; got {self.target!r}") from None

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Slices of a memory map."""
        if not source.direct:
            raise DataError(".npy must be a plain file", source=source.path, remedy="decompress it first")
        with _numpy_errors("cannot be read as .npy", source.path):
            array = np.load(source.path, mmap_mode="r", allow_pickle=False)
        check_matrix(array.shape, array.dtype, source.path)
        if array.offset + array.nbytes != source.raw.size:
            raise DataError("the file is longer than its header says", source=source.path)
        if self.target is None and self.labelled:
            message = "it is not said which column is the label"
            raise DataError(message, source=source.path, remedy=Phrase("{}, or -1 for the last", Argument("target", 0)))
        place = None if self.target is None else int(self.target)
        if not self.labelled and array.shape[1] == self.features:
            place = None
        if place is not None and not -array.shape[1] <= place < array.shape[1]:
            raise DataError(f"there is no column {place} among {array.shape[1]}", source=source.path, argument="target")
        source.must_hold(len(array))
        rows = max(1, CELLS // array.shape[1])
        for start in range(source.begin, len(array), rows):
            stop = min(start + rows, len(array))
            yield Work((source.raw.size or 0) * stop // len(array), partial(self._parse, array, place, start, stop))

    def remarks(self, flags: int) -> list[str]:
        """Nothing to tell."""
        return []

    def _parse(self, array: Any, place: int | None, start: int, stop: int) -> Parsed:
        values = np.array(array[start:stop], np.float64, order="C")
        labels = None if place is None else values[:, place].copy()
        if place is not None and not self.labelled:
            values[:, place] = 0.0  # whatever it holds
        bad = unfinite(values)
        if place is not None:
            values = np.delete(values, place, axis=1)
        return Parsed(Dense(values), labels, stop - start, bad, 0, start, stop)


@dataclass(frozen=True)
class Npz:
    """X (two-dimensional), or data, indices, indptr and shape as SciPy's save_npz writes them; and y.

    max_features: more columns are an error. labelled: False needs no y.
    """

    max_features: int = 2**24
    labelled: bool = True

    splits = False

    def __post_init__(self) -> None:
        between("max_features", self.max_features, 1, 2**31)

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Some rows of every member, then the next ones."""
        if not source.direct:
            raise DataError(".npz must be a plain file", source=source.path, remedy="save it first")
        with _numpy_errors("damaged or cut short", source.path):
            archive = zipfile.ZipFile(source.path)
        with archive:
            yield from self._members(archive, source)

    def remarks(self, flags: int) -> list[str]:
        """Nothing to tell."""
        return []

    def _members(self, archive: zipfile.ZipFile, source: Source) -> Iterator[Work]:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
        if self.labelled and "y" not in names:
            raise DataError(
                f"no member y; there are {', '.join(sorted(names))}", source=source.path, remedy="save y=labels too"
            )
        labels = Member(archive, "y", source.path, "biufUS") if "y" in names else None
        if "X" in names:
            table = Member(archive, "X", source.path)
            check_matrix(table.shape, table.dtype, source.path)
            size, width = table.shape
        elif {"data", "indices", "indptr", "shape"} <= names:
            kinds = {"indptr": "iu", "indices": "iu", "data": "biuf"}
            parts = [Member(archive, name, source.path, kind) for name, kind in kinds.items()]
            size, width = (int(length) for length in Member(archive, "shape", source.path, "iu").take(2))
            stored = parts[1].shape
            if parts[0].shape != (size + 1,) or len(stored) != 1 or stored != parts[2].shape or width < 0:
                raise DataError("not a CSR matrix: the lengths of its parts do not fit", source=source.path)
        else:
            raise DataError(
                f"neither X nor a CSR matrix; there are {', '.join(sorted(names))}",
                source=source.path,
                remedy="save X=, y=",
            )
        self._check_shape(size, width, labels, source.path)
        dense = "X" in names
        begin = 0 if dense else int(parts[0].take(1)[0])
        if begin:
            raise DataError("not a CSR matrix: indptr does not start at 0", source=source.path)
        rows = max(1, CELLS // max(1, width)) if dense else 4096
        source.must_hold(size)
        for start, count in _steps(size, rows, source.begin):
            y = None if labels is None else labels.take(count)
            consumed = (source.raw.size or 0) * (start + count) // size
            if dense:
                X = table.take(count * width).reshape(count, width)
                work = Work(consumed, partial(_dense, X, y, self.labelled, start))
            else:
                ends = np.concatenate([[begin], parts[0].take(count)]).astype(np.int64)
                if (np.diff(ends) < 0).any() or ends[-1] > parts[1].shape[0]:
                    raise DataError("not a CSR matrix: indptr decreases or runs past the end", source=source.path)
                held = int(ends[-1]) - begin
                work = Work(
                    consumed,
                    partial(
                        _sparse, ends - begin, parts[1].take(held), parts[2].take(held), y, self.labelled, start, width
                    ),
                )
                begin = int(ends[-1])
            if start >= source.begin:
                yield work
        for member in [labels, table] if dense else [labels, *parts]:
            if member is not None:
                member.finish()

    def _check_shape(self, size: int, width: int, labels: Member | None, path: str) -> None:
        if width > self.max_features:
            raise DataError(
                f"{width} features; the limit is {self.max_features}", source=path, remedy=Argument("max_features")
            )
        if labels is not None and labels.shape != (size,):
            raise DataError(f"X has {size} rows and y the shape {labels.shape}", source=path)


def _steps(size: int, rows: int, begin: int) -> Iterator[tuple[int, int]]:
    """(start, how many) for all rows, some at a time; a new step begins at `begin`."""
    for first, last in ((0, begin), (begin, size)):
        for start in range(first, last, rows):
            yield start, min(rows, last - start)


@contextmanager
def _numpy_errors(what: str, path: str) -> Iterator[None]:
    """Whatever NumPy, zipfile and the tokenizer behind them raise on hostile bytes, as ours: the list has no end."""
    try:
        yield
    except Exception as error:
        raise DataError(f"{what} ({printable(str(error))})", source=path) from error


class Member:
    """One array of an .npz, read from the front. kinds: the NumPy kinds that it may hold."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: str, kinds: str | None = None) -> None:
        self._name, self._path = name, path
        with _numpy_errors(f"member {name} is damaged", path):
            info = archive.getinfo(f"{name}.npy")
            self._file = archive.open(info)
            version = npy.read_magic(self._file)
            read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            self.shape, fortran, self.dtype = read_header(self._file)
        if self.dtype.hasobject:
            raise DataError(f"member {name} holds Python objects, which could run code", source=path)
        if kinds is not None and self.dtype.kind not in kinds:
            raise DataError(f"member {name} holds {self.dtype}, which it should not", source=path)
        if self._file.tell() + math.prod(self.shape) * self.dtype.itemsize != info.file_size:
            raise DataError(f"member {name} is not as long as its header says", source=path)
        if fortran and len(self.shape) > 1:
            raise DataError(f"member {name} is stored by columns", source=path, remedy="save np.ascontiguousarray(X)")

    def take(self, count: int) -> Any:
        """The next numbers, as they are stored."""
        with _numpy_errors(f"member {self._name} is damaged", self._path):
            data = self._file.read(count * self.dtype.itemsize)
            if len(data) == count * self.dtype.itemsize:
                return np.frombuffer(data, self.dtype)
        raise DataError(f"member {self._name} ends early", source=self._path)

    def finish(self) -> None:
        """Read past the end, which is where the checksum is verified."""
        with _numpy_errors(f"member {self._name} is damaged", self._path):
            more = self._file.read(1)
        if more:
            raise DataError(f"member {self._name} is longer than its header says", source=self._path)


def check_matrix(shape: tuple[int, ...], dtype: Any, path: str) -> None:
    """Refuse what is not a table of real numbers with at least a row and a column."""
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise DataError(f"expected a two-dimensional array of numbers, found shape {shape} of {dtype}", source=path)
    if 0 in shape:
        raise DataError("no examples", source=path)


def unfinite(values: Any) -> list[BadLine]:
    """The first number that is not finite, as a fault."""
    if np.isfinite(values).all():
        return []
    row, column = np.argwhere(~np.isfinite(values))[0]
    fault = LineError(f"column {column} holds {values[row, column]}, which is not a finite number")
    return [BadLine(int(row), b"", fault)]


def _labels(y: Any, needed: bool) -> tuple[Labels | None, list[BadLine]]:
    if y is None:
        return None, []
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "backslashreplace")
    if y.dtype.kind == "U":
        labels = y.astype(y.dtype.newbyteorder("="))
        wrong = labels.view(np.uint32) > 0x10FFFF  # Python itself stumbles over such a letter
        if wrong.any():
            row = int(wrong.argmax()) // (labels.itemsize // 4)
            return None, [BadLine(row, b"", LineError("the label holds what is no character"))]
        return labels, []
    labels = y.astype(np.float64)
    return labels, unfinite(labels[:, None]) if needed else []


def _dense(X: Any, y: Any, needed: bool, start: int) -> Parsed:
    values = X.astype(np.float64)
    labels, bad = _labels(y, needed)
    return Parsed(Dense(values), labels, len(values), bad + unfinite(values), 0, start, start + len(values))


def _sparse(indptr: Any, indices: Any, data: Any, y: Any, needed: bool, start: int, width: int) -> Parsed:
    labels, bad = _labels(y, needed)
    size, values = len(indptr) - 1, data.astype(np.float64)
    rows = Rows(indptr, indices.astype(np.int32), values)
    outside = (indices < 0) | (indices >= width)
    if outside.any():
        at = int(outside.argmax())
        fault = LineError(f"index {indices[at]} outside the {width} columns")
    elif not np.isfinite(values).all():
        at = int((~np.isfinite(values)).argmax())
        fault = LineError(f"column {indices[at]} holds {values[at]}, which is not a finite number")
    else:
        used = int(_tidy_all(rows))
        if used >= 0:
            rows = Rows(rows.indptr, rows.indices[:used], rows.values[:used])
            return Parsed(rows, labels, size, bad, 0, start, start + size)
        at, fault = 0, LineError("in one of the next rows a sum of duplicates is beyond the largest float")
    row = int(np.searchsorted(indptr, at, "right")) - 1
    return Parsed(rows, labels, size, [*bad, BadLine(row, b"", fault)])


@jit
def _tidy_all(rows: Any) -> Any:
    """Sort each row and add what stands twice, in place: what SciPy calls the canonical format."""
    k = 0
    for i in range(rows.indptr.size - 1):
        first, begin, end = k, rows.indptr[i], rows.indptr[i + 1]
        for j in range(begin, end):
            rows.indices[k], rows.values[k] = rows.indices[j], rows.values[j]
            k += 1
        rows.indptr[i] = first
        k = tidy(rows.indices, rows.values, first, k, KEEP_SUM)
        if k < 0:
            return k
    rows.indptr[-1] = k
    return k
