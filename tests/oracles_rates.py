"""The learners that take a rate, transcribed: NumPy and nothing of ours. w_t = update(w_{t-1}, x_t, y_t, t)."""

import numpy as np

from oracles import direction


def normalized(eta, N):
    """W' = W + (η(t)/N)·y·x after a mistake; W = W'/‖W'‖. (barkai1995, eq. 2)"""

    def update(w, x, label, t):
        d, margin = direction(w, x, label)
        if margin > 0:
            return w
        w = w + eta(t) / N * d
        norm = np.linalg.norm(w)
        return w / norm if norm > 1e-15 else w

    return update


def margin(eta):
    """w' = w + (η(t)/R)·y·x if y⟨w, x⟩ < 1; w = w'/max(1, ‖w'‖); R the longest row so far. (dekel2008, Fig. 1)"""
    longest = [0.0]

    def update(w, x, label, t):
        d, margin = direction(w, x, label)
        longest[0] = max(longest[0], np.linalg.norm(d))
        if margin >= 1 or longest[0] == 0:
            return w
        w = w + eta(t) / longest[0] * d
        return w / max(1.0, np.linalg.norm(w))

    return update
