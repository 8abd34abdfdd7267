"""Compressed bytes to plain ones, or an error: a stream that ends early, is damaged, or has junk after it is never a
shorter data set.

gz, bz2 and xz share one loop over members. zst goes through pyarrow, which reports a truncated frame (others end there
in silence); a flipped bit is found wherever the writer stored a checksum, as the zstd program does.
"""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from onepass.errors import Argument, DataError

PIECE = 1 << 21  # decompressed at a time, whatever the ratio: memory stays flat, and a piece is about a block
LEAST, READ = 1 << 14, 1 << 20  # compressed, at a time: as much as should give a piece, between these
GRACE = 1 << 24  # decompressed bytes before the ratio is looked at
MEMORY = 1 << 28  # for xz's dictionary; xz -9 needs 65 MB

MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2", b"\xfd7zXZ\0": "xz"}
SUFFIX = {".gz": "gz", ".zst": "zst", ".bz2": "bz2", ".xz": "xz", ".lzma": "xz"}
COMPRESSIONS = ("none", "gz", "zst", "bz2", "xz")


class Readable(Protocol):
    """Bytes as they lie on disk, and how many were taken."""

    consumed: int
    ended: bool  # whether the last read found nothing

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay where they are."""
        ...

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, empty at the end."""
        ...


class EndsEarlyError(Exception):
    """The stream stops in the middle of a member."""


class Codec(NamedTuple):
    """A decoder with the interface of bz2's, the bytes a further member starts with, and its errors."""

    decoder: Callable[[], Any]
    magic: bytes
    padding: bytes  # what may follow the last member
    errors: tuple[type[Exception], ...]


def detect(head: bytes, name: str) -> str:
    """The compression by its magic bytes, then by the file's name; "none" otherwise.

    >>> detect(b"BZh91AY", "data.svm"), detect(b"1 1:0.5", "data.svm.gz"), detect(b"1 1:0.5", "data.svm")
    ('bz2', 'gz', 'none')
    """
    for magic, compression in MAGIC.items():
        if head.startswith(magic):
            return compression
    return next((c for suffix, c in SUFFIX.items() if name.lower().endswith(suffix)), "none")


def decompressed(raw: Readable, compression: str, path: str, max_expand: float) -> Iterator[bytes]:
    """The plain bytes in pieces of at most 2 MB. Raises EndsEarlyError, and DataError for damage, junk or a bomb."""
    size = 0
    for piece in _pieces(raw, compression, path):
        size += len(piece)
        if size > GRACE and size > max_expand * raw.consumed:
            raise DataError(
                f"the {compression} stream expands more than {max_expand:g}-fold",
                source=path,
                remedy=Argument("max_expand"),
            )
        yield piece


def _pieces(raw: Readable, compression: str, path: str) -> Iterator[bytes]:
    if compression == "none":
        while piece := raw.read(PIECE):
            yield piece
    elif compression == "zst":
        yield from _zstandard(raw, path)
    else:
        yield from _members(raw, _codec(compression), compression, path)


def _codec(compression: str) -> Codec:
    if compression == "gz":
        from isal import igzip_lib

        errors: Any = (igzip_lib.IsalError,)  # isal's stub calls this class an instance
        return Codec(lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP), b"\x1f\x8b", b"\0", errors)
    if compression == "bz2":
        return Codec(bz2.BZ2Decompressor, b"BZh", b"", (OSError, ValueError))
    return Codec(lambda: lzma.LZMADecompressor(memlimit=MEMORY), b"\xfd7zXZ\0", b"\0", (lzma.LZMAError,))


def _members(raw: Readable, codec: Codec, compression: str, path: str) -> Iterator[bytes]:
    """Member after member. The standard library's own readers ignore what follows the last one; here it is an error."""
    data, size = raw.read(LEAST), 0
    while True:
        decoder = codec.decoder()
        while not decoder.eof:
            if not data and decoder.needs_input:
                data = raw.read(_portion(raw.consumed, size))
                if not data:
                    raise EndsEarlyError
            try:
                piece = decoder.decompress(data, PIECE)
            except codec.errors as error:
                raise _damaged(compression, error, path) from error
            data, size = b"", size + len(piece)
            if piece:
                yield piece
        data = decoder.unused_data.lstrip(codec.padding)
        while len(data) < len(codec.magic) and (more := raw.read(READ)):
            data = (data + more).lstrip(codec.padding)
        if not data:
            return
        if not data.startswith(codec.magic):
            raise _junk(compression, path)


def _portion(consumed: int, size: int) -> int:
    """How many bytes to take next, when so many gave `size`: what should give two pieces.

    So what is taken is never far ahead of what is unpacked, and a bomb shows after its first pieces. Not one: then no
    two pieces had the same size, and the heap fell to bits (900 MB in place of 330 for 2 GB of text).
    """
    return max(LEAST, min(READ, 2 * PIECE * consumed // size)) if size else LEAST


def _zstandard(raw: Readable, path: str) -> Iterator[bytes]:
    import pyarrow

    starts_well = raw.peek(4) == b"\x28\xb5\x2f\xfd"
    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")
    while True:
        try:
            piece = stream.read_buffer(PIECE).to_pybytes()  # read() loses its buffer where it fails
        except OSError as error:
            if isinstance(error, DataError):
                raise
            if raw.ended:  # in the middle of a frame: the end of a whole one is no error
                raise EndsEarlyError from error
            # Where a frame ends pyarrow alone knows, and its errors have no code: only the words tell junk from damage.
            if starts_well and "frame descriptor" in str(error):
                raise _junk("zst", path) from error
            raise _damaged("zst", error, path) from error
        if not piece:
            if raw.consumed == 0:
                raise EndsEarlyError
            return
        yield piece


def _damaged(compression: str, error: Exception, path: str) -> DataError:
    return DataError(f"the {compression} stream is damaged ({error})", source=path, remedy="fetch the file again")


def _junk(compression: str, path: str) -> DataError:
    return DataError(
        f"bytes that are not {compression} follow the compressed stream", source=path, remedy="cut them off"
    )
