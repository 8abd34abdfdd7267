"""Who takes part in a race, who leads it, and what is said of both: one face, whether one machine learned or several.

Each of c entries is certified at δ/c, so with probability 1 − δ all certificates hold, and that of the leader too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from onepass.certificates import Certificate, round_up
from onepass.certificates.rates import Rates
from onepass.models import LinearModel
from onepass.options import OPTIONS
from onepass.tables.plan import TablePlan
from onepass.text_table import text_table
from onepass.voted import VotedModel

ALIKE = {*OPTIONS, "rounds", "classes", "intake", "regimes"}  # what all entries that still run have in common


CROWDED = "needs more memory than max_watch_memory"


class Dropped(NamedTuple):
    """When an entry was dropped, for whom, and by how many rows that only one of the two misjudged; or for a reason."""

    row: int
    rival: str = ""
    own: int = 0  # rows since the stretch began that only this one misjudged
    other: int = 0
    wealth: float = 0.0  # its logarithm
    needed: float = 0.0
    reason: str | None = None  # where no rival is better; None: one is


@dataclass
class Entry:
    """What takes part: a run (a `Pass`, or a `Merged` of several machines) with its own learner or view of the rows."""

    name: str
    run: Any
    encoding: str | None = None
    features: int | None = None  # of the rows, the first so many are seen; None: all
    dropped: Dropped | None = None


class Standings(ABC):
    """Entries that have learned from the same rows, asked like one. What is not said here is the leader's own."""

    rows: int

    def __init__(self, entries: Sequence[Entry], delta: float) -> None:
        _check_delta(delta)
        self.entries = tuple(entries)
        self.delta, self.delta_share = delta, 1.0 / len(entries)
        self._led: tuple[int, Entry] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "entries":  # not there yet, while it is being copied
            raise AttributeError(name)
        run = self.alive[0].run if name in ALIKE else self.leader.run  # who leads is dear to ask
        return getattr(run, name)

    def __repr__(self) -> str:
        return f"<Race of {', '.join(entry.name for entry in self.entries)}: {self.leader.name} leads>"

    @property
    def alive(self) -> list[Entry]:
        """Those that still learn."""
        return [entry for entry in self.entries if entry.dropped is None]

    @abstractmethod
    def _reasons(self, entry: Entry) -> Sequence[str]:
        """Why the rows of an entry allow no certificate: they are those of all."""

    @property
    def leader(self) -> Entry:
        """The entry that is deployed: the one whose certificate is best, the first declared among equals."""
        if self._led is None or self._led[0] != self.rows:
            alive = self.alive
            ranks = [rank(entry.run.certificate()) if entry.run.rounds else (0.0,) for entry in alive]
            self._led = self.rows, alive[ranks.index(min(ranks))]
        return self._led[1]

    def table_of(self, table: TablePlan | None) -> TablePlan | None:
        """What the columns are for the leader, of a table that was read for all."""
        own = self.leader.encoding
        return table if table is None or own is None else table.narrowed(own)

    def certificate(self, conversion: str | None = None, *, delta: float | None = None, **how: Any) -> Certificate:
        """Of the leader; with probability 1 − δ that of every entry holds. `delta` is that of all together."""
        return self._told(self.leader.run.certificate(conversion, delta=self._share(delta), **how))

    def _share(self, delta: float | None) -> float | None:
        """What each entry has of it."""
        if delta is None:
            return None
        _check_delta(delta)
        return delta * self.delta_share

    def _told(self, own: Certificate) -> Certificate:
        """What the leader certifies, said of one that was chosen among several."""
        found = best_of(own, len(self.entries))
        reasons = [reason for entry in self.alive for reason in self._reasons(entry)]
        if reasons and own.withheld is None:  # rows that one of them shows to drift drift for all
            return replace(found, withheld=reasons[0], risk=math.nan, made=None)
        return found

    def model(
        self, choice: str | Certificate | None = None, *, delta: float | None = None, **how: Any
    ) -> LinearModel | VotedModel:
        """The leader's, which remembers the race."""
        share = self._share(delta)
        if isinstance(choice, Certificate):
            run = self.leader.run
            own = run.delta if choice.delta == self.delta else choice.delta * self.delta_share
            choice = replace(choice, delta=own, entries=1)
        model: LinearModel | VotedModel = self.leader.run.model(choice, delta=share, **how)
        if isinstance(model, LinearModel):
            model.about["certificate"] = self._told(Certificate.from_dict(model.about["certificate"])).as_dict()
            model.about["race"] = self.as_dict()
        return model

    def lines(self) -> list[str]:
        """The entries, for people."""
        return race_lines(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The entries, the deployed one among them, each with its certificate and why it was dropped: plain values."""
        found = []
        for entry in self.entries:
            known = {"name": entry.name, "rows": entry.run.rows, "mistakes": entry.run.mistakes}
            if entry.run.rounds or entry.dropped is None:
                own = entry.run.certificate()
                risk = None if math.isnan(own.risk) else own.risk
                known |= {"delta": own.delta, "risk": risk, "withheld": own.withheld}
            else:  # it was dropped before a row that counts
                known |= {"delta": self.delta * self.delta_share, "risk": None, "withheld": None}
            known["dropped"] = None if entry.dropped is None else entry.dropped._asdict()
            found.append(known)
        return {"deployed": self.leader.name, "delta": self.delta, "entries": found}


def race_lines(race: Mapping[str, Any]) -> list[str]:
    """What `Race.as_dict` gives, for people."""
    each = race["entries"][0]["delta"]
    rows = [["entry", "certified", "rows", "mistakes", ""]]
    for entry in race["entries"]:
        told = "deployed" if entry["name"] == race["deployed"] else ""
        if entry["dropped"] is not None:
            told = dropped_words(entry["dropped"])
        risk = "none" if entry["risk"] is None else round_up(entry["risk"])
        rows.append([entry["name"], risk, f"{entry['rows']:,}", f"{entry['mistakes']:,}", told])
    head = f"race of {len(race['entries'])}, each certified at δ = {each:.4g}:"
    return [head, *text_table(rows, "<>>><").splitlines()]


def dropped_words(dropped: Mapping[str, Any]) -> str:
    """When and why an entry was dropped."""
    if dropped.get("reason") is not None:  # which records of older versions do not have
        return f"dropped at row {dropped['row']:,}: {dropped['reason']}"
    return (
        f"dropped at row {dropped['row']:,}: {dropped['rival']} is better (rows misjudged by this one alone "
        f"{dropped['own']:,}, by that one {dropped['other']:,})"
    )


def rank(certificate: Certificate) -> tuple[float, ...]:
    """Smaller is better: the risk, or the cost; with a target, the other rate where it is reached."""
    lost = math.inf if math.isnan(certificate.risk) else certificate.risk
    cut = certificate.threshold
    if cut is None:
        return (lost,)
    return (0.0 if cut.reached else 1.0, cut.other_bound, lost)


def best_of(own: Certificate, entries: int) -> Certificate:
    """The certificate of an entry, at its share of δ, said of one that was chosen among so many: at the whole δ."""
    made = None if own.made is None else partial(_of_all, own, entries)
    cut = own.threshold
    if cut is not None:
        cut = replace(cut, delta=cut.delta * entries, other_delta=cut.other_delta * entries)
    return replace(own, delta=own.delta * entries, entries=entries, made=made, threshold=cut)


def _of_all(own: Certificate, entries: int) -> Rates | None:
    rates = own.rates
    return None if rates is None else replace(rates, delta=rates.delta * entries, parts=rates.parts * entries)


def _check_delta(delta: float) -> None:
    """Raise ValueError for what is no δ, although a share of it might be one."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: a number between 0 and 1 expected, got {delta!r}")
