"""Simulated rounds per second: the lab against the same loop in NumPy, in one run.

    python benchmarks/lab.py [--quick] [--threads 2]

The NumPy loop draws each input whole and applies the rule to vectors, as one would write it; the lab is exact in fewer
numbers (onepass.lab.clean, onepass.lab.noisy), and for smooth functions it is the same loop, compiled.
"""

import argparse
import math
import time

import numpy as np

from onepass.lab import simulate
from onepass.lab.noisy import ExactlyShifted
from onepass.lab.teachers import PerceptronTeacher, committee, quadratic
from onepass.learners.normalized import Normalized
from onepass.learners.shifted import Shifted
from onepass.schedules import Constant, clean_optimum, noisy_optimum, rate


def numpy_clean(N, schedule, rounds, seed):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal(N)
    W /= math.sqrt(W @ W)
    for t in range(1, rounds + 1):
        S = rng.standard_normal(N)
        y = 1.0 if S[0] > 0 else -1.0
        if y * (W @ S) <= 0:
            W += rate(schedule, t) / N * y * S
            W /= math.sqrt(W @ W)
    return math.acos(W[0]) / math.pi


def numpy_shifted(teacher, schedule, rounds, seed):
    rng = np.random.default_rng(seed)
    N, U = teacher.N, np.zeros(teacher.N)
    U[:2] = teacher.q0, teacher.side
    W, A, total = rng.standard_normal(N), np.zeros(N), 0.0
    W /= math.sqrt(W @ W)
    for t in range(1, rounds + 1):
        S = rng.standard_normal(N) + U
        y = 1.0 if (S[0] > 0) != (rng.random() < teacher.p) else -1.0
        A += y * S
        total += y
        if y * (W @ S) <= 0:
            T = A / total if t > 20 * N and total * total > 9 * t else 0.0
            W += rate(schedule, t) / N * y * (S - T)
            W /= math.sqrt(W @ W)
    return W[0]


def numpy_quadratic(teacher, eta, rounds, seed):
    rng = np.random.default_rng(seed)
    W, upper = teacher.W0.copy(), np.triu_indices(teacher.function.inputs)
    for _ in range(rounds):
        x = rng.standard_normal(teacher.function.inputs)
        features = np.concatenate([x, np.outer(x, x)[upper]])
        y = 1.0 if teacher.W0 @ features > 1 else -1.0
        if y * (W @ features - 1) <= 0:
            W += eta * y * features
    return W


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(label, ours, rounds, theirs, their_rounds):
    """Best of three each, alternating, so that a busy machine is busy for both."""
    ours()  # compiles
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(3)]
    mine, other = rounds / min(a for a, _ in pairs), their_rounds / min(b for _, b in pairs)
    print(f"{label:44} {mine:12,.0f} {other:12,.0f} {mine / other:10,.1f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the work")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    share = 0.05 if options.quick else 1.0
    how = {"seed": 0, "threads": options.threads}
    print(f"{'rounds per second':44} {'onepass':>12} {'NumPy':>12} {'ratio':>11}")
    for N in (50, 1000):
        alpha, replicas, few = 1000.0 * share, 200, max(1000, int(40_000 * share))
        clean, rule = PerceptronTeacher(N), Normalized(clean_optimum(N), N)
        compare(
            f"figure 1, N = {N}, α ≤ {alpha:g}",
            lambda: simulate.run(clean, rule, [alpha], replicas, **how),  # noqa: B023  # called at once
            int(alpha * N) * replicas,
            lambda: numpy_clean(N, clean_optimum(N), few, 0),  # noqa: B023
            few,
        )
    for N in (50, 1000):
        teacher, schedule = PerceptronTeacher(N, 0.2, 4.0, -1.95), noisy_optimum(N, -1.95)
        rounds, replicas, few = int(2_000_000 * share), 8, max(1000, int(40_000 * share))
        for rule in (Normalized(schedule, N), Shifted(schedule, N), ExactlyShifted(schedule, N)):
            compare(
                f"noise, {type(rule).__name__}, N = {N}",
                lambda: simulate.run(teacher, rule, [rounds / N], replicas, **how),  # noqa: B023
                rounds * replicas,
                lambda: numpy_shifted(teacher, schedule, few, 0),  # noqa: B023
                few,
            )
    for N in (3, 50):
        teacher = quadratic(N)
        rounds, few = int(2_000_000 * share / N), max(1000, int(20_000 * share))
        compare(
            f"quadratic surface, {N} inputs",
            lambda: simulate.run_smooth(teacher, Constant(0.01), [rounds], 8, **how),  # noqa: B023
            rounds * 8,
            lambda: numpy_quadratic(teacher, 0.01, few, 0),  # noqa: B023
            few,
        )
    students = [simulate.run(PerceptronTeacher(50), Normalized(clean_optimum(50), 50), [50.0], 20, 0, threads=n).error
                for n in (1, 2, 7)]  # fmt: skip
    counts = [simulate.run_smooth(committee(5), Constant(0.1), [5000], 9, 0, threads=n).error for n in (1, 2, 7)]
    same = all((run == runs[0]).all() for runs in (students, counts) for run in runs)
    print(f"the same bits with 1, 2 and 7 threads: {same}")


if __name__ == "__main__":
    main()
