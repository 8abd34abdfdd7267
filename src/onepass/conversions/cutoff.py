"""cutoff: what each hypothesis outlived a bar by. See dekel2008, eq. 3-4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from onepass.conversions.choices import (
    Choice,
    Choices,
    Conversion,
    Loss,
    kinds_among,
    one_choice,
    price,
    scaled_loss,
    scaled_losses,
    suffix_sums,
    totals,
)
from onepass.rows import Ints
from onepass.trace import Evidence, Trace
from onepass.trace.grid import coarse, floor_index, points
from onepass.trace.tally import BETS

BLOCK = 4096  # hypotheses whose bets are summed together


class Cutoff(Conversion):
    """Weights (n_j − k)₊, with k chosen on the cutoff grid or, as in the paper, among all survival times."""

    name: ClassVar[str] = "cutoff"
    ensemble: ClassVar[bool] = True

    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        if evidence.dropped:
            evidence.need_updates(self.name)
        if evidence.settled is not None:  # wave by wave: one rule, with its price
            k, n, line, share = evidence.settled
            losses, log_bets = totals(line, loss)
            yield one_choice(k, n, float(losses[0]), log_bets[0], share)
        elif evidence.terms.cutoffs == "all":
            yield _all_cutoffs(evidence, loss)
        else:
            yield _grid_cutoffs(evidence, loss)

    def mistakes(self, evidence: Evidence, value: int) -> Ints:
        if evidence.settled is not None:
            return np.asarray(evidence.settled.tally.kinds[0])
        if evidence.terms.cutoffs == "all":
            ended = evidence.need_updates('cutoffs="all"')
            found = kinds_among(evidence, ended, evidence.run_lengths[:-1] > value)
        else:
            found = np.asarray(evidence.tally.kinds[floor_index(value) :].sum(axis=0))
        first = evidence.first
        if value > 0 and first.survival == 1 and first.kind >= 0 and found.size:
            found[first.kind] += 1  # B_0 = 1
        return found

    def members(self, trace: Trace, k: int | None) -> Ints:
        """(n_j − k)₊."""
        bar = k or 0
        kept = np.maximum(trace.survival - bar, 0)
        kept[0] += bar > 0  # B_0 = 1: the default hypothesis always counts
        return kept

    def describe(self, value: int) -> Choice:
        return Choice(value, f"k = {value:,}")


def _opening(evidence: Evidence, loss: Loss) -> float:
    """X of the first round where no cutoff above 0 counts it already: H_0 ended at once (B_0 = 1 in eq. 3)."""
    return scaled_loss(evidence, loss, evidence.first) if evidence.first.survival == 1 else 0.0


def _grid_cutoffs(evidence: Evidence, loss: Loss) -> Choices:
    """k on the cutoff grid; the i-th grid point costs δ/((i+1)(i+2)).

    All from the tally: a hypothesis that survived s rounds lies in the bin of the largest grid point below s.
    """
    tally = evidence.with_living()
    runs, lived = suffix_sums(tally.runs), suffix_sums(tally.rounds)
    losses, log_bets = (suffix_sums(part) for part in totals(tally, loss))
    busy = np.flatnonzero(tally.runs)
    top = int(busy[-1]) if busy.size else 0
    index = np.arange(top + 1)
    if evidence.fineness < 3:
        index = index[np.isin(index, coarse(evidence.fineness, top))]
    cuts = points(index)
    opening = _opening(evidence, loss)
    return Choices(
        cuts,
        lived[index] - cuts * runs[index] + (cuts > 0),
        losses[index] + (cuts > 0) * opening,
        log_bets[index] + np.outer(cuts > 0, np.log1p(-BETS * opening)),
        price(index),
    )


def _all_cutoffs(evidence: Evidence, loss: Loss) -> Choices:
    """Every k, as in dekel2008; k costs δ/((k+1)(k+2)).

    Only 0 and the survival times but the largest can be best: in between ΣL stays and ΣB falls as k grows.
    """
    ended = evidence.need_updates('cutoffs="all"')
    order = np.argsort(evidence.run_lengths, kind="stable")[::-1]
    survival = evidence.run_lengths[order]
    x = np.concatenate([scaled_losses(evidence, loss, ended), [0.0]])[order]
    k = np.unique(np.concatenate([[0], survival]))
    k = k[:-1] if k.size > 1 else k
    above = np.searchsorted(-survival, -k, side="left")  # hypotheses 0..above−1 of the order survived more than k
    lived, opening = np.concatenate([[0], np.cumsum(survival)]), _opening(evidence, loss)
    losses = np.concatenate([[0.0], np.cumsum(x)])
    log_bets = np.zeros((k.size, BETS.size))
    for i, (start, stop) in enumerate(zip([0, *above[::-1]], above[::-1], strict=False)):  # from the largest k down
        log_bets[i] = log_bets[i - 1] if i else 0.0
        for a in range(start, stop, BLOCK):
            log_bets[i] += np.log1p(-np.outer(x[a : min(a + BLOCK, stop)], BETS)).sum(axis=0)
    return Choices(
        k,
        lived[above] - k * above + (k > 0),
        losses[above] + (k > 0) * opening,
        log_bets[::-1] + np.outer(k > 0, np.log1p(-BETS * opening)),
        price(k),
    )
