"""Certificates: how large the risk can be, from the losses that the pass made on the way.

A rule chooses rounds predictably (B_i ∈ {0, 1}); n = ΣB, L̄ = ΣB·ℓ/n, losses in [0, C]. Each theorem here bounds the
average risk of the hypotheses used in those rounds, which for a convex loss bounds the risk of their average too.
`certify` picks the best rule of a conversion's family, pays for the picking, and says what it covers.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from onepass.conversions import ENSEMBLES, NAMES, Choices, choices
from onepass.duplicates import share
from onepass.errors import ConversionError
from onepass.rows import Floats
from onepass.trace import Trace
from onepass.trace.tally import BETS

BOUNDS = ("betting", "dekel2008")
LOSSES = ("zero_one", "hinge")
NOTABLE = 0.01  # share of repeated rows from which on a certificate speaks of it
_WORDS = {"zero_one": "0-1 risk", "hinge": "hinge risk (and so the 0-1 risk)", "given": "risk"}


@dataclass(frozen=True, eq=False)
class Certificate:
    """A bound on the risk, what it speaks of, and what it assumes. `str()` is one sentence.

    `covers` is "model" (the risk of the model itself) or "members" (the average risk of the ensemble's members);
    `withheld` is None, or the reason why there is no certificate (then `risk` is NaN). `conversion` and `k` say which
    model that is: the choice was made for this δ, bound and loss, and `Pass.model(certificate)` deploys it.
    """

    risk: float
    delta: float
    conversion: str
    k: int | None  # the cutoff, the start of a suffix, the number of a hypothesis or candidate; None for average
    covers: str
    loss: str
    loss_bound: float
    bound: str
    empirical: float  # L̄: the average loss in the rounds counted
    counted: int  # n: the rounds counted
    rounds: int
    assumptions: tuple[str, ...]
    compacted: bool = False
    withheld: str | None = None
    deployed: bool = True  # whether it speaks of the model that the pass gives unasked, or of one that goes with it
    repeated: float | None = None  # the share of the rows that equal an earlier one; None: not counted

    @property
    def informative(self) -> bool:
        """Whether it says more than the loss's own bound does."""
        return self.withheld is None and self.risk < self.loss_bound

    @property
    def noticed(self) -> str | None:
        """What the user should judge: no certificate is void for it, and it may be all that is wrong."""
        if self.repeated is None or self.repeated < NOTABLE:
            return None
        return (
            f"about {100 * self.repeated:.3g} % of the rows equal an earlier one, label included. Draws from few "
            "values do that; copies, in whatever order, are no independent draws, and with them nothing is certified"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: NaN becomes None."""
        plain = asdict(self)
        del plain["deployed"]  # written down, a certificate stands beside its own model
        plain["assumptions"] = list(self.assumptions)
        return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in plain.items()}

    def __eq__(self, other: object) -> bool:
        """Of plain values: so a withheld certificate equals itself, although its risk is NaN."""
        return isinstance(other, Certificate) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash((self.conversion, self.k, self.delta, self.rounds))

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Certificate:
        """What `as_dict` made, perhaps with more beside it, made a certificate again."""
        known = {field.name: plain[field.name] for field in fields(cls) if field.name in plain}
        lost = {name: math.nan for name in ("risk", "empirical") if known[name] is None}
        return cls(**{**known, **lost, "assumptions": tuple(known["assumptions"])})

    def __str__(self) -> str:
        if self.withheld is not None:
            return f"No certificate: {self.withheld}"
        confidence = f"{100 * (1 - self.delta):.6g} %"
        rule = f"{self.conversion}{_naming(self)}, {self.bound}, {self.counted:,} of {self.rounds:,} rounds counted"
        if not self.informative:
            return (
                f"Not yet informative: with probability {confidence} the {_WORDS[self.loss]} is at most its own bound "
                f"{self.loss_bound:.4g} ({rule})."
            )
        model = "this model" if self.deployed else "the model that `model(certificate)` gives"
        subject = {"model": model, "members": "the ensemble's members, on average,"}[self.covers]
        at_most = f"is at most {round_up(self.risk)} ({rule})."
        says = f"With probability {confidence} the {_WORDS[self.loss]} of {subject} {at_most}"
        if self.covers == "members":
            says += (
                " The members are gone after compaction, and nothing follows for their averaged vector (the conversion "
                "`penalised` certifies that; on several machines, the hinge loss of the learner `margin` does)."
                if self.compacted
                else " Their weighted vote errs at most twice as often; nothing follows for the averaged vector "
                "(the conversion `penalised` certifies that)."
            )
        noticed = f" Noticed: {self.noticed}." if self.noticed else ""
        return f"{says} Assumed: {'; '.join(self.assumptions)}.{noticed}"


def _naming(certificate: Certificate) -> str:
    words = {"cutoff": "k =", "suffix": "from round", "penalised": "frozen at round", "validation": "frozen at round"}
    if certificate.k is None:
        return ""
    number = certificate.k if certificate.conversion in ("cutoff", "suffix") else 2**certificate.k
    return f" {words.get(certificate.conversion, 'hypothesis')} {number:,}" if certificate.conversion in words else ""


def round_up(risk: float, digits: int = 4) -> str:
    """A bound for reading: rounded up, never down.

    >>> round_up(0.05312)
    '0.0532'
    """
    return f"{math.ceil(risk * 10**digits - 1e-9 * risk) / 10**digits:.{digits}f}"


# --- the theorems -----------------------------------------------------------------------------------------------------


def dekel2008(rounds: Any, losses: Any, a: float) -> Any:
    """min(1, L̄ + √(2a·L̄/n) + 7a/n) for losses in [0, 1]. See dekel2008, Theorem 2.

    Differs: the print takes the last term into the root; the proof has it outside. `a` is from `dekel2008_a`.

    >>> round(float(dekel2008(10_000, 100.0, a=20.0)), 4)
    0.0303
    """
    n = np.maximum(np.asarray(rounds, dtype=np.float64), 1.0)
    mean = np.asarray(losses) / n
    bound = mean + np.sqrt(2.0 * a * mean / n) + 7.0 * a / n
    return np.where(np.asarray(rounds) > 0, np.minimum(1.0, bound * (1.0 + 1e-12)), 1.0)


def dekel2008_a(rounds: int, horizon: int | None, delta: float, family: bool) -> float:
    """ln(m/δ) for one fixed rule, ln(m²/δ) for a family; m is the declared horizon and serves every prefix.

    Horizon unknown: the least M = 2^(j+1) ≥ t takes the place of m, at the price δ/(j(j+1)).

    >>> dekel2008_a(900, 1000, 0.05, family=False) == math.log(1000 / 0.05)
    True
    """
    if horizon is not None:
        m, price = max(horizon, 4), 1.0
    else:
        j = max(1, (rounds - 1).bit_length() - 1)
        m, price = 2 ** (j + 1), j * (j + 1.0)
    return (2.0 if family else 1.0) * math.log(m) + math.log(price / delta)


def betting(rounds: int, log_bets: Floats, delta: float) -> float:
    """sup{μ : ln Σ_j (1/64)·exp(S(c_j) − n·ln(1 − c_j·μ)) < ln(1/δ)} for losses in [0, 1]: at all times at once.

    For each fixed c in (0, 1) the product Π (1 − c·X_i)/(1 − c·μ_i) is a non-negative martingale, and ln(1 − c·μ) is
    concave in μ; so by Ville's inequality the mixture over the c_j reaches 1/δ with probability at most δ, if the
    average of the μ_i is μ. The left side rises with μ: bisection, of which the upper end is returned.

    >>> round(betting(1000, np.zeros(64), 0.05), 4)  # no loss in 1000 rounds; ln(1/δ)/n alone would be 0.0030
    0.0065
    """
    if rounds <= 0 or _excess(1.0, rounds, log_bets, delta) < 0.0:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-12 * high:
        middles = low + (high - low) * _THIRTYSECONDS  # five bisections at once
        below = int(np.count_nonzero(_excess(middles[1:-1], rounds, log_bets, delta) < 0.0))
        low, high = float(middles[below]), float(middles[below + 1])
    return high


_THIRTYSECONDS = np.arange(33) / 32.0


def _excess(mu: Any, rounds: Any, log_bets: Floats, delta: Any) -> Floats:
    """By how much the log-wealth at μ exceeds ln(1/δ), for several μ or several choices; it rises with μ and is ≥ 0
    where the bound is at most μ. S is taken 1e-9 lower than it was summed, for rounding.
    """
    exponent = log_bets * (1.0 + 1e-9) - np.asarray(rounds)[..., None] * np.log1p(-BETS * np.asarray(mu)[..., None])
    top = exponent.max(axis=-1)
    wealth = top + np.log(np.exp(exponent - top[..., None]).mean(axis=-1))
    return np.asarray(wealth + np.log(delta))


# --- the certificate --------------------------------------------------------------------------------------------------


def certify(
    trace: Trace, conversion: str = "cutoff", *, delta: float = 0.05, bound: str = "betting", loss: str | None = None
) -> Certificate:
    """The certificate of a conversion of this trace, with its choice of k: the smallest bound; of several, the least k.

    `loss` is "hinge", "zero_one", or None: hinge where it is bounded (MarginPerceptron with a radius), 0-1 elsewhere.
    """
    check(conversion, delta, bound)
    loss = certified_loss(trace, loss)
    C = 1.0 if loss == "zero_one" else trace.terms.loss_bound
    assert C is not None
    withheld = "; ".join(trace.void) or None
    if trace.rounds == 0:
        withheld = "no row has been learned yet"
    elif bound == "dekel2008" and conversion == "validation":
        raise ConversionError("validation is certified by betting only: set bound='betting'")
    elif bound == "dekel2008" and trace.terms.horizon is not None and trace.rounds > trace.terms.horizon:
        withheld = (
            f"{trace.rounds:,} rounds are more than the declared horizon {trace.terms.horizon:,}, which dekel2008's "
            "bound needs; declare a larger one before the first row, or use bound='betting'"
        )
    if trace.rounds:
        pick = (_best_betting if bound == "betting" else _best_dekel2008)(trace, conversion, loss, delta)
    else:
        pick = _Pick(1.0, 0, 0.0, 0)
    single = conversion not in ENSEMBLES
    return Certificate(
        risk=math.nan if withheld else C * pick.mu,
        delta=delta,
        conversion=conversion,
        k=None if conversion == "average" else pick.value,
        covers="model" if single or loss == "hinge" else "members",
        loss=loss,
        loss_bound=C,
        bound=bound,
        empirical=C * pick.losses / pick.rounds if pick.rounds else math.nan,
        counted=pick.rounds,
        rounds=trace.rounds,
        assumptions=_assumptions(trace),
        compacted=trace.compacted,
        withheld=withheld,
        repeated=None if trace.duplicates is None else share(trace.duplicates),
    )


def check(conversion: str, delta: float, bound: str) -> None:
    """Raise ValueError, with the argument's name, for values that no certificate has."""
    if conversion not in NAMES:
        raise ValueError(f"conversion: one of {', '.join(NAMES)} expected, got {conversion!r}")
    if bound not in BOUNDS:
        raise ValueError(f"bound: one of {', '.join(BOUNDS)} expected, got {bound!r}")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: a number between 0 and 1 expected, got {delta!r}")


def certified_loss(trace: Trace, loss: str | None) -> str:
    """The loss to certify, or a refusal where it has no bound."""
    bounded = trace.terms.loss_bound is not None
    if loss is None:
        return "hinge" if bounded else "zero_one"
    if loss not in LOSSES:
        raise ValueError(f"loss: one of {', '.join(LOSSES)} expected, got {loss!r}")
    if loss == "hinge" and not bounded:
        raise ConversionError(
            "loss='hinge' needs a bounded hinge loss: use MarginPerceptron and declare radius "
            "(and, for several classes, classes) before the first row; or certify loss='zero_one'"
        )
    return loss


class _Pick(NamedTuple):
    """One line of a family and the bound it has."""

    mu: float
    value: int
    losses: float
    rounds: int


def _best_betting(trace: Trace, conversion: str, loss: str, delta: float) -> _Pick:
    """The choice with the smallest bound. All are tested at the best μ so far; only one that beats it is bisected."""
    best = None
    for block in choices(trace, conversion, loss):
        level = delta * block.price
        if best is None or best.mu >= 1.0:  # nothing to say yet: the smallest value stands for all
            best = _pick(block, int(np.argmin(block.value)), 1.0)
        left = np.flatnonzero(block.rounds > 0)
        while left.size:
            excess = _excess(best.mu, block.rounds[left], block.bets[left], level[left])
            left, excess = left[excess >= 0.0], excess[excess >= 0.0]
            if not left.size:
                break
            i = int(left[np.argmax(excess)])
            found = betting(int(block.rounds[i]), block.bets[i], float(level[i]))
            if found < best.mu or (found == best.mu and block.value[i] < best.value):
                best = _pick(block, i, found)
            left = left[left != i]
    assert best is not None
    return best


def _best_dekel2008(trace: Trace, conversion: str, loss: str, delta: float) -> _Pick:
    """The choice with the smallest bound; the whole family costs ln(m²/δ) in place of ln(m/δ)."""
    a = dekel2008_a(trace.rounds, trace.terms.horizon, delta, family=conversion != "average")
    best = None
    for block in choices(trace, conversion, loss):
        bounds = dekel2008(block.rounds, block.losses, a)
        i = int(np.lexsort((block.value, bounds))[0])
        pick = _pick(block, i, float(bounds[i]))
        if best is None or (pick.mu, pick.value) < (best.mu, best.value):
            best = pick
    assert best is not None
    return best


def _pick(block: Choices, i: int, mu: float) -> _Pick:
    return _Pick(mu, int(block.value[i]), float(block.losses[i]), int(block.rounds[i]))


def _assumptions(trace: Trace) -> tuple[str, ...]:
    said = ["examples are independent draws from one distribution, in the order fed", "each was fed once"]
    if trace.terms.loss_bound is not None:
        said.append("rows outside the declared radius are scaled onto it, in prediction too")
    return (*said, *trace.assumed)
