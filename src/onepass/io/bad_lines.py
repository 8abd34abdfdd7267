"""Bad lines: the first of them stops a stream, or all are left out, counted and written elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from onepass.errors import Argument, DataError
from onepass.io import detect
from onepass.io.formats import FORMATS
from onepass.io.lines import BadLine, LineError
from onepass.io.position import Position
from onepass.io.sources import Source

FAULTS = 10  # bad lines that are kept as errors


class BadLines:
    """Those of one stream; with `skip` they are left out, and `quarantine` is given each with its newline."""

    def __init__(self, format: str, skip: bool, quarantine: Callable[[bytes], None] | None) -> None:
        self.format, self.skip = format, skip
        self.count = 0  # left out
        self.faults = list[DataError]()  # the first of them
        self.quarantined = 0  # bytes
        self._quarantine = quarantine

    def go_on(self, position: Position) -> None:
        """Begin with what had been left out there."""
        self.count, self.quarantined = position.skipped, position.quarantined
        self.faults = [DataError(words) for words in position.faults]

    def judge(self, bad: list[BadLine], source: Source, line: int) -> None:
        """Leave out what is bad in a block that begins with this line, or raise the first of it."""
        for number, text, fault in bad:
            if not self.skip:
                raise self._error(line + number, text, fault, source, line == 1)
            self.count += 1
            if len(self.faults) < FAULTS:
                self.faults.append(self._error(line + number, text, fault, source, False))
            if self._quarantine is not None:
                self._quarantine(text + b"\n")
                self.quarantined += len(text) + 1

    def _error(self, line: int, text: bytes, fault: LineError, source: Source, early: bool) -> DataError:
        """The fault with its place; early in the file it may be the format that is wrong."""
        message, remedy = fault.message, fault.remedy
        if FORMATS[self.format].binary:
            return DataError(message, source=source.path, row=line, remedy=remedy)
        likely = detect.guess(source.head) if early else None
        if likely not in (None, self.format):
            message, remedy = f"{message} (this looks like {likely})", Argument("format", likely)
        return DataError(message, source=source.path, line=line, column=fault.column, value=text, remedy=remedy)
