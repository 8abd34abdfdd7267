"""How a command reads examples: the options, the stream, and what a model remembers of both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from onepass.cli import terminal
from onepass.cli.options import Arguments, Named, option, options_of
from onepass.cli.spelling import words
from onepass.cli.startup import keep_memory
from onepass.errors import DataError
from onepass.errors import label_text as label_text
from onepass.io.compression import COMPRESSIONS
from onepass.io.formats import FORMATS

if TYPE_CHECKING:
    from onepass.cli.checkpoints import Checkpointer
    from onepass.io import Chunk, Stream
    from onepass.io.sources import Identity
    from onepass.tables.plan import TablePlan

Defaults = Callable[[str], Arguments]  # options for a format, to take where none is given

MOST = 1 << 24  # features, unless told otherwise
BITS = 18  # of hashes, unless told otherwise
REMEMBERED = {"remembered": True}  # a model keeps it, so that other files are read alike
RACE = "Bins, crosses, the race"  # a section of the help
CHANGEABLE = {"changeable": True}  # may be another when a run is resumed


@dataclass(frozen=True)
class Reading:
    """How files are read, as the command line says it: None, False or () where it says nothing."""

    format: str | None = option(
        type=Named([*FORMATS]), help="Format of the input.  [default: by content, then name]", about=CHANGEABLE
    )
    compression: str | None = option(type=click.Choice(COMPRESSIONS), help="Compression.  [default: by content]")
    threads: int | None = option(
        type=click.IntRange(1), help="Threads that help to parse.  [default: cores - 1]", about=CHANGEABLE
    )
    bits: int | None = option(type=click.IntRange(1, 30), help="Hash features into 2^BITS places.", about=REMEMBERED)
    target: str | None = option(help="CSV, Parquet, …: the label's column, by name or number.", about=REMEMBERED)
    text_column: str | None = option(help="Tables: learn from the words of this column alone.", about=REMEMBERED)
    categorical: tuple[str, ...] = option(
        multiple=True,
        metavar="COLUMNS",
        help="Tables: columns a,b,c hold categories, whatever it looks like.",
        about=REMEMBERED,
    )
    numeric: tuple[str, ...] = option(
        multiple=True, metavar="COLUMNS", help="The same: they hold numbers.", about=REMEMBERED
    )
    text: tuple[str, ...] = option(
        multiple=True, metavar="COLUMNS", help="The same: they hold texts, to be taken word by word.", about=REMEMBERED
    )
    date: tuple[str, ...] = option(
        multiple=True, metavar="COLUMNS", help="The same: they hold dates or times.", about=REMEMBERED
    )
    bins: bool = option(
        is_flag=True,
        help="Tables: numbers give the bin they fall in and their leading bits too.",
        about=REMEMBERED | {"section": RACE},
    )
    cross: tuple[str, ...] = option(
        multiple=True,
        metavar="all|A*B",
        help="Tables: the values of two columns together are a feature; pairs a*b,c*d, or all of them.",
        about=REMEMBERED | {"section": RACE},
    )
    ignore: tuple[str, ...] = option(
        multiple=True, metavar="COLUMNS", help="The same: leave them out.", about=REMEMBERED
    )
    header: bool | None = option(
        "--header/--no-header", default=None, help="CSV, TSV: whether line 1 names the columns.", about=REMEMBERED
    )
    delimiter: str | None = option(
        metavar="CHARACTER", help="CSV, TSV: what separates columns.  [default: by content]", about=REMEMBERED
    )
    missing: str | None = option(
        type=click.Choice(["error", "zero", "indicator"]), help="What a missing value means.", about=REMEMBERED
    )
    zero_based: bool = option(is_flag=True, help="svmlight: the first feature is 0.", about=REMEMBERED)
    unsorted: str | None = option(
        type=click.Choice(["error", "sort"]), help="svmlight: indices that fall.", about=REMEMBERED
    )
    duplicates: str | None = option(
        type=click.Choice(["error", "sum", "last"]), help="svmlight: an index given twice.", about=REMEMBERED
    )
    max_features: int | None = option(
        type=click.IntRange(1), help="svmlight: the largest index allowed.  [default: 2^24]"
    )
    on_error: str = option(default="stop", metavar="stop|skip|quarantine=FILE", help="Bad lines.", about=CHANGEABLE)
    max_bad: str = option(
        default="100%", metavar="N|P%", help="More bad lines than this end the run.", about=CHANGEABLE
    )
    max_line: int | None = option(
        type=click.IntRange(1), metavar="BYTES", help="Longest line.  [default: 2^26]", about=CHANGEABLE
    )
    max_expand: float | None = option(
        type=click.FloatRange(1),
        metavar="TIMES",
        help="Most that a file may unpack to.  [default: 1000]",
        about=CHANGEABLE,
    )
    allow_truncated: bool = option(
        is_flag=True, help="Take what a cut-off compressed file still holds.", about=CHANGEABLE
    )
    width: int | None = field(default=None, metadata=REMEMBERED)  # no option: of a table without header, found out

    def arguments(self) -> Arguments:
        """What was said, as `open_stream` takes it."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        return {name: value for name, value in given.items() if name not in ("on_error", "max_bad")}

    def in_python(self) -> Arguments:
        """The same for Python alone, where bad lines may be left out, and no file takes them."""
        return self.arguments() | ({} if self.on_error == "stop" else {"on_error": "skip"})

    @property
    def fixed(self) -> Arguments:
        """What must be the same when a run is resumed."""
        return {one.name: getattr(self, one.name) for one in fields(self) if "changeable" not in one.metadata}

    @property
    def quarantine(self) -> str | None:
        """The file that bad lines go to, if there is one."""
        return self.on_error.partition("=")[2] or None

    @property
    def max_columns(self) -> int:
        """How many features a pass must take that reads like this."""
        from onepass.training import most_columns

        return most_columns(self.bits, self.max_features)


options = options_of(Reading, "Reading")
KEPT = tuple(one.name for one in fields(Reading) if "remembered" in one.metadata)


@contextmanager
def opened(
    paths: tuple[str, ...],
    reading: Reading,
    defaults: Defaults | None = None,
    resumed: Checkpointer | None = None,
    **more: Any,
) -> Iterator[Stream]:
    """The stream of these files; wrong options become a usage error, a quarantine file is written beside it.

    `defaults` gives options to take where none is given, and that are left out where the format has no such thing.
    `resumed` says where to go on.
    """
    keep_memory()
    from onepass.io import open_stream

    kept: IO[bytes] | None = None
    on_error, _, file = reading.on_error.partition("=")
    if on_error not in ("stop", "skip", "quarantine") or (on_error == "quarantine") != bool(file):
        raise click.UsageError("--on-error must be stop, skip or quarantine=FILE")
    try:
        if resumed is not None:
            kept, more["position"] = resumed.opening(file)
        elif file:
            kept = open(file, "xb")  # noqa: SIM115 - closed below, with the stream
        more |= {"on_error": None if on_error == "stop" else "skip", "quarantine": kept.write if kept else None}
        stream = open_stream(list(paths), defaults=defaults, **reading.arguments(), **more)
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


def most_features(chunk: Chunk, format: str, reading: Reading) -> int:
    """How many features this and later chunks of a stream may have."""
    from onepass.rows import Dense

    if isinstance(chunk.rows, Dense):
        return int(chunk.rows.values.shape[1])
    if reading.bits is None and not FORMATS[format].hashed:
        return reading.max_features or MOST
    return 1 << (reading.bits or BITS)


class Found(NamedTuple):
    """What was found of the files: a `Stream` can tell it too."""

    format: str
    table: TablePlan | None
    decided: Arguments
    skipped: int


def remember(reading: Reading, stream: Stream | Found) -> Arguments:
    """How the rows were read, for the model: what `recall` needs to read others alike."""
    from onepass.training_result import remembered

    return remembered(reading.arguments(), stream)


def found(format: str) -> Arguments:
    """Where nothing is said, a table's columns are what they look like."""
    return {"kinds": "found", "named": True}


def recall(kept: object, table: TablePlan | None, features: int, reading: Reading) -> Defaults:
    """The reading options that a model with so many features was trained with; other --bits are refused."""
    from onepass.io.columns import LISTS

    known = kept if isinstance(kept, dict) else {}
    trained = FORMATS.get(known.get("format", ""))
    bits = (
        table.bits
        if table is not None
        else known.get("bits", None if trained is not None and not trained.hashed else BITS)
    )
    if known and reading.bits not in (None, bits):
        raise click.UsageError(f"--bits {reading.bits}: the model was trained with {bits or 'none'}")
    said = [name for name in LISTS if table is not None and getattr(reading, name)]
    if said:
        raise click.UsageError(f"--{said[0]}: the model knows what its columns are; train another to have it otherwise")
    own = {name: known[name] for name in KEPT if name in known}
    own |= {"features": features, "max_features": max(MOST, features), "plan": table}

    def fitting(format: str) -> Arguments:
        if format == known.get("format"):
            return own
        strange = {"delimiter", "target"} if "npy" in (format, known.get("format")) else {"delimiter"}
        return {name: value for name, value in own.items() if name not in strange}  # .npy has places, others names

    return fitting


def check_bad(stream: Stream, reading: Reading, at_the_end: bool = False) -> None:
    """End the run when more lines were bad than --max-bad allows; before the end a share is one of at least 1000."""
    seen = stream.rows + stream.skipped
    check_share(stream.skipped, seen if at_the_end else max(seen, 1000), seen, reading.max_bad, stream.faults)


def check_share(bad: int, least: int, seen: int, max_bad: str, faults: Sequence[DataError] = ()) -> None:
    """The same of so many bad lines among those seen, of which a share counts as one of `least`."""
    try:
        limit = float(max_bad.rstrip("%"))
    except ValueError:
        raise click.UsageError(f"--max-bad must be a number or a percentage, got {max_bad!r}") from None
    if bad > (limit / 100 * least if max_bad.endswith("%") else limit):
        first = f"; the first: {words(faults[0])}" if faults else ""
        raise DataError(f"{bad} bad lines in {seen}, more than --max-bad {max_bad} allows{first}")


def identities(known: Iterable[Identity | None]) -> list[dict[str, int | str]]:
    """What tells plain files from others: no path and no clock, so that the same data gives the same bytes."""
    return [{"size": one.size, "ends": one.ends} for one in known if one is not None]
