"""What a certificate claims, in the one form that is tested: the mean of X over the rows that count is at most a limit.

X lies in [0, 1] and depends on the label and the prediction alone: NaN where the row does not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.certificates import Certificate
from onepass.certificates.target import MISS, PRECISION
from onepass.costs import costs_of as declared_costs
from onepass.errors import ModelError
from onepass.labels import Label
from onepass.rows import Floats

RISK = "risk"
_NOTHING = 1.0  # the limit of what nobody claims: it is never tested, and its mean is told all the same


@dataclass(frozen=True)
class Claim:
    """One rate, and what the certificate says of it. `bound` is in its own units, `limit` is that of X."""

    name: str  # "risk", "mean cost", "miss", "false alarm", "precision" or "F1"
    label: Label | None  # the class that it speaks of; None: of all
    bound: float | None  # None: nothing is certified, and the rate is only told
    limit: float
    scale: float = 1.0  # the rate is so many times the mean of X

    @property
    def at_most(self) -> bool:
        """Whether the rate is bounded from above; precision and F1 are bounded from below."""
        return self.name not in ("precision", "F1")

    def rate(self, mean: float) -> float:
        """The rate, in its own units, where X has this mean."""
        if self.name == "F1":
            return 2.0 * (1.0 - mean) / (2.0 - mean)
        return self.scale * mean if self.at_most else 1.0 - mean

    def table(self, classes: Sequence[Label], costs: Floats | None) -> Floats:
        """X by the places of label and prediction, last of a label that is none of the classes; NaN: it does not count.

        Such a label is misjudged whatever is said. What that costs was never declared: it counts as nothing.
        """
        known = self._known(classes, costs)
        of = [label == self.label for label in classes]
        counts = self.label is None or (np.array(of) if self.name in ("precision", "F1") else np.zeros(len(of), bool))
        strange = np.where(counts, 0.0 if self.name == "mean cost" else 1.0, np.nan)
        return np.vstack([known, np.broadcast_to(strange, (1, known.shape[1]))])

    def _known(self, classes: Sequence[Label], costs: Floats | None) -> Floats:
        """The table of labels that are classes."""
        n = len(classes)
        wrong = 1.0 - np.eye(n)
        if self.name == "mean cost":
            assert costs is not None
            return np.asarray(costs / costs.max())
        if self.label is None:
            return wrong
        own = [list(classes).index(self.label)]
        counts = np.zeros((n, n), dtype=bool)
        if self.name == "miss":
            counts[own] = True
        elif self.name == "false alarm":
            counts[:] = True
            counts[own] = False
        elif self.name == "precision":
            counts[:, own] = True
        else:
            counts[own], counts[:, own] = True, True
        return np.where(counts, wrong, np.nan)


def claims_of(certificate: Certificate | None, classes: Sequence[Label], risk: float | None = None) -> list[Claim]:
    """What is claimed of a model: its risk (or what the user says it should be) first, then its rates."""
    given = certificate if certificate is not None and certificate.withheld is None else None
    scale = certificate.loss_bound if certificate is not None and certificate.loss == "cost" else 1.0
    name = RISK if certificate is None or certificate.loss != "cost" else "mean cost"
    bound = risk if risk is not None else _certified_risk(given)
    limit = _NOTHING if bound is None else min(bound / scale, _NOTHING)
    found = [Claim(name, None, bound if limit < _NOTHING else None, limit, scale)]
    if given is None or given.covers != "model":
        return found
    if given.threshold is not None and given.threshold.reached:
        kept = given.threshold
        pairs = [(kept.target.kind, kept.target.limit), (kept.other, kept.other_bound)]
        return found + [_of_rate(kind, kept.positive, limit) for kind, limit in pairs if _says(kind, limit)]
    if given.rates is not None and given.rates.covers == "model":
        rates = [rate for rate in given.rates.rates if not rate.free and rate.informative and rate.label is not None]
        found += [_of_rate(rate.name, rate.label, rate.bound) for rate in rates if rate.label in classes]
    return found


def _certified_risk(certificate: Certificate | None) -> float | None:
    """What is certified of the model itself; of an ensemble's members nothing follows for it."""
    if certificate is None or certificate.covers != "model" or not certificate.informative:
        return None
    return certificate.risk


def _says(kind: str, limit: float) -> bool:
    return limit > 0.0 if kind == PRECISION else limit < 1.0


def _of_rate(name: str, label: Label | None, bound: float) -> Claim:
    if name == "F1":
        return Claim(name, label, bound, 1.0 - bound / (2.0 - bound))
    return Claim(name, label, bound, 1.0 - bound if name == PRECISION else bound)


def certificate_of(about: dict[str, Any]) -> Certificate | None:
    """The certificate that a model carries; a ModelError where it carries one that cannot be read."""
    plain = about.get("certificate")
    if plain is None:
        return None
    try:
        found = Certificate.from_dict(plain)
        fine = found.withheld is not None or (0.0 <= found.risk <= found.loss_bound < math.inf)
        if not fine or found.covers not in ("model", "members"):
            raise ValueError
        _ = found.rates
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ModelError("its field 'about.certificate' is missing or wrong: it must be a certificate") from None
    return found


def costs_of(about: dict[str, Any], classes: Sequence[Label]) -> Floats | None:
    """What mistakes cost, where that was declared."""
    declared = about.get("options", {}).get("cost")
    return None if declared is None else declared_costs(tuple(map(tuple, declared)), classes).table


def words_of(claim: Claim) -> str:
    """The rate that a claim speaks of.

    >>> words_of(Claim("false alarm", "spam", 0.01, 0.01))
    'false-alarm rate of spam'
    """
    if claim.label is None:
        return claim.name
    names = {MISS: "miss rate", "false alarm": "false-alarm rate", "precision": "precision", "F1": "F1"}
    return f"{names[claim.name]} of {claim.label}"
