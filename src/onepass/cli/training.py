"""Options of the commands that learn, the pass they make, and what is said of a training."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import click

from onepass.cli import inputs, terminal
from onepass.cli.options import Arguments, Named, NumberOr, Size, option, options_of
from onepass.cli.spelling import certified, words
from onepass.names import LEARNERS

if TYPE_CHECKING:
    from onepass.certificates import Certificate
    from onepass.cli.outputs import Output
    from onepass.io import Stream
    from onepass.models import LinearModel
    from onepass.passes import Pass
    from onepass.race import Race
    from onepass.scale.merged import Merged
    from onepass.scale.racing import MergedRace
    from onepass.tables.feature_names import FeatureNames
    from onepass.tables.plan import TablePlan


@dataclass(frozen=True)
class Learning:
    """What learns, and what is certified of it."""

    learner: str = option(type=Named([*LEARNERS]), default="adaptive", help="Online learner.")
    classes: str | None = option(help="All labels, separated by commas: any other is an error.")
    max_classes: int = option(
        type=click.IntRange(2), default=50, help="Labels that may be met where none are declared."
    )
    bound: str = option(type=click.Choice(["betting", "dekel2008"]), default="betting", help="Theorem.")
    delta: float = option(type=float, default=0.05, help="The certificate fails at most this often.")
    loss: str | None = option(
        type=click.Choice(["zero_one", "hinge"]),
        help="Loss to certify.  [default: 0-1; hinge where bounded and not frozen]",
    )
    radius: float | str | None = option(
        type=NumberOr("auto", number="R"), help="Scale rows onto the ball of this radius; needed for the hinge loss."
    )
    horizon: int | None = option(type=click.IntRange(1), help="Number of rows, if known beforehand.")
    expected_rows: int | None = option(
        type=click.IntRange(1),
        help="About how many rows will come: a price depends on it.  [default: as far as the files tell]",
    )
    positive: str | None = option(
        metavar="LABEL", help="The class that misses and false alarms speak of.  [default: the second, sorted]"
    )
    n_features: int | None = option(
        type=click.IntRange(1), help="Number of features, if known; for normalized, shifted."
    )
    cutoffs: str = option(type=click.Choice(["grid", "all"]), default="grid", help="Cutoffs tried.")
    no_intercept: bool = option(is_flag=True, help="Without a constant feature.")
    max_trace_memory: int = option(type=Size(), default="256MB", help="Update rows kept.")
    max_watch_memory: int = option(type=Size(), default="256MB", help="Weights of watched models.")
    on_drift: str = option(
        type=click.Choice(["withhold", "restart", "ignore"]),
        default="withhold",
        help="Where rows drift: no certificate, a new one from there on, or only tell.",
    )
    seed: int = option(type=click.IntRange(0), default=0, help="Chooses rows for --validation-fraction.")

    def arguments(self) -> Arguments:
        """All of it, in the names of `Pass`."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        listed = None if self.classes is None else [label(text) for text in self.classes.split(",")]
        positive = None if self.positive is None else label(self.positive)
        return said | {"classes": listed, "positive": positive, "fit_intercept": not said.pop("no_intercept")}


options = options_of(Learning, "Learning")


def label(text: str) -> float | str:
    """A label as files give it: a number, where it reads like one."""
    try:
        return float(text)
    except ValueError:
        return text


def make(arguments: Arguments, entries: tuple[str, ...] = (), table: TablePlan | None = None) -> Any:
    """The pass, or the race of several; wrong options become a usage error."""
    from onepass.training import made

    with usage_errors(arguments | {"race": entries}):
        return made(arguments, entries, table)


@contextlib.contextmanager
def usage_errors(arguments: Arguments) -> Iterator[None]:
    """What a library says of wrong arguments becomes a usage error that speaks of options."""
    from onepass.errors import ConversionError

    try:
        yield
    except (ValueError, TypeError, ConversionError) as error:
        said = words(error.args[0] if error.args else error)
        raise click.UsageError(as_options(said, arguments)) from None


def as_options(message: str, arguments: Arguments) -> str:
    """A message that begins with the names of arguments, with those of the options instead.

    >>> as_options("max_miss: above 0 and below 1 expected, got 3.0", {"max_miss": 3.0})
    '--max-miss: above 0 and below 1 expected, got 3.0'
    """
    names, colon, rest = message.partition(":")
    if not colon or not all(name in arguments for name in names.split(" and ")):
        return message
    return " and ".join(f"--{name.replace('_', '-')}" for name in names.split(" and ")) + colon + rest


class Learned(NamedTuple):
    """What learns: the options of a pass, and the entries of a race; None: those encodings that a table will have."""

    options: Arguments
    entries: tuple[str, ...] | None

    def usual(self, format: str) -> Arguments:
        """How files are read where nothing is said: tables as widely as an entry needs it."""
        from onepass.training import encodings_for

        return inputs.found(format) | encodings_for(self.entries)


class Training(ABC):
    """Learning from files, in this process or on workers: what is said of it, and its model."""

    begun = 0  # bytes of an earlier run
    stopped = False  # before the end, by --stop-at
    took = 0.0  # seconds until the model was written

    def __init__(self, run: Pass | Race | Merged | MergedRace, start: float) -> None:
        self.run, self.start = run, start

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    @cached_property
    def certificate(self) -> Certificate:
        """Of all rows, once they are learned."""
        return certified(self.run.certificate())

    @property
    @abstractmethod
    def table(self) -> TablePlan | None:
        """What the columns of a table are."""

    @property
    def learned_table(self) -> TablePlan | None:
        """The same for the model: a race may deploy a narrower encoding than was read."""
        from onepass.training_result import table_of

        return table_of(self.run, self.table)

    @property
    @abstractmethod
    def feature_names(self) -> FeatureNames | None:
        """What features are called, where that is known."""

    @property
    @abstractmethod
    def bytes(self) -> int | None:
        """Read so far, where that is known."""

    @property
    @abstractmethod
    def skipped(self) -> terminal.Record:
        """Lines that were left out: their number, and more where it is known."""

    @abstractmethod
    def about(self, reading: inputs.Reading) -> terminal.Record:
        """What a model remembers of the files: how they were read, and which they are."""

    @abstractmethod
    def more(self) -> terminal.Record:
        """What only this way of training has to say."""

    @abstractmethod
    def remarks(self, result: terminal.Record) -> list[str]:
        """The same, in lines of the summary."""

    @abstractmethod
    def means(self) -> str:
        """What it took beside time."""

    def raced(self) -> terminal.Record:
        """The entries, if there was a race."""
        from onepass.standings import Standings

        return {"race": self.run.as_dict()} if isinstance(self.run, Standings) else {}

    def facts(self) -> terminal.Record:
        """For a progress event or a summary."""
        certificate = self.run.certificate()
        return {
            "rows": self.run.rows,
            "rounds": self.run.rounds,
            "mistakes": self.run.mistakes,
            "bytes": self.bytes,
            "risk": None if certificate.withheld else certificate.risk,
        }

    def save(self, output: Output | None, reading: inputs.Reading) -> None:
        """Write the model, if one is wanted."""
        if output is not None:
            model = cast("LinearModel", self.run.model())
            model = replace(model, table=self.learned_table, names=self.feature_names)
            model.about.update(self.about(reading))
            with output.writing():
                model.save(output.path, overwrite=output.overwrite)

    def result(self, output: Output | None) -> terminal.Record:
        """What --json prints; a page and a checkpoint may add to it."""
        return {
            "command": "train",
            **self.facts(),
            "features": self.run.width,
            **self._met(),
            "classes": list(self.run.classes),
            "learner": repr(self.run.learner),
            "stopped": self.stopped,
            **self.skipped,
            "certificate": self.certificate.as_dict(),
            "output": None if output is None else output.written,
            **({"regimes": self.run.regimes.as_list()} if self.run.regimes.ended else {}),
            **self.more(),
        }

    def summary(self, result: terminal.Record) -> str:
        """The same in words."""
        from onepass.regimes import regime_words
        from onepass.training_result import summary

        remarks = [*self.remarks(result), *map(regime_words, result.get("regimes", []))]
        lines = summary(self.run, self.certificate, self.learned_table, self.feature_names, remarks)
        lines += [f"wrote {terminal.name(result[name])}" for name in ("output", "report") if result.get(name)]
        return "\n".join(lines)

    def _met(self) -> terminal.Record:
        """What the columns of a table are, and how many features were met in them."""
        if self.table is None:
            return {}
        from onepass.training_result import features_met

        table, names = self.table, self.feature_names
        met = {"columns": len(table.columns), "features_met": features_met(table, names)}
        return {**met, "target": table.target, "kinds": table.lines()}

    def conclude(
        self,
        output: Output | None,
        messages: terminal.Messages,
        complete: Callable[[terminal.Record], None] = lambda result: None,
    ) -> terminal.Record:
        """Say what came out, and how fast; `complete` may add to the result before it is printed."""
        result = self.result(output)
        self.took = self.seconds
        complete(result)
        messages.result(result, lambda: self.summary(result))
        rate = ((self.bytes or 0) - self.begun) / 1e6 / self.took
        messages.note(f"{self.took:.2f} s, {rate:.0f} MB/s, {self.run.rows / self.took:,.0f} rows/s{self.means()}")
        return result


def race_remarks(result: terminal.Record) -> list[str]:
    """The entries in lines of the summary, if there was a race."""
    from onepass.standings import race_lines

    return race_lines(result["race"]) if "race" in result else []


class LocalTraining(Training):
    """A stream that is fed to a pass in this process."""

    run: Pass | Race

    def __init__(self, run: Pass | Race, stream: Stream) -> None:
        super().__init__(run, time.perf_counter())
        self.stream = stream
        self.begun = stream.consumed
        self.interrupted = False
        self.status = 130  # exit code, if it was interrupted
        self.learning = 0.0  # seconds

    @property
    def table(self) -> TablePlan | None:
        return self.stream.table

    @property
    def feature_names(self) -> FeatureNames | None:
        return self.stream.feature_names

    @property
    def bytes(self) -> int:
        return self.stream.consumed

    @property
    def skipped(self) -> terminal.Record:
        return {"skipped": self.stream.skipped, "skipped_lines": [words(fault) for fault in self.stream.faults]}

    def about(self, reading: inputs.Reading) -> terminal.Record:
        return {
            "reading": inputs.remember(reading, self.stream),
            "data": inputs.identities(self.stream.identity),
        }

    def more(self) -> terminal.Record:
        return {"expected_rows": self.run.expected_rows, **self.raced(), "report": None}

    def remarks(self, result: terminal.Record) -> list[str]:
        lines = []
        if result["skipped"]:
            lines.append(f"left out {result['skipped']:,} bad lines, the first: {result['skipped_lines'][0]}")
        if result["stopped"]:
            lines.append("stopped: the certified risk has reached --stop-at")
        return [*lines, *race_remarks(result)]

    def means(self) -> str:
        return f", {peak_memory():.0f} MB at most"

    def note(self) -> str:
        """The right end of the bar."""
        risk = risk_text(self.run.certificate())
        rate = (self.bytes - self.begun) / max(self.seconds, 1e-9) / 1e6
        return (
            f"{self.run.rows:,} rows  {rate:.0f} MB/s  {self.run.mistakes:,} mistakes  {risk}  {peak_memory():.0f} MB"
        )


def risk_text(certificate: Certificate) -> str:
    """What a bar says of a certificate."""
    return "no certificate" if certificate.withheld else f"risk ≤ {certificate.risk:.3f}"


def peak_memory() -> float:
    """MB that this process has used at most.

    Linux hands on to a new program what the one that started it had used, unless one asks /proc.
    """
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1024 if sys.platform != "darwin" else used / 1024**2
