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

TYPE_CHECKING = False  # as in onepass/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Spelling = Callable[["Argument"], str]

_SHOWN = 72  # bytes of a bad line that a message shows


class OnepassError(Exception):
    """Root of all errors that onepass raises on purpose."""


class Argument(str):
    """An argument that would help and the value to give it, in Python's words; other faces have words of their own.

    `like` stands for a value that only the user knows; without either, the argument alone is named.

    >>> Argument("unsorted", "sort"), Argument("target", like="NAME"), Argument("max_features")
    ("unsorted='sort'", 'target=NAME', 'max_features')
    """

    name: str
    value: object
    like: str

    def __new__(cls, name: str, value: object = None, like: str = "") -> Argument:
        shown = like or (repr(value) if value is not None else "")
        self = super().__new__(cls, f"{name}={shown}" if shown else name)
        self.name, self.value, self.like = name, value, like
        return self

    def __reduce__(self) -> tuple[type[Argument], tuple[str, object, str]]:
        return Argument, (self.name, self.value, self.like)

    def __repr__(self) -> str:
        return repr(str(self))


class Phrase(str):
    """Words with arguments (or errors) in them, each at its {}; a face that has other words for these can say it anew.

    >>> Phrase("fetch the file again, or {}", Argument("allow_truncated", True))
    'fetch the file again, or allow_truncated=True'
    """

    template: str
    parts: tuple[object, ...]

    def __new__(cls, template: str, *parts: object) -> Phrase:
        self = super().__new__(cls, template.format(*parts))
        self.template, self.parts = template, parts
        return self

    def __reduce__(self) -> tuple[type[Phrase], tuple[object, ...]]:
        return Phrase, (self.template, *self.parts)

    def __repr__(self) -> str:
        return repr(str(self))


def listed(words: Iterable[object]) -> Phrase:
    """Phrases, or whatever else, one after another.

    >>> listed(["rows came twice", Phrase("use {}", Argument("bound", "betting"))])
    "rows came twice; use bound='betting'"
    """
    parts = tuple(words)
    return Phrase("; ".join(["{}"] * len(parts)), *parts)


def spelled(words: object, spelling: Spelling = str) -> str:
    """The words of an error, a phrase or anything else, with every argument in them as `spelling` has it.

    >>> error = DataError("index 3 after 7", remedy=Argument("unsorted", "sort"))
    >>> spelled(error, lambda argument: f"--{argument.name} {argument.value}")
    'index 3 after 7. Fix: --unsorted sort'
    >>> spelled(LimitError(Phrase("too much: set {}", Argument("bits", 18))), lambda one: f"--{one.name} {one.value}")
    'too much: set --bits 18'
    """
    if isinstance(words, Argument):
        return spelling(words)
    if isinstance(words, Phrase):
        return words.template.format(*(spelled(part, spelling) for part in words.parts))
    if isinstance(words, DataError):
        return words.spelled(spelling)
    if isinstance(words, OnepassError) and len(words.args) == 1 and isinstance(words.args[0], Phrase):
        return spelled(words.args[0], spelling)
    return str(words)


def advises(words: object, name: str) -> bool:
    """Whether the words name this argument, as something to set.

    >>> advises(Phrase("mend it, or {}", Argument("on_error", "skip")), "on_error")
    True
    """
    if isinstance(words, Phrase):
        return any(advises(part, name) for part in words.parts)
    return isinstance(words, Argument) and words.name == name


class DataError(OnepassError, ValueError):
    """Rows or labels that cannot be learned from; nothing was changed by them.

    The message has all that is known of the place; what moves a cursor is escaped.

    Parameters
    ----------
    message : str
        What is wrong.
    source : str or None, default None
        The file.
    line, column : int or None, default None
        Where in it, from 1 (the column in bytes).
    row : int or None, default None
        Where in the argument, from 0; in a file without lines, from 1.
    argument : str or None, default None
        Of the call.
    value : bytes, str or None, default None
        What stood there, such as the line.
    remedy : str or None, default None
        What would help, an `Argument` or `Phrase` where an argument would.

    Examples
    --------
    >>> str(DataError("index 3 after 7", source="a.svm", line=2, column=7, value=b"1 7:1 3:\\x1b", remedy="sort"))
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
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
        row: int | None = None,
        argument: str | None = None,
        value: bytes | str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.source, self.line, self.column, self.row = source, line, column, row
        self.argument, self.value, self.remedy = argument, value, remedy

    def __str__(self) -> str:
        return self.spelled()

    def spelled(self, spelling: Spelling = str) -> str:
        """The message, with the arguments that it names as `spelling` has them."""
        place = printable(self.source or "")
        if self.line is not None:
            place += f"{':' if place else ''}line {self.line}"
        if self.column is not None:
            place += f", col {self.column}"
        argument = spelling(Argument(self.argument)) if self.argument else ""
        row = f"row {self.row}" if self.row is not None else ""
        words = ": ".join(filter(None, [place, argument, row, spelled(self.args[0], spelling)]))
        if self.value is not None:
            words += f'. Line: "{excerpt(self.value, self.column)}"'
        if self.remedy is not None:
            words += f". Fix: {spelled(self.remedy, spelling)}"
        return words


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
    """Another process wrote a file that was not to be overwritten.

    Parameters
    ----------
    path : str
        The file.
    kept : str
        Where the result is instead.

    Examples
    --------
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


def label_text(label: object) -> str:
    """A label as it stood in the file: 1, not 1.0.

    >>> label_text(1.0), label_text("a\\tb")
    ('1', 'a\\\\tb')
    """
    return f"{label:.17g}" if isinstance(label, float | int) else printable(str(label))


def excerpt(text: bytes | str, column: int | None = None) -> str:
    """At most 72 bytes of a line, around the column, with … where something was left out."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    start = 0 if column is None else max(0, min(column - 1 - _SHOWN // 2, len(raw) - _SHOWN))
    shown = printable(raw[start : start + _SHOWN])
    return f"{'…' if start else ''}{shown}{'…' if start + _SHOWN < len(raw) else ''}"
