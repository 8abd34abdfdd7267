"""Prediction with expert advice as the definitions say it, in fractions where that is possible. Nothing of ours."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np


def weighted_majority(advice, outcomes, beta):
    """Predictions and weights after each round. wang-lecture10, Algorithm 1; NaN sleeps, and pays (1+β)/2."""
    w = [Fraction(1)] * len(advice[0])
    predictions, weights = [], []
    for said, y in zip(advice, outcomes, strict=True):
        ones = sum(wi for wi, a in zip(w, said, strict=True) if a == 1)
        zeros = sum(wi for wi, a in zip(w, said, strict=True) if a == 0)
        predictions.append(int(ones >= zeros))
        if predictions[-1] != y:
            w = [wi * ((1 + beta) / 2 if np.isnan(a) else beta if a != y else 1) for wi, a in zip(w, said, strict=True)]
        weights.append(list(w))
    return predictions, weights


def randomized(advice, outcomes, beta):
    """Probabilities of 1 and weights after each round. wang-lecture10, Algorithm 2; β is a function of the round."""
    w = [Fraction(1)] * len(advice[0])
    probabilities, weights = [], []
    for t, (said, y) in enumerate(zip(advice, outcomes, strict=True)):
        factor, restart = beta(t)
        w = [Fraction(1)] * len(w) if restart else w
        probabilities.append(sum(wi for wi, a in zip(w, said, strict=True) if a == 1) / sum(w))
        w = [wi * factor if a != y else wi for wi, a in zip(w, said, strict=True)]
        weights.append(list(w))
    return probabilities, weights


def contradict(advice, beta):
    """Outcomes of an adversary that always says the opposite of the weighted vote (β dyadic: exact)."""
    w, outcomes = np.ones(advice.shape[1]), np.empty(len(advice), np.uint8)
    for t, said in enumerate(advice):
        y = outcomes[t] = 1 - (w[said == 1].sum() >= w[said == 0].sum())
        w[said != y] *= beta
        w /= w.max()
    return outcomes


def hedge(losses, eta):
    """The learner's loss and the weights in each round: p_i ∝ exp(−η_t·cumulative loss_i); NaN sleeps."""
    cumulative, lost, weights = np.zeros(losses.shape[1]), [], []
    for t, loss in enumerate(losses):
        w = np.exp(-eta(t) * (cumulative - cumulative.min()))
        weights.append(w / w.sum())
        awake = ~np.isnan(loss)
        lost.append((w[awake] * loss[awake]).sum() / w[awake].sum())
        cumulative = cumulative + np.where(awake, loss, lost[-1])
    return np.array(lost), np.array(weights)


def adahedge(losses):
    """The learner's loss in each round: η = ln N / Δ, Δ += h − m, m the mix loss. De Rooij et al. 2014, Figure 1."""
    n = losses.shape[1]
    cumulative, gap, lost = np.zeros(n), 0.0, []
    for loss in losses:
        lead = cumulative - cumulative.min()
        eta = np.log(n) / gap if gap > 0 else np.inf
        w = np.exp(-eta * lead) if gap > 0 else (lead == 0).astype(float)
        p = w / w.sum()
        h = p @ loss
        if gap > 0:
            m = -np.log(p @ np.exp(-eta * loss)) / eta
        else:  # its limit: how far the least cumulative loss moves
            m = (cumulative + loss).min() - cumulative.min()
        gap += max(0.0, h - m)
        cumulative = cumulative + loss
        lost.append(h)
    return np.array(lost)


def fixed_share(losses, eta, alpha):
    """The learner's loss in each round: w ← (1−α)·w·exp(−ηℓ)/Σ + α/N."""
    w, lost = np.full(losses.shape[1], 1 / losses.shape[1]), []
    for loss in losses:
        lost.append(w @ loss)
        w = w * np.exp(-eta * loss)
        w = (1 - alpha) * w / w.sum() + alpha / w.size
    return np.array(lost)


def best_sequence(losses, switches):
    """The least loss of a sequence of experts with at most so many changes: all of them are tried."""
    rounds, experts = losses.shape
    sequences = product(range(experts), repeat=rounds)
    return min(
        sum(losses[t, i] for t, i in enumerate(chosen))
        for chosen in sequences
        if sum(a != b for a, b in pairwise(chosen)) <= switches
    )
