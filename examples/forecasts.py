"""
Forecasters as experts
======================

Five forecasts of one series: which is the best is known only afterwards, and it changes. Hedge loses little more than
the best of them. Fixed share can follow when another one becomes the best, and here loses less than any single one.
Both have a theorem that needs no assumption about the series. That of fixed share compares it with the best *sequence*
of forecasts; in so few rounds it leaves much room between the two.
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
forecaster = FixedShare(switches=4, horizon=T)
share = forecaster.run(losses)
print(hedge)
print(share)

# %%
# What the lines above call the theorem of fixed share speaks of the best single expert, and its loss lies below that
# expert's anyway. The theorem that it is made for speaks of the best sequence with four changes:
known = oracle(losses, switches=4)
most = forecaster.tracking_bound(known.sequence_loss, len(names), T, switches=4)
print(f"the best expert in hindsight, {names[known.best]}: {known.loss:.1f}")
print(f"the best sequence with four changes: {known.sequence_loss:.1f}")
print(f"fixed share: {share.loss:.1f}; at most {most:.1f}, given that sequence")

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
