"""
A raw table, as it is
=====================

Numbers of any scale, categories, dates, missing cells and a column of identifiers: nothing has to be prepared or
declared. The first 256 rows tell what each column is; `train` says what it took them for, and features keep their
names.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import onepass
from tables.customers import customers

table = pd.DataFrame(customers(12_000))
table.head()

# %%
result = onepass.train(table, target="bought")
print(result)

# %%
# The model takes new tables with the columns in any order, and values it never met.
print(result.model.predict(table[["job", "income", "visit", "age"]].head()))

# %%
# What it has learned, by name.
weights = result.model.weights[1:, 0]  # behind the intercept
named = {result.model.names.at(i): weights[i] for i in np.flatnonzero(weights)}
heaviest = sorted(named.items(), key=lambda item: abs(item[1]))[-12:]
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
colours = ["#0072B2" if w > 0 else "#D55E00" for _, w in heaviest]
axes.barh([name for name, _ in heaviest], [w for _, w in heaviest], color=colours)
axes.axvline(0, color="0.3", linewidth=0.8)
axes.set_xlabel(f"weight (for {result.model.classes[1]!r})")
plt.show()
