"""`onepass demo`: one pass over drawn documents; what is certified, what is true, and what no learning would give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from onepass.cli import kernels, pages, terminal
from onepass.cli.options import option, options_of
from onepass.cli.outputs import Outputs

if TYPE_CHECKING:
    from onepass.certificates import Certificate
    from onepass.history import History
    from onepass.passes import Pass

FRESH = 50_000  # documents on which the truth is measured
PAIR = ("CCAT", "MCAT")


@dataclass(frozen=True)
class Show:
    """What is shown."""

    documents: int = option(default=100_000, help="Newswire documents to train on.")
    seed: int = option(default=0, help="Seed of the newswire.")
    delta: float = option(default=0.05, help="All certified numbers together fail at most this often.")
    every: bool = option("--all", is_flag=True, help="Show every conversion of two learners, on digits too.")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite the page if it is there.")


@click.command("demo", short_help="Train on 100,000 drawn documents; see certified and true risk side by side.")
@options_of(Show)
@terminal.options
def command(show: Show, messages: terminal.Messages) -> None:
    """Learn from a newswire that is drawn on the spot, and compare what is certified with what is true.

    \b
    Examples:
      onepass demo
      onepass demo --documents 20000 --seed 7
      onepass demo --all
      onepass demo --json | python -m json.tool
      onepass demo --report demo.html
    """
    if show.documents < 1 or not 0 < show.delta < 1:
        raise click.UsageError("--documents must be at least 1, and --delta between 0 and 1")
    outputs = Outputs()
    page = pages.check(outputs, show.report, show.force)
    messages.note(f"learning from {show.documents:,} documents, drawn on the spot, each read once")
    kernels.tell_if_missing(messages)
    if show.every:
        from onepass.cli import every_conversion

        every_conversion.show(show.documents, show.seed, show.delta, messages, page)
    else:
        told = learn(show.documents, show.seed, show.delta, messages, watched=page is not None)
        if told.history is not None:
            pages.write(_record(told, told.history), page)
        if messages.as_json:
            terminal.print_json({"command": "demo", "certificate": told.certificate.as_dict(), "lines": told.lines})
        elif not messages.quiet:
            print_story(told, show.delta)
    if not (messages.as_json or messages.quiet):
        if page is not None:
            terminal.echo(f"\nReport: {terminal.name(page.written)} (open it in a browser)")
        terminal.echo(NEXT if not show.every else NEXT_OF_ALL)
    outputs.settle()


NEXT = """
Next: . .venv/bin/activate, then onepass train FILE for data of your own, or onepass demo --all for every way from a
pass to a model; docs/start.md explains the words."""
NEXT_OF_ALL = "Next: . .venv/bin/activate, then onepass --help; docs/certificates.md explains the words above."


class Story(NamedTuple):
    """What came out: the pass, its certificate, and lines of what is certified, true, and without learning."""

    run: Pass
    certificate: Certificate
    lines: list[terminal.Record]
    history: History | None


def learn(documents: int, seed: int, delta: float, messages: terminal.Messages, watched: bool = False) -> Story:
    """One pass with the defaults. The risk has one half of δ, its rates the other: so all hold together."""
    with terminal.progress("learning", documents, messages) as tick:
        from onepass.datasets import Newswire
        from onepass.history import History
        from onepass.passes import Pass

        wire, done = Newswire(seed), 0
        run = Pass(classes=PAIR, expected_rows=documents)
        history = History(run) if watched else None
        fed: Pass | History = history or run
        for X, y in wire.stream(documents, PAIR):
            fed.feed(X, y)
            done += len(y)
            tick(done, note=f"wrong at most {100 * run.certificate().risk:.1f} %")
    with terminal.progress("measuring the truth", None, messages):
        certificate = run.certificate(delta=delta / 2)
        model: Any = run.model(certificate)
        X, y = wire.documents(documents, documents + FRESH, PAIR)
        return Story(run, certificate, _lines(certificate, model.predict(X), y), history)


def _lines(certificate: Certificate, said: Any, truth: Any) -> list[terminal.Record]:
    """Certified, true, and the same of always saying the most frequent label."""
    common, rare = PAIR
    rates = {} if certificate.rates is None else {rate.name: rate.bound for rate in certificate.rates.rates}
    wrong, missed, alarms = said != truth, said[truth == rare] == common, said[truth == common] == rare
    found = (
        ("misjudged", certificate.risk, wrong.mean(), (truth != common).mean()),
        (f"{rare} missed", rates.get("miss", 1.0), missed.mean(), 1.0),
        (f"{common} taken for {rare}", rates.get("false alarm", 1.0), alarms.mean(), 0.0),
    )
    return [dict(zip(("of", "certified", "true", "baseline"), (n, *map(float, v)), strict=True)) for n, *v in found]


def print_story(told: Story, delta: float) -> None:
    """A table of three lines, and what they mean."""
    from onepass.certificates import round_up

    common, rare = PAIR
    rows = [("", "certified", "true", f'always saying "{common}"')]
    for line in told.lines:
        certified, *others = line["certified"], line["true"], line["baseline"]
        rows.append(
            (line["of"], f"at most {round_up(100 * certified, 2)} %", *(f"{100 * one:.2f} %" for one in others))
        )
    terminal.echo(f"{told.run.rows:,} newswire documents, each read once: {common} or {rare}?\n")
    terminal.print_table(rows, "<>>>")
    sure = f"With probability {100 * (1 - delta):g} % every certified number is at least the true one"
    terminal.echo(
        f"\n{sure}, and no document was set aside for that:\neach was predicted before it was learned from. "
        f"(true: on {FRESH:,} fresh documents)"
    )


def _record(told: Story, history: History) -> terminal.Record:
    """What the page shows."""
    from onepass.report import details
    from onepass.report.weights import heaviest

    run = told.run
    found = details.of_pass(run, history.finish(), told.certificate)
    model: Any = run.model(told.certificate)
    found["weights"] = heaviest(model.weights, run.classes, "feature {}".format)
    return {
        "command": "demo",
        "title": f"Newswire: {run.rows:,} documents, {PAIR[0]} or {PAIR[1]}",
        **{name: getattr(run, name) for name in ("rows", "rounds", "mistakes")},
        "features": run.width,
        "classes": list(run.classes),
        "learner": repr(run.learner),
        "certificate": told.certificate.as_dict(),
        "details": found | pages.made(),
    }
