"""`onepass plan`: how many rows a certificate will need, before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from onepass.cli import terminal
from onepass.cli.options import option, options_of

if TYPE_CHECKING:
    from onepass.certificates.forecast import LearningPlan

WAYS = {"betting": "betting", "dekel2008": "dekel2008", "expected": "on average"}  # how each is called for people


@dataclass(frozen=True)
class PlanQuestion:
    """What is known before the first row, and what is asked."""

    radius: float = option(type=float, required=True, metavar="R", help="No row is longer.")
    best_loss: float = option(
        type=float, required=True, metavar="U", help="Hinge risk of some vector of length 1, fixed before the data."
    )
    measured: bool = option(is_flag=True, help="--best-loss is that vector's average loss on the rows themselves.")
    target: float | None = option(type=float, metavar="RISK", help="How many rows until the risk is at most this?")
    horizon: int | None = option(type=click.IntRange(4), metavar="ROWS", help="How large is the risk after so many?")
    delta: float = option(type=float, default=0.05, help="The forecast fails at most this often.")
    no_intercept: bool = option(is_flag=True, help="Without a constant feature.")

    def plan(self) -> LearningPlan:
        from onepass.certificates.forecast import LearningPlan

        return LearningPlan(self.best_loss, self.radius, not self.no_intercept, self.delta, self.measured)


@click.command("plan")
@options_of(PlanQuestion)
@terminal.options
def command(plan_question: PlanQuestion, messages: terminal.Messages) -> None:
    """Say before any row is read how many rows a certificate will need.

    It is a promise for the worst data that fit the numbers given: `train --learner margin --radius R --horizon ROWS
    --conversion cutoff` will have a hinge risk of at most so much. What a run then certifies is often far smaller.

    \b
    Examples:
      onepass plan --radius 1 --best-loss 0.1 --target 0.2
      onepass plan --radius 1 --best-loss 0.1 --horizon 10000 --json
    """
    question = plan_question
    if (question.target is None) == (question.horizon is None):
        raise click.UsageError("either --target or --horizon is needed")
    with terminal.usage_errors(ValueError):
        found = _rows(question) if question.target is not None else _risks(question)
    known = {"radius": question.radius, "best_loss": question.best_loss, "measured": question.measured}
    asked = {"target": question.target, "horizon": question.horizon, "delta": question.delta}
    result = {"command": "plan", **known, **asked, "fit_intercept": not question.no_intercept, **found}
    messages.result(result, lambda: _text(question, found))


def _rows(question: PlanQuestion) -> terminal.Record:
    from onepass.certificates.forecast import rows_needed

    assert question.target is not None
    plan = question.plan()
    return {"rows": {bound: rows_needed(plan, question.target, bound) for bound in WAYS}}


def _risks(question: PlanQuestion) -> terminal.Record:
    from onepass.certificates.forecast import expected_risk, risk_forecast

    assert question.horizon is not None
    plan, horizon = question.plan(), question.horizon
    return {
        "loss_bound": plan.loss_bound,
        "risk": {
            **{bound: risk_forecast(plan, horizon, bound) for bound in ("betting", "dekel2008")},
            "expected": expected_risk(plan, horizon),
        },
    }


def _text(question: PlanQuestion, found: terminal.Record) -> str:
    from onepass.certificates.rounding import round_up

    sure = f"with probability {100 * (1 - question.delta):g} %"
    if "rows" in found:
        lines = [f"Rows until the hinge risk is at most {question.target:g}, {sure}:"]
        told = {way: "no number is enough" if rows is None else f"{rows:,}" for way, rows in found["rows"].items()}
    else:
        lines = [f"The hinge risk after {question.horizon:,} rows is at most, {sure}:"]
        nothing = round_up(found["loss_bound"])
        told = {way: round_up(risk) for way, risk in found["risk"].items()}
        told = {way: f"{risk} (nothing: no loss is larger)" if risk == nothing else risk for way, risk in told.items()}
    means = {
        "betting": f"{told['betting']}  by betting, the bound that `train` uses",
        "dekel2008": f"{told['dekel2008']}  by dekel2008's theorem",
        "expected": f"{told['expected']}  on average over many runs, for the plain average: a single run may be worse",
    }
    return "\n".join([*lines, *(f"  {means[way]}" for way in WAYS)])
