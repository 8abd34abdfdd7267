"""Alarms: what shows that rows are no independent draws, so that no certificate may be given.

The order alarm is an e-process on the labels in the order fed: how well a Markov chain of order 1 predicts them
(Krichevsky-Trofimov: each count starts at ½), against the best that any independent draws could do in hindsight. If the
labels are independent draws from anything, the ratio exceeds 10⁶ with probability below 10⁻⁶, at all times together. It
sees sorted or clustered labels; it does not see slow drift.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.looks import look_after
from onepass.rows import Floats, Ints
from onepass.state_checks import need, need_same_shapes

LEVEL = 1e6
MOST = 512  # classes; a table of pairs for more would be large and say little


class Order(NamedTuple):
    """State of the order alarm."""

    pairs: Ints  # (classes, classes): how often each label followed each
    seen: Ints  # per class
    place: Ints  # rows so far, the last label, the row at which the alarm rang (0: it has not)
    evidence: Floats  # log-likelihood of the chain, and its running product


def order_state(classes: int) -> Order:
    n = min(classes, MOST)
    zeros = np.zeros((n, n), dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(3, dtype=np.int64)
    return Order(*zeros, np.array([0.0, 1.0]))


def join_label(order: Order, classes: int, most: int) -> Order:
    """A class joins with the next row, one of those that at most so many may be.

    Its row is what a chain predicts that expects a new class at row t with probability 1/(t(t+1)): all those chances
    add up to 1, so with labels that join the ratio exceeds the level with probability below 2·10⁻⁶.
    """
    n, t, before = min(classes, MOST), float(order.place[0]) + 1.0, order.seen.size
    if n == before:
        return order
    wider = order_state(n)
    wider.pairs[:before, :before], wider.seen[:before], wider.place[:] = order.pairs, order.seen, order.place
    wider.evidence[:] = order.evidence
    wider.evidence[0] -= math.log(t * (t + 1.0)) + math.log(max(1, most - before))
    return wider


@jit
def observe_labels(order: Order, y: Ints) -> None:
    """Count the labels y (−1, +1 for two classes; 0, 1, … for several); weigh the evidence at looks."""
    classes = order.seen.size
    t, last, rang = order.place[0], order.place[1], order.place[2]
    log_chain, product, soon = order.evidence[0], order.evidence[1], look_after(t)
    for i in range(y.size):
        label = (y[i] + 1) // 2 if classes == 2 else y[i]
        if t == 0:
            product /= classes
        else:
            left = order.seen[last] - 1  # times that a label followed `last` so far
            product *= (order.pairs[last, label] + 0.5) / (left + 0.5 * classes)
            order.pairs[last, label] += 1
        order.seen[label] += 1
        last = label
        t += 1
        if product < 1e-200:
            log_chain += math.log(product)
            product = 1.0
        if t == soon:
            soon = look_after(t)
            best = 0.0
            for c in range(classes):
                n = order.seen[c]
                if n > 0:
                    best += n * math.log(n / t)
            if rang == 0 and log_chain + math.log(product) - best > math.log(LEVEL):
                rang = t
    order.place[0], order.place[1], order.place[2] = t, last, rang
    order.evidence[0], order.evidence[1] = log_chain, product


class LabelTransitions(NamedTuple):
    """Labels of consecutive rows, as far as the order alarm asks: how often each followed each, first and last."""

    pairs: Ints
    seen: Ints
    first: int  # −1: no row
    last: int

    def followed_by(self, later: LabelTransitions) -> LabelTransitions:
        """Those of these rows and, right after them, the later ones."""
        if self.first < 0 or later.first < 0:
            return later if self.first < 0 else self
        pairs = self.pairs + later.pairs
        pairs[self.last, later.first] += 1
        return LabelTransitions(pairs, self.seen + later.seen, self.first, later.last)


def label_transitions(order: Order) -> LabelTransitions:
    """What the order alarm has counted."""
    if not order.place[0]:
        return LabelTransitions(order.pairs.copy(), order.seen.copy(), -1, -1)
    first = int(np.argmax(order.seen - order.pairs.sum(axis=0)))  # followed by none: it stands where no pair ends
    return LabelTransitions(order.pairs.copy(), order.seen.copy(), first, int(order.place[1]))


def order_evidence(labels: LabelTransitions) -> float:
    """ln of how much better a Markov chain predicts these labels than the best independent draws do.

    Krichevsky-Trofimov's probability of a sequence depends on its pair counts alone, so runs that follow each other
    need remember no more.
    """
    n, classes = int(labels.seen.sum()), labels.seen.size
    if n == 0:
        return 0.0
    half, rows = math.lgamma(0.5), labels.pairs.sum(axis=1)
    chain = -math.log(classes)
    for state in np.flatnonzero(rows):
        chain += sum(math.lgamma(count + 0.5) - half for count in labels.pairs[state].tolist() if count)
        chain -= math.lgamma(int(rows[state]) + 0.5 * classes) - math.lgamma(0.5 * classes)
    best = sum(count * math.log(count / n) for count in labels.seen.tolist() if count)
    return float(chain - best)


def joint_order_reason(labels: LabelTransitions, where: str) -> str | None:
    """Why no certificate may be given for runs whose labels, joined in their order, are these; `where` it was seen."""
    return _order_words(where) if order_evidence(labels) > math.log(LEVEL) else None


def _order_words(where: str) -> str:
    return (
        f"the labels come in an order that independent draws would not show (noticed at {where}): "
        "sorted or clustered data? Shuffle the whole data set first, unless it is a stream in time order"
    )


def one_label_only(order: Order) -> bool:
    """Whether only one label has been met, as at the beginning of sorted data: the alarm cannot ring before two."""
    return bool(np.count_nonzero(order.seen) == 1)


def order_reason(order: Order, before: int = 0) -> str | None:
    """Why no certificate may be given, if the alarm rang; so many rows were fed before those it has seen."""
    if not order.place[2]:
        return None
    return _order_words(f"row {before + int(order.place[2]):,}")


def check_order(order: Any, pattern: Order) -> None:
    """Raise CheckpointError unless a pass with as many classes as the pattern's can have this state."""
    need_same_shapes(order, pattern, "the order alarm")
    need(0 <= order.place[1] < order.seen.size and order.place[0] >= 0, "the order alarm")
