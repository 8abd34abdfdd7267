"""The drift alarm: a conformal test martingale on the scores of a frozen model, row by row.

While rows are exchangeable, the rank of a row's score among the rows since the model was frozen is uniform, and nobody
can get rich by betting on it. Two scores are ranked: *signed* by the label (how far the row lies on its label's side:
the concept) and *unsigned* (the score itself: the inputs). Of several classes they are the lead of the label's own
class over the best other one, and the lead of the best class over the second.

    p_t = (#{earlier rows of the segment in higher bins} + θ_t·#{rows of this bin, this one included}) / n

Borders of the bins are fixed at the freezing, from earlier rows; θ_t is a hash of the row's number and the seed, so
that cutting the stream changes no bit. All p_t are independent uniforms, from segment to segment too, and what is bet
depends on earlier ones alone. See vovk2021 (V. Vovk, I. Petej, I. Nouretdinov, E. Ahlberg, L. Carlsson, A. Gammerman,
*Retrain or not retrain: conformal test martingales for change-point detection*), the Simple Jumper.

    C_ε ← (0.99·C_ε + 0.01·ΣC/5)·(1 + ε·(p_t − ½)),    ε = −1, −½, 0, ½, 1

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

from onepass._jit import inlined, jit
from onepass.rows import Floats, Ints
from onepass.splitmix import GOLDEN, finalize
from onepass.state_checks import need, need_same_shapes

LEVEL = 20_000.0  # of M from which on no certificate is given: a false alarm in at most one of 10,000 streams
SPOKEN = 200.0  # of M from which on a certificate speaks of it
ENOUGH = 1e290  # capital with which betting ends
TESTED_BINS = 64
REMEMBERED = 1024  # scores, for the borders of the next segment
BETS = 5
KINDS = 4  # of ranks: two testers, two scores each
SCORES = ("signed", "unsigned")
WORDS = ("scores with their labels (what follows from an input)", "scores without labels (the inputs)")


class Ranks(NamedTuple):
    """Scores counted in bins, as a search among their borders meets them."""

    left: Ints  # (kinds, 64): at the place of a border, rows that went to its left
    own: Ints  # (kinds, 64): rows of each bin
    borders: Floats  # (kinds, 63), rising; bin k has k borders at or below the score


class Jumper(NamedTuple):
    """The capital that bets on one kind of ranks, or on several kinds side by side."""

    capital: Floats  # (kinds, 5)
    held: Floats  # (kinds): its sum
    growth: Floats  # (kinds): how much it has grown since `grows_from`
    grows_from: Ints  # (kinds): the row after which it has not been lower


class DriftState(NamedTuple):
    """State of the drift alarm. Kinds are signed and unsigned scores of the first tester, then of the second.

    Rows are numbered from 1, as the pass learns them.
    """

    ranks: Ranks
    jumper: Jumper
    recent: Floats  # (kinds, 1024): rings
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


def no_ranks(kinds: int) -> Ranks:
    """Empty bins, with borders that suit scores of any size."""
    zeros = np.zeros((2, kinds, TESTED_BINS), dtype=np.int64)
    fixed = np.sinh(np.linspace(-8.0, 8.0, TESTED_BINS - 1))
    return Ranks(zeros[0].copy(), zeros[1].copy(), np.tile(fixed, (kinds, 1)))


def new_jumper(kinds: int) -> Jumper:
    return Jumper(np.zeros((kinds, BETS)), np.zeros(kinds), np.ones(kinds), np.zeros(kinds, dtype=np.int64))


def no_drift() -> DriftState:
    """Before the first row."""
    progress, noted = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    return DriftState(
        no_ranks(KINDS), new_jumper(KINDS), np.zeros((KINDS, REMEMBERED)), progress, np.zeros(2), np.ones(1), noted
    )


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
def rank(ranks: Ranks, kind: np.uint64, score: float, before: int, theta: float) -> float:
    """The p-value of a score among so many before it; it enters the bins."""
    left, own, borders = ranks.left, ranks.own, ranks.borders
    at, step, lower = np.uint64(0), np.uint64(TESTED_BINS // 2), np.int64(0)
    while step > np.uint64(0):
        right = np.int64(borders[kind, at + step - np.uint64(1)] <= score)
        lower += right * left[kind, at + step]
        left[kind, at + step] += np.int64(1) - right
        at += step * np.uint64(right)
        step >>= np.uint64(1)
    same = own[kind, at] + np.int64(1)
    own[kind, at] = same
    return (np.float64(before + 1 - lower - same) + theta * np.float64(same)) / np.float64(before + 1)


@inlined
def jump(jumper: Jumper, kind: np.uint64, p: float, more: float, t: int) -> float:
    """Put `more` in, bet on the p-value of row t, and say what there is after it."""
    capital = jumper.capital
    there: float = jumper.held[kind]
    if there >= ENOUGH:
        return there
    there += more
    share, edge, now = 0.198 * more + 0.002 * there, p - 0.5, 0.0
    for b in range(np.uint64(BETS)):
        bet = 0.5 * (np.float64(b) - 2.0)
        capital[kind, b] = (0.99 * capital[kind, b] + share) * (1.0 + bet * edge)
        now += capital[kind, b]
    growth = jumper.growth[kind] * (now / there)
    if growth <= 1.0:
        growth = 1.0
        jumper.grows_from[kind] = t
    jumper.growth[kind], jumper.held[kind] = min(growth, ENOUGH), now
    return now


@inlined
def test_row(drift: DriftState, tester: np.uint64, signed: float, unsigned: float, theta: float, t: int) -> None:
    """One tester ranks the two scores of row t, and bets on their ranks."""
    ranks, jumper, recent, progress = drift.ranks, drift.jumper, drift.recent, drift.progress
    one = np.uint64(2) * tester  # the place of its signed scores, and of its rows tested
    two = one + np.uint64(1)
    tested, before = progress[one] + 1, progress[two]
    progress[one], progress[two] = tested, before + 1
    if tested & (tested - 1) == 0:  # it changes at powers of two
        drift.weight[tester] = 0.5 * start_weight(tested)
    more, at = drift.weight[tester], np.uint64(before) & np.uint64(REMEMBERED - 1)
    recent[one, at], recent[two, at] = signed, unsigned
    jump(jumper, one, rank(ranks, one, signed, before, theta), more, t)
    jump(jumper, two, rank(ranks, two, unsigned, before, theta), more, t)


@jit
def evidence_now(drift: DriftState) -> float:
    """M as it stands: half of the mean of the four martingales."""
    total = 0.0
    for tester in range(2):
        tested = drift.progress[2 * tester]
        total += 1.0 + (weight_left(tested) if tested > 0 else 1.0)
    capital = drift.jumper.capital
    for kind in range(KINDS):
        for b in range(BETS):
            total += capital[kind, b]
    return float(0.125 * total)


def observe_scores(drift: DriftState, scores: Floats, seed: np.uint64, first: int, level: float) -> None:
    """Test these scores (rows, 4: signed and unsigned, of either tester's model), of rows from number `first` on.

    NaN: that tester is not at work. The alarm rings at `level`.
    """
    with np.errstate(over="ignore"):  # hashes wrap, of which uncompiled code would warn
        _observe(drift, scores, seed, first, level)


@jit
def _observe(drift: DriftState, scores: Floats, seed: np.uint64, first: int, level: float) -> None:
    noted, held, peak = drift.noted, drift.jumper.held, drift.peak[0]
    for i in range(np.uint64(len(scores))):
        t = first + np.int64(i)
        theta = tie_breaker(seed, t)
        if scores[i, 0] == scores[i, 0]:
            test_row(drift, np.uint64(0), scores[i, 0], scores[i, 1], theta, t)
        if scores[i, 2] == scores[i, 2]:
            test_row(drift, np.uint64(1), scores[i, 2], scores[i, 3], theta, t)
        if 0.125 * (held[0] + held[1] + held[2] + held[3]) + 0.5 > peak:
            now = evidence_now(drift)
            if now > peak:
                peak = now
                if noted[3] == 0:
                    seen = np.argmax(held)
                    noted[0], noted[1], noted[2] = t, seen, drift.jumper.grows_from[seen] + 1
                    if peak >= level:
                        noted[3] = t
    drift.peak[0] = peak


def segment_borders(recent: Floats) -> Floats:
    """Borders of the next segment's bins, from earlier scores (kinds, rows): their quantiles."""
    if not recent.shape[1]:
        return no_ranks(len(recent)).borders
    return np.asarray(np.quantile(recent, np.arange(1, TESTED_BINS) / TESTED_BINS, axis=1).T.copy())


def begin_segment(drift: DriftState, tester: int = 0, borders: Floats | None = None) -> None:
    """A tester turns to the scores of another model: ranks start anew, and so does the Jumper."""
    kinds = slice(2 * tester, 2 * tester + 2)
    if borders is None:  # the first tester's scores are the more recent ones, for the second too
        borders = segment_borders(drift.recent[:2, : min(int(drift.progress[1]), REMEMBERED)])
    drift.ranks.borders[kinds] = borders
    drift.ranks.left[kinds] = 0
    drift.ranks.own[kinds] = 0
    drift.progress[2 * tester + 1] = 0
    drift.jumper.capital[kinds] = drift.jumper.capital[kinds].sum(axis=1, keepdims=True) / BETS


def drift_now(drift: DriftState) -> Floats:
    """(4): the martingales, as they stand."""
    left = [weight_left(tested) if tested else 1.0 for tested in drift.progress[::2].tolist()]
    return np.asarray(drift.jumper.capital.sum(axis=1) + 0.5 * (1.0 + np.repeat(left, 2)))


def drift_evidence(drift: DriftState) -> DriftEvidence:
    """What the alarm has seen."""
    row, kind, since, alarm = (int(number) for number in drift.noted)
    now = float(evidence_now(drift))
    return DriftEvidence(int(drift.progress[0]), float(drift.peak[0]), row, SCORES[kind % 2], since, alarm, now=now)


def drift_reason(found: DriftEvidence) -> str | None:
    """Why no certificate may be given, if the alarm rang."""
    if not found.alarm:
        return None
    words = WORDS[SCORES.index(found.score)]
    return (
        f"the rows drift: they are no independent draws from one distribution (a test of that stands at "
        f"{odds(found.evidence)} against it; noticed at {found.unit} {found.alarm:,}, growing from {found.unit} "
        f"{found.since:,} on, in the {words}). A stream in time order? Then on_drift='restart' certifies its present; "
        "rows that are a sample in a bad order should be shuffled as a whole first"
    )


def check_drift(drift: Any, pattern: DriftState, rounds: int) -> None:
    """Raise CheckpointError unless a pass of so many rounds can have this state."""
    what = "the drift alarm"
    need(type(drift) is DriftState, what)
    for part, like in zip(drift, pattern, strict=True):
        need_same_shapes(part, like, what)
    ranks, capital, noted = drift.ranks, drift.jumper.capital, drift.noted
    tested, segment = drift.progress[::2], drift.progress[1::2]
    need(bool((segment >= 0).all() and (segment <= tested).all() and (tested <= rounds).all()), what)
    borders = ranks.borders
    need(bool(np.isfinite(borders).all()) and bool((np.diff(borders, axis=1) >= 0.0).all()), what)
    segment = np.repeat(segment, 2)
    need(bool((ranks.own.sum(axis=1) == segment).all() and (ranks.own >= 0).all() and (ranks.left >= 0).all()), what)
    need(bool((ranks.left <= segment[:, None]).all()), what)
    need(bool(np.isfinite(capital).all() and (capital >= 0.0).all() and np.isfinite(drift.recent).all()), what)
    need(bool(np.isclose(capital.sum(axis=1), drift.jumper.held).all()), what)
    growth, since = drift.jumper.growth, drift.jumper.grows_from
    need(
        bool((growth >= 1.0).all() and (growth <= ENOUGH).all() and (since >= 0).all() and (since <= rounds).all()),
        what,
    )
    need(bool((drift.weight >= 0.0).all() and (drift.weight <= 0.5).all()), what)
    need(math.isfinite(drift.peak[0]) and drift.peak[0] >= 1.0, what)
    need(bool((noted >= 0).all() and (noted <= rounds).all()) and noted[1] < KINDS, what)
