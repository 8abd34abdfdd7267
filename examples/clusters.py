"""
Clusters, and how far from the best they can be
===============================================

k-means finds *a* clustering. How good is it? The potentials of several random seedings bound the unknown optimum from
below, so that there is a statement beside the result: at most so many times the least possible.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass.cluster import KMeans

rng = np.random.default_rng(3)
centres = rng.uniform(-10, 10, size=(25, 2))
points = centres[rng.integers(25, size=20_000)] + rng.normal(scale=0.55, size=(20_000, 2))

plain = KMeans(25, init="k-means++", n_init=1, random_state=2).fit(points)
better = KMeans(25, init="local-search++", n_init=10, random_state=0).fit(points)
print(better.quality_)

# %%
print(f"one plain seeding: {plain.inertia_:,.0f}; local search, ten seedings: {better.inertia_:,.0f}")

# %%
figure, panels = plt.subplots(1, 2, figsize=(8.5, 4.2), sharey=True, layout="constrained")
for axes, model, title in zip(panels, (plain, better), ("one seeding", "local search, ten seedings"), strict=True):
    axes.scatter(*points[::10].T, c=model.labels_[::10], s=3, cmap="tab20")
    axes.plot(*model.cluster_centers_.T, "k+", markersize=9)
    axes.set(title=f"{title}: {model.inertia_:,.0f}", aspect="equal")
plt.show()
