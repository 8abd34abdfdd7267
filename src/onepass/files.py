"""Files that are either whole or not there: atomic writes and content hashes."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from onepass.errors import OutputTakenError


@contextmanager
def replacing(
    path: str | os.PathLike[str], previous: str | os.PathLike[str] | None = None, *, overwrite: bool = True
) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well, and leaves no trace when it does not.

    A link stays, and leads to the new file. A pipe or a device cannot be replaced and is written into. What was at
    `path`, be it a link, is kept at `previous`, if that is given. (A process that is killed between the two renames
    leaves `previous` alone.) What killed processes left of earlier attempts is swept away.

    overwrite  False: a file that is there when the block ends is not touched. The new one is kept beside it, and an
               OutputTakenError says where.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "greeting.txt"
    >>> with replacing(target) as file:
    ...     _ = file.write(b"hello")
    >>> target.read_text()
    'hello'
    """
    target = Path(path if previous is not None else os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            yield file
        return
    if previous is None:  # who keeps a previous file writes often, and sweeps once
        sweep(target)
    handle, part = _begin(target)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(part, 0o666 & ~_umask())
            if previous is not None and target.exists():
                os.replace(target, previous)
            _publish(part, target, overwrite)  # before the file is closed: that ends its lock
    except BaseException:
        Path(part).unlink(missing_ok=True)  # a signal may come after the rename
        raise
    _sync_folder(target.parent)


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove what processes left behind that were killed while they wrote `path`.

    Whoever writes holds a lock on the file, which the kernel ends with the process, however that ends. Where the file
    system knows no locks nothing is removed.
    """
    target = Path(path)
    part = re.compile(re.escape(_beginning(target)) + r"[a-z0-9_]{8}\.part")
    with suppress(OSError):  # a folder that may be written to and not be looked at
        for name in filter(part.fullmatch, os.listdir(target.parent)):
            with suppress(OSError):  # another process has swept it up, or it is another user's
                _remove_unless_locked(target.parent / name)


def sha256(*parts: bytes | memoryview) -> str:
    """The SHA-256 of the parts one after another, in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _beginning(target: Path) -> str:
    """How the temporary names of this file begin, and of no other; a name that leaves no room gives way to its hash."""
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= 200 else sha256(name)[:32]}."


def _begin(target: Path) -> tuple[int, str]:
    """(handle, name) of a new file beside the target, locked so that nobody sweeps it up."""
    while True:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_beginning(target), suffix=".part")
        if not _lock(handle) or os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # it was taken for a leftover in the moment before it was locked


def _remove_unless_locked(file: Path) -> None:
    handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if _lock(handle):
            os.unlink(file)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether the open file is now this process's own; False also where the file system knows no locks."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _publish(part: str, target: Path, overwrite: bool) -> None:
    """Give the file its name; if that is taken and not to be overwritten, one beside it, and say so."""
    if overwrite:
        os.replace(part, target)
        return
    try:
        _give_new_name(part, target)
    except FileExistsError:
        for number in itertools.count(1):
            beside = _beside(target, number)
            with suppress(FileExistsError):
                _give_new_name(part, beside)
                break
        _sync_folder(target.parent)
        raise OutputTakenError(os.fspath(target), os.fspath(beside)) from None


def _give_new_name(part: str, name: Path) -> None:
    """Rename the file to a name that nobody has: FileExistsError otherwise, however close the race."""
    try:
        os.link(part, name)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: take the name first, then fill it
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            os.replace(part, name)
        except BaseException:
            os.unlink(name)
            raise
    else:
        os.unlink(part)


def _beside(target: Path, number: int) -> Path:
    """labels.csv → labels.1.csv; a name that leaves no room gives way to its hash."""
    stem = target.stem if len(os.fsencode(target.name)) <= 200 else sha256(os.fsencode(target.name))[:32]
    return target.with_name(f"{stem}.{number}{target.suffix[:40]}")


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk: a new name must survive a power cut as its file does."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
