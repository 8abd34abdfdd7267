"""`open_stream`: from paths to a stream, by the table of formats."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from onepass.io import compression as codecs
from onepass.io.detect import detect
from onepass.io.formats import FORMATS
from onepass.io.position import Position
from onepass.io.sources import Limits, Source, expand
from onepass.io.stream import Reader, Stream, prepare


def open_stream(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    format: str | None = None,
    compression: str | None = None,
    threads: int | None = None,
    *,
    on_error: str | None = None,
    quarantine: Callable[[bytes], None] | None = None,
    position: Position | None = None,
    defaults: Callable[[str], Mapping[str, Any]] | None = None,
    **options: Any,
) -> Stream:
    r"""The examples of one or more files as chunks, in order.

    Parameters
    ----------
    paths : path or paths
        Files, globs, folders, `@list.txt`, or `-` for stdin.
    format : str or None, default None
        Found from the first bytes, then the name, unless given.
    compression : str or None, default None
        Found likewise, unless given.
    threads : int or None, default None
        Parsers beside the caller, who parses too; with 0 the caller alone. None: by the cores.
    on_error : str or None, default None
        "stop", or "skip" to leave out lines that cannot be read (text formats only).
    quarantine : Callable[[bytes], None] or None, default None
        Called with each line that is left out.
    position : Position or None, default None
        Where another stream of the same files was left, to go on from there.
    defaults : Callable[[str], Mapping[str, object]] or None, default None
        Given the format, options to take where none is given; those that the format does not have are left out.
    \*\*options
        Those of the format (docs/formats.md), and block_size, max_line, max_expand, allow_truncated, and span: a pair
        of bytes of one plain file of lines (those that start there are read), or of row groups of a Parquet file.

    Returns
    -------
    Stream
        Chunks, to be iterated over in a `with` block.

    Raises
    ------
    DataError
        If a file cannot be read as its format; with file, line and column.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.svm"
    >>> _ = file.write_text("1 1:0.5 3:2\n-1 2:1 # a comment\n")
    >>> with open_stream(file) as stream:
    ...     for rows, labels, origin in stream:
    ...         print(labels, rows.indptr, rows.indices, rows.values, origin.line)
    [ 1. -1.] [0 2 3] [0 2 1] [0.5 2.  1. ] 1
    >>> stream.format, stream.notes
    ('svmlight', ['labels: -1, 1'])
    """
    _check("format", format, tuple(FORMATS))
    _check("compression", compression, codecs.COMPRESSIONS)
    _check("on_error", on_error, ("stop", "skip"))
    if threads is not None and threads < 0:
        raise ValueError(f"threads must be at least 0; got {threads!r}")
    files = expand(paths)
    limits = Limits(**{name: options.pop(name) for name in Limits._fields if name in options})
    if limits.block_size < 1:
        raise ValueError(f"block_size must be at least 1; got {limits.block_size!r}")
    early = list[str]()  # notes made before there is a stream to hold them
    source = Source(files[0], compression, limits, early.append)
    try:
        found = format or (position.format if position is not None else None) or detect(source.head, files[0])
        prepare(source, found)
        usual = dict(defaults(found)) if defaults is not None else {}
        on_error = on_error or usual.pop("on_error", "stop")
        reader = make_reader(found, options, usual)
        if limits.span is not None and (not FORMATS[found].spanned or len(files) > 1):
            spanned = [name for name, known in FORMATS.items() if known.spanned]
            raise ValueError(f"span works for one file of {', '.join(spanned)}, not for {found}")
        if on_error == "skip" and FORMATS[found].binary:
            raise ValueError(f"on_error='skip' is for text, line by line: {found} has no lines that could be bad")
        stream = Stream(
            files,
            reader,
            source,
            format=found,
            threads=threads,
            compression=compression,
            skip=on_error == "skip",
            quarantine=quarantine,
            position=position,
        )
    except BaseException:
        source.close()
        raise
    for text in early:
        stream.note(text)
    return stream


def make_reader(format: str, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> Reader:
    """The format's reader with these options, and those of the defaults that it has."""
    known = FORMATS[format].options
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, [*known, *Limits._fields], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(known)}"
            raise TypeError(f"{format} has no option {option!r}{hint}")
    usual = {option: value for option, value in defaults.items() if option in known}
    reader: Reader = FORMATS[format].load()(**{**usual, **options})
    return reader


def _check(name: str, value: str | None, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        near = difflib.get_close_matches(value, allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}{hint}")
