"""Files that are either whole or not there: atomic writes and content hashes."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str], previous: str | os.PathLike[str] | None = None) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well, and leaves no trace when it does not.

    A link stays, and leads to the new file. A pipe or a device cannot be replaced and is written into. What was at
    `path`, be it a link, is kept at `previous`, if that is given. (A process that is killed between the two renames
    leaves `previous` alone.)

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
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=_beginning(target), suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        if previous is not None and target.exists():
            os.replace(target, previous)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)  # a signal may come after the rename
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name itself must survive a power cut
    finally:
        os.close(folder)


def sweep(path: str | os.PathLike[str]) -> None:
    """Remove what processes left behind that were killed while they wrote `path`. For who alone may write it."""
    target = Path(path)
    part = re.compile(re.escape(_beginning(target)) + r"[a-z0-9_]{8}\.part")
    for file in target.parent.iterdir():
        if part.fullmatch(file.name):
            file.unlink(missing_ok=True)


def sha256(*parts: bytes) -> str:
    """The SHA-256 of the parts one after another, in hexadecimal."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _beginning(target: Path) -> str:
    """How the temporary names of this file begin, and of no other; a name that leaves no room gives way to its hash."""
    name = os.fsencode(target.name)
    return f".{target.name if len(name) <= 200 else sha256(name)[:32]}."


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
