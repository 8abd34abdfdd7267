"""
Forecasters as experts
======================

Five forecasts of one series: which is the best is known only afterwards, and it changes. Hedge comes close to the best
of them, and fixed share to the best *sequence* of them, whatever the series does: no assumption, a theorem.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass.experts import FixedShare, Hedge, oracle

rng = np.random.default_rng(0)
T = 2000
t = np.arange(T)
load = 0.5 + 0.25 * np.sin(2 * np.pi * t / 48) + 0.15 * np.where(t < 1000, 0, np.sin(2 * np.pi * t / 336))
load = np.clip(load + 0.04 * rng.normal(size=T), 0, 1)
names = ["yesterday", "last week", "one step ago", "the mean so far", "a half"]
mean = np.cumsum(load) / (t + 1)
advice = np.c_[np.roll(load, 48), np.roll(load, 336), np.roll(load, 1), np.roll(mean, 1), np.full(T, 0.5)]
advice[:336, 1], advice[:48, 0], advice[0, 2:4] = 0.5, 0.5, 0.5
advice[600:1200, 2] = np.clip(advice[600:1200, 2] + 0.3, 0, 1)  # a sensor that is off for a while

# %%
losses = np.abs(advice - load[:, None])
hedge = Hedge().run(losses)
share = FixedShare(switches=4, horizon=T).run(losses)
print(hedge)
print(share)
known = oracle(losses, switches=4)
print("best expert in hindsight:", names[known.best], f"{known.loss:.1f};", f"best sequence: {known.sequence_loss:.1f}")

# %%
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5.4), sharex=True, layout="constrained")
for i, name in enumerate(names):
    bottom.plot(share.times, share.weights[:, i], label=name)
for run, label, colour in ((hedge, "Hedge", "#0072B2"), (share, "fixed share", "#D55E00")):
    top.plot(t, run.regrets, color=colour, label=f"{label}: regret against the best expert")
top.plot(t, hedge.bounds - hedge.best_losses, color="#0072B2", linestyle=":", label="Hedge: at most (theorem)")
top.set(ylabel="absolute error, summed", ylim=(-60, 90))
top.legend(frameon=False, fontsize=8)
bottom.set(xlabel="round", ylabel="weight (fixed share)", ylim=(-0.03, 1.25))  # room for the legend
bottom.legend(frameon=False, ncols=3, fontsize=8, loc="upper right")
plt.show()
