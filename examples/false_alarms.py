"""
Three positives in a hundred, and at most 1 % false alarms
==========================================================

Where one class is rare, a small risk says little: always saying "no" is wrong in 3 % of all rows and misses everything.
What is wanted is a threshold that keeps false alarms below a limit, with a guarantee. It is asked for before the first
row; the certificate then begins with it, and says what it costs in misses.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import OnePassClassifier


def draw(rows, seed):
    """Ten features; three of them lean a little where something is wrong."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.03, "fault", "fine")
    X = rng.normal(size=(rows, 10))
    X[:, :3] += 1.3 * (y == "fault")[:, None]
    return X, y


X, y = draw(40_000, seed=0)
fresh, truth = draw(100_000, seed=1)
clf = OnePassClassifier(max_false_alarm=0.01, positive="fault").fit(X, y)
print(clf.certificate_.threshold)

# %%
said = clf.predict(fresh)
print(f"false alarms on fresh rows: {(said[truth == 'fine'] == 'fault').mean():.4f}")
print(f"misses on fresh rows:       {(said[truth == 'fault'] == 'fine').mean():.4f}")

# %%
# The same for twenty streams, each with its own model, and the truth of each. A point right of the limit would be a
# broken promise; each stream breaks it with probability 5 % at most.
alarms, misses = [], []
for seed in range(20):
    model = OnePassClassifier(max_false_alarm=0.01, positive="fault").fit(*draw(20_000, seed=100 + seed))
    said = model.predict(fresh)
    alarms.append((said[truth == "fine"] == "fault").mean())
    misses.append((said[truth == "fault"] == "fine").mean())

scores, cut = clf.decision_function(fresh), clf.convert(clf.certificate_).cut  # above it: "fine", the second class
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained")
bins = np.linspace(*np.quantile(scores, [0.0005, 0.9995]), 60)
left.hist(scores[truth == "fine"], bins, density=True, color="#0072B2", alpha=0.5, label="fine")
left.hist(scores[truth == "fault"], bins, density=True, color="#D55E00", alpha=0.5, label="fault")
left.axvline(cut, color="0.2", linestyle="--", label="the model's cut")
left.set(xlabel="score", ylabel="density", title="where the scores are cut")
left.set_ylim(top=1.4 * left.get_ylim()[1])  # room for the legend
left.legend(frameon=False, loc="upper right")
right.axvline(0.01, color="0.2", linestyle="--", label="limit asked for")
right.plot(alarms, misses, "o", color="#009E73", label="one stream each")
right.set(xlabel="true false-alarm rate", ylabel="true miss rate", xlim=(0, 0.015), xticks=[0, 0.005, 0.01, 0.015])
right.set(title="twenty streams", ymargin=0.3)
right.legend(frameon=False, loc="lower left")
plt.show()
