"""Several machines, by the definition: one run after another, every hypothesis kept. NumPy and nothing of ours."""

import math

import numpy as np


def run(Z, y, w0, update):
    """(hypotheses used in each round, the last one, margins): w_0 = w0, w_t = update(w_{t-1}, z_t, y_t, t)."""
    W, margins, w = [], [], w0
    for t, (z, label) in enumerate(zip(Z, y, strict=True), start=1):
        W.append(w)
        margins.append(label * float(w @ z))
        w = update(w, z, label, t)
    return np.array(W).reshape(len(y), len(w0)), w, np.array(margins)


def perceptron(elapsed):
    def update(w, z, label, t):
        return w + label * z if label * (w @ z) <= 0 else w

    return update, lambda margin: (margin <= 0).astype(float)


def margin_perceptron(radius):
    def made(elapsed):
        def update(w, z, label, t):
            if label * (w @ z) >= 1:
                return w
            w = w + label * z / (radius * math.sqrt(elapsed + t))
            return w / max(1.0, float(np.linalg.norm(w)))

        return update, lambda margin: np.maximum(0, 1 - margin)

    return made


def counted(losses, k):
    """Rounds after which the hypothesis in use had lived k rounds: (n_j − k)₊ of each. Without H_0's extra round."""
    lived, out = 0, []
    for loss in losses:
        out.append(lived >= k)
        lived = 0 if loss > 0 else lived + 1
    return np.array(out, dtype=bool)


def waves(chunks, sizes, cutoffs, rule, grows):
    """Per wave (hypotheses, losses, which rounds count); a wave starts at the average end of the wave before.

    chunks: (Z, y) in order; sizes: how many of them each wave has; grows: the way there is lengthened by √size.
    """
    w0, elapsed, at, out = np.zeros(chunks[0][0].shape[1]), 0, 0, []
    for number, (size, k) in enumerate(zip(sizes, cutoffs, strict=True)):
        update, loss_of = rule(elapsed)
        W, losses, B, ends = [], [], [], []
        for Z, y in chunks[at : at + size]:
            used, end, margins = run(Z, y, w0, update)
            loss = loss_of(margins)
            W.append(used)
            losses.append(loss)
            B.append(counted(loss, k))
            ends.append(end)
        if number == 0 and k > 0:
            B[0][0] = True  # H_0 counts a round more, once
        out.append((np.concatenate(W), np.concatenate(losses), np.concatenate(B)))
        way = np.mean(ends, axis=0) - w0
        elapsed += sum(len(y) for _, y in chunks[at : at + size]) // size
        w0, at = w0 + way * (math.sqrt(size) if grows else 1.0), at + size
    return out


def ends(chunks, sizes, rule, grows):
    """Where each wave comes to, (waves, features): what the next one starts from."""
    w0, elapsed, at, out = np.zeros(chunks[0][0].shape[1]), 0, 0, []
    for size in sizes:
        update, _ = rule(elapsed)
        here = [run(Z, y, w0, update)[1] for Z, y in chunks[at : at + size]]
        w0 = w0 + (np.mean(here, axis=0) - w0) * (math.sqrt(size) if grows else 1.0)
        elapsed += sum(len(y) for _, y in chunks[at : at + size]) // size
        at += size
        out.append(w0)
    return out


def candidates(ends):
    """The mean of what the later half of the waves so far came to, at the end of each wave."""
    return [np.mean(ends[s // 2 : s], axis=0) for s in range(1, len(ends) + 1)]


def watched(model, waves, judge):
    """(rows, mistakes) of each class on the rows of these waves; judge(model, Z) are predictions, 0 or 1 …, or −1."""
    y = np.concatenate([labels for _, labels in waves])
    wrong = np.concatenate([judge(model, Z) for Z, _ in waves]) != y
    classes = range(int(y.max()) + 1)
    return [int((y == c).sum()) for c in classes], [int((wrong & (y == c)).sum()) for c in classes]
