"""`certify` picks the best rule of a conversion's family, pays for the picking, and says what it covers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from onepass.certificates.baseline import baseline
from onepass.certificates.betting import betting, excess
from onepass.certificates.certificate import Certificate
from onepass.certificates.dekel2008 import dekel2008, dekel2008_a
from onepass.certificates.deployed import Deployed, deployed, rates_of
from onepass.certificates.joint import class_mistakes, joint_rates
from onepass.certificates.rates import Rates
from onepass.conversions import Choices, Conversion, conversion_named
from onepass.conversions.choices import KindLoss, Loss
from onepass.errors import Argument, ConversionError, Phrase, listed
from onepass.guards.duplicates import share
from onepass.trace import Evidence

BOUNDS = ("betting", "dekel2008")
LOSSES = ("zero_one", "hinge")


def certify(
    evidence: Evidence,
    conversion: str = "cutoff",
    *,
    delta: float = 0.05,
    bound: str = "betting",
    loss: str | None = None,
) -> Certificate:
    """The certificate of a conversion, with its choice: the smallest bound; of several, the least value.

    It needs no hypotheses: evidence is enough, and a Trace is evidence.

    Parameters
    ----------
    evidence : Evidence or Trace
        What a pass has left behind.
    conversion : str, default "cutoff"
        How the hypotheses become one model.
    delta : float, default 0.05
        The certificate fails with at most this probability.
    bound : str, default "betting"
        "betting" or "dekel2008", the theorem.
    loss : str or None, default None
        "hinge" or "zero_one". None: 0-1 for `frozen`; else hinge where it is bounded (MarginPerceptron with a radius),
        0-1 elsewhere.

    Returns
    -------
    Certificate
        Of the best rule of the conversion's family; `withheld` says why there is none.

    Raises
    ------
    ConversionError
        If this evidence cannot give it; the message says what to do.
    ValueError
        If an argument cannot be so.

    Examples
    --------
    >>> from onepass import Pass
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> run = Pass("margin", radius=3.0, classes=[0, 1], horizon=400)
    >>> run.feed(X, X[:, 0] > 0)
    >>> certificate = certify(run.trace(), "average")
    >>> certificate.loss, certificate.covers, certificate.counted
    ('hinge', 'model', 400)
    """
    check(conversion, delta, bound)
    rule = conversion_named(conversion)
    loss = certified_loss(evidence, conversion, loss)
    C = largest_loss(evidence, loss)
    withheld: str | None = listed(evidence.void) or None
    if evidence.rounds == 0:
        withheld = "no row has been learned yet"
    elif bound == "dekel2008" and rule.betting_only:
        raise ConversionError(f"{conversion} is certified by betting only: set bound='betting'")
    elif bound == "dekel2008" and evidence.terms.horizon is not None and evidence.rounds > evidence.terms.horizon:
        withheld = Phrase(
            f"{evidence.rounds:,} rounds are more than the declared horizon {evidence.terms.horizon:,}, which "
            "dekel2008's bound needs; declare a larger one before the first row, or use {}",
            Argument("bound", "betting"),
        )
    model = deployed(evidence, delta, loss) if rule.watched and loss != "hinge" else None
    if model is not None:
        pick = _Pick(model.risk / C, model.frozen, model.losses, model.rows, model.price)
    elif not evidence.rounds or (rule.watched and loss != "hinge"):
        pick = _Pick(1.0, 0, 0.0, 0, 1.0)
    else:
        counted = counted_loss(evidence, loss)
        pick = (_best_betting if bound == "betting" else _best_dekel2008)(evidence, rule, counted, delta)
    return Certificate(
        risk=math.nan if withheld else C * pick.mu,
        delta=delta,
        conversion=conversion,
        choice=rule.describe(pick.value),
        covers="members" if rule.ensemble and loss != "hinge" else "model",
        loss=loss,
        loss_bound=C,
        bound=bound,
        empirical=C * pick.losses / pick.rounds if pick.rounds else math.nan,
        counted=pick.rounds,
        rounds=evidence.rounds,
        assumptions=_assumptions(evidence),
        compacted=evidence.compacted,
        withheld=withheld,
        drift=evidence.drift,
        repeated=None if evidence.duplicates is None else share(evidence.duplicates),
        threshold=None if model is None else model.threshold,
        baseline=baseline(evidence, *((0, delta) if model is None else (model.frozen, delta * model.price))),
        made=_rates(evidence, rule, model, pick, delta),
    )


def _rates(
    evidence: Evidence, rule: Conversion, model: Deployed | None, pick: _Pick, delta: float
) -> Callable[[], Rates | None] | None:
    """What gives the rates: all of a watched model, joint ones of members."""
    if model is not None:
        return partial(rates_of, model, evidence.terms, delta)
    if not rule.ensemble or not pick.rounds:
        return None
    counted = class_mistakes(evidence, rule.mistakes(evidence, pick.value), pick.rounds, pick.price)
    return None if counted is None else partial(joint_rates, counted, delta)


def counted_loss(evidence: Evidence, loss: str) -> Loss:
    """The loss as conversions count it: what mistakes cost is known by their kind."""
    return KindLoss(evidence.terms.kinds.cost) if loss == "cost" else loss


def largest_loss(evidence: Evidence, loss: str) -> float:
    """C: the largest loss."""
    terms = evidence.terms
    if loss == "cost":
        assert terms.costs is not None
        return terms.costs.largest
    return 1.0 if loss == "zero_one" else terms.loss_bound or 1.0


def check(conversion: str, delta: float, bound: str) -> None:
    """Raise ValueError, with the argument's name, for values that no certificate has.

    Parameters
    ----------
    conversion : str
        The name of a conversion.
    delta : float
        Between 0 and 1.
    bound : str
        "betting" or "dekel2008".

    Raises
    ------
    ValueError
        If one of them cannot be so.

    Examples
    --------
    >>> check("frozen", 0.05, "betting")
    >>> check("frozen", 2.0, "betting")
    Traceback (most recent call last):
        ...
    ValueError: delta: a number between 0 and 1 expected, got 2.0
    """
    conversion_named(conversion)
    if bound not in BOUNDS:
        raise ValueError(f"bound: one of {', '.join(BOUNDS)} expected, got {bound!r}")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: a number between 0 and 1 expected, got {delta!r}")


def certified_loss(evidence: Evidence, conversion: str, loss: str | None) -> str:
    """The loss to certify, or a refusal where it has no bound.

    Parameters
    ----------
    evidence : Evidence or Trace
        What a pass has left behind.
    conversion : str
        How the hypotheses become one model.
    loss : str or None
        As asked for; None: what this evidence and this conversion have.

    Returns
    -------
    str
        "zero_one", "hinge" or "cost".

    Raises
    ------
    ConversionError
        If the hinge loss is asked for and has no bound.
    ValueError
        If no loss has this name.

    Examples
    --------
    >>> from onepass import Pass
    >>> run = Pass("margin", radius=3.0, classes=[0, 1], horizon=400)
    >>> run.feed([[1.0, 0.0, 0.0]], [1])
    >>> certified_loss(run.trace(), "average", None), certified_loss(run.trace(), "frozen", None)
    ('hinge', 'zero_one')
    """
    bounded, rule = evidence.terms.loss_bound is not None, conversion_named(conversion)
    if loss is None:
        if _counts_costs(evidence, rule):
            return "cost"
        return "hinge" if bounded and not rule.watched else "zero_one"
    if loss == "cost" and _counts_costs(evidence, rule):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss: one of {', '.join(LOSSES)} expected, got {loss!r}")
    if loss == "hinge" and not bounded:
        raise ConversionError(
            "loss='hinge' needs a bounded hinge loss: use MarginPerceptron and declare radius "
            "(and, for several classes, classes) before the first row; or certify loss='zero_one'"
        )
    return loss


def _counts_costs(evidence: Evidence, rule: Conversion) -> bool:
    """Whether it is known what this conversion cost: of members only mistakes are counted, and right must cost 0."""
    costs = evidence.terms.costs
    if costs is None or not (rule.watched or rule.ensemble):
        return False
    return rule.watched or not np.diag(costs.table).any()


class _Pick(NamedTuple):
    """One line of a family and the bound it has."""

    mu: float
    value: int
    losses: float
    rounds: int
    price: float


def _best_betting(evidence: Evidence, conversion: Conversion, loss: Loss, delta: float) -> _Pick:
    """The choice with the smallest bound. All are tested at the best μ so far; only one that beats it is bisected."""
    best = None
    for block in conversion.choices(evidence, loss):
        if not block.value.size:  # nothing was frozen among rows that are not counted
            continue
        level = delta * block.price
        if best is None or best.mu >= 1.0:  # nothing to say yet: the smallest value stands for all
            best = _pick(block, int(np.argmin(block.value)), 1.0)
        left = np.flatnonzero(block.rounds > 0)
        while left.size:
            above = excess(best.mu, block.rounds[left], block.bets[left], level[left])
            left, above = left[above >= 0.0], above[above >= 0.0]
            if not left.size:
                break
            i = int(left[np.argmax(above)])
            found = betting(int(block.rounds[i]), block.bets[i], float(level[i]))
            if found < best.mu or (found == best.mu and block.value[i] < best.value):
                best = _pick(block, i, found)
            left = left[left != i]
    return _Pick(1.0, 0, 0.0, 0, 1.0) if best is None else best


def _best_dekel2008(evidence: Evidence, conversion: Conversion, loss: Loss, delta: float) -> _Pick:
    """The choice with the smallest bound; the whole family costs ln(m²/δ) in place of ln(m/δ)."""
    a = dekel2008_a(evidence.rounds, evidence.terms.horizon, delta, family=conversion.family)
    best = None
    for block in conversion.choices(evidence, loss):
        bounds = dekel2008(block.rounds, block.losses, a)
        i = int(np.lexsort((block.value, bounds))[0])
        pick = _pick(block, i, float(bounds[i]))
        if best is None or (pick.mu, pick.value) < (best.mu, best.value):
            best = pick
    assert best is not None
    return best


def _pick(block: Choices, i: int, mu: float) -> _Pick:
    return _Pick(mu, int(block.value[i]), float(block.losses[i]), int(block.rounds[i]), float(block.price[i]))


def _assumptions(evidence: Evidence) -> tuple[str, ...]:
    said = ["examples are independent draws from one distribution, in the order fed", "each was fed once"]
    if evidence.terms.loss_bound is not None:
        said.append("rows outside the declared radius are scaled onto it, in prediction too")
    return (*said, *evidence.assumed)
