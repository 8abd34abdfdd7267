"""
A certificate that falls while rows come
========================================

Documents of two kinds stream by. Every one is predicted before it is learned from, so the mistakes on the way say how
wrong the model can be: no row is set aside for testing. Here the truth is known as well, since the newswire is drawn
and fresh documents cost nothing. The certificate stays above it.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import OnePassClassifier
from onepass.datasets import Newswire

KINDS, ROWS = ("CCAT", "GCAT"), 20_000
wire = Newswire(seed=0)
X, y = wire.documents(0, ROWS, categories=KINDS)
fresh, truth = wire.documents(ROWS, ROWS + 20_000, categories=KINDS)

# %%
# Rows may come in any pieces; here the pieces end where we look. Looking costs nothing: a certificate holds at all
# rows at once.
looks = np.unique(np.geomspace(100, ROWS, 25).astype(int))
clf = OnePassClassifier(expected_rows=ROWS)
certified, true = [], []
for first, last in zip([0, *looks], looks, strict=False):
    clf.partial_fit(X[first:last], y[first:last], classes=KINDS)
    certified.append(clf.certificate_.risk)
    true.append((clf.predict(fresh) != truth).mean())

print(clf.certificate_)

# %%
# The gap is the price of certainty; it shrinks as rows come.
baseline = (truth != "CCAT").mean()
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.axhline(baseline, color="0.5", linestyle=":", label='always saying "CCAT"')
axes.plot(looks, certified, color="#0072B2", linewidth=2, label="certified: at most (95 %)")
axes.plot(looks, true, color="#D55E00", linestyle="--", linewidth=2, label="true, on 20,000 fresh rows")
axes.fill_between(looks, true, certified, color="#0072B2", alpha=0.12)
axes.set(xscale="log", yscale="log", xlabel="rows read, each once", ylabel="share of new rows misjudged")
axes.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2, 0.5], ["1 %", "2 %", "5 %", "10 %", "20 %", "50 %"])
axes.minorticks_off()
axes.set_xticks([100, 1000, 10_000], ["100", "1,000", "10,000"])
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
