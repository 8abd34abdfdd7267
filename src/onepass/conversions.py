"""Conversions: from the sequence of hypotheses to one model.

A conversion is two things. Its *weights* are non-negative integers, one per member of the trace (a probability vector
up to its sum). Its *choices* are a family of rules fixed before the data, each a predictable choice of rounds with a
price; the certificate picks the best of them and pays for the picking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from onepass.errors import ConversionError
from onepass.rows import Array, Floats, Ints
from onepass.trace import Survivor, Trace
from onepass.trace.grid import coarse, floor_index, points
from onepass.trace.tally import BETS, UNIT, Tally, bets

NAMES = ("cutoff", "average", "last", "longest", "suffix", "penalised", "validation")
ENSEMBLES = ("cutoff", "average", "suffix")  # the others deploy one hypothesis as it is
BLOCK = 4096  # choices looked at together


# --- weights ----------------------------------------------------------------------------------------------------------


def last(trace: Trace) -> Ints:
    """All weight on the final hypothesis."""
    return _only(trace, len(trace.survival) - 1)


def average(trace: Trace) -> Ints:
    """Weights n_j: every round counts the hypothesis in use. (The voted Perceptron is this, voted.)"""
    return trace.survival.copy()


def longest(trace: Trace) -> Ints:
    """All weight on the hypothesis that was in use longest: the pocket algorithm."""
    if trace.log is not None:
        return _only(trace, trace.longest.number)
    alive = trace.pocket is None and trace.longest.margin is None
    return _only(trace, len(trace.survival) - (1 if alive else 2))


def suffix(trace: Trace, start: int) -> Ints:
    """Weights n_j for what was in use after round `start`, a border between two hypotheses. (Dekel and Singer 2005.)"""
    trace.need_log("suffix")
    begins = np.cumsum(trace.survival) - trace.survival
    return np.where(begins >= start, trace.survival, 0)


def cutoff(trace: Trace, k: int) -> Ints:
    """Weights (n_j − k)₊: what each hypothesis outlived the bar by. See dekel2008, eq. 3-4."""
    kept = np.maximum(trace.survival - k, 0)
    kept[0] += k > 0  # B_0 = 1: the default hypothesis always counts
    return kept


def weights(trace: Trace, conversion: str, value: int) -> Ints:
    """The weights of a named conversion; `value` is the cutoff k, the start of a suffix, and ignored elsewhere."""
    if conversion == "cutoff":
        return cutoff(trace, value)
    if conversion == "suffix":
        return suffix(trace, value)
    return {"last": last, "average": average, "longest": longest}[conversion](trace)


def _only(trace: Trace, member: int) -> Ints:
    q = np.zeros(len(trace.survival), dtype=np.int64)
    q[member] = 1
    return q


# --- choices ----------------------------------------------------------------------------------------------------------


class Choices(NamedTuple):
    """Rules to choose from, one per line."""

    value: Ints  # the cutoff k, the start, or the number of the hypothesis
    rounds: Ints  # n = ΣB: the rounds that the rule counts
    losses: Floats  # Σ B·X over them, X = loss/C in [0, 1]
    bets: Floats  # (choices, 64): Σ B·ln(1 − c_j·X)
    price: Floats  # the share of δ that this choice costs under betting


def choices(trace: Trace, conversion: str, loss: str) -> Iterator[Choices]:
    """The family of a conversion, in blocks."""
    if conversion == "longest" and not trace.terms.learner.keeps_rows:
        trace.need_log(conversion)
    if conversion == "cutoff":
        return _all_cutoffs(trace, loss) if trace.terms.cutoffs == "all" else _grid_cutoffs(trace, loss)
    if conversion == "suffix":
        return _suffixes(trace, loss)
    if conversion in ("penalised", "validation"):
        return _frozen(trace, conversion, loss)
    return {"last": _last, "average": _average, "longest": _longest}[conversion](trace, loss)


def _x(trace: Trace, loss: str, margin: Floats) -> Floats:
    """X = loss/C of margins, the hinge loss rounded up to a multiple of 2^-30 (see tally)."""
    if loss == "zero_one":
        return np.asarray(margin <= 0.0, dtype=np.float64)
    assert trace.terms.loss_bound is not None
    x = np.maximum(0.0, 1.0 - margin) / trace.terms.loss_bound
    return np.minimum(np.ceil(x * UNIT), UNIT) / UNIT


def _x_of(trace: Trace, loss: str, survivor: Survivor) -> float:
    return 0.0 if survivor.margin is None else float(_x(trace, loss, np.array([survivor.margin]))[0])


def _totals(tally: Tally, loss: str) -> tuple[Floats, Floats]:
    """(ΣX, S) per line of a tally."""
    if loss == "zero_one":
        return tally.mistakes.astype(np.float64), tally.mistakes[:, None].astype(np.float64) * np.log1p(-BETS)
    return tally.units / UNIT, bets(tally)


def _below(cumulated: Array) -> Array:
    """Suffix sums down the lines."""
    return np.asarray(np.cumsum(cumulated[::-1], axis=0)[::-1])


def _one(value: int, rounds: int, losses: float, log_bets: Floats, price: float) -> Choices:
    return Choices(np.array([value]), np.array([rounds]), np.array([losses]), log_bets[None, :], np.array([price]))


def _average(trace: Trace, loss: str) -> Iterator[Choices]:
    """B ≡ 1: one rule, so it costs nothing to choose."""
    losses, log_bets = _totals(trace.tally, loss)
    yield _one(0, trace.rounds, float(losses.sum()), log_bets.sum(axis=0), 1.0)


def _single(trace: Trace, loss: str, survivor: Survivor) -> Iterator[Choices]:
    """B = 1 while hypothesis j is in use; j costs δ/((j+1)(j+2)), in a merged trace its part p likewise."""
    x = _x_of(trace, loss, survivor)
    price = _price(survivor.number) * (1.0 if survivor.part is None else _price(survivor.part))
    yield _one(survivor.number, survivor.survival, x, np.log1p(-BETS * x), price)


def _price(index: int) -> float:
    return 1.0 / ((index + 1.0) * (index + 2.0))


def _last(trace: Trace, loss: str) -> Iterator[Choices]:
    if trace.pocket is not None:
        raise ConversionError("last: a merged trace has no last hypothesis of its own to certify; choose cutoff")
    return _single(trace, loss, Survivor(trace.updates, trace.alive, None))


def _longest(trace: Trace, loss: str) -> Iterator[Choices]:
    return _single(trace, loss, trace.longest)


def _grid_cutoffs(trace: Trace, loss: str) -> Iterator[Choices]:
    """k on the cutoff grid; the i-th grid point costs δ/((i+1)(i+2)).

    All from the tally: a hypothesis that survived s rounds lies in the bin of the largest grid point below s. Where k
    was settled wave by wave, there is one rule, with its price.
    """
    if trace.counted is not None:
        k, n, line, price = trace.counted
        settled, settled_bets = _totals(line, loss)
        yield _one(k, n, float(settled[0]), settled_bets[0], price)
        return
    tally = trace.tally
    runs, lived = _below(tally.runs), _below(tally.rounds)
    losses, log_bets = (_below(part) for part in _totals(tally, loss))
    busy = np.flatnonzero(tally.runs)
    top = max(int(busy[-1]) if busy.size else 0, floor_index(max(trace.alive - 1, 0)))
    index = np.arange(top + 1)
    if trace.bits < 3:
        index = index[np.isin(index, coarse(trace.bits, top))]
    cuts = points(index)
    opening = _opening(trace, loss)
    rounds = lived[index] - cuts * runs[index] + np.maximum(trace.alive - cuts, 0) + (cuts > 0)
    yield Choices(
        cuts,
        rounds,
        losses[index] + (cuts > 0) * opening,
        log_bets[index] + np.outer(cuts > 0, np.log1p(-BETS * opening)),
        1.0 / ((index + 1.0) * (index + 2.0)),
    )


def _opening(trace: Trace, loss: str) -> float:
    """X of the first round where no cutoff above 0 counts it already: H_0 ended at once (B_0 = 1 in eq. 3)."""
    return _x_of(trace, loss, trace.first) if trace.first.survival == 1 else 0.0


def _all_cutoffs(trace: Trace, loss: str) -> Iterator[Choices]:
    """Every k, as in dekel2008; k costs δ/((k+1)(k+2)).

    Only 0 and the survival times but the largest can be best: in between ΣL stays and ΣB falls as k grows.
    """
    log = trace.need_log('cutoffs="all"')
    order = np.argsort(trace.survival, kind="stable")[::-1]
    survival = trace.survival[order]
    x = np.concatenate([_x(trace, loss, log.margin), [0.0]])[order]
    k = np.unique(np.concatenate([[0], survival]))
    k = k[:-1] if k.size > 1 else k
    above = np.searchsorted(-survival, -k, side="left")  # hypotheses 0..above−1 of the order survived more than k
    lived, opening = np.concatenate([[0], np.cumsum(survival)]), _opening(trace, loss)
    losses = np.concatenate([[0.0], np.cumsum(x)])
    log_bets = np.zeros((k.size, BETS.size))
    for i, (start, stop) in enumerate(zip([0, *above[::-1]], above[::-1], strict=False)):  # from the largest k down
        log_bets[i] = log_bets[i - 1] if i else 0.0
        for a in range(start, stop, BLOCK):
            log_bets[i] += np.log1p(-np.outer(x[a : min(a + BLOCK, stop)], BETS)).sum(axis=0)
    yield Choices(
        k,
        lived[above] - k * above + (k > 0),
        losses[above] + (k > 0) * opening,
        log_bets[::-1] + np.outer(k > 0, np.log1p(-BETS * opening)),
        1.0 / ((k + 1.0) * (k + 2.0)),
    )


def _suffixes(trace: Trace, loss: str) -> Iterator[Choices]:
    """Every border between hypotheses as the start s; s costs δ/((s+1)(s+2)).

    Starts inside a run are never better: they drop rounds without loss.
    """
    log = trace.need_log("suffix")
    starts = np.cumsum(trace.survival) - trace.survival
    x = np.concatenate([_x(trace, loss, log.margin), [0.0]])
    losses, after = _below(x), np.zeros(BETS.size)
    for stop in range(starts.size, 0, -BLOCK):
        part = slice(max(0, stop - BLOCK), stop)
        log_bets = _below(np.log1p(-np.outer(x[part], BETS))) + after
        after = log_bets[0]
        s = starts[part]
        yield Choices(s, trace.rounds - s, losses[part], log_bets, 1.0 / ((s + 1.0) * (s + 2.0)))


def _frozen(trace: Trace, conversion: str, loss: str) -> Iterator[Choices]:
    """Candidate i, frozen at round 2^i, on the rows that came later; it costs δ/((i+1)(i+2)), in validation δ/64."""
    if conversion not in trace.frozen:
        how = "validation_fraction above 0" if conversion == "validation" else "penalised='average'"
        raise ConversionError(f"{conversion} watches candidates during the pass: declare {how} before the first row")
    candidates = trace.frozen[conversion]
    i = candidates.number
    losses, log_bets = _totals(candidates.tally, loss)
    price = np.full(i.size, 1.0 / 64.0) if conversion == "validation" else 1.0 / ((i + 1.0) * (i + 2.0))
    yield Choices(i, candidates.tally.rounds[i], losses[i], log_bets[i], price)
