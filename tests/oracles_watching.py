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


def level_of(weights, x, label, cost):
    """The place, among the different costs, of what a row costs; of a tie with the label's class, of the dearer."""
    scores = weights[0] + x @ weights[1:]
    said = [c for c in range(scores.size) if scores[c] == scores.max()]
    spent = max(cost[label][c] for c in said) if label in said else cost[label][said[0]]
    return sorted({value for row in cost for value in row}).index(spent)


def watched(used, X, y, slots, classes, cost=None):
    """{s: counts} of the candidates that are watched after the last row; what rows cost too, where cost[y][ŷ] says."""
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
        pair, elder = np.zeros((classes, 2, 2), dtype=int), elder_of(s)
        for t in range(s, min(until, ends(elder))) if elder else ():
            pair[code[t], int(fails[elder][t]), int(fails[s][t])] += 1
        return pair

    levels = 0 if cost is None else len({value for row in cost for value in row})
    spent = {s: [level_of(models[s], X[t], y[t], cost) for t in range(rounds)] for s in freezings if cost}

    def cost_table(s, until):
        pair, elder = np.zeros((levels, levels), dtype=int), elder_of(s)
        for t in range(s, min(until, ends(elder))) if elder and cost else ():
            pair[spent[elder][t], spent[s][t]] += 1
        return pair

    def plan(s, of=table):
        return sum((of(c, s) for c in [c for c in freezings if c < s][-min(4, slots) :]), 0 * of(8, 0))

    def costs_in(s, rows):
        return [sum(spent[s][t] == k for t in rows) for k in range(levels)]

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
            "elder_plan": plan(elder),
            "costs": costs_in(s, later),
            "elder_costs": costs_in(elder, between),
            "cost_pair": cost_table(s, rounds),
            "cost_plan": plan(s, cost_table),
            "elder_cost_plan": plan(elder, cost_table),
            "weights": models[s],
        }
    return found
