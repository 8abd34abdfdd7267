"""What can go wrong, drawn once.

    OnepassError
    ├── DataError(ValueError)        rows or labels that cannot be learned from
    ├── LimitError(MemoryError)      the answer would need more memory than was allowed
    ├── ModelError(ValueError)       a model file that is damaged, foreign or too new
    │   └── CheckpointError          a checkpoint that is damaged or foreign
    ├── ResumeError(ValueError)      a checkpoint of another run: other options, other files, another version
    ├── ConversionError(ValueError)  a conversion or certificate that this pass cannot give, and what to do
    ├── OutputTakenError(FileExistsError)  another process wrote the output meanwhile; where the result is instead
    ├── StoppedError(RuntimeError)   the pass has reached stop_at and takes no more rows
    └── ScaleError(RuntimeError)     a run on several machines that cannot be finished; names the chunk

Wrong arguments raise plain ValueError or TypeError with the argument's name.
"""

from __future__ import annotations

_SHOWN = 72  # bytes of a bad line that a message shows


class OnepassError(Exception):
    """Root of all errors that onepass raises on purpose."""


class DataError(OnepassError, ValueError):
    """Rows or labels that cannot be learned from; nothing was changed by them.

    The message stands alone; what is known about the place comes with it, in the words that a terminal shows.

    >>> str(DataError("index 3 after 7", path="a.svm", line=2, column=7, text=b"1 7:1 3:\\x1b", remedy="sort"))
    'a.svm:line 2, col 7: index 3 after 7. Line: "1 7:1 3:\\\\x1b". Fix: sort'
    >>> str(DataError("label 7 is new", argument="y", row=5))
    'y: row 5: label 7 is new'
    >>> str(DataError("no examples"))
    'no examples'
    """

    def __init__(
        self,
        message: str,
        *,
        argument: str | None = None,
        row: int | None = None,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: bytes | str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.argument, self.row = argument, row  # of a call: which one, and where in it, from 0
        self.path, self.line, self.column, self.text, self.remedy = path, line, column, text, remedy

    def __str__(self) -> str:
        place = printable(self.path or self.argument or "")
        if self.row is not None:
            place += f"{': ' if place else ''}row {self.row}"
        if self.line is not None:
            place += f"{':' if place else ''}line {self.line}"
        if self.column is not None:
            place += f", col {self.column}"
        message = f"{place}: {self.args[0]}" if place else str(self.args[0])
        if self.text is not None:
            message += f'. Line: "{excerpt(self.text, self.column)}"'
        if self.remedy is not None:
            message += f". Fix: {self.remedy}"
        return message


class LimitError(OnepassError, MemoryError):
    """More memory would be needed than was allowed; the message has the number and the remedy."""


class ModelError(OnepassError, ValueError):
    """A model file that cannot be trusted; nothing of it was used."""


class CheckpointError(ModelError):
    """A checkpoint file that cannot be trusted; nothing of it was used."""


class ResumeError(OnepassError, ValueError):
    """A checkpoint that belongs to another run; the message names the difference, and nothing was changed."""


class ConversionError(OnepassError, ValueError):
    """A conversion or certificate that this pass cannot give; the message says what to do."""


class OutputTakenError(OnepassError, FileExistsError):
    """Another process wrote a file that was not to be overwritten; `kept` is where the result is instead.

    >>> str(OutputTakenError("model", "model.1"))
    'model was written by another process meanwhile; this result is kept in model.1'
    """

    def __init__(self, path: str, kept: str) -> None:
        super().__init__(path, kept)
        self.path, self.kept = path, kept

    def __str__(self) -> str:
        place, kept = printable(self.path), printable(self.kept)
        return f"{place} was written by another process meanwhile; this result is kept in {kept}"


class StoppedError(OnepassError, RuntimeError):
    """The pass has reached its target and takes no more rows."""


class ScaleError(OnepassError, RuntimeError):
    """A run on several machines that cannot be finished, or would not be right; the message names the chunk."""


def printable(text: bytes | str) -> str:
    """The text with everything that could move a cursor or change a colour escaped.

    >>> printable(b"red \\x1b[31m, tab \\t, Latin-1 \\xe9")
    'red \\\\x1b[31m, tab \\\\t, Latin-1 \\\\xe9'
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def excerpt(text: bytes | str, column: int | None = None) -> str:
    """At most 72 bytes of a line, around the column, with … where something was left out."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    start = 0 if column is None else max(0, min(column - 1 - _SHOWN // 2, len(raw) - _SHOWN))
    shown = printable(raw[start : start + _SHOWN])
    return f"{'…' if start else ''}{shown}{'…' if start + _SHOWN < len(raw) else ''}"
