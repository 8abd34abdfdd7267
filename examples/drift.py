"""
A stream that drifts
====================

Half-way the concept turns. A certificate that went on would speak of a mixture of then and now; so it is tested all the
time whether rows are still exchangeable, with an alarm that rings falsely in at most one stream of ten thousand. By
default the certificate is then withheld. `on_drift="restart"` certifies the present instead.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import Pass
from onepass.history import History

rng = np.random.default_rng(0)
rows, change = 16_000, 9_000
X = rng.normal(size=(rows, 8))
before, after = rng.normal(size=8), rng.normal(size=8)
turned = np.arange(rows) >= change
y = np.where(np.where(turned, X @ after, X @ before) + 0.3 * rng.normal(size=rows) > 0, "up", "down")

withheld = History(Pass())
withheld.feed(X, y)
print(withheld.run.certificate())

# %%
restarted = History(Pass(on_drift="restart"))
restarted.feed(X, y)
print(restarted.run.certificate())

# %%
# The evidence against "one distribution" is wealth won by betting on ranks: fair bets, as long as nothing changes.
points = withheld.finish()
at = [p.rows for p in points]
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
top.plot(at, [p.drift if p.drift else np.nan for p in points], "o-", color="#CC79A7", markersize=3)
top.axhline(20_000, color="0.2", linestyle="--", label="1 in 10,000: no certificate")
top.axhline(200, color="0.5", linestyle=":", label="1 in 100: told")
top.set(yscale="log", ylim=(1e-3, 1e12), ylabel="evidence of drift")
top.legend(frameon=False, loc="upper left")
for label, history, colour, width in (("withhold", withheld, "#D55E00", 5), ("restart", restarted, "#0072B2", 1.5)):
    found = [(p.rows, p.risk) for p in history.finish() if p.risk is not None]
    bottom.plot(*zip(*found, strict=True), "-", color=colour, linewidth=width, label=f'on_drift="{label}"')
for axes in (top, bottom):
    axes.axvline(change, color="0.6", linewidth=6, alpha=0.3)
bottom.set(xlabel="rows", ylabel="certified risk", ylim=(0, 1))
bottom.legend(frameon=False)
plt.show()
