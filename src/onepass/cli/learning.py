"""Options of the commands that learn, the pass they make, and feeding it a stream under a progress bar."""

from __future__ import annotations

import contextlib
import resource
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from onepass.cli import reading as reader
from onepass.cli import resuming, terminal
from onepass.errors import CheckpointError, OnepassError

if TYPE_CHECKING:
    from onepass.io import Chunk, Stream
    from onepass.passes import Pass

LEARNERS = ("perceptron", "margin", "margin-sphere", "pa", "pa2", "normalized", "shifted")
CONVERSIONS = ("cutoff", "average", "last", "longest", "suffix", "penalised", "validation")


class Radius(click.ParamType):  # type: ignore[type-arg]
    """A positive number, or "auto"."""

    name = "R|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None or value == "auto":
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor auto", param, ctx)


class Size(click.ParamType):  # type: ignore[type-arg]
    """Bytes, with units: 500MB, 4GB."""

    name = "SIZE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        units = {"KB": 10, "MB": 20, "GB": 30, "K": 10, "M": 20, "G": 30, "B": 0, "": 0}
        number = str(value).upper().rstrip("KMGB")
        unit = str(value).upper()[len(number) :]
        try:
            size = int(float(number) * (1 << units[unit]))
        except (KeyError, ValueError, OverflowError):
            size = -1
        if size < 0:
            self.fail(f"{value!r} is not a size such as 500MB", param, ctx)
        return size


_OPTIONS = (
    click.option(
        "--learner", type=click.Choice(LEARNERS), default="perceptron", show_default=True, help="Online learner."
    ),
    click.option("--classes", help="All labels, separated by commas; needed for more than two."),
    click.option(
        "--bound", type=click.Choice(["betting", "dekel2008"]), default="betting", show_default=True, help="Theorem."
    ),
    click.option(
        "--delta", type=float, default=0.05, show_default=True, help="The certificate fails at most this often."
    ),
    click.option(
        "--loss", type=click.Choice(["zero_one", "hinge"]), help="Loss to certify.  [default: hinge if bounded]"
    ),
    click.option("--radius", type=Radius(), help="Scale rows onto the ball of this radius; needed for the hinge loss."),
    click.option("--horizon", type=click.IntRange(1), help="Number of rows, if known beforehand."),
    click.option("--n-features", type=click.IntRange(1), help="Number of features, if known; for normalized, shifted."),
    click.option(
        "--cutoffs", type=click.Choice(["grid", "all"]), default="grid", show_default=True, help="Cutoffs tried."
    ),
    click.option("--no-intercept", is_flag=True, help="Without a constant feature."),
    click.option("--max-trace-memory", type=Size(), default="256MB", show_default=True, help="Update rows kept."),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Chooses rows for --validation-fraction."
    ),
)


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The learning options; the command gets them as one dict `learning`, in the names of `Pass`."""
    return terminal.gathering(function, "learning", _OPTIONS, _in_names_of_pass, "Learning")


def _in_names_of_pass(given: dict[str, Any]) -> dict[str, Any]:
    classes = given.pop("classes")
    listed = None if classes is None else [_label(text) for text in classes.split(",")]
    return given | {"classes": listed, "fit_intercept": not given.pop("no_intercept")}


def _label(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def make(learning: dict[str, Any], **more: Any) -> Pass:
    """The pass; wrong options become a usage error."""
    from onepass.errors import ConversionError
    from onepass.passes import Pass

    try:
        return Pass(**learning, **more)
    except (ValueError, TypeError, ConversionError) as error:
        raise click.UsageError(str(error).replace("declare n_features", "say --n-features")) from None


class Feeding:
    """What happened while a stream was fed to a pass."""

    def __init__(self, run: Pass, stream: Stream) -> None:
        self.run, self.stream = run, stream
        self.start = time.perf_counter()
        self.begun = stream.consumed  # bytes of an earlier run
        self.interrupted = False
        self.status = 130  # exit code, if it was interrupted
        self.learning = 0.0  # seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def facts(self) -> dict[str, Any]:
        """For a progress event or a summary."""
        certificate = self.run.certificate()
        return {
            "rows": self.run.rows,
            "rounds": self.run.rounds,
            "mistakes": self.run.mistakes,
            "bytes": self.stream.consumed,
            "risk": None if certificate.withheld else certificate.risk,
        }

    def note(self) -> str:
        """The right end of the bar."""
        certificate = self.run.certificate()
        risk = "no certificate" if certificate.withheld else f"risk ≤ {certificate.risk:.3f}"
        rate = (self.stream.consumed - self.begun) / max(self.seconds, 1e-9) / 1e6
        return (
            f"{self.run.rows:,} rows  {rate:.0f} MB/s  {self.run.mistakes:,} mistakes  {risk}  {peak_memory():.0f} MB"
        )


def feed(
    run: Pass,
    stream: Stream,
    max_bad: str,
    say: terminal.Say,
    kept: resuming.Keeper | None = None,
    first: Callable[[Chunk], None] | None = None,
) -> Feeding:
    """Feed the whole stream; Ctrl-C or SIGTERM ends it after the chunk at hand, with a checkpoint if those are kept.

    `first` may look at the first chunk before it is learned, and object.
    """
    feeding = Feeding(run, stream)
    patience = threading.Timer(0.5, say.aside, ["compiling kernels (once) …"])
    patience.daemon = True
    kept = kept or resuming.Keeper(None, 0.0, say)
    with resuming.attending(say) as attention:
        try:
            with terminal.bar(stream.total_bytes, say) as tick:
                while not run.stopped and (chunk := next(stream, None)) is not None:
                    if patience.ident is None:  # the first chunk; waiting for it is waiting for whoever sends it
                        if first is not None:
                            first(chunk)
                        patience.start()
                    with attention.waiting():
                        began = time.perf_counter()
                        _feed(run, stream, chunk)
                        feeding.learning += time.perf_counter() - began
                        kept.fed(run, stream)
                    patience.cancel()
                    reader.check_bad(stream, max_bad)
                    tick(stream.consumed, feeding.note, feeding.facts)
                reader.check_bad(stream, max_bad, at_the_end=not run.stopped)
        except KeyboardInterrupt:
            feeding.interrupted, feeding.status = True, attention.status
            kept.save(run)
        except CheckpointError:  # the place to go on from is none: there is nothing to rescue
            raise
        except OnepassError:
            kept.rescue(run)
            raise
        finally:
            patience.cancel()
    _judge(run, stream)
    return feeding


CLASSES = 50  # that a message names; more look like a quantity


def _feed(run: Pass, stream: Stream, chunk: Chunk) -> None:
    from onepass.errors import DataError
    from onepass.labels import DECLARE

    labels = chunk.labels
    if labels is None:
        raise DataError("no labels to learn from", path=chunk.origin.path, remedy="--target names the label's column")
    try:
        run.feed(chunk.rows, labels)
    except DataError as error:
        raise stream.located(error, _remedy(run, labels) if error.remedy == DECLARE else None) from None


def _remedy(run: Pass, labels: Any) -> str:
    """What to do about a third label."""
    met = {reader.label_text(label) for label in labels.tolist()} | {reader.label_text(c) for c in run.classes}
    if len(met) > CLASSES:
        return f"another --target: this one holds {len(met):,} values in {len(labels):,} rows, and classes are wanted"
    return f"--classes {','.join(sorted(met))}"


def _judge(run: Pass, stream: Stream) -> None:
    """What reading showed that the certificate must say, or must not be given for."""
    if stream.changed:
        run.withhold(f"{stream.changed[0]} changed while it was read")
    same = reader.twins(stream)
    if same is not None:
        run.withhold(same)
    if stream.skipped:
        run.assume(f"{stream.skipped:,} bad lines were left out, which is no fault of their labels")
    if stream.truncated:
        run.assume("the compressed stream ended early, and what was lost is no different")


def peak_memory() -> float:
    """MB that this process has used at most.

    Linux hands on to a new program what the one that started it had used, unless one asks /proc.
    """
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1024 if sys.platform != "darwin" else used / 1024**2
