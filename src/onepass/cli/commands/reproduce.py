"""`onepass reproduce`: the experiments of dekel2008, Section 4, as figures, tables and a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onepass.cli import terminal
from onepass.cli.options import option, options_of
from onepass.cli.outputs import Output, Outputs

if TYPE_CHECKING:
    from onepass.experiments import Corpus, Design, Study

FIGURES = {"figure2": "perceptron", "figure3": "margin"}
LOSSES, TABLE, CERTIFICATES = (
    [".png", ".svg", ".pdf"],
    ".csv",
    ["-certificates.png", "-certificates.svg", "-certificates.pdf"],
)
DOCUMENTS, QUICK = 50_000, 6_000
TICKS = 1000  # of the progress bar


@dataclass(frozen=True)
class Protocol:
    """On which documents, how often, and where the files go."""

    data: str | None = option(
        metavar="FOLDER|FILE|rcv1", help="Files of RCV1-v2, or labelled rows.  [default: newswire]"
    )
    documents: int | None = option(
        type=click.IntRange(1000), help=f"Newswire documents to draw.  [default: {DOCUMENTS}]"
    )
    repeats: int | None = option(type=click.IntRange(2), help="Random splits and orders.  [default: 10]")
    per_decade: int | None = option(
        type=click.IntRange(1, 100), help="Pauses from one power of ten to the next.  [default: 8]"
    )
    quick: bool = option(is_flag=True, help="A minute's run: 6,000 documents, 3 repeats, 4 pauses a decade.")
    delta: float = option(type=click.FloatRange(0, 1, True, True), default=0.05, help="Of certificates.")
    seed: int = option(type=click.IntRange(min=0), default=0, help="Of newswire, splits and orders.")
    threads: int | None = option(type=click.IntRange(min=1), help="Threads; the result does not depend on them.")
    output: str = option("-o", "--output", type=click.Path(), default="reproduced", help="Folder for the files.")
    force: bool = option(is_flag=True, help="Overwrite files.")

    def check(self) -> None:
        """Refuse documents that are not there, or that come from two places."""
        if self.data is not None and self.documents is not None:
            raise click.UsageError("--documents draws a newswire: leave it out with --data")
        if self.data is not None and not Path(self.data).exists() and self.data != "rcv1":
            raise click.UsageError(f"--data: {self.data!r} is not there (a folder, a file, or the word rcv1 expected)")

    def corpus(self) -> Corpus:
        """The documents."""
        from onepass.experiments import newswire, read

        drawn = self.documents or (QUICK if self.quick else DOCUMENTS)
        return (read(self.data) if self.data else newswire(drawn, self.seed)).scaled()

    def design(self) -> Design:
        """How the experiment is made."""
        from onepass.experiments import Design

        repeats, per_decade = (3, 4) if self.quick else (10, 8)
        return Design(self.repeats or repeats, self.per_decade or per_decade, self.delta, self.seed)


@click.command("reproduce", short_help="Repeat the experiments of the cutoff-averaging paper.")
@click.argument("figure", type=click.Choice([*FIGURES, "all"]), default="all")
@options_of(Protocol)
@terminal.options
def command(figure: str, protocol: Protocol, messages: terminal.Messages) -> None:
    """Train on every pair of categories, pause at growing sizes, and measure each conversion on a test set.

    figure2 is the Perceptron in 0-1 loss, figure3 the margin-based Perceptron in hinge loss. Each writes FIGURE.png,
    .svg, .pdf and .csv, and FIGURE-certificates.png, .svg and .pdf: what was certified on the way, above what was true.

    \b
    Examples:
      onepass reproduce --quick
      onepass reproduce figure2 -o figures
      onepass reproduce all --data rcv1-v2-files -o figures
      onepass reproduce figure3 --data news.svm --repeats 5 --json
    """
    names = list(FIGURES) if figure == "all" else [figure]
    outputs = Outputs([protocol.data] if protocol.data else [])
    endings, folder = (*LOSSES, TABLE, *CERTIFICATES), Path(protocol.output)
    files = [outputs.check_figures(folder, [f"{name}{end}" for end in endings], protocol.force) for name in names]
    protocol.check()
    from onepass.experiments import study

    design = protocol.design()
    with terminal.progress("reading" if protocol.data else "drawing documents", None, messages):
        corpus = protocol.corpus()
    with terminal.progress("training (the first time also compiling)", TICKS, messages) as tick:
        learners = [FIGURES[name] for name in names]
        found = study(corpus, learners, design, threads=protocol.threads, tick=lambda share: tick(int(TICKS * share)))
    with terminal.progress("drawing figures", None, messages):
        for result, outs in zip(found, files, strict=True):
            _write(result, outs)
    written = [file.written for outs in files for file in outs]
    if messages.as_json:
        said = {
            name: {
                "learner": result.learner,
                "loss": result.loss,
                "coverage": result.coverage(),
                "problems": result.lines(),
            }
            for name, result in zip(names, found, strict=True)
        }
        about = {"command": "reproduce", "data": corpus.name, "remarks": list(corpus.remarks), **vars(design)}
        terminal.print_json({**about, **said, "files": written})
    elif not messages.quiet:
        for result in found:
            show(result)
        for line in (*corpus.remarks, f"wrote {', '.join(written)}"):
            messages.note(line)
    outputs.settle()


def _write(result: Study, files: list[Output]) -> None:
    """The figures and the table of a study, in the order of their names."""
    from onepass.report.experiments import draw_certificates, draw_losses

    losses, table, certificates = files[: len(LOSSES)], files[len(LOSSES)], files[len(LOSSES) + 1 :]
    for draw, figures in ((draw_losses, losses), (draw_certificates, certificates)):
        for figure in figures:  # each for itself: one that another process was faster with leaves the others alone
            with figure.writing():
                draw(result, figure.path, overwrite=figure.overwrite)
    with table.opened() as file:
        file.write(result.table().encode())


def show(result: Study) -> None:
    """The ends of the curves as a table, and what they messages."""
    hinge = result.loss == "hinge"
    name = "Margin-based Perceptron, hinge" if hinge else "Perceptron, 0-1"
    terminal.echo(f"{name} loss after all rounds, mean of {result.design.repeats} splits: {result.corpus}")
    own = ("closed", "by dekel", "hindsight") if hinge else ("members", "jumps", "of last")
    rows = [("problem", "rounds", "last", "average", "cutoff", "k", "certified", "dekel2008", *own)]
    for line in result.lines():
        ends = [_digits(line[name]) for name in ("last", "average", "cutoff")]
        certified = [f"{line['k']:.1f}", _digits(line["certificate"]), _digits(line["certificate_dekel2008"])]
        if hinge:
            more = [_percent(line["share"][who]["all"]) for who in ("betting", "dekel2008", "hindsight")]
        else:
            more = [_digits(line.get("covered")), _digits(line["spread"]["cutoff"]), _digits(line["spread"]["last"])]
        rows.append((line["problem"], f"{line['rounds']:,}", *ends, *certified, *more))
    terminal.print_table(rows, "<>")
    for text in (MEANING[result.loss], *sentences(result), ""):
        terminal.echo(text)


MEANING = {
    "zero_one": "cutoff: k by betting; members: test loss of what is certified; jumps: between neighbouring pauses",
    "hinge": "cutoff: k by betting; closed: share of the gap between average and last, for each way to choose k",
}


def sentences(result: Study) -> list[str]:
    """What the curves say together."""
    lines, n = result.lines(), len(result.curves)
    said = []
    if result.loss == "hinge":
        for size in ("1000", "10000", "all"):
            there = [line["share"] for line in lines if line["share"]["betting"].get(size) is not None]
            if there:
                parts = [
                    f"{who} {_percent(sum(share[who][size] for share in there) / len(there))}"
                    for who in ("dekel2008", "betting", "hindsight")
                ]
                at = "all rounds" if size == "all" else f"{int(size):,} rounds"
                said.append(
                    f"Of the gap between average and last, cutoff closes at {at} (mean of {len(there)} problems): "
                    f"{', '.join(parts)}."
                )
    else:
        near, below, steady = (
            f"{sum(line[what] for line in lines)} of {n}" for what in ("near_average", "below_last", "steady")
        )
        said.append(f"cutoff is at most the average + 0.002 in {near} problems, below the last hypothesis in {below}.")
        said.append(f"cutoff jumps from pause to pause less than half as much as the last hypothesis in {steady}.")
    runs = n * result.design.repeats
    for bound, share in result.coverage().items():
        said.append(
            f"The {bound} certificate (delta {result.design.delta:g}) was at least the test loss of what it covers at "
            f"every pause in {share:.1%} of {runs} runs."
        )
    return said


def _digits(number: float | None) -> str:
    return "–" if number is None or math.isnan(number) else f"{number:.4f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"
