"""What each rule cannot exceed, one function per theorem.

`best` is the smallest loss (or number of mistakes) among the N experts, a number or an array over rounds; the answer
has its shape. With one expert the learner *is* that expert and every bound is `best` itself.

The simplified form (2−β)·best + ln N/(1−β) of wang-lecture10 is not here: below β ≈ 0.32 it is false, because
ln(1/β) ≤ (1−β) + (1−β)² fails there, and above it the form it was simplified from is smaller.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Loss = Any  # a number or an array of them, answered in kind

EPOCHS = 2.0 + math.sqrt(2.0)  # Σ √(2^r) over the epochs of T rounds is at most (√2/(√2−1))·√T


def weighted_majority(best: Loss, experts: int, beta: float) -> Loss:
    """(best·ln(1/β) + ln N) / ln(2/(1+β)) ≥ mistakes. See wang-lecture10, §10.1.1.

    Differs: the source prints the denominator with the other sign.

    >>> round(weighted_majority(10.0, experts=16, beta=0.5), 2)
    33.73
    """
    return best if experts == 1 else (best * -math.log(beta) + math.log(experts)) / math.log(2.0 / (1.0 + beta))


def randomized(best: Loss, experts: int, beta: float) -> Loss:
    """(best·ln(1/β) + ln N) / (1−β) ≥ expected mistakes, for every β in (0,1). See wang-lecture10, §10.1.2.

    >>> round(randomized(10.0, experts=16, beta=0.5), 2)
    19.41
    """
    return best if experts == 1 else (best * -math.log(beta) + math.log(experts)) / (1.0 - beta)


def randomized_tuned(best: Loss, experts: int, horizon: int) -> Loss:
    """best + 2√(T ln N) ≥ expected mistakes of up to T rounds with β = `tuned_beta(N, T)`."""
    return best + 2.0 * math.sqrt(horizon * math.log(experts))


def randomized_doubling(best: Loss, experts: int, rounds: Loss) -> Loss:
    """best + 6.83√(t ln N): `randomized_tuned` summed over the epochs."""
    return best + 2.0 * EPOCHS * np.sqrt(rounds * math.log(experts))


def weighted_majority_doubling(best: Loss, experts: int, rounds: Loss) -> Loss:
    """2·best + 13.66√(t ln N): in each epoch a mistake of the vote costs twice an expected one.

    With β = 1−ε, ε ≤ ½: ln(2/(1+β)) ≥ ε/2 and ln(1/β) ≤ ε + ε², so an epoch of T rounds makes at most
    2(1+ε)·best + 2 ln N/ε ≤ 2·best + 4√(T ln N) mistakes, twice what `randomized_tuned` allows.
    """
    return best if experts == 1 else 2.0 * best + 4.0 * EPOCHS * np.sqrt(rounds * math.log(experts))


def hedge(best: Loss, experts: int, rounds: Loss, eta: float) -> Loss:
    """best + ln N/η + ηt/8 ≥ loss, for losses in [0,1] and any η > 0; √(T ln N/2) above best for the tuned η.

    >>> round(hedge(0.0, experts=4, rounds=200.0, eta=math.sqrt(8 * math.log(4) / 200)), 3)
    11.774
    """
    return best if experts == 1 else best + math.log(experts) / eta + eta * rounds / 8.0


def anytime(best: Loss, experts: int, rounds: Loss) -> Loss:
    """best + 2√(t ln N / 2) + √(ln N / 8) ≥ loss at every t, for η_t = √(8 ln N / t) on cumulative losses."""
    return best + 2.0 * np.sqrt(rounds * (math.log(experts) / 2.0)) + math.sqrt(math.log(experts) / 8.0)


def doubling(best: Loss, experts: int, rounds: Loss) -> Loss:
    """best + 2.42√(t ln N): √(T ln N / 2) summed over the epochs."""
    return best + EPOCHS / math.sqrt(2.0) * np.sqrt(rounds * math.log(experts))


def adahedge(best: Loss, experts: int, rounds: Loss) -> Loss:
    """best + √(t ln N) + (4/3) ln N + 2 ≥ loss at every t. See de Rooij et al. 2014 (`AdaHedge`)."""
    return best if experts == 1 else best + np.sqrt(rounds * math.log(experts)) + 4.0 / 3.0 * math.log(experts) + 2.0


def fixed_share(best: Loss, experts: int, rounds: Loss, eta: float, share: float, switches: int) -> Loss:
    """best + ((s+1) ln N + s ln(1/α) + (t−s−1) ln(1/(1−α)))/η + ηt/8 ≥ loss.

    Here `best` is the loss of the best *sequence* of experts that changes at most s times. See M. Herbster,
    M. K. Warmuth, *Tracking the Best Expert*, Machine Learning 32 (1998).
    """
    if experts == 1:
        return best
    return best + tracking_price(experts, rounds, share, switches) / eta + eta * rounds / 8.0


def tracking_price(experts: int, rounds: Loss, share: float, switches: int) -> Loss:
    """(s+1) ln N + s ln(1/α) + (t−s−1) ln(1/(1−α)): what naming one sequence of experts costs."""
    stays = np.maximum(rounds - switches - 1.0, 0.0)
    return (switches + 1) * math.log(experts) + switches * -math.log(share) + stays * -math.log1p(-share)
