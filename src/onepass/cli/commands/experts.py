"""`onepass experts`: combine the columns of a table, and show the regret beside its bound."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click

from onepass.cli import inputs, pages, terminal
from onepass.cli.options import Sectioned, grouped
from onepass.cli.outputs import Output, Outputs
from onepass.cli.terminal import options, print_json, progress
from onepass.errors import DataError, advises

RULES = ("hedge", "majority", "randomized", "share")
RATES = ("adahedge", "anytime", "doubling")
OF_ADVICE = {"format", "compression", "threads", "ignore", "allow_truncated"}  # of the reading options


class AdviceTable(NamedTuple):
    """A table of advice: the experts' names, what they messages, and what came true; bad lines that were left out."""

    names: list[str]
    advice: Any
    outcomes: Any
    skipped: int


class NumberOr(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """A number, or one of some words."""

    def __init__(self, *words: str) -> None:
        self.words, self.name = words, "|".join(("number", *words))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        if value in self.words:
            return str(value)
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor one of {', '.join(self.words)}", param, ctx)


class Source(NamedTuple):
    """Where the advice comes from, if not from a table: examples, and learners of them."""

    data: str | None
    learners: str
    outcome: str


class Results(NamedTuple):
    """What is shown of the result, and where."""

    top: int
    figure: str | None
    report: str | None
    force: bool


@click.command(cls=Sectioned)
@click.argument("file", type=click.Path(allow_dash=True), required=False)
@grouped(
    "Advice",
    "source",
    Source,
    click.option(
        "--data", metavar="EXAMPLES", help="Instead of FILE: examples; the experts are learners, trained on the way."
    ),
    click.option(
        "--experts", "learners", default="perceptron,margin,pa,pa2", show_default=True, help="Learners for --data."
    ),
    click.option("--outcome", default="outcome", show_default=True, help="The column that holds what came true."),
)
@grouped(
    "Rule",
    "choice",
    dict,
    click.option(
        "--rule",
        type=click.Choice(RULES),
        default="hedge",
        show_default=True,
        help="How weight moves: majority only when the vote errs, the others in every round.",
    ),
    click.option(
        "--beta", type=NumberOr("anytime", "doubling"), help="majority, randomized: what a mistake costs. [0.5]"
    ),
    click.option("--rate", type=NumberOr(*RATES), help="hedge: a learning rate, or how to find one. [adahedge]"),
    click.option("--horizon", type=click.IntRange(min=1), help="Tune the rate to so many rounds."),
    click.option("--switches", type=click.IntRange(min=1), help="share: how often the best expert changes."),
    click.option(
        "--seed", "random_state", type=int, default=0, show_default=True, help="randomized: seed of the draws."
    ),
)
@grouped(
    "Results",
    "results",
    Results,
    click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="Experts in the table."),
    click.option("--figure", type=click.Path(dir_okay=False), help="Draw weights and regret (.png, .svg, .pdf)."),
    pages.option,
    click.option("--force", is_flag=True, help="Overwrite the figure and the page."),
)
@inputs.options
@options
def command(
    file: str | None,
    source: Source,
    choice: dict[str, Any],
    results: Results,
    reading: inputs.Reading,
    as_json: bool,
    quiet: bool,
) -> None:
    """Combine expert advice, and show the regret beside its bound.

    FILE is a CSV file (- is stdin): one row a round, one column an expert, one column the outcome. Advice and outcomes
    are in [0, 1] (0 or 1 for majority and randomized); an empty field is an expert that sleeps. --ignore COLUMN leaves
    out what is no expert, such as a date.

    With --data there is no FILE: every learner reads the examples once, and what it predicts for each before learning
    from it is its advice. Most reading options are for --data.

    \b
    onepass experts advice.csv
    onepass experts advice.csv --rule majority --beta 0.5 --figure weights.svg
    onepass experts advice.csv --rule share --switches 3 --json
    onepass experts advice.csv --ignore date --report page.html
    onepass experts --data train.svm --experts perceptron,margin,pa
    """
    outputs = Outputs([path for path in (file, source.data) if path])
    drawing = check_figure(outputs, results.figure, results.force)
    page = pages.check(outputs, results.report, results.force)
    outputs.claim("--on-error", reading.quarantine)
    if (file is None) == (source.data is None):
        raise click.UsageError("either FILE or --data is needed")
    table = read_advice(file, source.outcome, reading) if file else learned_advice(source, reading)
    rounds = len(table.outcomes)
    forecaster = make_forecaster(**choice, rounds=rounds)
    with progress("playing", rounds, quiet) as tick:
        run = forecaster.run(table.advice, table.outcomes, progress=tick)
    result = summary(run, table.names, results.top) | {"skipped": table.skipped}
    if choice["switches"] is not None and choice["rule"] == "share":
        result |= tracking(forecaster, table, choice["switches"])
    if drawing is not None:
        from onepass.report.experts import draw

        with drawing.writing():
            draw(run, drawing.path, table.names, overwrite=drawing.overwrite)
        result["figure"] = drawing.written
    record = {"command": "experts", "forecaster": repr(forecaster), **result}
    if page is not None or as_json:
        from onepass.report.experts import details

        made = pages.made(options=choice, data=pages.identity(file or str(source.data)))
        record["details"] = details(run, table.names) | made
        record["report"] = pages.write(record, page)
    if as_json:
        print_json(record)
    else:
        show(run, result)
        if page is not None and not quiet:
            terminal.echo(f"wrote {terminal.name(page.written)}", err=True)
    outputs.settle()


def read_advice(file: str, outcome: str, reading: inputs.Reading) -> AdviceTable:
    """The CSV in `file`: an empty cell is an expert who sleeps."""
    import numpy as np

    if out_of_place := sorted(reading.arguments().keys() - OF_ADVICE):
        raise click.UsageError(f"--{out_of_place[0].replace('_', '-')} is for --data, not for a FILE of advice.")
    table = replace(reading, format=reading.format or "csv")
    try:
        with inputs.opened((file,), table, target=outcome, missing="indicator", header=True) as stream:
            chunks = [(np.asarray(chunk.rows.values), chunk.labels) for chunk in stream]
            inputs.check_bad(stream, reading, at_the_end=True)
    except DataError as error:
        if error.argument == "target":
            error.remedy = "--outcome NAME"
        elif advises(error.remedy, "ignore"):
            error.remedy = "what an expert says is a number, or nothing if it sleeps; --ignore COLUMN leaves one out"
        raise
    outcomes = np.concatenate([labels for _, labels in chunks])
    if outcomes.dtype.kind != "f":
        raise DataError(f"column {outcome!r} holds text, not numbers", source=file)
    values = np.concatenate([values for values, _ in chunks])
    advice, asleep = np.split(values, 2, axis=1)
    if not advice.shape[1]:
        raise DataError(f"column {outcome!r} stands alone: at least one expert is needed", source=file)
    return AdviceTable(list(stream.columns or ()), np.where(asleep > 0.0, np.nan, advice), outcomes, stream.skipped)


def learned_advice(source: Source, reading: inputs.Reading) -> AdviceTable:
    """The advice of learners: 0 or 1 for every example, as each predicted it before learning from it.

    One pass each tells it all: a learner's prediction is the outcome but in the rounds of its mistakes.
    """
    import numpy as np

    from onepass.passes import Pass

    data, widest = str(source.data), reading.max_columns
    try:
        runs = {
            name: Pass(name, order_alarm=False, max_trace_memory=1 << 62, max_features=widest)
            for name in source.learners.split(",")
        }
    except ValueError as error:
        raise click.UsageError(f"--experts: {error}") from None
    labels = []
    with inputs.opened((data,), reading) as stream:
        for chunk in stream:
            if chunk.labels is None:
                raise DataError("no labels to learn from", source=data, remedy="--target names the label's column")
            labels.append(chunk.labels)
            try:
                for run in runs.values():
                    run.feed(chunk.rows, chunk.labels)
            except DataError as error:
                raise stream.located(error) from None
        inputs.check_bad(stream, reading, at_the_end=True)
    classes = next(iter(runs.values())).classes
    outcomes = (np.concatenate(labels) == classes[-1]).astype(np.float64)
    advice = np.repeat(outcomes[:, None], len(runs), axis=1)
    for column, run in enumerate(runs.values()):
        updates = run.trace().need_updates("experts")
        wrong = updates.round[updates.margin <= 0.0] - 1
        advice[wrong, column] = 1.0 - outcomes[wrong]
    return AdviceTable(list(runs), advice, outcomes, stream.skipped)


def make_forecaster(
    *, rule: str, beta: Any, rate: Any, horizon: int | None, switches: int | None, random_state: int, rounds: int
) -> Any:
    """The forecaster that the options name; an option that the rule has no use for is refused."""
    from onepass.experts import (
        AdaHedge,
        Anytime,
        Doubling,
        FixedShare,
        Hedge,
        Horizon,
        RandomizedWeightedMajority,
        WeightedMajority,
    )

    useful = {"majority": {"beta"}, "randomized": {"beta"}, "hedge": {"rate"}, "share": {"rate", "switches"}}[rule]
    for name, value in {"beta": beta, "rate": rate, "switches": switches}.items():
        if value is not None and name not in useful:
            raise click.UsageError(f"--{name} has no meaning for --rule {rule}.")
    given = beta if beta is not None else rate
    if horizon is not None and given is not None:
        raise click.UsageError("--horizon tunes the rate itself; leave --beta and --rate out.")
    words: dict[Any, Any] = {"anytime": Anytime(), "doubling": Doubling(), "adahedge": AdaHedge()}
    pace: Any = Horizon(horizon) if horizon is not None else words.get(given, given)
    try:
        if rule == "share":
            if isinstance(rate, str):
                raise click.UsageError("--rate must be a number for --rule share.")
            return FixedShare(switches or 1, horizon or rounds, rate=rate)
        if rule == "hedge":
            return Hedge(pace)
        if rule == "majority":
            return WeightedMajority(0.5 if pace is None else pace)
        return RandomizedWeightedMajority(0.5 if pace is None else pace, random_state)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def check_figure(outputs: Outputs, path: str | None, force: bool) -> Output | None:
    """The figure, if one is wanted; complains before the run, not after it, if it could not be written."""
    if path is None:
        return None
    from onepass.report.style import FORMATS

    if Path(path).suffix.lstrip(".").lower() not in FORMATS:
        raise click.BadParameter(f"{path!r} must end in .{', .'.join(FORMATS)}", param_hint="--figure")
    if find_spec("matplotlib") is None:
        raise click.UsageError("figures need matplotlib: pip install 'onepass[report]'")
    return outputs.check("--figure", path, force)


def summary(run: Any, names: list[str], top: int) -> dict[str, Any]:
    """The result, by the API's names."""
    order = run.expert_losses.argsort(kind="stable")[:top]
    return {
        "rounds": run.rounds,
        "experts": len(names),
        "loss": run.loss,
        "mistakes": run.mistakes,
        "bound": run.bound,
        "regret": run.regret,
        "best": names[run.best],
        "best_loss": run.best_loss,
        "table": [
            {"expert": names[i], "loss": float(run.expert_losses[i]), "weight": float(run.weights[-1, i])}
            for i in order
        ],
    }


def tracking(forecaster: Any, table: AdviceTable, switches: int) -> dict[str, Any]:
    """Fixed share's own comparison: the best sequence of experts in hindsight, and the bound against it."""
    from onepass.experts import oracle

    known = oracle(table.advice, table.outcomes, switches=switches)
    rounds, experts = table.advice.shape
    bound = forecaster.tracking_bound(known.sequence_loss, experts, rounds, switches)
    return {"sequence_loss": known.sequence_loss, "sequence_switches": known.switches, "tracking_bound": float(bound)}


def show(run: Any, result: dict[str, Any]) -> None:
    """The same for people."""
    realised = "" if run.mistakes is None or run.mistakes == run.loss else f", {run.mistakes:,} mistakes drawn"
    lines = [
        f"{run.rule}: {result['experts']:,} experts, {run.rounds:,} rounds",
        f"loss {run.loss:,.6g} (at most {run.bound:,.6g} by theorem){realised}",
        f"best expert {result['best']!r}: {run.best_loss:,.6g}; regret {run.regret:,.6g}",
    ]
    if result["skipped"]:
        lines.append(f"left out {result['skipped']:,} bad lines")
    if "sequence_loss" in result:
        lines.append(
            f"best sequence with {result['sequence_switches']} switches: {result['sequence_loss']:,.6g}"
            f" (so loss at most {result['tracking_bound']:,.6g} by theorem)"
        )
    rows = [(repr(row["expert"])[1:-1], f"{row['loss']:,.6g}", f"{row['weight']:.4f}") for row in result["table"]]
    terminal.echo("\n".join(lines))
    terminal.print_table([("expert", "loss", "weight"), *rows], "<>")
    if "figure" in result:
        terminal.echo(f"figure: {terminal.name(result['figure'])}")
