"""Joint rates of the members in use: P(label = a and prediction ≠ a), on average over an ensemble's members.

Which class a row has is known only with the row, and which rounds count was decided before it: so of members the share
of *all* rows that are of a class and misjudged has a bound, and no rate among the rows of that class. Each bound is the
bet of the certificate itself, on the mistakes of one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onepass.certificates.betting import betting
from onepass.certificates.rates import Rate, Rates
from onepass.labels import Label
from onepass.rows import Ints
from onepass.trace import Evidence
from onepass.trace.tally import BETS


class ClassMistakes(NamedTuple):
    """What the rounds of one rule have shown: small, and nothing that goes on changing."""

    labels: Sequence[Label]
    mistakes: Ints  # of each label
    rounds: int
    price: float  # the share of δ that the rule has


def class_mistakes(evidence: Evidence, by_kind: Ints, rounds: int, price: float) -> ClassMistakes | None:
    """Mistakes by kind, by label; None where classes are not told apart, or one alone is known."""
    labels, kinds = evidence.terms.labels, evidence.terms.kinds
    if len(labels) < 2 or by_kind.size != kinds.label.size:
        return None
    mistakes = np.zeros(len(labels), dtype=np.int64)
    np.add.at(mistakes, kinds.label, by_kind)
    return ClassMistakes(labels, mistakes, rounds, price)


def joint_rates(counted: ClassMistakes, delta: float) -> Rates:
    """How many of all rows are of each class and misjudged by members, all together with probability 1 − δ."""
    parts, rounds = len(counted.labels), counted.rounds
    level = delta * counted.price / parts
    found = []
    for label, wrong in zip(counted.labels, counted.mistakes.tolist(), strict=True):
        bound = betting(rounds, wrong * np.log1p(-BETS), level)
        found.append(Rate("joint miss", label, bound, True, wrong / rounds, rounds, 1.0))
    return Rates(delta, counted.price, parts, None, None, tuple(found), covers="members")
