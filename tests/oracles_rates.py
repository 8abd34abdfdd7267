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


def shifted(Z, y, eta, N, warmup, window=1000, weighting="uniform"):
    """(W_0 … W_m, mistakes, turns): W' = W + (η/N)·y·(x − T), T = ψ·Σyx/Σyψ, W = W'/‖W'‖. (barkai1995, eq. 10 and 12)

    Plain until t = warmup·N and while |Σyψ| ≤ 3√Σψ²; W turns to −W after a window with mistakes 3σ above one half. If
    not uniform, ψ and the sums begin anew after round warmup·N, with v the mean of y·x so far; "auto" waits for round
    1000, and stays uniform if |Σy| > 3√t there.
    """
    W, P, S, squares = [np.zeros(Z.shape[1])], np.zeros(Z.shape[1]), 0.0, 0.0
    mistakes, turns, psi = [], [], lambda x: 1.0
    for t, (x, label) in enumerate(zip(Z, y, strict=True), start=1):
        w = W[-1]
        if t - 1 == int(max(warmup * N, 1000 * (weighting == "auto"))) and not (
            weighting == "auto" and abs(S) > 3 * np.sqrt(t - 1)
        ):
            v = P / (t - 1)
            if weighting in ("auto", "linear"):
                psi, P, S, squares = (lambda x, v=v: v @ x), 0.0 * P, 0.0, 0.0
            elif weighting == "halfspace":
                psi, P, S, squares = (lambda x, v=v: float(v @ x > 0)), 0.0 * P, 0.0, 0.0
        P, S, squares = P + label * x, S + label * psi(x), squares + psi(x) ** 2
        mistakes.append(label * (w @ x) <= 0)
        if mistakes[-1]:
            T = psi(x) * P / S if t > warmup * N and abs(S) > 3 * np.sqrt(squares) else 0.0
            w = w + eta(t) / N * label * (x - T)
            norm = np.linalg.norm(w)
            w = w / norm if norm > 1e-15 else w
        if t % window == 0 and sum(mistakes[-window:]) > window / 2 + 1.5 * np.sqrt(window):
            w = -w
            turns.append(t)
        W.append(w)
    return W, np.array(mistakes), turns


def shifted_survivals(mistakes, turns):
    """n_j: a run ends with a mistake, and when W is turned after a round without one."""
    n = [0]
    for t, mistake in enumerate(mistakes, start=1):
        n[-1] += 1
        if mistake or t in turns:
            n.append(0)
    return np.array(n)


def smooth(f, gradient, W, X, y, eta):
    """All of W_0 … W_m and the mistakes: W ← W + η(t)·y·∇f(x; W) where sgn f(x; W) ≠ y. (barkai1995, eq. 19-20)"""
    path, mistakes = [W], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        mistakes.append(label * f(path[-1], x) <= 0)
        path.append(path[-1] + eta(t) * label * gradient(path[-1], x) if mistakes[-1] else path[-1])
    return path, np.array(mistakes)


def cutoff_average(path, mistakes, k):
    """Σ (n_j − k)₊·W_j, and H_0 once more if k > 0, over the sum of the weights. (dekel2008, eq. 3-4)"""
    run = np.concatenate([[0], np.cumsum(mistakes)])[: len(mistakes)]
    n = np.bincount(run)
    q = np.maximum(n - k, 0) + (np.arange(n.size) == 0) * (k > 0)
    return sum(w * path[np.argmax(run == j)] for j, w in enumerate(q)) / q.sum()
