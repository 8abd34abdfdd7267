"""Alarms: what shows that rows are no independent draws, so that no certificate may be given.

The order alarm is an e-process on the labels in the order fed: how well a Markov chain of order 1 predicts them
(Krichevsky-Trofimov: each count starts at ½), against the best that any independent draws could do in hindsight. If the
labels are independent draws from anything, the ratio exceeds 10⁶ with probability below 10⁻⁶, at all times together. It
sees sorted or clustered labels; it does not see slow drift.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.rows import Floats, Ints

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


@jit
def listen(order: Order, y: Ints) -> None:
    """Hear the labels y (−1, +1 for two classes; 0, 1, … for several); weigh the evidence at the rounds of `looks`."""
    classes = order.seen.size
    t, last, rang = order.place[0], order.place[1], order.place[2]
    log_chain, product = order.evidence[0], order.evidence[1]
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
        if rang == 0 and looks(t):
            best = 0.0
            for c in range(classes):
                n = order.seen[c]
                if n > 0:
                    best += n * math.log(n / t)
            if log_chain + math.log(product) - best > math.log(LEVEL):
                rang = t
    order.place[0], order.place[1], order.place[2] = t, last, rang
    order.evidence[0], order.evidence[1] = log_chain, product


@jit
def looks(t: int) -> bool:
    """Whether round t is one at which the stream is looked at: multiples of 2^max(0, ⌊log2 t⌋ − 6).

    Fixed by t alone, never by where a chunk happens to end; some 64 looks between t and 2t.
    """
    step = 1
    while t >> 7 >= step:
        step *= 2
    return t % step == 0


def next_look(t: int) -> int:
    """The first round after t at which `looks` is true.

    >>> next_look(5), next_look(127), next_look(1000), next_look(1024)
    (6, 128, 1008, 1040)
    """
    step = 1 << max(0, (t + 1).bit_length() - 7)
    return -(-(t + 1) // step) * step


def deaf(order: Order) -> bool:
    """Whether only one label has been heard, as at the beginning of sorted data: the alarm cannot ring before two."""
    return bool(np.count_nonzero(order.seen) == 1)


def order_reason(order: Order) -> str | None:
    """Why no certificate may be given, if the alarm rang."""
    if not order.place[2]:
        return None
    return (
        f"the labels come in an order that independent draws would not show (noticed at row {int(order.place[2]):,}): "
        "sorted or clustered data? Shuffle the whole data set first"
    )
