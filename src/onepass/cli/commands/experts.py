"""`onepass experts`: combine the columns of a table, and show the regret beside its bound."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onepass.cli import inputs, pages, terminal
from onepass.cli.advice import AdviceSource, AdviceTable, learned_advice, read_advice
from onepass.cli.options import NumberOr, Sectioned, option, options_of
from onepass.cli.outputs import FIGURES, Output, Outputs, need_matplotlib

if TYPE_CHECKING:
    from onepass.experts import FixedShare, Run
    from onepass.experts.forecaster import Forecaster

RULES = {  # name → the options that have a meaning for it
    "hedge": {"rate"},
    "majority": {"beta"},
    "randomized": {"beta"},
    "share": {"rate", "switches"},
}
RATES = ("adahedge", "anytime", "doubling")


@dataclass(frozen=True)
class Rule:
    """How weight moves between experts."""

    rule: str = option(
        type=click.Choice([*RULES]),
        default="hedge",
        help="How weight moves: majority only when the vote errs, the others in every round.",
    )
    beta: float | str | None = option(
        type=NumberOr("anytime", "doubling"), help="majority, randomized: what a mistake costs. [0.5]"
    )
    rate: float | str | None = option(
        type=NumberOr(*RATES), help="hedge: a learning rate, or how to find one. [adahedge]"
    )
    horizon: int | None = option(type=click.IntRange(min=1), help="Tune the rate to so many rounds.")
    switches: int | None = option(type=click.IntRange(min=1), help="share: how often the best expert changes.")
    random_state: int = option("--seed", type=int, default=0, help="randomized: seed of the draws.")

    def forecaster(self, rounds: int) -> Forecaster:
        """The forecaster that the options name; an option that the rule has no use for is refused."""
        from onepass.experts import FixedShare, Hedge, RandomizedWeightedMajority, WeightedMajority

        for name in ("beta", "rate", "switches"):
            if getattr(self, name) is not None and name not in RULES[self.rule]:
                raise click.UsageError(f"--{name} has no meaning for --rule {self.rule}.")
        pace = self._pace()
        with terminal.usage_errors(ValueError):
            if self.rule == "share":
                if isinstance(self.rate, str):
                    raise click.UsageError("--rate must be a number for --rule share.")
                return FixedShare(self.switches or 1, self.horizon or rounds, rate=self.rate)
            if self.rule == "hedge":
                return Hedge(pace)
            if self.rule == "majority":
                return WeightedMajority(0.5 if pace is None else pace)
            return RandomizedWeightedMajority(0.5 if pace is None else pace, self.random_state)

    def _pace(self) -> Any:
        """A number, a way to find one, or None."""
        from onepass.experts import AdaHedge, Anytime, Doubling, Horizon

        given = self.rate if self.beta is None else self.beta
        if self.horizon is None:
            words: dict[Any, Any] = {"anytime": Anytime(), "doubling": Doubling(), "adahedge": AdaHedge()}
            return words.get(given, given)
        if given is not None:
            raise click.UsageError("--horizon tunes the rate itself; leave --beta and --rate out.")
        return Horizon(self.horizon)


@dataclass(frozen=True)
class Results:
    """What is shown of the result, and where."""

    top: int = option(type=click.IntRange(min=1), default=10, help="Experts in the table.")
    figure: str | None = option(type=click.Path(dir_okay=False), help="Draw weights and regret (.png, .svg, .pdf).")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite the figure and the page.")


@click.command(cls=Sectioned)
@click.argument("file", type=click.Path(allow_dash=True), required=False)
@options_of(AdviceSource, "Advice")
@options_of(Rule, "Rule")
@options_of(Results, "Results")
@inputs.options
@terminal.options
def command(
    file: str | None,
    advice_source: AdviceSource,
    rule: Rule,
    results: Results,
    reading: inputs.Reading,
    messages: terminal.Messages,
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
    from onepass.experts import FixedShare
    from onepass.report.experts import details, draw

    outputs = Outputs([path for path in (file, advice_source.data) if path])
    figure = check_figure(outputs, results.figure, results.force)
    page = pages.check(outputs, results.report, results.force)
    outputs.claim("--on-error", reading.quarantine)
    if (file is None) == (advice_source.data is None):
        raise click.UsageError("either FILE or --data is needed")
    table = read_advice(file, advice_source.outcome, reading) if file else learned_advice(advice_source, reading)
    rounds = len(table.outcomes)
    forecaster = rule.forecaster(rounds)
    with terminal.progress("playing", rounds, messages) as tick:
        run = forecaster.run(table.advice, table.outcomes, progress=tick)
    result = summary(run, table.names, results.top) | {"skipped": table.skipped}
    if rule.switches is not None and isinstance(forecaster, FixedShare):
        result |= tracking(forecaster, table, rule.switches)
    if figure is not None:
        with figure.writing():
            draw(run, figure.path, table.names, overwrite=figure.overwrite)
        result["figure"] = figure.written
    record = {"command": "experts", "forecaster": repr(forecaster), **result}
    if page is not None or messages.as_json:
        made = pages.made(options=asdict(rule), data=pages.identity(file or str(advice_source.data)))
        record["details"] = details(run, table.names) | made
        record["report"] = pages.write(record, page)
    if messages.as_json:
        terminal.print_json(record)
    elif not messages.quiet:
        show(run, result)
        if page is not None:
            messages.note(f"wrote {page.written}")
    outputs.settle()


def check_figure(outputs: Outputs, path: str | None, force: bool) -> Output | None:
    """The figure, if one is wanted; complains before the run, not after it, if it could not be written."""
    if path is None:
        return None
    if Path(path).suffix.lower() not in FIGURES:
        raise click.BadParameter(f"{path!r} must end in {', '.join(FIGURES)}", param_hint="--figure")
    need_matplotlib()
    return outputs.check("--figure", path, force)


def summary(run: Run, names: list[str], top: int) -> terminal.Record:
    """The result, by the API's names."""
    order = run.expert_losses.argsort(kind="stable")[:top]
    table = [
        {"expert": names[i], "loss": float(run.expert_losses[i]), "weight": float(run.weights[-1, i])} for i in order
    ]
    totals = {name: getattr(run, name) for name in ("loss", "mistakes", "bound", "regret")}
    best = {"best": names[run.best], "best_loss": run.best_loss}
    return {"rounds": run.rounds, "experts": len(names), **totals, **best, "table": table}


def tracking(forecaster: FixedShare, table: AdviceTable, switches: int) -> terminal.Record:
    """Fixed share's own comparison: the best sequence of experts in hindsight, and the bound against it."""
    from onepass.experts import oracle

    known = oracle(table.advice, table.outcomes, switches=switches)
    rounds, experts = table.advice.shape
    bound = forecaster.tracking_bound(known.sequence_loss, experts, rounds, switches)
    return {"sequence_loss": known.sequence_loss, "sequence_switches": known.switches, "tracking_bound": float(bound)}


def show(run: Run, result: terminal.Record) -> None:
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
