"""Where bytes come from: files, globs, folders, lists of files, FIFOs and stdin.

A `Source` is one opened file whose compression is known. Its text can be had in two ways: `pieces`, one after another,
for whatever cannot be read from the middle; and `blocks` (see blocks.py), whole lines in parallel, where it can.
"""

from __future__ import annotations

import glob
import io
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from onepass.errors import Argument, CheckpointError, DataError, Phrase, printable
from onepass.files import sha256
from onepass.io import compression as codecs
from onepass.io.chunk import Bytes

STDIN = "-"
HEAD = 1 << 16  # bytes looked at to tell what a file is
BOM = b"\xef\xbb\xbf"


class Identity(NamedTuple):
    """What tells a file from another, or from itself after a change: size, time, and a hash of both ends."""

    path: str
    size: int
    modified: int  # nanoseconds
    ends: str  # SHA-256 of the first and last 64 KiB


def expand(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files meant, in the order given: `-`, files, globs, folders (their files by name) and `@list.txt`.

    >>> expand(["-"])
    ['-']
    """
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    files = [file for path in paths for file in _expanded(os.fspath(path))]
    if not files:
        raise ValueError("paths: no file was given")
    if files.count(STDIN) > 1:
        raise ValueError("paths: stdin (-) can be read only once")
    return files


def _expanded(path: str, lists: tuple[str, ...] = ()) -> list[str]:
    """The files that a path means, which stands in these lists, one in the other."""
    if path == STDIN:
        return [path]
    if path.startswith("@") and not os.path.lexists(path):
        here = os.path.realpath(path[1:])
        if here in lists:
            raise DataError("this list of files names itself", source=path[1:])
        try:
            lines = Path(here).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"cannot read the list of files ({_reason(error)})", source=path[1:]) from error
        return [file for line in lines if line.strip() for file in _expanded(line.strip(), (*lists, here))]
    if os.path.isdir(path):
        files = [os.path.join(path, name) for name in sorted(os.listdir(path)) if not name.startswith(".")]
        files = [file for file in files if os.path.isfile(file)]
        if not files:
            raise DataError("the folder holds no files", source=path)
        return files
    if glob.has_magic(path) and not os.path.lexists(path):
        files = [file for file in sorted(glob.glob(path, recursive=True)) if not os.path.isdir(file)]
        if not files:
            raise DataError("no file matches this pattern", source=path)
        return files
    return [path]


def identify(path: str) -> Identity | None:
    """The file's identity; None for what is not a plain file. Also finds out now what could not be opened later."""
    if path == STDIN:
        return None
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(path, "rb") as file:
            head = file.read(HEAD)
            file.seek(max(0, status.st_size - HEAD))
            return Identity(path, status.st_size, status.st_mtime_ns, sha256(head, file.read(HEAD)))
    except OSError as error:
        raise DataError(f"cannot open: {_reason(error)}", source=path) from error


def is_direct(path: str, compression: str | None) -> bool:
    """Whether this is a plain file that is not compressed, which can be read from any place."""
    if path == STDIN or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return (compression or codecs.detect(file.read(8), path)) == "none"


class RawFile:
    """The bytes of a file as they lie on disk, with a count of those taken. What was peeked at is read again."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.consumed = 0
        self.ended = False  # whether the last read found nothing
        self.closed = False
        self._peeked = b""
        try:
            # Unbuffered, so that a thread that waits for stdin holds no lock the interpreter needs to end.
            self._file = io.FileIO(0, closefd=False) if path == STDIN else io.FileIO(path)
            self._status = os.fstat(self._file.fileno())
        except OSError as error:
            raise DataError(f"cannot open: {_reason(error)}", source=path) from error
        self.regular = stat.S_ISREG(self._status.st_mode) and path != STDIN
        self.size = self._status.st_size if self.regular else None

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay where they are."""
        while len(self._peeked) < size and (more := self._read(size - len(self._peeked))):
            self._peeked += more
        return self._peeked[:size]

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, empty at the end."""
        if self._peeked:
            data = self._peeked[:size] if size >= 0 else self._peeked
            self._peeked = self._peeked[len(data) :]
        else:
            data = self._read(size if size >= 0 else codecs.PIECE)
        self.consumed += len(data)
        self.ended = not data
        return data

    def read_at(self, start: int, buffer: Bytes) -> int:
        """Fill the buffer with the bytes from `start` on, from any thread; how many there were."""
        view, filled = buffer.data, 0
        try:
            while filled < len(view) and (count := os.preadv(self._file.fileno(), [view[filled:]], start + filled)):
                filled += count
        except OSError as error:
            raise self._unreadable(error) from error
        return filled

    def skip_to(self, start: int) -> None:
        """Read on from this byte of a plain file; what comes before it counts as taken."""
        self._file.seek(start)
        self._peeked, self.consumed = b"", start

    def shrunk(self) -> bool:
        """Whether the file has lost its end since it was opened, so that less was read than there was."""
        now = self._now()
        return now is not None and now.st_ino == self._status.st_ino and now.st_size < self._status.st_size

    def changed(self) -> bool:
        """Whether the file has grown, been written to, removed or replaced since it was opened."""
        now, fields = self._now(), ("st_size", "st_mtime_ns", "st_ino")
        return self.regular and (
            now is None or any(getattr(now, field) != getattr(self._status, field) for field in fields)
        )

    def _now(self) -> os.stat_result | None:
        try:
            return os.stat(self.path) if self.regular else None
        except OSError:
            return None

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._file.close()

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size) or b""
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> DataError:
        return DataError(f"cannot read: {_reason(error)}", source=self.path)


class Limits(NamedTuple):
    """How much is read at a time, and what is too much."""

    block_size: int = 1 << 21
    max_line: int = 1 << 26
    max_expand: float = 1000.0
    allow_truncated: bool = False
    span: tuple[int, int] | None = None  # read only these bytes (lines that start there) or, of Parquet, row groups


class Source:
    """One opened file: its path, compression, and the text in it."""

    def __init__(self, path: str, compression: str | None, limits: Limits, note: Callable[[str], None]) -> None:
        self.path = path
        self.limits = limits
        self.note = note
        self.raw = RawFile(path)
        self.compression = compression or codecs.detect(self.raw.peek(8), path)
        self.truncated = False
        self._pieces: Iterator[bytes] = self._decompressed()
        self._first = self._peek(HEAD)
        self.bom = self._first.startswith(BOM)
        self.head = self._first.removeprefix(BOM)[:HEAD]  # the first bytes of the text
        self.begin = 0  # bytes of the text (rows, where the file is not text) that were read in an earlier run
        self.line = 1  # the line that starts there

    @property
    def direct(self) -> bool:
        """Whether the text can be read from any place: a plain file."""
        return self.raw.regular and self.compression == "none"

    def pieces(self) -> Iterator[bytes]:
        """The text from its start (after a byte order mark) to its end, once. Closes nothing."""
        first, self._first = self._first, b""
        return filter(None, itertools.chain([first.removeprefix(BOM)], self._pieces))

    def rest(self) -> Iterator[bytes]:
        """The same from `begin` on: of a file that can only be read from the front, what comes before is left out."""
        if not self.begin:
            return self.pieces()
        if self.direct:
            self.must_hold(self.raw.size or 0)
            self.raw.skip_to(self.begin)
            return self._decompressed()
        return self._after_begin()

    def must_hold(self, end: int) -> None:
        """Refuse a place to go on from that lies beyond the end of the text (or rows): no run was ever there."""
        if self.begin > end:
            raise CheckpointError(
                f"its field 'position.at' is {self.begin:,}, and {printable(self.path)} ends at {end:,}"
            )

    def _after_begin(self) -> Iterator[bytes]:
        done = len(BOM) if self.bom else 0
        for piece in self.pieces():
            if done + len(piece) > self.begin:
                yield piece[max(0, self.begin - done) :]
            done += len(piece)
        self.must_hold(done)

    def see(self, size: int) -> bytes:
        """The first `size` bytes of the text, or all of it: more of it than `head` had so far."""
        self._first += self._peek(size + len(BOM) - len(self._first))
        self.head = self._first.removeprefix(BOM)[:size]
        return self.head

    def close(self) -> None:
        """Close the file."""
        self.raw.close()

    def _peek(self, size: int) -> bytes:
        head = b""
        while len(head) < size and (piece := next(self._pieces, b"")):
            head += piece
        return head

    def _decompressed(self) -> Iterator[bytes]:
        try:
            yield from codecs.decompressed(self.raw, self.compression, self.path, self.limits.max_expand)
        except codecs.EndsEarlyError as error:
            if not self.limits.allow_truncated:
                raise DataError(
                    "the compressed stream ends early",
                    source=self.path,
                    remedy=Phrase("fetch the file again, or {}", Argument("allow_truncated", True)),
                ) from error
            self.truncated = True
            self.note(f"{self.path}: the compressed stream ends early; what came before was read")


def _reason(error: Exception) -> str:
    return str(error.strerror if isinstance(error, OSError) and error.strerror else error)
