"""Data for tests: dyadic (multiples of 1/8), so that sums are exact and == means equal."""

import numpy as np
import scipy.sparse


def dyadic(seed, rows, features, classes=2, zeros=0.5, noise=0.1):
    """(X, y): rows of multiples of 1/8 with many zeros and a few zero rows; labels by a teacher, some at random."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-16, 17, size=(rows, features)) / 8.0
    X[rng.random(X.shape) < zeros] = 0.0
    X[rng.random(rows) < 0.02] = 0.0
    teacher = rng.integers(-8, 9, size=(features, 1 if classes == 2 else classes)) / 8.0
    s = X @ teacher
    y = np.where(s[:, 0] > 0, 1, -1) if classes == 2 else np.argmax(s, axis=1)
    flip = rng.random(rows) < noise
    wrong = -y if classes == 2 else rng.integers(0, classes, size=rows)
    return X, np.where(flip, wrong, y)


def csr(X):
    return scipy.sparse.csr_array(X)


def cuts(seed, rows, pieces):
    """Borders 0 = c_0 ≤ c_1 ≤ … = rows: empty pieces may occur."""
    rng = np.random.default_rng(seed)
    return np.concatenate([[0], np.sort(rng.integers(0, rows + 1, size=pieces - 1)), [rows]])


EXAMPLES = dyadic(0, 600, 8, noise=0.05)  # what the files of the fixture `folder` hold
