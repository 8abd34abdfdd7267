"""Adaptive, transcribed: NumPy and nothing of ours. Whole rows, whole vectors, every class alike."""

import math

import numpy as np


def adaptive(X, y, outputs=1, intercept=True):
    """(hypotheses after each round as (1 + features, outputs), margins, rounds with loss); labels ±1 or 0, 1, …"""
    features = X.shape[1]
    w, b = np.zeros((features, outputs)), np.zeros(outputs)
    A, s1, s2, count, inv, mu = (np.zeros(features) for _ in range(6))
    Ab, N, dense, one, history, margins, losses = 0.0, 0, set(), float(intercept), [], [], []

    def judge(x, label):
        s = x @ w + b
        if outputs == 1:
            return label * s[0], None
        rival = max((c for c in range(outputs) if c != label), key=lambda c: s[c])
        return s[label] - s[rival], rival

    def rescale(i, new_mu, new_inv):
        old = w[i].copy()
        w[i] = old * (new_inv / inv[i]) if inv[i] > 0 else 0.0
        b[:] += mu[i] * old - new_mu * w[i]
        mu[i], inv[i] = new_mu, new_inv

    for x, label in zip(X.astype(float), y, strict=True):
        x = np.where(x * x < 2.0**-960, 0.0, x)
        (margin, rival), row = judge(x, label), np.flatnonzero(x)
        losses.append(not (margin > 0 and margin**2 >= one + row.size))
        margins.append(margin)
        if losses[-1]:
            N += 1
            for i in row:
                v = x[i]
                if count[i] >= 16 and v * v * count[i] > 100 * s2[i]:
                    v = math.copysign(math.sqrt(100 * s2[i] / count[i]), v)
                s1[i], s2[i], count[i] = s1[i] + v, s2[i] + v * v, count[i] + 1
                if i not in dense and abs(s2[i] * inv[i] ** 2 - count[i]) > 0.1013 * count[i]:
                    rescale(i, 0.0, math.sqrt(count[i] / s2[i]))
            if N in (16, 128, 1024):
                now = set(np.flatnonzero(count > N / 2))
                for i in sorted(dense - now):
                    rescale(i, 0.0, math.sqrt(count[i] / s2[i]))
                dense = now
            if N < 8 or N % 2 ** (int(math.log2(N)) - 2) == 0:
                for i in sorted(dense):
                    centre = s1[i] / N if intercept else 0.0
                    variance = s2[i] / N - centre**2
                    rescale(i, centre, 1 / math.sqrt(variance) if variance > 1e-9 * s2[i] / N else 0.0)
            margin, rival = judge(x, label)
            at = sorted({*row, *dense})
            z = (x[at] - mu[at]) * inv[at]
            if one + z @ z > 0:
                r = 1 / math.sqrt(one + z @ z)
                A[at] += (r * z) ** 2
                g = np.divide(r * z, np.sqrt(A[at]), out=np.zeros(len(at)), where=A[at] > 0)
                Ab += one * r**2
                gb = one * r / math.sqrt(Ab) if intercept else 0.0
                room = (r * gb + r * z @ g) * (1 if outputs == 1 else 2)
                c = min(1.0, max(0.0, 1 - margin * r) / room) if room > 0 else 0.0
                for k, sign in [(0, label)] if outputs == 1 else [(label, 1), (rival, -1)]:
                    w[at, k] += sign * c * g * inv[at]
                    b[k] += sign * (c * gb - c * (g * inv[at] * mu[at]).sum())
        history.append(np.vstack([b, w]))
    return history, np.array(margins), np.array(losses)
