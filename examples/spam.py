"""
Spam, from the words alone
==========================

Messages with one column of text. Words are hashed, so no vocabulary is built and none has to be kept while the stream
goes by; the names of the words that were met are kept beside, so that the model can still be read.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import onepass

rng = np.random.default_rng(0)
VOCABULARY = {
    "common": "the a to you is for on in we it at with and your this of me be will have",
    "ham": "lunch tomorrow home meeting notes thanks train late mum dinner project exam call see photo",
    "spam": "free winner prize claim cash urgent offer click txt reply ringtone guaranteed bonus loan code",
}
WORDS = {kind: text.split() for kind, text in VOCABULARY.items()}


def message(spam):
    """Fifteen words: most are common ones, a few come from the topic, and now and then from the other one."""
    topic, other = ("spam", "ham") if spam else ("ham", "spam")
    drawn = rng.random(15)
    return " ".join(rng.choice(WORDS["common" if u < 0.75 else topic if u < 0.96 else other]) for u in drawn)


spam = rng.random(6000) < 0.13
mail = pd.DataFrame({"text": [message(one) for one in spam], "kind": np.where(spam, "spam", "ham")})
train, test = mail[:4000], mail[4000:]
mail.head()

# %%
result = onepass.train(train, target="kind", text_column="text", positive="spam")
print(result.certificate)
for rate in result.certificate.rates.rates[:2]:
    print(rate)
print("on fresh messages:", (result.model.predict(test[["text"]]) != test["kind"].to_numpy()).mean())

# %%
# The heaviest words, by name.
weights = result.model.weights[1:, 0]  # behind the intercept
ordered = sorted((weights[i], result.model.names.at(i)) for i in np.flatnonzero(weights))
shown = ordered[:9] + ordered[-9:]
figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
axes.barh([name for _, name in shown], [w for w, _ in shown], color=["#0072B2"] * 9 + ["#D55E00"] * 9)
axes.set_xlabel("weight: ham on the left, spam on the right")
plt.show()
