"""barkai1995's sections 3 to 5 beyond the figures, with whole vectors. NumPy and SciPy, and nothing of ours."""

import numpy as np
from scipy import integrate, stats


def mean_signed_input(q0, side):
    """⟨sgn(S₁)·S⟩ for S ~ N((q0, side), 1), by quadrature."""
    first = integrate.quad(lambda s: abs(s) * stats.norm.pdf(s - q0), -12, 12, points=[0.0])[0]
    sign = integrate.quad(lambda s: np.sign(s) * stats.norm.pdf(s - q0), -12, 12, points=[0.0])[0]
    return np.array([first, sign * side])


def clouds(replicas, N, p, centre, rounds, rng, warmup=3):
    """Angles and q of students of inputs around ±U at the end; η = 1; T(S) = g·(g·S)/|g|² from warmup·N on."""
    W = rng.standard_normal((replicas, N))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    U, g = np.zeros(N), np.zeros(N)
    U[:2], g[:2] = centre, mean_signed_input(*centre)
    for t in range(1, rounds + 1):
        S = rng.choice([-1.0, 1.0], size=(replicas, 1)) * U + rng.standard_normal((replicas, N))
        y = np.sign(S[:, 0]) * np.where(rng.random(replicas) < p, -1.0, 1.0)
        T = np.outer(S @ g, g) / (g @ g) if t > warmup * N else 0.0
        wrong = y * (W * S).sum(axis=1) <= 0
        W = W + (y * wrong / N)[:, None] * (S - T)
        W /= np.linalg.norm(W, axis=1, keepdims=True)
    return np.arccos(W[:, 0]), W @ U


def balance(F, x, a):
    """What comes to x less what leaves it, by equation 24, for a density F given as a function."""
    return abs(x + a) * F(x + a) * (x > -a) + abs(x - a) * F(x - a) * (x < a) - abs(x) * F(x)


def jumps(students, kappa, rng, end=12.0, step=2e-3):
    """x = δw/η for η = η₀/n in logarithmic time: x grows as eᵗ and goes to x − sgn x at the rate κ|x|. (eq. 27)"""
    x = rng.uniform(-1.0, 1.0, students)
    for _ in range(int(end / step)):
        x = x * np.exp(step)
        x = np.where(rng.random(students) < kappa * np.abs(x) * step, x - np.sign(x), x)
    return x


def threshold_students(w, setting, eta, first, times, rng):
    """w (students, looks): w ← w + η(t)·y·a where sgn(w − s) ≠ y, y = sgn(w₀ − s), turned over with probability p."""
    (w0, a, p), looks = setting, []
    for t in range(first + 1, times[-1] + 1):
        s = rng.standard_normal(w.size)
        y = np.sign(w0 - s) * np.where(rng.random(w.size) < p, -1.0, 1.0)
        w = w + eta(t) * y * a * (np.sign(w - s) != y)
        if t in times:
            looks.append(w)
    return np.array(looks).T


def shifted_gradients(f, slope, W, examples, eta, warmup, weighting):
    """W after the last (x, y): W ← W + η(t)·y·(∇f − ψ·⟨y∇f⟩/⟨yψ⟩) on a mistake; plain while |Σyψ| ≤ 3√Σψ². (section 4)

    Sums halve at t = 2, 4, 8, …; if "halfspace", ψ = [v·∇f > 0] and fresh sums after `warmup` rows, v ∝ their Σy∇f.
    """
    P, S, Q, v = np.zeros(W.size), 0.0, 0.0, None
    for t, (x, y) in enumerate(examples, start=1):
        g = slope(W, x)
        if weighting == "halfspace" and t == warmup + 1:
            v, P, S, Q = P, np.zeros(W.size), 0.0, 0.0
        elif t & (t - 1) == 0:
            P, S, Q = P / 2, S / 2, Q / 2
        psi = 1.0 if v is None else float(v @ g > 0)
        P, S, Q = P + y * g, S + y * psi, Q + psi**2
        if y * f(W, x) <= 0:
            T = psi * P / S if t > warmup and S * S > 9 * Q else 0.0
            W = W + eta(t) * y * (g - T)
    return W


def parity_machines(replicas, n, K, rounds, rng, normalise, draw=None):
    """Angles (replicas, K) at the end, and the share of mistakes; on one the unit of smallest |field|/‖W‖ steps.

    Whole inputs, Gaussian unless drawn otherwise; η = 1; W₀ in random directions, W at the overlap ½.
    """
    draw = rng.standard_normal if draw is None else draw
    axes = np.linalg.qr(rng.standard_normal((replicas, K, n, 2)))[0]
    W0, W = axes[..., 0], 0.5 * axes[..., 0] + np.sqrt(0.75) * axes[..., 1]
    every, mistakes = np.arange(replicas), np.zeros(replicas)
    for _ in range(rounds):
        S = draw((replicas, K, n))
        fields = (W * S).sum(axis=2) / np.linalg.norm(W, axis=2)
        wrong = np.sign(fields).prod(axis=1) != np.sign((W0 * S).sum(axis=2)).prod(axis=1)
        k = np.abs(fields).argmin(axis=1)
        push = -np.sign(fields[every, k]) * wrong / n
        W[every, k] += push[:, None] * S[every, k]
        if normalise:
            W /= np.linalg.norm(W, axis=2, keepdims=True)
        mistakes += wrong
    return np.arccos((W * W0).sum(axis=2) / np.linalg.norm(W, axis=2)), mistakes / rounds


def other_inputs(replicas, N, draw, setting, rounds, rng, shift=None):
    """Shares of rounds on which W differs from the clean teacher: inputs U + draw(shape), random W₀ and U, η = 1.

    After 3·N rounds steps go along S − T: T = g/⟨sgn⟩ ("exact"), or g·(g·S)/|g|² ("weighted", inputs around ±U).
    """
    p, q0, side = setting
    axes = np.linalg.qr(rng.standard_normal((replicas, N, 2)))[0]
    W0, across = axes[:, :, 0], axes[:, :, 1]
    U, (g1, g2) = q0 * W0 + side * across, mean_signed_input(q0, side)
    g = g1 * W0 + g2 * across
    W = rng.standard_normal((replicas, N))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    differs = np.zeros(replicas)
    for t in range(1, rounds + 1):
        sign = rng.choice([-1.0, 1.0], size=(replicas, 1)) if shift == "weighted" else 1.0
        S = sign * U + draw((replicas, N))
        clean, said = np.sign((W0 * S).sum(axis=1)), np.sign((W * S).sum(axis=1))
        y = clean * np.where(rng.random(replicas) < p, -1, 1)
        T = np.zeros_like(S)
        if t > 3 * N and shift is not None:
            psi = (g * S).sum(axis=1) / (g1**2 + g2**2) if shift == "weighted" else np.full(replicas, side / g2)
            T = psi[:, None] * g
        W = W + ((said != y) * y / N)[:, None] * (S - T)
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        differs += clean != said
    return differs / rounds
