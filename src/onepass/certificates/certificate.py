"""A certificate: a bound on the risk, what it speaks of, and what it assumes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, partial
from typing import Any

from onepass.certificates.baseline import Baseline
from onepass.certificates.rates import Rates
from onepass.certificates.rounding import probability_text, round_down, round_up
from onepass.certificates.threshold import Threshold
from onepass.conversions import Choice
from onepass.guards.drift import DriftEvidence

NOTABLE = 0.01  # share of rows that equal an earlier one from which on a certificate tells of them
_WORDS = {"zero_one": "0-1 risk", "hinge": "hinge risk (and so the 0-1 risk)", "given": "risk", "cost": "mean cost"}


@dataclass(frozen=True, eq=False)
class Certificate:
    """A bound on the risk, what it speaks of, and what it assumes. `str()` is one sentence.

    `conversion` and `choice` say which model that is: the choice was made for this δ, bound and loss, and
    `Pass.model(certificate)` deploys it.

    Attributes
    ----------
    risk : float
        The bound; NaN where it is withheld.
    delta : float
        It fails with at most this probability.
    conversion : str
        How the hypotheses became one model.
    choice : Choice
        Which of the conversion's rules it speaks of: a cutoff, a start, a frozen candidate, …
    covers : str
        "model" (the risk of the model itself) or "members" (the average risk of the ensemble's members).
    loss : str
        "zero_one", "hinge", "cost" or "given".
    loss_bound : float
        C: no loss is larger.
    bound : str
        The theorem: "betting" or "dekel2008".
    empirical : float
        L̄: the average loss in the rounds counted.
    counted : int
        n: the rounds counted.
    rounds : int
        All rounds of the pass.
    assumptions : tuple of str
        What must be true of the rows.
    compacted : bool, default False
        Whether the hypotheses are known only by the grid.
    withheld : str or None, default None
        The reason why there is no certificate; None: there is one.
    deployed : bool, default True
        Whether it speaks of the model that the pass gives unasked, or of one that goes with it.
    repeated : float or None, default None
        The share of the rows that equal an earlier one; None: not counted.
    drift : DriftEvidence or None, default None
        Against independent draws, tested while learning; None: not tested.
    threshold : Threshold or None, default None
        Where a target was declared: where the scores are cut, and what that keeps.
    baseline : Baseline or None, default None
        What always saying the most frequent label would do, on the rows counted.
    entries : int, default 1
        Among how many, declared before the first row, it was chosen: each is certified at δ/entries.
    made : callable or None, default None
        Gives the rates, when they are wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Pass
    >>> X = np.random.default_rng(0).normal(size=(4000, 3))
    >>> run = Pass()
    >>> run.feed(X, X[:, 0] > 0)
    >>> certificate = run.certificate()
    >>> certificate.covers, certificate.rounds, certificate.informative
    ('model', 4000, True)
    >>> certificate == Certificate.from_dict(certificate.as_dict())
    True
    """

    risk: float
    delta: float
    conversion: str
    choice: Choice  # which of the conversion's rules it speaks of: a cutoff, a start, a frozen candidate, …
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
    drift: DriftEvidence | None = None  # against independent draws, tested while learning; None: not tested
    threshold: Threshold | None = None  # where a target was declared: where the scores are cut, and what that keeps
    baseline: Baseline | None = None  # what always saying the most frequent label would do, on the rows counted
    entries: int = 1  # among how many, declared before the first row, it was chosen: each is certified at δ/entries
    made: Callable[[], Rates | None] | None = field(default=None, repr=False)  # gives the rates, when they are wanted

    @cached_property
    def rates(self) -> Rates | None:
        """Miss and false-alarm rate, precision, …, of a watched model; of members the share misjudged of each class.

        They say which of them hold together, and have a δ of their own. None: a threshold has its own, or it speaks of
        a hypothesis of which classes are not counted.
        """
        return None if self.made is None or self.withheld is not None else self.made()

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

    @property
    def tested(self) -> str:
        """What testing the first assumption, independent draws from one distribution, has come to."""
        if self.drift is None:
            return "not tested, since no model was watched"
        return str(self.drift)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: NaN becomes None."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        del plain["deployed"], plain["made"]  # written down, a certificate stands beside its own model
        plain |= {"assumptions": list(self.assumptions), "choice": asdict(self.choice)}
        plain["baseline"] = None if self.baseline is None else self.baseline._asdict()
        plain["beats_baseline"] = self.beats_baseline
        plain["drift"] = None if self.drift is None else self.drift._asdict()
        plain["threshold"] = None if self.threshold is None else self.threshold.as_dict()
        plain["rates"] = None if self.rates is None else self.rates.as_dict()
        return {key: None if isinstance(v, float) and math.isnan(v) else v for key, v in plain.items()}

    def __eq__(self, other: object) -> bool:
        """Of plain values: so a withheld certificate equals itself, although its risk is NaN."""
        return isinstance(other, Certificate) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash((self.conversion, self.choice, self.delta, self.rounds))

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Certificate:
        """What `as_dict` made, perhaps with more beside it, made a certificate again."""
        known = {one.name: plain[one.name] for one in fields(cls) if one.name in plain}
        lost = {name: math.nan for name in ("risk", "empirical") if known[name] is None}
        known |= lost | {"choice": Choice(**known["choice"]), "assumptions": tuple(known["assumptions"])}
        if known.get("baseline") is not None:
            known["baseline"] = Baseline(**known["baseline"])
        if known.get("drift") is not None:
            known["drift"] = DriftEvidence(**known["drift"])
        if known.get("threshold") is not None:
            known["threshold"] = Threshold.from_dict(known["threshold"])
        if plain.get("rates") is not None:
            known["made"] = partial(Rates.from_dict, plain["rates"])
        return cls(**known)

    @property
    def beats_baseline(self) -> bool | None:
        """Whether it shows that the model does better than always saying one label; None: not known.

        What is certified of the model lies below what is certified of that: each holds with probability 1 − δ.
        """
        if self.baseline is None or self.withheld is not None or self.loss not in ("zero_one", "hinge"):
            return None
        return self.risk < self.baseline.least

    def __str__(self) -> str:
        if self.withheld is not None:
            return f"No certificate: {self.withheld}"
        confidence = probability_text(self.delta)
        named = f"{self.conversion} {self.choice}".rstrip()
        rule = f"{named}, {self.bound}, {self.counted:,} of {self.rounds:,} rounds counted"
        rule += f", the best of {self.entries} entries, each at δ/{self.entries}" if self.entries > 1 else ""
        if not self.informative:
            kept = f"{self.threshold} " if self.threshold is not None else ""
            if self.loss == "zero_one":
                return kept + (
                    f"Not yet informative: these rows do not show, with probability {confidence}, that any share of "
                    f"new rows will be judged rightly ({rule})."
                )
            return kept + (
                f"Not yet informative: with probability {confidence} the {_WORDS[self.loss]} is at most its own bound "
                f"{self.loss_bound:.4g} ({rule})."
            )
        says = f"{self._claim(confidence)} {self._subject} ({rule})."
        if self.threshold is not None:
            says = f"{self.threshold} {says}"
        if self.covers == "members" and self.loss == "cost":
            says += " Nothing follows for their vote or their averaged vector (`frozen` certifies the model itself)."
        elif self.covers == "members":
            says += (
                " The members are gone after compaction, and nothing follows for their averaged vector (the conversion "
                "`frozen` certifies the model itself)."
                if self.compacted
                else " Their weighted vote errs at most twice as often; nothing follows for the averaged vector "
                "(the conversion `frozen` certifies the model itself)."
            )
        noticed = f" Noticed: {self.noticed}." if self.noticed else ""
        first, *rest = self.assumptions
        return f"{says} Assumed: {'; '.join([f'{first} ({self.tested})', *rest])}.{noticed}"

    def _claim(self, confidence: str) -> str:
        """The first sentence, without a term of art where the loss needs none."""
        if self.loss in ("cost", "given"):
            who = " of the ensemble's members, on average," if self.covers == "members" else ""
            return f"With probability {confidence}, the {_WORDS[self.loss]}{who} is at most {round_up(self.risk)}."
        beside = f" ({self.baseline})" if self.baseline is not None else ""
        said = f"With probability {confidence}, at most {round_up(100 * self.risk, 2)} % of new rows like these will be"
        who = " by the ensemble's members, on average" if self.covers == "members" else ""
        said += f" misjudged{who}{beside}."
        if self.baseline is not None and self.beats_baseline is False:
            said += " It is not shown to do better than that"
            least = f"{round_down(100 * self.baseline.least, 2)} %"
            said += f", which may be as little as {least} of new rows." if self.risk < self.baseline.error else "."
        return said

    @property
    def _subject(self) -> str:
        """What the first sentence speaks of."""
        if self.covers == "members":
            return "Certified are the members"
        model = "this model" if self.deployed else "the model that `model(certificate)` gives"
        return f"Certified is {model}" + (", in hinge loss and so in mistakes" if self.loss == "hinge" else "")
