"""Options of all commands that read examples, and what they say about what was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from onepass.cli import terminal
from onepass.cli.startup import keep_memory
from onepass.errors import DataError

if TYPE_CHECKING:
    from onepass.cli.resuming import Keeper
    from onepass.io import Chunk, Stream

Own = Callable[[str], dict[str, Any]]  # options for a format, to take where none is given
FORMATS = ("svmlight", "vw", "csv", "tsv", "jsonl", "parquet", "arrow", "npy", "npz")
COMPRESSIONS = ("none", "gz", "zst", "bz2", "xz")

_OPTIONS = (
    click.option("--format", type=click.Choice(FORMATS), help="Format of the input.  [default: by content, then name]"),
    click.option("--compression", type=click.Choice(COMPRESSIONS), help="Compression.  [default: by content]"),
    click.option("--threads", type=click.IntRange(1), help="Threads that help to parse.  [default: cores - 1]"),
    click.option("--bits", type=click.IntRange(1, 30), help="Hash features into 2^BITS places."),
    click.option("--target", help="CSV, Parquet, …: the label's column, by name or number."),
    click.option("--text-column", help="CSV, TSV, JSONL: use the words in this column."),
    click.option("--categorical", multiple=True, metavar="COLUMN", help="CSV, …: a column to hash; may be repeated."),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="CSV, …: a column to leave out; may be repeated."),
    click.option("--header/--no-header", default=None, help="CSV, TSV: whether line 1 names the columns."),
    click.option("--delimiter", metavar="CHARACTER", help="CSV, TSV: what separates columns.  [default: comma; tab]"),
    click.option("--missing", type=click.Choice(["error", "zero", "indicator"]), help="What a missing value means."),
    click.option("--zero-based", is_flag=True, help="svmlight: the first feature is 0."),
    click.option("--unsorted", type=click.Choice(["error", "sort"]), help="svmlight: indices that fall."),
    click.option("--duplicates", type=click.Choice(["error", "sum", "last"]), help="svmlight: an index given twice."),
    click.option(
        "--max-features", type=click.IntRange(1), help="svmlight: the largest index allowed.  [default: 2^24]"
    ),
    click.option(
        "--on-error", default="stop", show_default=True, metavar="stop|skip|quarantine=FILE", help="Bad lines."
    ),
    click.option(
        "--max-bad", default="100%", metavar="N|P%", help="More bad lines than this end the run.  [default: 100%]"
    ),
    click.option("--max-line", type=click.IntRange(1), metavar="BYTES", help="Longest line.  [default: 2^26]"),
    click.option(
        "--max-expand",
        type=click.FloatRange(1),
        metavar="TIMES",
        help="Most that a file may unpack to.  [default: 1000]",
    ),
    click.option("--allow-truncated", is_flag=True, help="Take what a cut-off compressed file still holds."),
)

_PLAIN = (
    "bits",
    "target",
    "text_column",
    "categorical",
    "ignore",
    "header",
    "delimiter",
    "missing",
    "unsorted",
    "duplicates",
    "max_features",
    "max_line",
    "max_expand",
)
_FLAGS = ("zero_based", "allow_truncated")


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The reading options; the command gets them as one dict `reading`."""
    return terminal.gathering(function, "reading", _OPTIONS, dict, "Reading")


def said(reading: dict[str, Any]) -> dict[str, Any]:
    """Those options that were given, as `open_stream` takes them."""
    given = {name: reading[name] for name in _PLAIN if reading[name] not in (None, ())}
    given |= {name: True for name in _FLAGS if reading[name]}
    for name in ("format", "compression", "threads"):
        if reading[name] is not None:
            given[name] = reading[name]
    return given


def quarantine(reading: dict[str, Any]) -> str | None:
    """The file that bad lines go to, if there is one."""
    return reading["on_error"].partition("=")[2] or None


@contextmanager
def opened(
    paths: tuple[str, ...],
    reading: dict[str, Any],
    own: Own | None = None,
    resumed: Keeper | None = None,
    **more: Any,
) -> Iterator[Stream]:
    """The stream of these files; wrong options become a usage error, a quarantine file is written beside it.

    `own` gives options to take where none is given, and that are left out where the format has no such thing.
    `resumed` says where to go on.
    """
    keep_memory()
    from onepass.io import open_stream

    kept: IO[bytes] | None = None
    on_error, _, file = reading["on_error"].partition("=")
    if on_error not in ("stop", "skip", "quarantine") or (on_error == "quarantine") != bool(file):
        raise click.UsageError("--on-error must be stop, skip or quarantine=FILE")
    try:
        if resumed is not None:
            kept, more["position"] = resumed.opening(file)
        elif file:
            kept = open(file, "xb")  # noqa: SIM115 - closed below, with the stream
        more |= {"on_error": None if on_error == "stop" else "skip", "quarantine": kept.write if kept else None}
        stream = open_stream(list(paths), defaults=own, **said(reading), **more)
    except (TypeError, ValueError, OSError) as error:
        if kept is not None:
            kept.close()
            if more.get("position") is None:  # made for a run that does not begin
                os.unlink(file)
        if isinstance(error, DataError):
            raise
        if isinstance(error, OSError):
            raise click.UsageError(f"--on-error: {terminal.name(error.filename)}: {error.strerror}") from None
        raise click.UsageError(str(error)) from None
    try:
        with stream:
            yield stream
    finally:
        if kept is not None:
            kept.close()


MOST = 1 << 24  # features, unless told otherwise
BITS = 18  # of hashes, unless told otherwise
UNHASHED = ("svmlight", "npy", "npz")  # formats whose features have numbers
TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")
_REMEMBERED = (
    "target",
    "categorical",
    "ignore",
    "missing",
    "text_column",
    "header",
    "width",
    "delimiter",
    "bits",
    "zero_based",
    "unsorted",
    "duplicates",
)


def features_allowed(reading: dict[str, Any]) -> int:
    """How many features a pass must take that reads with these options."""
    bits = reading["bits"]
    return max(MOST, reading["max_features"] or 0, (1 << bits) + (1 << 16) if bits else 0)  # numbers beside categories


def most_features(chunk: Chunk, format: str, reading: dict[str, Any]) -> int:
    """How many features this and later chunks of a stream may have."""
    from onepass.rows import Dense

    if isinstance(chunk.rows, Dense):
        return int(chunk.rows.values.shape[1])
    if reading["bits"] is None and format in UNHASHED:
        return reading["max_features"] or MOST
    return 1 << (reading["bits"] or BITS)


def remember(reading: dict[str, Any], stream: Stream) -> dict[str, Any]:
    """How the rows were read, for the model: what `recall` needs to read others alike."""
    given = {name: value for name, value in (said(reading) | stream.decided).items() if name in _REMEMBERED}
    if stream.skipped:
        given["on_error"] = "skip"
    if stream.format in TABLES:
        given["columns"] = stream.columns and list(stream.columns)
    return {"format": stream.format, **given}


def recall(kept: Any, features: int, reading: dict[str, Any]) -> Own:
    """The reading options that a model with so many features was trained with; other --bits are refused."""
    from onepass.io.columns import Name

    known = kept if isinstance(kept, dict) else {}
    bits = known.get("bits", None if known.get("format") in UNHASHED else BITS)
    if known and reading["bits"] not in (None, bits):
        raise click.UsageError(f"--bits {reading['bits']}: the model was trained with {bits or 'none'}")
    own = {name: known[name] for name in _REMEMBERED if name in known}
    own |= {"features": features, "max_features": max(MOST, features)}
    if isinstance(own.get("target"), str):
        own["target"] = Name(own["target"])

    def fitting(format: str) -> dict[str, Any]:
        if format == known.get("format"):
            return own
        strange = {"delimiter", "target"} if "npy" in (format, known.get("format")) else {"delimiter"}
        return {name: value for name, value in own.items() if name not in strange}  # .npy has places, others names

    return fitting


def check_columns(stream: Stream, kept: Any) -> None:
    """Refuse a table whose columns are not those that the model was trained on."""
    expected = kept.get("columns") if isinstance(kept, dict) else None
    if expected is not None and stream.columns is not None and list(stream.columns) != expected:
        here, there = (", ".join(map(str, names[:12])) for names in (stream.columns, expected))
        raise DataError(
            f"the columns are {here}, but the model was trained on {there}",
            path=stream.paths[0],
            remedy="the same columns in the same order, or --ignore COLUMN",
        )


def check_bad(stream: Stream, max_bad: str, at_the_end: bool = False) -> None:
    """End the run when more lines were bad than --max-bad allows; before the end a share is one of at least 1000."""
    share = max_bad.endswith("%")
    try:
        limit = float(max_bad.rstrip("%"))
    except ValueError:
        raise click.UsageError(f"--max-bad must be a number or a percentage, got {max_bad!r}") from None
    seen = stream.rows + stream.skipped
    if stream.skipped > (limit / 100 * max(seen, 0 if at_the_end else 1000) if share else limit):
        first = f"; the first: {stream.faults[0]}" if stream.faults else ""
        raise DataError(f"{stream.skipped} bad lines in {seen}, more than --max-bad {max_bad} allows{first}")


def twins(stream: Stream) -> str | None:
    """The reason to withhold a certificate if one file was given twice."""
    return f"{stream.twins[0]} and {stream.twins[1]} seem to be the same data, fed twice" if stream.twins else None


def identity(known: Any) -> dict[str, Any]:
    """What tells a file from another: no path and no clock, so that the same data gives the same bytes."""
    return {"size": known.size, "ends": known.ends}


def label_text(label: Any) -> str:
    """A label as it stood in the file: 1, not 1.0."""
    return terminal.name(label) if isinstance(label, str) else f"{label:.17g}"
