"""Files of arrays and one JSON text: how models and checkpoints are read, without belief in what was not checked.

Both are safetensors files: eight bytes with the length of the header, the header (a JSON object with type, shape and
place of every array, and our text as metadata), the arrays' bytes. Such a file cannot hold code. The header is held
against the file's own size and a limit before anything else is read, and then exactly what it names is read.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from onepass.errors import LimitError, ModelError

Array = npt.NDArray[Any]
Path = str | os.PathLike[str]
KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "U32": "<u4", "U8": "|u1", "BOOL": "|b1"}
NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}
DIMENSIONS = 8  # that an array may have


class Kind(NamedTuple):
    """A kind of file: its name in messages, the key of its text, the most bytes of header, the error that is raised."""

    name: str
    key: str
    header: int
    error: type[ModelError]


class Container(NamedTuple):
    """What a file holds: our text, where the arrays lie, and the arrays."""

    content: dict[str, Any]
    layout: dict[str, dict[str, Any]]
    arrays: dict[str, Array]


Check = Callable[[dict[str, Any], dict[str, dict[str, Any]]], None]


def read(path: Path, kind: Kind, max_bytes: int, check: Check) -> Container:
    """The content of a file, or an error that says what is wrong with it.

    `check` may object to what is said, and to the layout, before the arrays are read. The hash is for the caller to
    compare: it is not the same in all kinds.
    """
    with regular(path, kind) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise kind.error(f"{size:,} bytes are more than max_bytes={max_bytes:,} allows")
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, kind.header):
            raise kind.error(f"not a {kind.name}, or cut short (it does not begin as a safetensors file does)")
        content, layout = _parsed(file.read(length), kind)
        _check_layout(layout, size - 8 - length, kind)
        check(content, layout)
        return Container(content, layout, {name: _array(file, about, kind) for name, about in layout.items()})


@contextmanager
def regular(path: Path, kind: Kind) -> Iterator[IO[bytes]]:
    """The file, if it is a regular one: a pipe may wait for ever, and a device may never end."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise kind.error(f"not a regular file, which a {kind.name} is")
            yield file
    except IsADirectoryError:
        raise kind.error(f"a folder, not a {kind.name}") from None


def raw_bytes(array: Array) -> memoryview:
    """The array's bytes, shared with it."""
    return array.reshape(-1).view(np.uint8).data


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _parsed(data: bytes, kind: Kind) -> tuple[dict[str, Any], dict[str, Any]]:
    """(our text, the layout) of a header."""
    try:
        layout = json.loads(data)
        text = layout.pop("__metadata__")[kind.key]
        content = json.loads(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise kind.error(f"not a onepass {kind.name}, or damaged (its header does not say so)") from None
    if not isinstance(content, dict) or not isinstance(content.get("sha256"), str):
        raise kind.error(f"not a onepass {kind.name}, or damaged (its header does not say so)")
    if json.dumps(content) != text:  # 1E-05 for 1e-05, which no hash of the content would show
        raise kind.error("damaged: its header is not as it was written")
    return content, layout


def _check_layout(layout: dict[str, Any], size: int, kind: Kind) -> None:
    """Every array where the one before it ends, as long as its shape says, and nothing behind the last."""
    end = 0
    for name, about in layout.items():
        if (field := _wrong_field(about if isinstance(about, dict) else {})) is not None:
            raise kind.error(f"damaged: field {field!r} of array {name!r} is missing or not what it should be")
        stop = end + math.prod(about["shape"]) * np.dtype(KINDS[about["dtype"]]).itemsize
        if about["data_offsets"] != [end, stop] or stop > size:
            raise kind.error(f"damaged or cut short: data_offsets of array {name!r} do not fit the file and the shape")
        end = stop
    if end != size:
        raise kind.error("damaged: bytes follow the last array")


def _wrong_field(about: dict[str, Any]) -> str | None:
    """The field of an array's entry that no array can have; None if there is none."""
    dtype, shape, at = (about.get(name) for name in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in KINDS:
        return "dtype"
    if not _are_counts(shape, DIMENSIONS) or math.prod(max(1, number) for number in shape) >= 1 << 58:
        return "shape"  # even if it holds nothing: NumPy itself refuses (2^62, 0)
    return None if _are_counts(at, 2) else "data_offsets"


def _are_counts(numbers: Any, most: int) -> TypeGuard[list[int]]:
    """Whether this is a list of at most so many numbers of things."""
    if not isinstance(numbers, list) or len(numbers) > most:
        return False
    return all(type(number) is int and number >= 0 for number in numbers)


def _array(file: IO[bytes], about: dict[str, Any], kind: Kind) -> Array:
    """The array that lies next in the file."""
    try:
        array = np.empty(about["shape"], KINDS[about["dtype"]])
    except MemoryError:
        size = about["data_offsets"][1] - about["data_offsets"][0]
        raise LimitError(f"the {kind.name} holds an array of {size:,} bytes, and there is no room for it") from None
    view, done = raw_bytes(array), 0
    while done < len(view):
        count = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise kind.error("cut short while it was read")
        done += count
    return array
