"""The public face of the readers: files in, chunks out, in order, whatever the format and the number of threads.

One thread reads (or only deals out byte ranges, where the file allows it), a pool parses, and the caller takes the
results in order. A bounded queue holds the reader back, so memory is a few blocks; an error anywhere travels through
the queue and is raised where the bad block would have come.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple, Protocol

import numpy as np

from onepass.errors import DataError, printable
from onepass.io import detect
from onepass.io.blocks import Work
from onepass.io.chunk import Chunk, Labels, Origin
from onepass.io.lines import BadLine, Parsed
from onepass.io.sources import STDIN, Identity, Source, identify
from onepass.rows import count

MANY = 1000  # different labels; beyond that they are not collected


class Format(Protocol):
    """A format with its options."""

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """What there is to parse in this source, in order. `skip`: leave bad lines out instead of stopping."""
        ...

    def remarks(self, flags: int) -> list[str]:
        """What a user should know after a whole stream with these flags."""
        ...


class _FileEnd(NamedTuple):
    source: Source


class _Parsing(NamedTuple):
    source: Source
    consumed: int
    future: Future[Parsed]


_Item = _Parsing | _FileEnd | BaseException | None  # None ends the stream


class Stream:
    """Chunks of one or more files, in order, once. Use it in a `with` block, or read it to the end.

    Attributes: `format`; `compression`; `total_bytes` (None if unknown) and `consumed`, both as the files lie on disk;
    `notes`, things to tell the user; `identity` of every plain file; `labels` met, each with the origin of the chunk it
    first stood in; `skipped`, the number of bad lines left out; `changed`, files that are not what they were at the
    start; `twins`, two files that seem to hold the same; `truncated`, whether a compressed stream ended early and was
    allowed to.
    """

    def __init__(
        self,
        paths: list[str],
        form: Format,
        first: Source,
        *,
        format: str,
        threads: int | None = None,
        compression: str | None = None,
        skip: bool = False,
        quarantine: Callable[[bytes], None] | None = None,
    ) -> None:
        self.format = format
        self.paths = paths
        self.notes = list[str]()
        self.identity: list[Identity | None] = [identify(path) for path in paths]
        sizes = [known.size for known in self.identity if known is not None]
        self.total_bytes = sum(sizes) if len(sizes) == len(paths) else None
        self.consumed = 0
        self.rows = 0
        self.skipped = 0
        self.labels: dict[float | str, Origin] = {}
        self.changed = list[str]()
        self.twins: tuple[str, str] | None = None
        self.truncated = False
        self._form, self._first, self._given, self._limits = form, first, compression, first.limits
        self._compressions = [first.compression]
        self._skip, self._quarantine = skip, quarantine
        self._flags = 0
        self._inline = threads == 0
        workers = threads or min(8, _cores() + 1)  # one more than cores: the caller, who learns, is often waiting
        self._pool = ThreadPoolExecutor(workers, "onepass-parse")
        self._queue: queue.Queue[_Item] = queue.Queue(workers + 1)
        self._stop = threading.Event()
        self._opened = [first]
        first.note = self.note
        # A daemon: a reader that waits for stdin must not keep the program from ending.
        self._reader = threading.Thread(target=self._read, name="onepass-read", daemon=True)
        self._chunks = self._take()
        self._tell_twins()

    @property
    def compression(self) -> str:
        """One of none, gz, zst, bz2, xz; several, joined by commas, if the files differ."""
        return ",".join(sorted(set(self._compressions)))

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the feature columns, in formats that have them and once the first block is read."""
        return getattr(self._form, "columns", None)

    def note(self, text: str) -> None:
        """Remember something for the user, once."""
        if printable(text) not in self.notes:
            self.notes.append(printable(text))

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        return next(self._chunks)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the threads and close the files. Reading to the end does this too."""
        self._stop.set()
        while not self._queue.empty():
            self._queue.get_nowait()  # lets a reader that waits for room see that nobody wants more
        waiting = any(source.path == STDIN or not source.raw.regular for source in self._opened)
        if self._reader.ident is not None:
            self._reader.join(0.2 if waiting else None)
        self._pool.shutdown(wait=True, cancel_futures=True)
        if not self._reader.is_alive():
            for source in self._opened:
                source.close()

    def _read(self) -> None:
        """The reader thread: open file after file and hand its works to the pool."""
        try:
            for item in self._deal(self._pool.submit):
                if not self._put(item):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _deal(self, submit: Callable[[Callable[[], Parsed]], Future[Parsed]]) -> Iterator[_Parsing | _FileEnd]:
        """What there is to parse, file after file."""
        done = 0
        for i, (path, known) in enumerate(zip(self.paths, self.identity, strict=True)):
            source = self._open(path) if i else self._first
            for work in self._form.works(source, self._skip):
                yield _Parsing(source, done + work.consumed, submit(work.run))
            yield _FileEnd(source)
            done += source.raw.consumed if known is None else known.size

    def _items(self) -> Iterator[_Parsing | _FileEnd]:
        """The same as the caller meets it: through the queue, or (threads=0) parsed by the caller itself."""
        if self._inline:
            yield from self._deal(_at_once)
            return
        self._reader.start()
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def _open(self, path: str) -> Source:
        source = Source(path, self._given, self._limits, self.note)
        self._opened.append(source)
        self._compressions.append(source.compression)
        prepare(source, self.format)
        return source

    def _put(self, item: _Item) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def _take(self) -> Iterator[Chunk]:
        """The caller's side: results in order, with the line numbers that only their order tells."""
        if self._stop.is_set():
            raise ValueError("the stream is closed")
        line = 1
        try:
            for item in self._items():
                if isinstance(item, _FileEnd):
                    self._finish(item.source)
                    line = 1
                    continue
                parsed = item.future.result()
                self.consumed = item.consumed
                self._judge(parsed.bad, item.source, line)
                self._flags |= parsed.flags
                size = count(parsed.rows)
                if size:
                    origin = Origin(item.source.path, line, parsed.start, parsed.stop, item.consumed)
                    self.rows += size
                    self._meet(parsed.labels, origin)
                    yield Chunk(parsed.rows, parsed.labels, origin)
                    if self._stop.is_set():
                        raise ValueError("the stream is closed")
                line += parsed.lines
            if not self.rows and self._limits.span is None:
                raise DataError("no examples", path=self.paths[0])
            for remark in self._form.remarks(self._flags):
                self.note(remark)
            self._tell_labels()
        finally:
            self.close()

    def _judge(self, bad: list[BadLine], source: Source, line: int) -> None:
        for number, text, fault in bad:
            if not self._skip:
                message, remedy = fault.message, fault.remedy
                if self.format in detect.BINARY:
                    raise DataError(f"row {line + number}: {message}", path=source.path, remedy=remedy)
                likely = detect.guess(source.head)
                if line == 1 and likely not in (None, self.format):
                    message, remedy = f"{message} (this looks like {likely})", f"--format {likely}"
                raise DataError(
                    message, path=source.path, line=line + number, column=fault.column, text=text, remedy=remedy
                )
            self.skipped += 1
            if self._quarantine is not None:
                self._quarantine(text + b"\n")

    def _finish(self, source: Source) -> None:
        self.truncated |= source.truncated
        if source.raw.shrunk():
            raise DataError("the file became shorter while it was being read", path=source.path)
        if source.raw.changed():
            self.changed.append(source.path)
            self.note(f"{source.path} changed while it was being read")
        source.close()
        self._opened.remove(source)

    def _meet(self, labels: Labels | None, origin: Origin) -> None:
        if labels is None or len(self.labels) > MANY:
            return
        for label in np.unique(labels).tolist():
            if label == label:  # not nan, the label of an unlabelled example
                self.labels.setdefault(label, origin)

    def _tell_twins(self) -> None:
        seen: dict[tuple[int, str], str] = {}
        for known in filter(None, self.identity):
            what = (known.size, known.ends)
            if known.size and what in seen:
                self.twins = self.twins or (seen[what], known.path)
                self.note(f"{seen[what]} and {known.path} seem to be the same data")
            seen[what] = known.path

    def _tell_labels(self) -> None:
        met = sorted(self.labels, key=lambda label: (isinstance(label, str), label))
        if met:
            shown = ", ".join(label if isinstance(label, str) else f"{label:g}" for label in met[:10])
            self.note(f"labels: {shown}" + (f" and {len(met) - 10} more" if len(met) > 10 else ""))


def _at_once(run: Callable[[], Parsed]) -> Future[Parsed]:
    done: Future[Parsed] = Future()
    done.set_result(run())
    return done


def prepare(source: Source, format: str) -> None:
    """Look at the source's first bytes before anything is parsed: what it cannot be, and its byte order mark."""
    if format in detect.BINARY:
        return
    detect.refuse_strangers(source.head, source.path)
    detect.refuse_other_line_ends(source.head, source.path)
    if source.bom:
        source.note(f"{source.path}: a UTF-8 byte order mark was skipped")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
