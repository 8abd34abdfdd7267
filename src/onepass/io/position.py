"""How far files were read, in plain values that a checkpoint holds, and whether files are still the same."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any, NamedTuple

from onepass.io.chunk import Origin
from onepass.io.sources import Identity


class Position(NamedTuple):
    """How far a stream was read, after a chunk: where to go on, and what had been seen by then. Plain values.

    Attributes
    ----------
    format : str
        Of the files.
    file : int, default 0
        Which of the paths.
    at : int, default 0
        Bytes of that file's text, after decompression; rows, where the file is not text.
    line : int, default 1
        The line (or row) that starts there.
    consumed : int, default 0
        Bytes of all files, as they lie on disk.
    rows : int, default 0
        Examples handed out.
    skipped : int, default 0
        Bad lines left out.
    quarantined : int, default 0
        Bytes of them that were written elsewhere.
    flags : int, default 0
        What the reader met, in bits of its own.
    truncated : bool, default False
        Whether a compressed stream ended early and was allowed to.
    changed : tuple of str, default ()
        Files that are not what they were at the start.
    faults : tuple of str, default ()
        The first ten bad lines, in words.
    notes : tuple of str, default ()
        Things to tell the user.
    labels : tuple, default ()
        Met, each with the origin of the chunk it first stood in.
    identity : tuple, default ()
        Of every plain file; None for others.
    names : tuple, default ()
        Of features met, as arrays; left empty where nobody will store it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onepass.io import open_stream
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.svm"
    >>> _ = file.write_text("1 1:0.5\\n-1 2:1\\n")
    >>> with open_stream(file) as stream:
    ...     chunk = next(stream)
    ...     position = stream.position
    >>> position.format, position.file, position.at, position.line, position.rows
    ('svmlight', 0, 15, 3, 2)
    """

    format: str
    file: int = 0  # which of the paths
    at: int = 0  # bytes of that file's text, after decompression; rows, where the file is not text
    line: int = 1  # the line (or row) that starts there
    consumed: int = 0
    rows: int = 0
    skipped: int = 0
    quarantined: int = 0  # bytes
    flags: int = 0
    truncated: bool = False
    changed: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    labels: tuple[tuple[float | str, Origin], ...] = ()
    identity: tuple[Identity | None, ...] = ()
    names: tuple[Any, ...] = ()  # of features met, as arrays; left empty where nobody will store it


def files_differ(position: Position, paths: list[str], identity: list[Identity | None]) -> str | None:
    """What shows that the position was taken in other files than these, in words; None if nothing does."""
    if len(position.identity) != len(paths):
        return f"{len(position.identity)} files then, {len(paths)} now"
    for path, old, new in zip(paths, position.identity, identity, strict=True):
        if old is None or new is None:
            return f"{path} is no plain file and cannot be read again"
        if old.size != new.size:
            return f"{path} is another file: {old.size:,} bytes then, {new.size:,} now"
        if old.ends != new.ends:
            return f"{path} is another file: its first or last 64 KiB have changed"
        if old.modified != new.modified:
            when = datetime.fromtimestamp(old.modified // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S")
            fraction = f"{old.modified % 10**9:09d}"
            return (
                f"{path} was written to after the run began; if you know that it holds the same as then, "
                f"say so by its time: touch -d '{when}.{fraction}Z' {shlex.quote(path)}"
            )
    return None
