"""
A model in use: does it keep its word?
======================================

A certificate speaks of rows like those learned from. A monitor holds the model against it, row by row, for as long as
one likes: if nothing is wrong it rings in at most one of a hundred lifetimes, however often one looks.
"""

import matplotlib.pyplot as plt
import numpy as np

import onepass
from onepass import OnePassClassifier

rng = np.random.default_rng(0)
w = rng.normal(size=6)


def day(rows=500, shift=0.0):
    """Rows of a day; `shift` moves what follows from them."""
    X = rng.normal(size=(rows, 6))
    return X, (X @ w + 0.5 * rng.normal(size=rows) > shift * 2.0).astype(int)


clf = OnePassClassifier().fit(*day(10_000))
print(clf.certificate_)

# %%
# Thirty calm days, then the world moves slowly.
monitor = onepass.Monitor(clf.convert(clf.certificate_))
wrong, evidence = [], []
for number in range(60):
    X, y = day(shift=max(0.0, (number - 30) / 30))
    monitor.observe(X, y)
    wrong.append((clf.predict(X) != y).mean())
    evidence.append(monitor.result().risk.evidence)

print(monitor.result())

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
top.bar(range(60), wrong, color="#56B4E9", label="misjudged that day")
top.axhline(clf.certificate_.risk, color="#0072B2", label="certified: at most")
top.set_ylabel("share of rows")
top.legend(frameon=False, loc="upper left")
bottom.plot(evidence, color="#CC79A7")
bottom.axhline(monitor.result().risk.alarm_at, color="0.2", linestyle="--", label="the alarm")
bottom.set(yscale="log", ylim=(1e-2, 1e9), xlabel="day", ylabel="evidence against it")
bottom.legend(frameon=False, loc="upper left")
plt.show()
