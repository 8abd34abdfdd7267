"""
Your own learner
================

`CutoffAverager` watches any learner that changes only after a loss. It needs two things: the hypothesis in use and the
loss that it made, before the update. Hypotheses must add and scale; arrays, dicts of arrays, or objects of your own.
Here it is a kernel perceptron, which tells a ring from what lies inside.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import CutoffAverager


class Expansion:
    """A function Σ a·exp(−2‖x − z‖²): its support points, with a weight each."""

    def __init__(self, terms=None):
        self.terms = terms or {}

    def __add__(self, other):
        keys = self.terms | other.terms
        return Expansion({z: self.terms.get(z, 0.0) + other.terms.get(z, 0.0) for z in keys})

    def __mul__(self, number):
        return Expansion({z: a * number for z, a in self.terms.items()})

    def __call__(self, x):
        if not self.terms:
            return np.zeros(np.shape(x)[:-1])
        z, a = np.array(list(self.terms)), np.array(list(self.terms.values()))
        return np.exp(-2.0 * ((np.asarray(x)[..., None, :] - z) ** 2).sum(-1)) @ a


def draw(rows, rng):
    """A disc (−1) and a ring around it (+1), which overlap a little."""
    outside = rng.random(rows) < 0.5
    angle, length = rng.uniform(0, 2 * np.pi, rows), np.where(outside, 1.6, 0.6) + 0.28 * rng.normal(size=rows)
    return np.c_[length * np.cos(angle), length * np.sin(angle)], np.where(outside, 1, -1)


# %%
X, y = draw(4000, np.random.default_rng(0))
averager, h = CutoffAverager(), Expansion()
for x, label in zip(X, y, strict=True):
    mistake = label * h(x) <= 0
    averager.observe(h, float(mistake))
    if mistake:
        h = h + Expansion({tuple(x): float(label)})

model, certificate = averager.result()
print(certificate)

# %%
# The loss is not convex, so the certificate speaks of the members of the average; the average itself does better here.
fresh, truth = draw(4000, np.random.default_rng(1))
for name, function in (("last hypothesis", h), ("cutoff average", model)):
    print(f"{name}: {(np.sign(function(fresh)) != truth).mean():.4f} on fresh rows")

# %%
side = np.linspace(-2.6, 2.6, 90)
grid = np.stack(np.meshgrid(side, side), axis=-1)
figure, panels = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for axes, (name, function) in zip(panels, (("last hypothesis", h), ("cutoff average", model)), strict=True):
    axes.contourf(side, side, function(grid) > 0, levels=[-0.5, 0.5, 1.5], colors=["#56B4E9", "#E69F00"], alpha=0.4)
    axes.scatter(*fresh[:600].T, c=np.where(truth[:600] > 0, "#D55E00", "#0072B2"), s=4)
    axes.set(title=name, aspect="equal")
plt.show()
