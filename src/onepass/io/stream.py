"""The public face of the readers: files in, chunks out, in order, whatever the format and the number of threads.

Blocks are parsed ahead of the caller (see prefetch.py), who takes the results in order and numbers their lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from onepass.cores import cores
from onepass.errors import DataError, Phrase, ResumeError, printable
from onepass.io import detect
from onepass.io.bad_lines import BadLines
from onepass.io.blocks import Work
from onepass.io.chunk import Chunk, Labels, Origin
from onepass.io.formats import FORMATS
from onepass.io.lines import Parsed
from onepass.io.met_labels import MetLabels
from onepass.io.position import Position, files_differ
from onepass.io.prefetch import Prefetcher, Task
from onepass.io.sources import STDIN, Identity, Source, identify, is_direct
from onepass.rows import Ints, count
from onepass.tables.feature_names import FeatureNames
from onepass.tables.plan import TablePlan

AHEAD = 5  # blocks that may wait for the caller, beyond one for each thread
FEW = 100  # rows: of fewer nobody knows what labels there are
UNPACKED = 10  # the same of a compressed file: it is unpacked while the program still loads what parses and learns it


class Reader(Protocol):
    """A reader of one format, with its options."""

    @property
    def splits(self) -> bool:
        """Whether a plain file can be cut before it is read, so that whoever parses a block also reads it."""
        ...

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """What there is to parse in this source, in order. `skip`: leave bad lines out instead of stopping."""
        ...

    def remarks(self, flags: int) -> list[str]:
        """What a user should know after a whole stream with these flags."""
        ...


class _Place(NamedTuple):
    source: Source
    number: int  # of the file
    consumed: int


class Stream:
    """Chunks of one or more files, in order, once; `open_stream` makes it.

    Use it in a `with` block, or read it to the end.

    Attributes
    ----------
    format : str
        Of the files.
    paths : list of str
        The files.
    total_bytes : int or None
        As the files lie on disk; None if unknown.
    consumed : int
        Of them, so far.
    rows : int
        Examples handed out.
    notes : list of str
        Things to tell the user.
    identity : list
        Of every plain file; None for others.
    labels : dict
        Met, each with the origin of the chunk it first stood in.
    skipped : int
        The number of bad lines left out.
    faults : list of DataError
        The first ten of them.
    changed : list of str
        Files that are not what they were at the start.
    duplicate_files : tuple of str or None
        Two files that seem to hold the same.
    truncated : bool
        Whether a compressed stream ended early and was allowed to.
    gaps : list of int
        Where bad lines were left out of the chunk last handed out: each stood before the row of this number (after the
        last, if that is as large as the chunk). Those after the last chunk are there when the stream has ended.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from onepass.io import open_stream
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.svm"
    >>> _ = file.write_text("1 1:0.5\\n-1 2:1\\n")
    >>> with open_stream(file) as stream:
    ...     sizes = [chunk.size for chunk in stream]
    >>> sizes, stream.rows, stream.compression, list(stream.labels)
    ([2], 2, 'none', [1.0, -1.0])
    """

    def __init__(
        self,
        paths: list[str],
        reader: Reader,
        first: Source,
        *,
        format: str,
        threads: int | None = None,
        compression: str | None = None,
        skip: bool = False,
        quarantine: Callable[[bytes], None] | None = None,
        position: Position | None = None,
    ) -> None:
        self.format = format
        self.paths = paths
        self.notes = list[str]()
        self.identity: list[Identity | None] = [identify(path) for path in paths]
        sizes = [known.size for known in self.identity if known is not None]
        self.total_bytes = sum(sizes) if len(sizes) == len(paths) else None
        self.consumed = 0
        self.rows = 0
        self._bad = BadLines(format, skip, quarantine)
        self._met = MetLabels()
        self.changed = list[str]()
        self.duplicate_files: tuple[str, str] | None = None
        self.truncated = False
        self.gaps = list[int]()
        self._reader, self._first, self._given, self._limits = reader, first, compression, first.limits
        self._compressions = [first.compression]
        self._flags = 0
        self._mark = Position(format)  # but for faults, notes, labels and identity: `position` adds them
        self._origin: Origin | None = None  # of the chunk last handed out, and where its rows stood
        self._places: Ints | None = None
        self._closed = False
        self._ahead: Chunk | None = None  # was looked at before its time
        self._opened = [first]
        first.note = self.note
        plain = first.direct and all(is_direct(path, compression) for path in paths[1:])
        beside = threads != 0 and not (reader.splits and plain)
        workers = max(0, min(8, cores() - 1 - beside)) if threads is None else threads
        room = workers + (AHEAD if first.direct else UNPACKED) if workers or beside else 1
        self._prefetcher = Prefetcher(self._deal(), workers, room, beside=beside)
        self._chunks = self._take()
        self._note_duplicate_files()
        if position is not None:
            self._go_on(position)

    @property
    def skipped(self) -> int:
        """The number of bad lines left out."""
        return self._bad.count

    @property
    def faults(self) -> list[DataError]:
        """The first ten of them."""
        return self._bad.faults

    @property
    def labels(self) -> dict[float | str, Origin]:
        """Those met, each with the origin of the chunk it first stood in."""
        return self._met.first

    @property
    def compression(self) -> str:
        """One of none, gz, zst, bz2, xz; several, joined by commas, if the files differ."""
        return ",".join(sorted(set(self._compressions)))

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the feature columns, in formats that have them and once the first block is read."""
        return getattr(self._reader, "columns", None)

    @property
    def table(self) -> TablePlan | None:
        """What a table's columns are, once the first block is read; None for other formats."""
        return getattr(self._reader, "table", None)

    @property
    def feature_names(self) -> FeatureNames | None:
        """What the features met are called, in tables and where that is remembered (`named`)."""
        settled = getattr(self._reader, "settled", None)
        return None if settled is None else settled.names

    @property
    def examples(self) -> dict[str, list[str]]:
        """Some values of each column of a table, once the first block is read."""
        settled = getattr(self._reader, "settled", None)
        return {} if settled is None else settled.examples

    @property
    def unused_columns(self) -> list[str]:
        """Columns that a table has and the plan that it is read by does not know."""
        settled = getattr(self._reader, "settled", None)
        return [] if settled is None else settled.unused

    def look_ahead(self) -> None:
        """Read the first chunk, which is still handed out as the first: then it is known what the columns are."""
        if self._ahead is None:
            self._ahead = next(self._chunks, None)

    @property
    def decided(self) -> dict[str, Any]:
        """Options that the first file settled, such as whether it has a header: with them others are read alike."""
        return getattr(self._reader, "decided", {})

    @property
    def room(self) -> int:
        """Bytes of text that may be under way at once: waiting, being parsed, and in the caller's hands."""
        return (self._prefetcher.room + 2) * self._limits.block_size

    @property
    def position(self) -> Position:
        """How far the stream was read: the end of the chunk last handed out, whatever was read ahead of it.

        `open_stream(..., position=…)` goes on from there, with the chunk that would have come next.
        """
        return self._mark._replace(
            faults=tuple(map(str, self.faults[: self._mark.skipped])),
            notes=tuple(map(str, self.notes)),
            labels=tuple(self.labels.items()),
            identity=tuple(self.identity),
        )

    @property
    def duplicate_reason(self) -> str | None:
        """Why a certificate is withheld, if one file was given twice."""
        same = self.duplicate_files
        return f"{same[0]} and {same[1]} seem to be the same data, fed twice" if same else None

    @property
    def rereadable(self) -> bool:
        """Whether all of it can be read again: plain files only, no pipe."""
        return None not in self.identity

    def note(self, text: str) -> None:
        """Remember something for the user, once."""
        text = text if isinstance(text, Phrase) else printable(text)
        if text not in self.notes:
            self.notes.append(text)

    def narrow(self, encoding: str) -> None:
        """Make only the features of a narrower encoding of a table from now on, or soon: blocks are parsed ahead."""
        self._reader.narrow(encoding)  # type: ignore[attr-defined]  # readers of tables have it

    def located(self, error: DataError, remedy: str | None = None) -> DataError:
        """What is wrong with a row of the chunk last handed out, by its file and line; `remedy` in the caller's words.

        >>> import pathlib, tempfile
        >>> from onepass.io import open_stream
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.svm"
        >>> _ = file.write_text("1 1:0.5\\n\\n-1 2:1e200\\n")
        >>> with open_stream(file) as stream:
        ...     chunk = next(stream)
        >>> stream.located(DataError("too large", argument="X", row=1)).line
        3
        """
        assert self._origin is not None
        path, line, message, remedy = self._origin.path, self._origin.line, error.args[0], remedy or error.remedy
        binary = FORMATS[self.format].binary
        if error.row is None:
            place = f"{error.argument}: " if error.argument else ""
            message = f"after {'row' if binary else 'line'} {line}: {place}{message}"
            return DataError(message, source=path, remedy=remedy)
        line += error.row if self._places is None else int(self._places[error.row])
        if binary:
            return DataError(message, source=path, row=line, remedy=remedy)
        return DataError(message, source=path, line=line, remedy=remedy)

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        chunk = self._ahead
        self._ahead = None
        return next(self._chunks) if chunk is None else chunk

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads and close the files. Reading to the end does this too."""
        self._closed = True
        waiting = any(source.path == STDIN or not source.raw.regular for source in self._opened)
        if self._prefetcher.close(0.2 if waiting else None):
            for source in self._opened:
                source.close()

    def _deal(self) -> Iterator[Task[_Place, Parsed | None]]:
        """What there is to parse, file after file, and an end of each."""
        done, begun = 0, self._mark
        if begun.file and hasattr(self._reader, "columns"):
            self._look_at_columns(begun.file)
        for i, (path, known) in enumerate(zip(self.paths, self.identity, strict=True)):
            if i < begun.file:
                done += known.size if known is not None else 0
                continue
            source = self._open(path) if i else self._first
            if i == begun.file:
                source.begin, source.line = begun.at, begun.line
            for work in self._reader.works(source, self._bad.skip):
                yield Task(_Place(source, i, done + work.consumed), work.run)
            done += source.raw.consumed if known is None else known.size
            yield Task(_Place(source, i, done), lambda: None)  # the end of a file

    def _go_on(self, position: Position) -> None:
        """Begin where another stream of the same files was left."""
        differs = files_differ(position, self.paths, self.identity)
        if differs is None and position.format != self.format:
            differs = f"format: {position.format} then, {self.format} now"
        if differs is not None:
            raise ResumeError(differs)
        self._mark = position
        self.consumed, self.rows, self.changed = position.consumed, position.rows, list(position.changed)
        self._flags, self.truncated = position.flags, position.truncated
        self._bad.go_on(position)
        self._met.first = dict(position.labels)
        if self.labels and hasattr(self._reader, "go_on"):
            self._reader.go_on(next(iter(self.labels)))
        if position.names and hasattr(self._reader, "settled"):
            self._reader.settled.met_before = position.names
        for text in position.notes:
            self.note(text)
        if position.file:
            self._opened.remove(self._first)
            self._first.close()

    def _look_at_columns(self, files: int) -> None:
        """What a table's columns are is decided by its first file: look at it again."""
        for path in self.paths[:files]:
            source = self._open(path)
            next(self._reader.works(source, self._bad.skip), None)
            self._opened.remove(source)
            source.close()
            if self.columns is not None:
                return

    def _open(self, path: str) -> Source:
        source = Source(path, self._given, self._limits, self.note)
        self._opened.append(source)
        self._compressions.append(source.compression)
        found = detect.by_magic(source.head, path)
        if found is None and FORMATS[self.format].binary and b"\0" not in source.head:
            found = detect.guess(source.head)
        if found not in (None, self.format):
            raise DataError(
                f"this is {found}, and the first file is {self.format}", source=path, remedy="read one format at a time"
            )
        prepare(source, self.format)
        return source

    def _take(self) -> Iterator[Chunk]:
        """The caller's side: results in order, with the line numbers that only their order tells."""
        if self._closed:
            raise ValueError("the stream is closed")
        line, waiting = self._mark.line, 0  # bad lines behind the last chunk
        last: Labels | None = None
        try:
            for (source, number, consumed), parsed in self._prefetcher:
                if parsed is None:
                    self._finish(source)
                    line = 1
                    continue
                self.consumed = consumed
                self._bad.judge(parsed.bad, source, line)
                self._flags |= parsed.flags
                size = count(parsed.rows)
                gaps = [0] * waiting + parsed.gaps
                waiting = 0 if size else len(gaps)
                if size:
                    origin = Origin(source.path, line, parsed.start, parsed.stop, consumed, parsed.lines)
                    self.rows += size
                    self._met.meet(parsed.labels, origin)
                    for met in parsed.met:
                        self.feature_names.meet(met)  # type: ignore[union-attr]
                    self._mark = Position(
                        self.format,
                        number,
                        parsed.stop,
                        line + parsed.lines,
                        self.consumed,
                        self.rows,
                        self.skipped,
                        self._bad.quarantined,
                        self._flags,
                        self.truncated,
                        tuple(self.changed),
                    )
                    self._origin, self._places, self.gaps = origin, parsed.places, gaps
                    yield Chunk(parsed.rows, parsed.labels, origin)
                    if self._closed:
                        raise ValueError("the stream is closed")
                    last = parsed.labels
                line += parsed.lines
            self.gaps = [0] * waiting
            if not self.rows and self._limits.span is None:
                raise self._no_examples()
            for remark in self._reader.remarks(self._flags):
                self.note(remark)
            if self.labels:
                self._note_cut(last)
                self.note(self._met.note())
        finally:
            self.close()

    def _no_examples(self) -> DataError:
        if not self.faults:
            return DataError("no examples", source=self.paths[0])
        return DataError(Phrase("no examples, but {} bad lines; the first: {}", f"{self.skipped:,}", self.faults[0]))

    def _finish(self, source: Source) -> None:
        self.truncated |= source.truncated
        if source.raw.shrunk():
            raise DataError("the file became shorter while it was being read", source=source.path)
        if source.raw.changed():
            self.changed.append(source.path)
            self.note(f"{source.path} changed while it was being read")
        source.close()
        self._opened.remove(source)

    def _note_cut(self, labels: Labels | None) -> None:
        """Say so if the files seem to end within a label: it is the only one of its kind, and no newline follows."""
        origin = self._origin
        if labels is None or origin is None or self.rows < FEW or not self._ends_open(origin.path):
            return
        label = labels[-1].item() if hasattr(labels[-1], "item") else labels[-1]
        if self.labels.get(label) is origin and (labels == label).sum() == 1:
            shown = printable(f"{label:g}" if isinstance(label, float) else str(label))
            what = f"no newline, and its label {shown!r} stands nowhere else: was the file cut?"
            self.note(f"{printable(origin.path)}: the last line has {what}")

    def _ends_open(self, path: str) -> bool:
        """Whether a plain text's last line has no newline."""
        if FORMATS[self.format].binary or self._limits.span is not None or not is_direct(path, self._given):
            return False
        with suppress(OSError), open(path, "rb") as file:  # it may be gone, or shorter, by now
            file.seek(-1, os.SEEK_END)
            return file.read(1) not in b"\r\n"
        return False

    def _note_duplicate_files(self) -> None:
        seen: dict[tuple[int, str], str] = {}
        for known in filter(None, self.identity):
            what = (known.size, known.ends)
            if known.size and what in seen:
                self.duplicate_files = self.duplicate_files or (seen[what], known.path)
                self.note(f"{seen[what]} and {known.path} seem to be the same data")
            seen[what] = known.path


def prepare(source: Source, format: str) -> None:
    """Look at the source's first bytes before anything is parsed: what it cannot be, and its byte order mark."""
    if FORMATS[format].binary:
        return
    detect.refuse_strangers(source.head, source.path)
    detect.refuse_other_line_ends(source.head, source.path)
    if source.bom:
        source.note(f"{source.path}: a UTF-8 byte order mark was skipped")
