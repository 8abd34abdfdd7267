"""The lab's definitions, written out with whole vectors. NumPy and SciPy, and nothing of ours.

The lab simulates students in a few numbers. Two kinds of oracle hold it to the definition: `*_path` rebuilds, from the
very draws of the kernel, inputs S in R^N that have these coordinates and applies the rule to whole vectors; `whole`
draws whole inputs by its own means, so that the laws can be compared.
"""

import itertools

import numpy as np
from scipy import integrate, stats


def unit(v):
    return v / np.sqrt(v @ v)


def across(v, *axes):
    """v without its parts along orthonormal axes."""
    for axis in axes:
        v = v - (v @ axis) * axis
    return v


def clean_path(angle, N, eta, rounds, rng, normalise=True):
    """Angles after each of `rounds` rounds: W' = W + η(t)/N·y·S on a mistake, W = W'/‖W'‖. (barkai1995, eq. 2)"""
    fresh = np.random.default_rng(99)  # directions that the kernel never needs
    W0, W = np.eye(N)[0], np.cos(angle) * np.eye(N)[0] + np.sin(angle) * np.eye(N)[1]
    angles, due = [], rng.geometric(angle / np.pi)
    for t in range(1, rounds + 1):
        if t == due:
            theta = np.arctan2(np.linalg.norm(across(W, W0)), W @ W0)
            e2 = unit(across(W, W0))
            r, u = np.sqrt(2 * rng.standard_exponential()), rng.random()
            other = unit(across(fresh.standard_normal(N), W0, e2))
            S = r * (np.sin(u * theta) * W0 - np.cos(u * theta) * e2) + np.sqrt(rng.chisquare(N - 2.0)) * other
            assert W0 @ S > 0 > W @ S
            W = W + eta(t) / N * S
            W = unit(W) if normalise else W
            due = t + rng.geometric(np.arctan2(np.linalg.norm(across(W, W0)), W @ W0) / np.pi)
        angles.append(np.arctan2(np.linalg.norm(across(W, W0)), W @ W0))
    return np.array(angles)


def noisy_path(W, p, q0, side, eta, shift, rounds, rng, window=1000, bar=547.4):
    """(angle, q) after each round: W' = W + η(t)/N·y·(S − T), T = shift(t, Σ y·S, Σ y). (barkai1995, eq. 10)"""
    N = W.size
    fresh = np.random.default_rng(99)
    e1, e2 = np.eye(N)[0], np.eye(N)[1]
    U, A, total, quiet, mistakes, path = q0 * e1 + side * e2, np.zeros(N), 0.0, [], 0, []
    for t in range(1, rounds + 1):
        f = unit(across(W, e1))
        s1, sf = q0 + rng.standard_normal(), U @ f + rng.standard_normal()
        y = np.sign(s1) * (-1 if p > 0 and rng.random() < p else 1)
        total += y
        if y * (W @ (s1 * e1 + sf * f)) > 0:
            quiet.append((y, s1, sf))
        else:
            mistakes += 1
            e3 = unit(across(W, e1, e2))
            g = (f @ e2) * e3 - (f @ e3) * e2
            e4 = unit(across(A + 1e-30 * fresh.standard_normal(N), e1, e2, e3))
            n, root = len(quiet), np.sqrt(len(quiet))
            A = A + sum((y_i * (s1_i * e1 + sf_i * f) for y_i, s1_i, sf_i in quiet), np.zeros(N))
            A = A + (sum(y_i for y_i, _, _ in quiet) * (U @ g) + root * rng.standard_normal()) * g
            other = unit(across(fresh.standard_normal(N), e1, e2, e3, e4))
            A = A + root * rng.standard_normal() * e4 + root * np.sqrt(rng.chisquare(N - 4.0)) * other
            e4 = unit(across(A, e1, e2, e3)) if n else e4
            other = unit(across(fresh.standard_normal(N), e1, e2, e3, e4))
            sg = U @ g + rng.standard_normal()
            S = s1 * e1 + sf * f + sg * g + rng.standard_normal() * e4 + np.sqrt(rng.chisquare(N - 4.0)) * other
            A, quiet = A + y * S, []
            W = unit(W + eta(t) / N * y * (S - shift(t, A, total)))
        if t % window == 0:
            if mistakes > bar and shift is not no_shift:
                W, quiet = -W, [(y_i, s1_i, -sf_i) for y_i, s1_i, sf_i in quiet]
            mistakes = 0
        path.append((np.arctan2(np.linalg.norm(across(W, e1)), W @ e1), U @ W))
    return np.array(path)


def no_shift(t, A, total):
    return np.zeros_like(A)


def whole(replicas, N, p, q0, side, eta, rounds, rng, warmup=np.inf, exact=None, normalise=True):
    """Angles and q of many students after the last round, every input drawn whole. T: exact, or Σ y·S/Σ y."""
    W = rng.standard_normal((replicas, N))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    U = np.zeros(N)
    U[:2] = q0, side
    A, total = np.zeros((replicas, N)), np.zeros(replicas)
    for t in range(1, rounds + 1):
        S = U + rng.standard_normal((replicas, N))
        y = np.sign(S[:, 0]) * np.where(rng.random(replicas) < p, -1.0, 1.0)
        A, total = A + y[:, None] * S, total + y
        T = np.zeros((replicas, N))
        if t > warmup * N:
            use = total**2 > 9.0 * t
            T[use] = A[use] / total[use, None]
            T = T if exact is None else np.broadcast_to(exact, T.shape)
        wrong = y * (W * S).sum(axis=1) <= 0
        W = W + (eta(t) / N * y * wrong)[:, None] * (S - T)
        W = W / np.linalg.norm(W, axis=1, keepdims=True) if normalise else W
    cosine = W[:, 0] / np.linalg.norm(W, axis=1)
    return np.arccos(cosine), W @ U


def smooth_path(f, slope, W0, W, eta, rounds, rng):
    """Numbers of mistakes after each round and the last W: W ← W + η(t)·y·∇f(x; W) on a mistake. (eq. 20)"""
    mistakes, counts = 0, []
    for t in range(1, rounds + 1):
        x = np.array([rng.standard_normal() for _ in range(3)])
        y = 1.0 if f(W0, x) > 0 else -1.0
        if (f(W, x) > 0) != (y > 0):
            mistakes += 1
            W = W + eta(t) * y * slope(W, x)
        counts.append(mistakes)
    return np.array(counts), W


def disagreement(R, q, q0):
    """P(sgn x ≠ sgn x₀) by Plackett's identity: the density of correlated normals integrated over the correlation."""
    start = abs(stats.norm.cdf(q) - stats.norm.cdf(q0))

    def density(theta):
        s = np.sin(theta)
        return np.exp(-((q - q0) ** 2 + 4 * q * q0 * np.sin(theta / 2) ** 2) / (2 * s * s)) / np.pi if s > 0 else 0.0

    end = np.arccos(R)
    edges = sorted({0.0, end, *(min(abs(q - q0) * 4.0**k, end) for k in range(-2, 12))})  # it rises near |q − q₀|
    return start + sum(integrate.quad(density, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(edges))


def equation_8(R, q, q0, p):
    """p + (1 − 2p)·P(…), the two quadrants integrated over x₀ = q₀ + z as printed, x given x₀ normal."""

    def wrong(z, side):
        mean, s = q + R * z, np.sqrt(1 - R * R)
        return stats.norm.pdf(z) * stats.norm.sf(side * mean / s)

    plus = integrate.quad(wrong, -q0, 12, args=(1,), epsabs=1e-13)[0]
    minus = integrate.quad(wrong, -12, -q0, args=(-1,), epsabs=1e-13)[0]
    return p + (1 - 2 * p) * (plus + minus)


def equation_4(R, eta, alpha, steps=20_000):
    """R(α) by the classical Runge-Kutta rule for dR/dα = η(1−R²)/√(2π) − η²·R·arccos(R)/(2π)."""

    def slope(a, R):
        return eta(a) * (1 - R * R) / np.sqrt(2 * np.pi) - eta(a) ** 2 * R * np.arccos(R) / (2 * np.pi)

    h = alpha / steps
    for i in range(steps):
        a = i * h
        k1 = slope(a, R)
        k2 = slope(a + h / 2, R + h / 2 * k1)
        k3 = slope(a + h / 2, R + h / 2 * k2)
        k4 = slope(a + h, R + h * k3)
        R = R + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return R
