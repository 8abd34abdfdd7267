"""
Ten classes, and how often each is missed
=========================================

One number hides that some digits are harder than others. For several classes the certificate also bounds how often
each class is missed, all ten bounds together with probability 95 %. With 1,297 images there are about 30 later rows of
each digit to judge by, so these bounds are wide, and they say so.
"""

import matplotlib.pyplot as plt
import numpy as np

from onepass import OnePassClassifier
from onepass.datasets import digits

X, y = digits()
clf = OnePassClassifier().fit(X[:1297], y[:1297])
print(clf.certificate_)

# %%
rates = clf.certificate_.rates
for rate in rates.rates[:3]:
    print(rate)

# %%
# Beside each bound: what was observed on the way, and what happened on 500 images that were never fed.
said = clf.predict(X[1297:])
missed = [(said[y[1297:] == digit] != digit).mean() for digit in range(10)]
places = np.arange(10)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.bar(places, [rate.bound for rate in rates.rates[:10]], color="#0072B2", alpha=0.25, label="certified: at most")
axes.plot(places, [rate.observed for rate in rates.rates[:10]], "o", color="#0072B2", label="observed on the way")
axes.plot(places, missed, "D", color="#D55E00", label="on 500 fresh images")
axes.set(xlabel="digit", ylabel="share missed", xticks=places, ylim=(0, None))
axes.legend(frameon=False)
plt.show()
