"""What a monitor has found: values that know their own meaning."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from onepass.certificates.rounding import round_down, round_up
from onepass.guards.drift import odds
from onepass.monitoring.claims import Claim, words_of


@dataclass(frozen=True)
class ClaimResult:
    """One claim on the rows watched.

    Attributes
    ----------
    claim : Claim
        The rate, and what was certified of it.
    counted : int
        Rows.
    observed : float or None
        The rate in them; None: no row counts.
    lower, upper : float
        With probability 1 − δ the rate lies between these on average over the rows watched, at all times.
    evidence : float
        The largest M.
    alarm_at : float
        M from which on the alarm rings.
    alarm : int
        The row at which it rang; 0: it did not.
    since : int
        The row from which its evidence grew.

    Examples
    --------
    >>> claim = Claim("risk", None, 0.05, 0.05)
    >>> print(ClaimResult(claim, 1000, 0.04, 0.02, 0.07, 1.0, 200.0, 0, 0))
    risk: 0.0400 in 1,000 rows, on average between 0.0200 and 0.0700; certified at most 0.05, 1 : 1 against it
    """

    claim: Claim
    counted: int  # rows
    observed: float | None  # the rate in them; None: no row counts
    lower: float  # with probability 1 − δ the rate lies between these on average over the rows watched, at all times
    upper: float
    evidence: float  # the largest M
    alarm_at: float  # M from which on the alarm rings
    alarm: int  # the row at which it rang; 0: it did not
    since: int  # the row from which its evidence grew

    def __str__(self) -> str:
        claim, seen = self.claim, "–" if self.observed is None else f"{self.observed:.4f}"
        how = "at most" if claim.at_most else "at least"
        said = f"certified {how} {claim.bound:.4g}, {odds(self.evidence)} against it" if claim.bound is not None else ""
        between = f"on average between {round_down(self.lower)} and {round_up(self.upper)}"
        words = f"{words_of(claim)}: {seen} in {self.counted:,} rows, {between}"
        rang = f"; ALARM at row {self.alarm:,}, growing from row {self.since:,} on" if self.alarm else ""
        return f"{words}{'; ' + said if said else '; nothing is certified of it'}{rang}"


@dataclass(frozen=True)
class ScoresResult:
    """Whether scores still come from the distribution that training saw.

    Attributes
    ----------
    seen : int
        Scores in training, on rows that the model had not learned.
    evidence : float
        The largest M.
    alarm_at : float
        M from which on the alarm rings.
    alarm : int
        The row at which it rang; 0: it did not.
    since : int
        The row from which its evidence grew.

    Examples
    --------
    >>> print(str(ScoresResult(3000, 500.0, 200.0, 840, 310)).split("; ")[1])
    ALARM at row 840, growing from row 310 on
    """

    seen: int  # scores in training, on rows that the model had not learned
    evidence: float
    alarm_at: float
    alarm: int
    since: int

    def __str__(self) -> str:
        rang = f"; ALARM at row {self.alarm:,}, growing from row {self.since:,} on" if self.alarm else ""
        return f"scores: {odds(self.evidence)} against their being as in training ({self.seen:,} rows){rang}"


@dataclass(frozen=True)
class MonitorResult:
    """What there is to say after the rows watched so far. `str()` is a few lines, of which the first says it all.

    Attributes
    ----------
    rows : int
        Watched.
    labelled : int
        Those of them that had a label.
    delta : float
        A false alarm comes with at most this probability.
    risk : ClaimResult
        Of the risk, or the mean cost.
    rates : tuple of ClaimResult
        Of the certified rates.
    scores : ScoresResult or None
        None: the model does not know the scores of its training.

    Examples
    --------
    >>> claim = Claim("risk", None, 0.05, 0.05)
    >>> found = MonitorResult(1000, 1000, 0.01, ClaimResult(claim, 1000, 0.4, 0.3, 0.5, 1e9, 200.0, 70, 1), (), None)
    >>> found.alarms
    ('the risk',)
    >>> found.sentence()
    'ALARM: the risk: what was certified is not true of these rows (a false alarm in at most 1 % of streams).'
    """

    rows: int
    labelled: int
    delta: float
    risk: ClaimResult
    rates: tuple[ClaimResult, ...]
    scores: ScoresResult | None  # None: the model does not know the scores of its training

    @property
    def alarms(self) -> tuple[str, ...]:
        """What rang, in words."""
        claims = [f"the {words_of(one.claim)}" for one in (self.risk, *self.rates) if one.alarm]
        return (*claims, "the scores") if self.scores is not None and self.scores.alarm else tuple(claims)

    def sentence(self) -> str:
        """The one line that matters."""
        level = f"(a false alarm in at most {100 * self.delta:.3g} % of streams)"
        if self.alarms:
            rang = ", ".join(self.alarms)
            if self.alarms == ("the scores",):
                return f"ALARM: {rang}: these rows are no longer such as training saw {level}."
            return f"ALARM: {rang}: what was certified is not true of these rows {level}."
        if self.labelled and self.risk.claim.bound is not None:
            return f"No sign against the certificate in {self.labelled:,} labelled rows {level}."
        if self.scores is not None and self.rows:
            return f"No sign that the scores of {self.rows:,} rows differ from those of training {level}."
        return "Nothing could be tested: there are no labels and no scores of training, or no certificate."

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "rows": self.rows,
            "labelled": self.labelled,
            "delta": self.delta,
            "alarm": bool(self.alarms),
            "alarms": list(self.alarms),
            "risk": _plain(self.risk),
            "rates": [_plain(rate) for rate in self.rates],
            "scores": None if self.scores is None else _finite(asdict(self.scores)),
        }

    def __str__(self) -> str:
        lines = [self.sentence(), str(self.risk) if self.labelled else f"{self.rows:,} rows, none with a label"]
        lines += [str(rate) for rate in self.rates if rate.counted]
        if self.scores is not None:
            lines.append(str(self.scores))
        return "\n".join(lines)


def _plain(found: ClaimResult) -> dict[str, Any]:
    plain = asdict(found)
    claim = plain.pop("claim")
    return _finite({"name": claim["name"], "label": claim["label"], "certified": claim["bound"], **plain})


def _finite(plain: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in plain.items()}
