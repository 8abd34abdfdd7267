"""The definitions, transcribed: NumPy and nothing of ours. Slow, plain, and kept whole."""

import math

import numpy as np

# --- learners: w_0 = 0; w_t = update(w_{t-1}, x_t, y_t, t) ------------------------------------------------------------


def hypotheses(X, y, update, shape):
    """All of w_0, …, w_m."""
    W = [np.zeros(shape)]
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        W.append(update(W[-1], x, label, t))
    return W


def direction(w, x, label):
    """(d, margin): w moves along d, ⟨w, d⟩ = margin. Labels ±1 for a vector w, class numbers for a matrix."""
    if w.ndim == 1:
        return label * x, label * float(w @ x)
    s = x @ w
    rivals = [c for c in range(w.shape[1]) if c != label]
    rival = max(rivals, key=lambda c: s[c])  # of several, the first
    d = np.zeros_like(w)
    d[:, label], d[:, rival] = x, -x
    return d, float(s[label] - s[rival])


def perceptron(w, x, label, t):
    d, margin = direction(w, x, label)
    return w + d if margin <= 0 else w


def margin_perceptron(radius=None, horizon=None, sphere=False):
    longest = [0.0]

    def update(w, x, label, t):
        d, margin = direction(w, x, label)
        longest[0] = max(longest[0], float(np.linalg.norm(d)))
        R = radius if radius is not None else longest[0]
        if margin >= 1 or R == 0:
            return w
        w = w + d / (R * math.sqrt(horizon or t))
        norm = float(np.linalg.norm(w))
        return w / norm if norm > 1 or (sphere and norm > 0) else w

    return update


def passive_aggressive(C=1.0, variant=1):
    def update(w, x, label, t):
        d, margin = direction(w, x, label)
        loss, length = max(0.0, 1 - margin), float((d * d).sum())
        if loss == 0 or length == 0:
            return w
        return w + (min(C, loss / length) if variant == 1 else loss / (length + 1 / (2 * C))) * d

    return update


# --- the run as rounds: which hypothesis was in use, and what it lost -------------------------------------------------


def margins(X, y, W):
    return np.array([direction(W[i], X[i], y[i])[1] for i in range(len(y))])


def survivals(losses):
    """n_j: a run ends with a positive loss; the last one is alive."""
    n = [0]
    for loss in losses:
        n[-1] += 1
        if loss > 0:
            n.append(0)
    return np.array(n)


def counted(losses, k):
    """B_0, …, B_{m−1} of dekel2008, eq. (3), where hypotheses are told apart by the runs they belong to."""
    run = np.concatenate([[0], np.cumsum(np.asarray(losses) > 0)])[: len(losses)]
    return np.array([i == 0 or (i >= k and run[i - k] == run[i]) for i in range(len(losses))])


# --- certificates -----------------------------------------------------------------------------------------------------


def dekel2008(n, total, a, C):
    mean = total / n
    return min(C, mean + math.sqrt(2 * C * a * mean / n) + 7 * C * a / n)


def betting(X, delta):
    """Losses X in [0, 1]: the largest μ at which the average wealth of 64 gamblers is below 1/δ."""
    bets = np.geomspace(1e-4, 0.999, 64)
    S = np.array([np.log1p(-c * np.asarray(X)).sum() for c in bets])

    def wealth(mu):
        e = S - len(X) * np.log1p(-bets * mu)
        return e.max() + math.log(np.exp(e - e.max()).mean())

    if not len(X) or wealth(1.0) < math.log(1 / delta):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle) < math.log(1 / delta) else (low, middle)
    return high


def grid(top):
    """Integers with at most three significant bits, up to the first above top."""
    few = [k for k in range(8 * top + 16) if bin(k).rstrip("0").count("1") <= 3 and len(bin(k).strip("0b")) <= 3]
    return few[: 1 + next(i for i, k in enumerate(few) if k > top)]
