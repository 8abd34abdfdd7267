"""
One pass, seven models
======================

A pass goes through thousands of hypotheses. What becomes of them is called a conversion; any of them can be had from
the same pass, each with its certificate. `frozen`, the default, deploys a model that was watched on later rows, so that
the certificate speaks of the model itself. Those of averages speak, in 0-1 loss, of their members.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import Pass
from onepass.conversions import CONVERSIONS
from onepass.datasets import Newswire

ROWS, KINDS = 20_000, ("CCAT", "MCAT")
wire = Newswire(seed=1)
X, y = wire.documents(0, ROWS, KINDS)
fresh, truth = wire.documents(ROWS, ROWS + 10_000, KINDS)
run = Pass("perceptron", classes=KINDS, validation_fraction=0.1, expected_rows=ROWS)
run.feed(X, y)

# %%
# Seven certificates are looked at, so each has a seventh of δ: then all hold together with probability 95 %.
found = {}
for name in CONVERSIONS:
    certificate = run.certificate(name, delta=0.05 / len(CONVERSIONS))
    error = (run.model(certificate).predict(fresh) != truth).mean()
    found[name] = certificate.risk, error, certificate.covers
    print(f"{name:10}  certified {certificate.risk:.4f} of the {certificate.covers:7}  test error {error:.4f}")

# %%
ordered = sorted(found, key=lambda name: -found[name][0])
places = np.arange(len(ordered))
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
colours = ["#0072B2" if found[name][2] == "model" else "#56B4E9" for name in ordered]
axes.barh(places, [min(1.0, found[name][0]) for name in ordered], color=colours, alpha=0.5)
axes.plot([found[name][1] for name in ordered], places, "D", color="#D55E00", label="test error of the model")
axes.set_yticks(places, [f"{name} ({found[name][2]})" for name in ordered])
axes.set(xscale="log", xlabel="certified risk (bars)")
axes.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1.0], ["2 %", "5 %", "10 %", "20 %", "50 %", "100 %"])
axes.minorticks_off()
axes.legend(frameon=False)
plt.show()
