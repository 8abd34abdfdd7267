"""Watched models by their definition: every hypothesis kept, every candidate formed, every later row judged."""

import numpy as np


def grid(last):
    """Integers with at most three significant bits, from 8 to `last`."""
    return [s for s in range(8, last + 1) if s >> max(0, s.bit_length() - 3) << max(0, s.bit_length() - 3) == s]


def candidate(used, s):
    """The average of the hypotheses in use in rounds s/2 + 1 … s; used[t − 1] is that of round t."""
    return np.mean(used[s // 2 : s], axis=0)


def wrong(weights, x, label):
    """Whether weights (1 + features, outputs) misjudge a row; of two classes labels are ±1. A tie is a mistake."""
    scores = weights[0] + x @ weights[1:]
    if scores.size == 1:
        return not label * scores[0] > 0
    return not scores[label] > np.delete(scores, label).max()


def watched(used, X, y, slots, classes):
    """{s: counts} of the candidates that are watched after the last row."""
    rounds = len(y)
    freezings = grid(rounds)
    number = {s: i for i, s in enumerate(freezings)}

    def ends(s):  # the round after which s is no longer watched
        i = number[s] + slots
        return freezings[i] if i < len(freezings) else rounds

    models = {s: candidate(used, s) for s in freezings}
    fails = {s: [wrong(models[s], X[t], y[t]) for t in range(rounds)] for s in freezings}
    code = [(1 if label > 0 else 0) if classes == 2 else label for label in y]

    def elder_of(s):
        i = number[s] - min(4, slots - 1)
        return freezings[i] if s >= 16 and i >= 0 else 0

    def table(s, until):
        pair = np.zeros((classes, 2, 2), dtype=int)
        elder = elder_of(s)
        if elder:
            for t in range(s, min(until, ends(elder))):
                pair[code[t], int(fails[elder][t]), int(fails[s][t])] += 1
        return pair

    def plan(s):
        newest = [c for c in freezings if c < s][-min(4, slots) :]
        return sum((table(c, s) for c in newest), np.zeros((classes, 2, 2), dtype=int))

    found = {}
    for s in freezings[-slots:]:
        later, elder = range(s, rounds), elder_of(s)
        between = range(elder, s) if elder else range(0)
        found[s] = {
            "rows": [sum(code[t] == c for t in later) for c in range(classes)],
            "mistakes": [sum(fails[s][t] for t in later if code[t] == c) for c in range(classes)],
            "elder": elder,
            "elder_rows": [sum(code[t] == c for t in between) for c in range(classes)],
            "elder_mistakes": [sum(fails[elder][t] for t in between if code[t] == c) for c in range(classes)],
            "pair": table(s, rounds),
            "plan": plan(s),
            "elder_plan": plan(elder) if elder else np.zeros((classes, 2, 2), dtype=int),
            "weights": models[s],
        }
    return found
