"""Adaptive, transcribed: NumPy and nothing of ours. Whole rows, whole vectors, every class alike."""

import math

import numpy as np


class Adaptive:
    """Its state in the letters of the definition; labels are ±1 for one output, 0, 1, … for several."""

    def __init__(self, features, outputs=1, intercept=True):
        self.w, self.b = np.zeros((features, outputs)), np.zeros(outputs)
        self.A, self.s1, self.s2, self.count, self.inv, self.mu = (np.zeros(features) for _ in range(6))
        self.Ab, self.N, self.dense, self.one = 0.0, 0, set(), float(intercept)

    @property
    def weights(self):
        return np.vstack([self.b, self.w])

    def judge(self, x, label):
        s = x @ self.w + self.b
        if s.size == 1:
            return label * s[0], None
        rival = max((c for c in range(s.size) if c != label), key=lambda c: s[c])
        return s[label] - s[rival], rival

    def rescale(self, i, mu, inv):
        old = self.w[i].copy()
        self.w[i] = old * (inv / self.inv[i]) if self.inv[i] > 0 else 0.0
        self.b += self.mu[i] * old - mu * self.w[i]
        self.mu[i], self.inv[i] = mu, inv

    def standard(self, i):
        """(mean, 1 over the standard deviation) of a dense column."""
        mu = self.one * self.s1[i] / self.N
        variance = self.s2[i] / self.N - mu**2
        return mu, 1 / math.sqrt(variance) if variance > 1e-9 * self.s2[i] / self.N else 0.0

    def learn(self, x, label):
        """(margin, whether there was loss) of a round."""
        x = np.where(x * x < 2.0**-960, 0.0, x)
        margin, _ = self.judge(x, label)
        row = np.flatnonzero(x)
        if margin > 0 and margin**2 >= self.one + row.size:
            return margin, False
        self.N += 1
        self.observe(x, row)
        self.step(x, sorted({*row, *self.dense}), label)
        return margin, True

    def observe(self, x, row):
        for i in row:
            v = x[i]
            if self.count[i] >= 16 and v * v * self.count[i] > 100 * self.s2[i]:
                v = math.copysign(math.sqrt(100 * self.s2[i] / self.count[i]), v)
            self.s1[i], self.s2[i], self.count[i] = self.s1[i] + v, self.s2[i] + v * v, self.count[i] + 1
            if i not in self.dense and abs(self.s2[i] * self.inv[i] ** 2 - self.count[i]) > 0.1013 * self.count[i]:
                self.rescale(i, 0.0, math.sqrt(self.count[i] / self.s2[i]))
        if self.N in (16, 128, 1024):
            now = set(np.flatnonzero(self.count > self.N / 2))
            for i in sorted(self.dense - now):
                self.rescale(i, 0.0, math.sqrt(self.count[i] / self.s2[i]))
            self.dense = now
        if self.N < 8 or self.N % 2 ** (int(math.log2(self.N)) - 2) == 0:
            for i in sorted(self.dense):
                self.rescale(i, *self.standard(i))

    def step(self, x, at, label):
        margin, rival = self.judge(x, label)
        z = (x[at] - self.mu[at]) * self.inv[at]
        if not self.one + z @ z > 0:
            return
        r = 1 / math.sqrt(self.one + z @ z)
        self.A[at] += (r * z) ** 2
        g = np.divide(r * z, np.sqrt(self.A[at]), out=np.zeros(len(at)), where=self.A[at] > 0)
        self.Ab += self.one * r**2
        gb = r / math.sqrt(self.Ab) if self.one else 0.0
        room = (r * gb + r * z @ g) * (1 if rival is None else 2)
        c = min(1.0, max(0.0, 1 - margin * r) / room) if room > 0 else 0.0
        for k, sign in [(0, label)] if rival is None else [(label, 1), (rival, -1)]:
            self.w[at, k] += sign * c * g * self.inv[at]
            self.b[k] += sign * (c * gb - c * (g * self.inv[at] * self.mu[at]).sum())

    def merge(self, runs):
        """Go on from where runs that began here have ended."""
        met = sum((run.count > self.count).astype(float) for run in runs)
        self.w += sum(run.w - self.w for run in runs) / np.maximum(met, 1.0)[:, None]
        self.b += sum(run.b - self.b for run in runs) / len(runs)
        for name in ("A", "s1", "s2", "count", "Ab", "N"):
            start = getattr(self, name)
            setattr(self, name, start + sum(getattr(run, name) - start for run in runs))
        self.dense = set(np.flatnonzero(self.count > self.N / 2)) if self.N >= 16 else set()
        for i in np.flatnonzero(self.count):
            standard = self.standard(i) if i in self.dense else (0.0, math.sqrt(self.count[i] / self.s2[i]))
            self.mu[i], self.inv[i] = standard


def adaptive(X, y, outputs=1, intercept=True):
    """(hypotheses after each round as (1 + features, outputs), margins, rounds with loss)."""
    run = Adaptive(X.shape[1], outputs, intercept)
    history, rounds = [], []
    for x, label in zip(X.astype(float), y, strict=True):
        rounds.append(run.learn(x, label))
        history.append(run.weights)
    margins, losses = zip(*rounds, strict=True)
    return history, np.array(margins), np.array(losses)
