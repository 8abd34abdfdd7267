"""What a conversion is, and the rules that it offers a certificate to choose from.

A conversion is a value. It offers *choices*: a family of rules fixed before the data, each a predictable choice of
rounds with a price; a certificate takes the best and pays for the taking. It has *members*: non-negative integers, one
per member of the trace (a probability vector up to its sum), for the choice that was made. And it has words for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from onepass.errors import ConversionError
from onepass.rows import Array, Floats, Ints
from onepass.trace import Evidence, Survivor, Trace, Updates, combine
from onepass.trace.tally import BETS, UNIT, Tally, bets


@dataclass(frozen=True)
class Choice:
    """The one rule that a certificate speaks of: its value in the conversion's own meaning, and words for it.

    Attributes
    ----------
    value : int or None
        A cutoff, a start, a round, …; None: there was nothing to choose.
    words : str
        For reading.

    Examples
    --------
    >>> str(Choice(24, "k = 24"))
    'k = 24'
    """

    value: int | None  # None: there was nothing to choose
    words: str

    def __str__(self) -> str:
        return self.words


class KindLoss(NamedTuple):
    """A loss that each kind of mistake has, X in [0, 1]; what is no mistake has none."""

    values: Floats  # (kinds)


Loss = str | KindLoss  # "zero_one", "hinge", or by kind


class Choices(NamedTuple):
    """Rules to choose from, one per line.

    Attributes
    ----------
    value : array of int
        The cutoff k, the start, the number of the hypothesis, or the round at which it was frozen.
    rounds : array of int
        n = ΣB: the rounds that the rule counts.
    losses : array of float
        Σ B·X over them, X = loss/C in [0, 1].
    bets : array of float
        (choices, 64): Σ B·ln(1 − c_j·X).
    price : array of float
        The share of δ that this choice costs under betting.

    Examples
    --------
    >>> block = one_choice(value=0, rounds=1000, losses=0.0, log_bets=np.zeros(64), share=0.5)
    >>> block.rounds, block.bets.shape
    (array([1000]), (1, 64))
    """

    value: Ints  # the cutoff k, the start, the number of the hypothesis, or the round at which it was frozen
    rounds: Ints  # n = ΣB: the rounds that the rule counts
    losses: Floats  # Σ B·X over them, X = loss/C in [0, 1]
    bets: Floats  # (choices, 64): Σ B·ln(1 − c_j·X)
    price: Floats  # the share of δ that this choice costs under betting


class Conversion(ABC):
    """From the sequence of hypotheses to one model.

    Attributes
    ----------
    name : str
        What a user calls it.
    ensemble : bool
        Whether it averages several hypotheses, or deploys one as it is.
    family : bool
        Whether there is a choice, which has a price.
    betting_only : bool
        Whether dekel2008's theorem does not cover it.
    watched : bool
        Whether it deploys a model that was watched on later rows.
    from_log : bool
        Whether it is made of what the log holds, so that it cannot do without.
    unmergeable : str or None
        Why several machines cannot give it; None: they can.

    Examples
    --------
    >>> from onepass.conversions import conversion_named
    >>> average = conversion_named("average")
    >>> isinstance(average, Conversion), average.ensemble, average.watched
    (True, True, False)
    """

    name: ClassVar[str]
    ensemble: ClassVar[bool]  # whether it averages several hypotheses, or deploys one as it is
    family: ClassVar[bool] = True  # whether there is a choice, which has a price
    betting_only: ClassVar[bool] = False  # whether dekel2008's theorem does not cover it
    watched: ClassVar[bool] = False  # whether it deploys a model that was watched on later rows
    from_log: ClassVar[bool] = True  # whether it is made of what the log holds, so that it cannot do without
    unmergeable: ClassVar[str | None] = None  # why several machines cannot give it; None: they can

    @abstractmethod
    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        """The family of rules, in blocks; ConversionError with the remedy where this pass cannot have it."""

    def mistakes(self, evidence: Evidence, value: int) -> Ints:
        """Mistakes by kind in the rounds that the choice with this value counts; asked of ensembles."""
        raise ConversionError(f"{self.name}: mistakes are told apart of ensembles only")

    @abstractmethod
    def members(self, trace: Trace, value: int | None) -> Ints:
        """Integer weights of the members, up to their sum; ConversionError where there is nothing to vote on."""

    def weights(self, trace: Trace, value: int | None) -> Floats:
        """The weight vector (1 + features, outputs) of the choice with this value, intercept first."""
        return combine(trace, self.members(trace, value))

    @abstractmethod
    def describe(self, value: int) -> Choice:
        """The choice with this value."""


# --- one formula, one function ----------------------------------------------------------------------------------------


def price(index: Any) -> Any:
    """1/((i+1)(i+2)): shares of δ that add up to 1 over i = 0, 1, 2, …"""
    return 1.0 / ((index + 1.0) * (index + 2.0))


def scaled_losses(evidence: Evidence, loss: Loss, ended: Updates) -> Floats:
    """X = loss/C of every finished hypothesis."""
    if isinstance(loss, KindLoss):
        return np.where(ended.margin <= 0.0, loss.values[ended.kinds(evidence.terms.kinds.table)], 0.0)
    return _scaled(evidence, loss, ended.margin)


def _scaled(evidence: Evidence, loss: str, margin: Floats) -> Floats:
    """X = loss/C of margins, the hinge loss rounded up to a multiple of 2^-30 (see tally)."""
    if loss == "zero_one":
        return np.asarray(margin <= 0.0, dtype=np.float64)
    assert evidence.terms.loss_bound is not None
    x = np.maximum(0.0, 1.0 - margin) / evidence.terms.loss_bound
    return np.minimum(np.ceil(x * UNIT), UNIT) / UNIT


def scaled_loss(evidence: Evidence, loss: Loss, survivor: Survivor) -> float:
    """X of the loss that ended one hypothesis; 0 while it lives."""
    if isinstance(loss, KindLoss):
        return 0.0 if survivor.kind < 0 else float(loss.values[survivor.kind])
    return 0.0 if survivor.margin is None else float(_scaled(evidence, loss, np.array([survivor.margin]))[0])


def totals(tally: Tally, loss: Loss) -> tuple[Floats, Floats]:
    """(ΣX, S) per line of a tally."""
    if isinstance(loss, KindLoss):
        counts = tally.kinds.astype(np.float64)
        return counts @ loss.values, counts @ np.log1p(-np.outer(loss.values, BETS))
    if loss == "zero_one":
        return tally.mistakes.astype(np.float64), tally.mistakes[:, None].astype(np.float64) * np.log1p(-BETS)
    return tally.units / UNIT, bets(tally)


def suffix_sums(lines: Array) -> Array:
    """What stands in each line and below it."""
    return np.asarray(np.cumsum(lines[::-1], axis=0)[::-1])


def kinds_among(evidence: Evidence, ended: Updates, counted: Array) -> Ints:
    """Mistakes by kind of the finished hypotheses that count."""
    kinds = evidence.terms.kinds
    return np.bincount(ended.kinds(kinds.table)[counted & (ended.margin <= 0.0)], minlength=kinds.label.size)


def one_choice(value: int, rounds: int, losses: float, log_bets: Floats, share: float) -> Choices:
    """A family of one rule."""
    return Choices(np.array([value]), np.array([rounds]), np.array([losses]), log_bets[None, :], np.array([share]))
