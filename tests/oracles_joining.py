"""Classes that join while rows come, by definition: every hypothesis kept, one vector per class met."""

import numpy as np


def perceptron(X, y):
    """(the vectors in use in every round, classes in the order met, how many were known before each round).

    Two classes move by half of the row each, which is the one vector of two classes; a class that joins starts at 0,
    and its row is a mistake.
    """
    classes, used, known = [], [], []
    W = np.zeros((max(2, len(set(y))), 1 + X.shape[1]))
    for x, label in zip(X, y, strict=True):
        known.append(max(2, len(classes)))
        used.append(W.copy())
        if label not in classes:
            classes.append(label)
        code, many, row = classes.index(label), max(2, len(classes)), np.concatenate([[1.0], x])
        scores = W[:many] @ row
        rival = int(np.argmax(np.where(np.arange(many) == code, -np.inf, scores)))
        if not scores[code] > scores[rival]:
            step = row if many > 2 else row / 2
            W[code] += step
            W[rival] -= step
    return used, classes, known


def judged(used, known, X, codes, s):
    """Which of the rows after round s the average of rounds s/2+1 … s misjudges, told only of classes known then."""
    mean = np.mean(used[s // 2 : s], axis=0)
    wrong = []
    for x, code in zip(X[s:], codes[s:], strict=True):
        scores = mean[: known[s]] @ np.concatenate([[1.0], x])
        right = code < known[s] and scores[code] > np.delete(scores, code).max()
        wrong.append(not right)
    return mean, np.array(wrong)
