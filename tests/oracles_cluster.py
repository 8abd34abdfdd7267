"""What clustering means, in NumPy and nothing of ours: the whole loop, every distance, no shortcut."""

import numpy as np


def squared_distance(x, c):
    """Σ (x_f − c_f)² in float64: columns f, f+4, f+8, … in turn into four sums, odd ones into the first."""
    t = (np.asarray(x, float) - np.asarray(c, float)) ** 2
    whole = len(t) // 4 * 4
    s = [0.0, 0.0, 0.0, 0.0]
    for f in range(whole):
        s[f % 4] += t[f]
    for f in range(whole, len(t)):
        s[0] += t[f]
    return (s[0] + s[1]) + (s[2] + s[3])


def distances(X, C):
    return np.array([[squared_distance(x, c) for c in C] for x in X])


def means(X, w, labels, C):
    """The weighted mean of each cluster, in the type of C; an empty one keeps its centre."""
    out = C.copy()
    for c in range(len(C)):
        mine = (labels == c) & (w > 0)
        if mine.any():
            total = np.zeros(X.shape[1])
            for x, weight in zip(X[mine], w[mine], strict=True):
                total += weight * x.astype(float)
            out[c] = total / w[mine].sum()
    return out


def restart(X, w, labels, C):
    """Empty clusters, in order, go to the row farthest from its nearest centre so far, which leaves its cluster."""
    far = np.array([squared_distance(x, C[j]) for x, j in zip(X, labels, strict=True)]) * (w > 0)
    after = labels.copy()
    for c in range(len(C)):
        if not ((labels == c) & (w > 0)).any() and far.max() > 0:
            row = far.argmax()
            after[row] = c
            far = np.minimum(far, [squared_distance(x, X[row]) for x in X])
    return C if (after == labels).all() else means(X, w, after, C)


def lloyd(X, C, w, max_iter):
    """Labels and centres of every iteration, until neither labels nor centres change; labels for the last centres."""
    steps = [(np.full(len(X), -1), C)]
    while len(steps) <= max_iter:
        labels = distances(X, C).argmin(axis=1)
        C = restart(X, w, labels, means(X, w, labels, C))
        steps.append((labels, C))
        if (labels == steps[-2][0]).all() or (steps[-2][1] == C).all():
            break
    D = distances(X, C)
    return steps, C, D.argmin(axis=1), float(np.sum(w * D.min(axis=1)))


def draw(odds, u):
    """The first row at which the running sum exceeds u times the total."""
    return int(np.searchsorted(np.cumsum(odds), u * odds.sum(), side="right"))


def plusplus(X, k, w, rng, candidates=1):
    """First centre ∝ w, then ∝ w·D²; of several candidates the one that leaves the smallest potential."""
    chosen = [draw(w, rng.random(1)[0])]
    D = distances(X, X[chosen])[:, 0]
    while len(chosen) < k and (w * D).any():
        drawn = [draw(w * D, u) for u in rng.random(candidates)]
        after = [np.minimum(D, distances(X, X[[i]])[:, 0]) for i in drawn]
        best = int(np.argmin([np.sum(w * a) for a in after]))
        chosen.append(drawn[best])
        D = after[best]
    return chosen, float(np.sum(w * D))


def local_search(X, chosen, w, rng, steps):
    """Each step draws a row ∝ w·D² and makes the best swap with a chosen one, if that lowers the potential."""
    chosen = list(chosen)
    D = distances(X, X)

    def potential(rows):
        return float(np.sum(w * D[:, rows].min(axis=1)))

    for _ in range(steps if len(chosen) > 1 else 0):
        if potential(chosen) == 0:
            break
        drawn = draw(w * D[:, chosen].min(axis=1), rng.random(1)[0])
        after = [potential([*chosen[:j], drawn, *chosen[j + 1 :]]) for j in range(len(chosen))]
        if min(after) < potential(chosen):
            chosen[int(np.argmin(after))] = drawn
    return chosen, potential(chosen)
