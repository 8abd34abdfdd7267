"""The drift alarm: a conformal test martingale on the scores of a frozen model, row by row.

While rows are exchangeable, the rank of a row's score among the rows since the model was frozen is uniform, and nobody
can get rich by betting on it. Two scores are ranked: *signed* by the label (how far the row lies on its label's side:
the concept) and *unsigned* (the score itself: the inputs). Of several classes they are the lead of the label's own
class over the best other one, and the lead of the best class over the second.

    p_t = (#{earlier rows of the segment in higher bins} + θ_t·#{rows of this bin, this one included}) / n

Which score goes into which bin is fixed at the freezing, from earlier rows (`watching.cells`); θ_t is a hash of the
row's number and the seed, so that cutting the stream changes no bit. All p_t are independent uniforms, from segment to
segment too, and what is bet depends on earlier ones alone. See vovk2021 (V. Vovk, I. Petej, I. Nouretdinov,
E. Ahlberg, L. Carlsson, A. Gammerman, *Retrain or not retrain: conformal test martingales for change-point detection*),
the Simple Jumper.

    C_ε ← (0.99·C_ε + 0.01·ΣC/5)·(1 + ε·(p_t − ½)),    ε = −1, −½, 0, ½, 1

What is kept are the moments Σ ε^k·C_ε, k = 0, …, 4, which tell the same (ε⁵ = 5/4·ε³ − ¼·ε closes them): one row then
waits for the sum of the row before it through three operations, not ten.

A new segment, with the newest model, starts at every power of two. What changes shortly before or after that is not
seen in it: so a second tester, with a model and ranks of its own, is at work from ¾ to 5/4 of every power of two.

Differs: the Jumper loses steadily while nothing happens, and would have to earn it all back. So half of the capital
is put in bit by bit, the share w_t at row t (`start_weight`), and the other half is never bet: M_t = R_t + ΣC is a
martingale as before, after any calm at least ½, and a change after t rows costs ln t, not a share of t.

M is half of the mean of the four martingales, two testers with two scores each: it exceeds x, at any time, with
probability at most 2/x, since each of them exceeds 2x with at most 1/(2x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import inlined, jit
from onepass.errors import Argument, Phrase
from onepass.rows import Floats, Ints
from onepass.splitmix import GOLDEN, finalize
from onepass.state_checks import need, need_same_shapes

LEVEL = 20_000.0  # of M from which on no certificate is given: a false alarm in at most one of 10,000 streams
SPOKEN = 200.0  # of M from which on a certificate speaks of it
ENOUGH = 1e290  # capital; what is more is thrown away
TESTED_BINS = 16  # with ties broken within them, nearly as telling as ranks without ties
CELLS = 258  # in which scores are counted, two sides of 129, and which make up the bins
BETS = 5
EVEN = np.array([1.0, 0.0, 0.5, 0.0, 0.425])  # moments of a capital of 1, an equal part on each bet
KINDS = 4  # of ranks: two testers, two scores each
SCORES = ("signed", "unsigned")
Cells = npt.NDArray[np.int16]
Moments = tuple[float, float, float, float, float]
Pair = tuple[Moments, Moments]
WORDS = ("scores with their labels (what follows from an input)", "scores without labels (the inputs)")


class Jumper(NamedTuple):
    """The capital that bets on one kind of ranks, or on several kinds side by side."""

    moments: Floats  # (kinds, 5): Σ ε^k·C_ε for k = 0, …, 4; the first is all that there is
    growth: Floats  # (kinds): how much it has grown since `grows_from`
    grows_from: Ints  # (kinds): the row after which it has not been lower


class DriftState(NamedTuple):
    """State of the drift alarm. Kinds are signed and unsigned scores of the first tester, then of the second.

    Rows are numbered from 1, as the pass learns them.
    """

    ranks: Ints  # (kinds, 17): rows of this segment in this bin or a higher one; the last is 0
    jumper: Jumper
    bins: Ints  # (kinds, 258): the bin of a cell, fixed when a segment begins
    progress: Ints  # (4): of each tester, rows tested and those of this segment
    weight: Floats  # (2): of each tester, what is put in at a row
    peak: Floats  # the largest M
    noted: Ints  # its row, the kind that saw it, since which row, and the row of the alarm (0: none); as at the alarm


class DriftEvidence(NamedTuple):
    """How strong the evidence against exchangeable rows is."""

    tested: int  # rows
    evidence: float  # the largest M, so far
    row: int  # at which it stood there
    score: str  # the one that saw it: "signed" or "unsigned"
    since: int  # the row from which the evidence grew
    alarm: int  # the row at which it reached 20,000; 0: it did not
    unit: str = "row"  # what is numbered: rows of a pass, or chunks of several machines
    now: float = 1.0  # M as it stands

    @property
    def spoken(self) -> bool:
        """Whether there is any evidence to speak of."""
        return self.evidence >= SPOKEN

    def later(self, rows: int) -> DriftEvidence:
        """The same of rows that so many others came before.

        >>> DriftEvidence(1000, 1.0, 0, "signed", 300, 0).later(256).since
        556
        """
        moved = {name: getattr(self, name) + rows for name in ("row", "since", "alarm") if getattr(self, name)}
        return self._replace(**moved)

    def __str__(self) -> str:
        if not self.tested:
            return "not tested yet: too few rows"
        if not self.spoken:
            return "no sign against it"
        strength = "strong" if self.evidence >= LEVEL else "some"
        return f"{strength} evidence against it, {odds(self.evidence)}, from {self.unit} {self.since:,} on"


class ChunkDrift(NamedTuple):
    """What the rows of one chunk have come to, in a martingale of their own: its logarithm, for each kind of score."""

    chunk: int
    tested: int
    signed: float
    unsigned: float


def joint_drift(chunks: Sequence[ChunkDrift]) -> DriftEvidence:
    """The evidence of chunks that follow each other: their martingales multiply, and are looked at where one ends.

    >>> calm, loud = ChunkDrift(1, 1000, -0.5, -0.5), ChunkDrift(2, 1000, 12.0, -0.5)
    >>> str(joint_drift([calm, loud]))
    'strong evidence against it, 49,358 : 1, from chunk 2 on'
    """
    found = DriftEvidence(0, 1.0, 0, SCORES[0], 0, 0, "chunk")
    totals, lowest, since = [0.0, 0.0], [0.0, 0.0], [0, 0]
    for at, one in enumerate(chunks):
        for kind, more in enumerate((one.signed, one.unsigned)):
            totals[kind] += more
            if totals[kind] <= lowest[kind]:
                lowest[kind], since[kind] = totals[kind], at + 1
        evidence = 0.5 * sum(math.exp(min(total, math.log(ENOUGH))) for total in totals)
        found = found._replace(tested=found.tested + one.tested, now=evidence)
        if evidence > found.evidence and found.alarm:
            found = found._replace(evidence=evidence)
        elif evidence > found.evidence:
            kind = int(totals[1] > totals[0])
            first = chunks[since[kind]].chunk
            alarm = one.chunk if evidence >= LEVEL else 0
            found = DriftEvidence(found.tested, evidence, one.chunk, SCORES[kind], first, alarm, "chunk", evidence)
    return found


def odds(evidence: float) -> str:
    """So many to one, in words.

    >>> odds(350.4), odds(123456789.0), odds(2e300)
    ('350 : 1', '1.23e+08 : 1', 'more than 1e+289 : 1')
    """
    if evidence >= ENOUGH / 10:
        return f"more than {ENOUGH / 10:.0e} : 1"
    return f"{evidence:,.0f} : 1" if evidence < 1e6 else f"{evidence:.3g} : 1"


def ranks_among(counts: Ints) -> Ints:
    """(kinds, 17): ranks where the bins (kinds, 16) hold so many rows already."""
    return np.pad(np.cumsum(counts[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))


def new_jumper(kinds: int) -> Jumper:
    return Jumper(np.zeros((kinds, BETS)), np.ones(kinds), np.zeros(kinds, dtype=np.int64))


def no_drift() -> DriftState:
    """Before the first row."""
    progress, noted = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    bins = np.zeros((KINDS, CELLS), dtype=np.int64)
    ranks = ranks_among(np.zeros((KINDS, TESTED_BINS), dtype=np.int64))
    return DriftState(ranks, new_jumper(KINDS), bins, progress, np.zeros(2), np.ones(1), noted)


@jit
def start_weight(t: int) -> float:
    """w_t: what is put in at row t, if 1 is put in for good: 1/(2^k·(k+1)·(k+2)), where 2^k ≤ t < 2^(k+1).

    >>> [start_weight(t) for t in (1, 2, 3, 4)]
    [0.5, 0.08333333333333333, 0.08333333333333333, 0.020833333333333332]
    """
    k = 0
    while t >> (k + 1) > 0:
        k += 1
    return 1.0 / (float(1 << k) * (k + 1) * (k + 2))


@jit
def weight_left(t: int) -> float:
    """1 − w_1 − … − w_t: what is not put in yet after row t.

    >>> weight_left(1), weight_left(3), weight_left(7)
    (0.5, 0.33333333333333337, 0.25)
    """
    k = 0
    while t >> (k + 1) > 0:
        k += 1
    return 1.0 / (k + 1) - (t - (1 << k) + 1) / (float(1 << k) * (k + 1) * (k + 2))


@jit
def tie_breaker(seed: np.uint64, t: int) -> float:
    """θ_t in (0, 1]: a hash of the row's number and the seed."""
    word = finalize(finalize(seed + GOLDEN) + np.uint64(t) * GOLDEN)
    return (np.float64(word >> np.uint64(11)) + 1.0) * (1.0 / 9007199254740992.0)


@inlined
def rank(ranks: Ints, kind: np.uint64, own_bin: np.uint64, theta: float) -> float:
    """The p-value of a row in this bin, times the number of rows with it; it enters the bins."""
    here, higher = ranks[kind, own_bin], ranks[kind, own_bin + np.uint64(1)]
    for j in range(np.uint64(TESTED_BINS)):
        ranks[kind, j] += np.int64(j <= own_bin)
    return np.float64(higher) + theta * np.float64(here - higher + np.int64(1))


@inlined
def moments_of(jumper: Jumper, kind: np.uint64) -> Moments:
    moments = jumper.moments
    return moments[kind, 0], moments[kind, 1], moments[kind, 2], moments[kind, 3], moments[kind, 4]


@inlined
def keep(jumper: Jumper, kind: np.uint64, new: Moments) -> None:
    moments = jumper.moments
    moments[kind, 0], moments[kind, 1], moments[kind, 2], moments[kind, 3], moments[kind, 4] = new


@inlined
def bet(moments: Moments, edge: float, more: float) -> Moments:
    """Put `more` in, and bet on a p-value of ½ + edge."""
    there, first, second = moments[0] + more, 0.99 * moments[1], 0.99 * moments[2]
    third, fourth = 0.99 * moments[3], 0.99 * moments[4]
    share = 0.198 * more + 0.002 * there  # what is put into each of the five, whose ε² add up to 2.5, ε⁴ to 2.125
    second += 2.5 * share
    fourth += 2.125 * share
    now = there + edge * first
    moved = first + edge * second, second + edge * third, third + edge * fourth
    last = fourth + edge * (1.25 * third - 0.25 * first)
    if now > ENOUGH:
        cut = ENOUGH / now
        return ENOUGH, cut * moved[0], cut * moved[1], cut * moved[2], cut * last
    return now, moved[0], moved[1], moved[2], last


@inlined
def grow(jumper: Jumper, kind: np.uint64, ratio: float, t: int) -> None:
    """With row t the capital has become so many times as much."""
    growth = jumper.growth[kind] * ratio
    jumper.grows_from[kind] = t if growth <= 1.0 else jumper.grows_from[kind]
    jumper.growth[kind] = min(max(growth, 1.0), ENOUGH)


@inlined
def jump(jumper: Jumper, kind: np.uint64, edge: float, more: float, t: int) -> float:
    """Put `more` in, bet on the p-value of row t, which is ½ + edge, and say what there is after it."""
    before = moments_of(jumper, kind)
    after = bet(before, edge, more)
    keep(jumper, kind, after)
    grow(jumper, kind, after[0] / (before[0] + more), t)
    return float(after[0])


@inlined
def test_row(
    drift: DriftState,
    tester: np.uint64,
    cells: Cells,
    i: np.uint64,
    before: tuple[Moments, Moments],
    theta: float,
    t: int,
) -> Pair:
    """One tester ranks the two scores of row t, and bets on their ranks, with capital that is in registers."""
    jumper, ranks, bins, progress = drift.jumper, drift.ranks, drift.bins, drift.progress
    one = np.uint64(2) * tester  # the place of its signed scores, and of its rows tested
    two = one + np.uint64(1)
    tested, rows = progress[one] + 1, progress[two] + 1
    progress[one], progress[two] = tested, rows
    if tested & (tested - 1) == 0:  # it changes at powers of two
        drift.weight[tester] = 0.5 * start_weight(tested)
    more, part = drift.weight[tester], 1.0 / np.float64(rows)
    own, other = np.uint64(bins[one, np.uint64(cells[i, one])]), np.uint64(bins[two, np.uint64(cells[i, two])])
    signed = bet(before[0], part * rank(ranks, one, own, theta) - 0.5, more)
    unsigned = bet(before[1], part * rank(ranks, two, other, theta) - 0.5, more)
    grow(jumper, one, signed[0] / (before[0][0] + more), t)
    grow(jumper, two, unsigned[0] / (before[1][0] + more), t)
    return signed, unsigned


@jit
def kept_out(tested: int) -> float:
    """What a tester's two martingales have, after so many rows tested, beside their capital."""
    return 1.0 + (weight_left(tested) if tested > 0 else 1.0)


@jit
def evidence_now(drift: DriftState) -> float:
    """M as it stands: half of the mean of the four martingales."""
    held = 0.0
    for kind in range(KINDS):  # array.sum takes longer to compile than all of this
        held += drift.jumper.moments[kind, 0]
    return float(0.125 * (held + kept_out(drift.progress[0]) + kept_out(drift.progress[2])))


def observe_cells(drift: DriftState, cells: Cells, seed: np.uint64, first: int, level: float) -> None:
    """Test rows from number `first` on: the cells (rows, 4) of their signed and unsigned scores, by either tester's
    model.

    −1: that tester is not at work. The alarm rings at `level`.
    """
    with np.errstate(over="ignore"):  # hashes wrap, of which uncompiled code would warn
        _observe(drift, cells, seed, first, level)


@jit
def _observe(drift: DriftState, cells: Cells, seed: np.uint64, first: int, level: float) -> None:
    jumper, noted, peak = drift.jumper, drift.noted, drift.peak[0]
    a, b, c, d = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
    one, two = (moments_of(jumper, a), moments_of(jumper, b)), (moments_of(jumper, c), moments_of(jumper, d))
    for i in range(np.uint64(len(cells))):
        t = first + np.int64(i)
        theta = tie_breaker(seed, t)
        if cells[i, 0] >= 0:
            one = test_row(drift, a, cells, i, one, theta, t)
        if cells[i, 2] >= 0:
            two = test_row(drift, b, cells, i, two, theta, t)
        total = (one[0][0] + one[1][0]) + (two[0][0] + two[1][0])
        if 0.125 * total + 0.5 > peak:
            now = 0.125 * (total + kept_out(drift.progress[0]) + kept_out(drift.progress[2]))
            if now > peak:
                peak = now
                if noted[3] == 0:
                    seen, capitals = 0, (one[0][0], one[1][0], two[0][0], two[1][0])
                    for kind in range(1, KINDS):
                        seen = kind if capitals[kind] > capitals[seen] else seen
                    noted[0], noted[1], noted[2] = t, seen, jumper.grows_from[seen] + 1
                    if peak >= level:
                        noted[3] = t
    drift.peak[0] = peak
    keep(jumper, a, one[0])
    keep(jumper, b, one[1])
    keep(jumper, c, two[0])
    keep(jumper, d, two[1])


def begin_segment(drift: DriftState, tester: int, bins: Ints) -> None:
    """A tester turns to the scores of another model, cells of which lie in these bins (2, 258): signed and unsigned.

    Ranks start anew, and so does the Jumper.
    """
    kinds = slice(2 * tester, 2 * tester + 2)
    drift.bins[kinds] = bins
    drift.ranks[kinds] = 0
    drift.progress[2 * tester + 1] = 0
    drift.jumper.moments[kinds] = drift.jumper.moments[kinds, :1] * EVEN


def drift_now(drift: DriftState) -> Floats:
    """(4): the martingales, as they stand."""
    left = [weight_left(tested) if tested else 1.0 for tested in drift.progress[::2].tolist()]
    return np.asarray(drift.jumper.moments[:, 0] + 0.5 * (1.0 + np.repeat(left, 2)))


def drift_evidence(drift: DriftState) -> DriftEvidence:
    """What the alarm has seen."""
    row, kind, since, alarm = (int(number) for number in drift.noted)
    now = float(evidence_now(drift))
    return DriftEvidence(int(drift.progress[0]), float(drift.peak[0]), row, SCORES[kind % 2], since, alarm, now=now)


def drift_reason(found: DriftEvidence) -> Phrase | None:
    """Why no certificate may be given, if the alarm rang."""
    if not found.alarm:
        return None
    words = WORDS[SCORES.index(found.score)]
    return Phrase(
        f"the rows drift: they are no independent draws from one distribution (a test of that stands at "
        f"{odds(found.evidence)} against it; noticed at {found.unit} {found.alarm:,}, growing from {found.unit} "
        f"{found.since:,} on, in the {words}). A stream in time order? Then {{}} certifies its present; "
        "rows that are a sample in a bad order should be shuffled as a whole first",
        Argument("on_drift", "restart"),
    )


def are_ranks(ranks: Ints) -> bool:
    """Whether each line may be what `ranks_among` counts makes."""
    return bool((np.diff(ranks, axis=1) <= 0).all() and (ranks[:, -1] == 0).all())


def check_drift(drift: Any, pattern: DriftState, rounds: int) -> None:
    """Raise CheckpointError unless a pass of so many rounds can have this state."""
    what = "the drift alarm"
    need(type(drift) is DriftState, what)
    for part, like in zip(drift, pattern, strict=True):
        need_same_shapes(part, like, what)
    ranks, moments, noted = drift.ranks, drift.jumper.moments, drift.noted
    tested, segment = drift.progress[::2], drift.progress[1::2]
    need(bool((segment >= 0).all() and (segment <= tested).all() and (tested <= rounds).all()), what)
    need(bool((drift.bins >= 0).all() and (drift.bins < TESTED_BINS).all()), what)
    need(bool((ranks[:, 0] == np.repeat(segment, 2)).all()) and are_ranks(ranks), what)
    held = moments[:, :1]
    need(bool((held >= 0.0).all() and (held <= ENOUGH).all() and (np.abs(moments) <= held * (1.0 + 1e-9)).all()), what)
    growth, since = drift.jumper.growth, drift.jumper.grows_from
    need(
        bool((growth >= 1.0).all() and (growth <= ENOUGH).all() and (since >= 0).all() and (since <= rounds).all()),
        what,
    )
    need(bool((drift.weight >= 0.0).all() and (drift.weight <= 0.5).all()), what)
    need(math.isfinite(drift.peak[0]) and drift.peak[0] >= 1.0, what)
    need(bool((noted >= 0).all() and (noted <= rounds).all()) and noted[1] < KINDS, what)
