"""One prefix of dekel2008, Section 4, by the definitions: trained from the start, every hypothesis kept."""

import math

import numpy as np

import oracles


def prefix(X, y, update, loss, C, horizon, delta):
    """(last, average, {bound: (weights, risk, k, members)}) after all rows of X; labels ±1, losses in [0, C]."""
    W = oracles.hypotheses(X, y, update, X.shape[1])
    losses = np.array([loss(m) for m in oracles.margins(X, y, W)])
    grid = [k for k in oracles.grid(len(y)) if k < oracles.survivals(losses).max()]
    chosen = {}
    for bound in ("betting", "dekel2008"):
        found = []
        for i, k in enumerate(grid):
            B = oracles.counted(losses, k)
            if bound == "betting":
                risk = C * oracles.betting(losses[B] / C, delta / ((i + 1) * (i + 2)))
            else:
                risk = oracles.dekel2008(B.sum(), losses[B].sum(), math.log(horizon**2 / delta), C)
            members = [W[t] for t in np.flatnonzero(B)]
            found.append((risk, k, np.mean(members, axis=0), members))
        risk, k, weights, members = min(found, key=lambda one: (round(one[0], 9), one[1]))
        chosen[bound] = weights, risk, k, members
    return W[-1], np.mean(W[:-1], axis=0), chosen
