"""The lab: kernels against whole vectors, laws against laws, theory against quadrature, figures against numbers."""

import json
import math
import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import oracles_lab as oracles
from invoking import invoke
from onepass.cli.group import program
from onepass.lab import clean, noisy, simulate, smooth, theory
from onepass.lab.bench import RunOptions
from onepass.lab.curves import LearningCurves, fit_power_law
from onepass.lab.experiments import EXPERIMENTS
from onepass.lab.noisy import ExactlyShifted
from onepass.lab.results import Finding, judge, mean
from onepass.lab.teachers import PerceptronTeacher, SmoothTeacher, committee, quadratic
from onepass.learners.normalized import Normalized, Unnormalized, step_normalized, step_unnormalized
from onepass.learners.shifted import Shifted
from onepass.schedules import (
    Constant,
    Custom,
    InverseRoot,
    NoisyPowerLaw,
    PowerLaw,
    checked,
    clean_optimum,
    for_kernel,
    noisy_optimum,
    rate,
)
from onepass.smooth.functions import Linear, Quadratic, SoftCommittee, check_gradient, gradient, size, value

compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too long without the compiler")
T2 = PerceptronTeacher(N=12, p=0.2, u=2.0, q0=-1.0)


def generator(seed):
    return np.random.Generator(np.random.SFC64(seed))


# Schedules


def test_schedules_are_their_formulas():
    assert rate(Constant(0.3), 7) == 0.3
    assert rate(InverseRoot(3.0), 4) == 1.5
    assert rate(PowerLaw(2.0, 0.5, 10.0), 90) == pytest.approx(2 * math.sqrt(2 * math.pi) / 3)
    assert rate(PowerLaw(2.0, 0.5, 10.0, 4.0), 1) == rate(PowerLaw(2.0, 0.5, 10.0, 4.0), 40)  # the floor
    phi = math.exp(-0.5) / math.sqrt(2 * math.pi)
    assert rate(NoisyPowerLaw(2.0, 1.0, 10.0, -1.0), 50) == pytest.approx(1 / (phi * (5 + 1 / phi)))
    assert rate(noisy_optimum(10.0, -1.0), 1e9) * 1e8 == pytest.approx(1 / phi, rel=1e-6)


@pytest.mark.parametrize(
    "schedule",
    [Constant(0.5), InverseRoot(1.0), PowerLaw(2.0, 0.7, 20.0), NoisyPowerLaw(2.0, 0.8, 20.0, -1.0)],
)
def test_a_callable_gives_the_same_bits_as_the_schedule_it_computes(schedule, monkeypatch):
    monkeypatch.setattr(simulate, "BLOCK", 64)
    teacher = PerceptronTeacher(20)
    own = simulate.run(teacher, Normalized(lambda t: rate(schedule, t), 20), [5.0, 10.0], 3)
    assert (own.error == simulate.run(teacher, Normalized(schedule, 20), [5.0, 10.0], 3).error).all()


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (Constant(0.0), "Constant: eta"),
        (PowerLaw(1.0, math.nan, 5), "PowerLaw: z"),
        (NoisyPowerLaw(1.0, 1.0, 5, math.inf), "NoisyPowerLaw: q0"),
        (NoisyPowerLaw(1.0, 1.0, 5, 31.0), "at most 30"),
    ],
)
def test_schedules_out_of_range_are_refused_by_name(schedule, message):
    with pytest.raises(ValueError, match=message):
        checked(schedule)


def test_what_is_no_schedule_is_refused():
    with pytest.raises(TypeError, match="schedule"):
        checked("fast")
    with pytest.raises(TypeError, match="schedule"):
        checked(Constant)
    with pytest.raises(ValueError, match="at t = 5"):
        for_kernel(Custom(lambda t: 4 - t), 3, 8)


# Update rules


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_steps_are_the_rule_in_scalars(n, seed):
    rng = np.random.default_rng(seed)
    w, x, y = rng.standard_normal(n), rng.standard_normal(n), rng.choice([-1.0, 1.0])
    w /= np.linalg.norm(w)
    margin = y * (w @ x)
    moved = w + 0.7 / 3.0 * y * x
    for step, rule in ((step_normalized, Normalized), (step_unnormalized, Unnormalized)):
        loss, a, norm2, shrink = step(rule(Constant(0.7), 3.0), margin, 1.0, x @ x, x @ x, 1)
        if margin > 0:
            assert (loss, a, norm2, shrink) == (0.0, 0.0, 1.0, 1.0)
        else:
            expected = moved / np.linalg.norm(moved) if rule is Normalized else moved
            np.testing.assert_allclose(shrink * (w + a * y * x), expected, rtol=1e-12)
            assert norm2 == pytest.approx(expected @ expected)


FUNCTIONS = [Linear(3), SoftCommittee(3, 2), Quadratic(3)]


def naive_value(function, W, x):
    if isinstance(function, Linear):
        return W @ x
    if isinstance(function, SoftCommittee):
        return sum(math.erf(row @ x / math.sqrt(2)) for row in W.reshape(function.hidden, -1))
    pairs = [x[i] * x[j] for i in range(3) for j in range(i, 3)]
    return W @ np.concatenate([x, pairs]) - 1


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_smooth_functions_and_gradients_are_their_formulas(function):
    rng = np.random.default_rng(3)
    for _ in range(5):
        W, x = rng.standard_normal(size(function)), rng.standard_normal(3)
        assert value(function, W, x) == pytest.approx(naive_value(function, W, x), abs=1e-14)
        out = np.empty_like(W)
        gradient(function, W, x, out)
        gap = check_gradient(lambda W, x: naive_value(function, W, x), lambda W, x, out=out: out, W, x)
        assert gap < 1e-8


def test_a_wrong_gradient_is_found():
    W, x = np.ones(3), np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="parameter 2"):
        check_gradient(lambda W, x: W @ x, lambda W, x: x + np.array([0, 0, 1e-3]), W, x)
    with pytest.raises(ValueError, match="shape"):
        check_gradient(lambda W, x: W @ x, lambda W, x: x[:2], W, x)
    with pytest.raises(ValueError, match="parameter 0"):
        check_gradient(lambda W, x: W @ x, lambda W, x: x * math.nan, W, x)


# Kernels against whole vectors, draw by draw


@pytest.mark.parametrize("rule", [Normalized, Unnormalized])
@pytest.mark.parametrize("N", [5, 30])
def test_clean_student_is_the_rule_on_whole_vectors(rule, N):
    schedule, rounds = PowerLaw(1.0, 0.5, float(N)), 400
    expected = oracles.clean_path(
        1.3, N, lambda t: rate(schedule, t), rounds, generator(4), normalise=rule is Normalized
    )
    rng, out = generator(4), np.empty((rounds, 2))
    student = clean.CleanStudent(1.3, 1.0, clean.wait(1.3, rng))
    clean.advance(student, rule(schedule, float(N)), rounds, np.arange(1, rounds + 1), out, rng)
    np.testing.assert_allclose(out[:, 0], expected, rtol=1e-9)
    assert not out[:, 1].any()


def shift_of(rule, teacher, warmup):
    if rule is Normalized:
        return oracles.no_shift
    exact = np.zeros(teacher.N)
    exact[:2] = teacher.q0 + teacher.shift_along_teacher, teacher.side

    def shift(t, A, total):
        if t <= warmup * teacher.N:
            return np.zeros(teacher.N)
        if rule is ExactlyShifted:
            return exact
        return A / total if total**2 > 9 * t else np.zeros(teacher.N)

    return shift


@pytest.mark.parametrize("rule", [Normalized, Shifted, ExactlyShifted])
@pytest.mark.parametrize(("w1", "eta0"), [(0.3, 2.0), (-0.95, 0.01)])  # the second stays at the mirror image
def test_noisy_student_is_the_rule_on_whole_vectors(rule, w1, eta0):
    schedule, rounds, warmup = NoisyPowerLaw(eta0, 1.0, 12.0, -1.0), 1500, 2.0
    W = np.zeros(12)
    W[:3] = w1, 0.2, math.sqrt(1 - w1**2 - 0.04)
    expected = oracles.noisy_path(
        W, T2.p, T2.q0, T2.side, lambda t: rate(schedule, t), shift_of(rule, T2, warmup), rounds, generator(4)
    )
    made = rule(schedule, 12.0) if rule is Normalized else rule(schedule, 12.0, warmup)
    out = np.empty((rounds, 2))
    student = noisy.NoisyStudent(*W[:3].tolist(), *[0.0] * 10)
    noisy.advance(student, noisy.geometry_of(T2, made), made, 0, rounds, np.arange(1, rounds + 1), out, generator(4))
    np.testing.assert_allclose(out, expected, rtol=1e-7, atol=1e-9)
    if w1 < 0 and rule is not Normalized:
        assert out[998, 0] > 2.0 > 1.2 > out[1000, 0]  # and was turned over after round 1000


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_smooth_student_is_the_rule(function):
    rng = np.random.default_rng(5)
    W0 = rng.standard_normal(size(function))
    W = rng.standard_normal(W0.size)

    def slope(W, x):
        out = np.empty_like(W)
        gradient(function, W, x, out)
        return out

    counts, last = oracles.smooth_path(
        lambda W, x: naive_value(function, W, x), slope, W0, W, lambda t: 0.5 / math.sqrt(t), 500, generator(6)
    )
    out = np.empty(500, dtype=np.int64)
    student = W.copy()
    smooth.advance(
        smooth.SmoothStudent(student, 0),
        (function, W0),
        InverseRoot(0.5),
        0,
        500,
        (np.arange(1, 501), out),
        generator(6),
    )
    assert counts[-1] > 10
    assert (out == counts).all()
    np.testing.assert_allclose(student, last, rtol=1e-9)


# Laws against laws: students whose inputs are drawn whole, by other means


@compiled
@pytest.mark.parametrize(
    ("teacher", "rule"),
    [
        (PerceptronTeacher(8), Normalized(Constant(1.0), 8)),
        (PerceptronTeacher(8), Unnormalized(Constant(1.0), 8)),
        (PerceptronTeacher(8, 0.2, 2.0, -1.0), Normalized(Constant(1.0), 8)),
        (PerceptronTeacher(8, 0.1, 2.0, -1.0), Shifted(Constant(1.0), 8, 3.0)),
        (PerceptronTeacher(8, 0.1, 2.0, -1.0), ExactlyShifted(Constant(1.0), 8, 3.0)),
    ],
    ids=lambda item: type(item).__name__,
)
def test_students_in_few_numbers_follow_the_law_of_whole_students(teacher, rule):
    exact = None
    if isinstance(rule, ExactlyShifted):
        exact = np.zeros(8)
        exact[:2] = teacher.q0 + teacher.shift_along_teacher, teacher.side
    angle, q = oracles.whole(
        4000, 8, teacher.p, teacher.q0, teacher.side, lambda t: 1.0, 80, np.random.default_rng(7),
        getattr(rule, "warmup", np.inf), exact, not isinstance(rule, Unnormalized),
    )  # fmt: skip
    ours = simulate.run(teacher, rule, [10.0], 4000, seed=8)
    for mine, whole in ((ours.angle[:, 0], angle), (ours.q[:, 0], q), (ours.angle[:, 0] ** 2, angle**2)):
        gap = abs(mine.mean() - whole.mean()) / math.hypot(mine.std() / 4000**0.5, whole.std() / 4000**0.5 + 1e-300)
        assert gap < 4.0


# Theory against quadrature


@given(st.integers(-127, 127), st.integers(-24, 24), st.integers(-24, 24))
@example(0, 0, 0.0001)
@example(127, 8, 8.0001)
@settings(deadline=None, max_examples=60)
def test_disagreement_is_the_integral(R, q, q0):
    R, q, q0 = R / 128, q / 8, q0 / 8
    assert theory.disagreement(R, q, q0) == pytest.approx(oracles.disagreement(R, q, q0), abs=1e-10)


@pytest.mark.parametrize(("R", "q", "q0"), [(0.9, -1.5, -1.95), (-0.3, 0.0, 1.0), (0.5, 2.0, 0.0), (0.99, 1.0, 1.0)])
def test_generalization_error_is_equation_8(R, q, q0):
    assert theory.generalization_error(R, q, q0, 0.2) == pytest.approx(oracles.equation_8(R, q, q0, 0.2), abs=1e-10)


@given(st.floats(0.0, math.pi), st.floats(-4, 4), st.floats(-4, 4))
@settings(deadline=None, max_examples=60)
def test_disagreement_is_symmetric_and_turns_over_with_the_student(angle, q, q0):
    share = float(theory.disagreement_at(angle, q, q0))
    assert share == pytest.approx(float(theory.disagreement_at(angle, q0, q)), abs=1e-12)
    assert share == pytest.approx(1.0 - float(theory.disagreement_at(math.pi - angle, -q, q0)), abs=1e-12)


def test_small_angles_lose_no_digits():
    assert float(theory.disagreement_at(1e-9)) == pytest.approx(1e-9 / math.pi, rel=1e-12)


def test_disagreement_of_sampled_students():
    teacher = PerceptronTeacher(6, p=0.1, u=2.0, q0=-0.8)
    S, y = teacher.sample(200_000, seed=9)
    W = oracles.unit(np.array([1.0, 0.4, 0.0, -0.5, 0.0, 0.3]))
    measured = float(np.mean(y * (S @ W) <= 0))
    q = teacher.q0 * W[0] + teacher.side * W[1]
    assert measured == pytest.approx(float(theory.generalization_error(W[0], q, teacher.q0, 0.1)), abs=0.004)


def test_clean_flow_is_equation_4():
    schedule = PowerLaw(1.5, 0.5, 100)
    flow = theory.clean_flow(schedule, 100, [2.0, 8.0], R=0.3)
    assert math.cos(flow.angle[-1]) == pytest.approx(
        oracles.equation_4(0.3, lambda a: float(rate(schedule, max(100 * a, 1))), 8.0), abs=1e-6
    )


def test_noisy_flow_without_noise_is_the_clean_flow():
    alphas = np.array([1.0, 5.0, 25.0])
    noisy_flow = theory.noisy_flow(PerceptronTeacher(100), Constant(0.7), alphas)
    np.testing.assert_allclose(noisy_flow.angle, theory.clean_flow(Constant(0.7), 100, alphas).angle, rtol=1e-6)


def test_near_the_teacher_the_noisy_flow_is_equation_14():
    teacher, eta = PerceptronTeacher(100, 0.2, 4.0, -1.95), 1e-4
    phi = teacher.boundary
    alphas = np.array([1e4, 4e4])
    start = (1 - 1e-5, teacher.q0 * (1 - 1e-5))
    flow = theory.noisy_flow(teacher, Constant(eta), alphas, "exact", start, warmup=0.0)
    at_rest = eta * 0.2 / (4 * phi)
    expected = at_rest + (1e-5 - at_rest) * np.exp(-2 * eta * phi * alphas)
    np.testing.assert_allclose(1 - np.cos(flow.angle), expected, rtol=0.01)


@pytest.mark.parametrize("p", [0.05, 0.2, 0.35])
@pytest.mark.parametrize("shift", ["exact", "learned"])
@pytest.mark.parametrize("eta0", [2.0, 3.0])
def test_the_noisy_flow_ends_in_its_law(p, shift, eta0):
    flow = theory.noisy_flow(PerceptronTeacher(100, p, 2.0, -1.0), NoisyPowerLaw(eta0, 1.0, 100, -1.0), [1e6], shift)
    assert (flow.error[0] - p) * 1e3 == pytest.approx(theory.noisy_constant(p, eta0, shift), rel=0.01)


@pytest.mark.parametrize("p", [0.05, 0.2, 0.35])
@pytest.mark.parametrize("shift", ["exact", "learned"])
def test_best_eta0_is_least(p, shift):
    best = theory.best_eta0(p, shift)
    least = theory.noisy_constant(p, best, shift)
    assert all(theory.noisy_constant(p, best + step, shift) > least for step in (-0.3, -0.01, 0.01, 0.3))


@pytest.mark.parametrize(("eta0", "z"), [(2.0, 0.5), (2.0, 1.0), (3.0, 1.0), (1.0, 1.0)])
def test_the_clean_flow_ends_in_its_law(eta0, z):
    flow = theory.clean_flow(PowerLaw(eta0, z, 100), 100, [1e7])
    tolerance = 0.1 if eta0 == z else 0.01  # with η₀ = 1 the start fades only as 1/ln α
    assert flow.error[0] == pytest.approx(theory.clean_law(1e7, eta0, z), rel=tolerance)


def test_the_unnormalised_flow_ends_in_its_law():
    flow = theory.clean_flow(Constant(1.0), 100, [1e6], normalized=False)
    assert flow.error[0] * 100.0 == pytest.approx(theory.UNNORMALIZED, rel=0.01)


def test_constant_rates_end_at_their_level():
    flow = theory.clean_flow(Constant(0.01), 100, [5000.0])
    assert flow.error[0] == pytest.approx(theory.stationary_error(0.01), rel=0.001)


def test_plain_limits_are_where_the_slow_flow_rests():
    teacher = PerceptronTeacher(250, 0.2, 4.0, -1.95)
    stable, saddle = theory.plain_limits(teacher)
    flow = theory.noisy_flow(teacher, Constant(0.002), [50_000.0])
    assert flow.error[0] == pytest.approx(stable.error, abs=0.001)
    assert (stable.stable, saddle.stable) == (True, False)
    assert saddle.error == pytest.approx(0.341, abs=0.0005)


# Curves


def test_fits_find_the_power_and_its_error():
    rng = np.random.default_rng(1)
    x = np.geomspace(1, 1000, 20)
    found = []
    for _ in range(200):
        scale = np.exp(0.1 * rng.standard_normal((30, 2)))  # each replica: its own constant and exponent
        found.append(fit_power_law(x, 2 * scale[:, :1] * x ** (-0.7 + 0.2 * np.log(scale[:, 1:]))))
    exponents = np.array([fit.exponent for fit in found])
    assert exponents.mean() == pytest.approx(-0.7, abs=0.005)
    assert np.mean([fit.exponent_error for fit in found]) == pytest.approx(exponents.std(), rel=0.2)


def test_fits_refuse_what_has_no_logarithm():
    with pytest.raises(ValueError, match="positive means"):
        fit_power_law([1.0, 2.0], [[1.0, -1.0], [1.0, 0.5]])
    with pytest.raises(ValueError, match="two replicas"):
        fit_power_law([1.0, 2.0], [[1.0, 1.0]])


def test_bands_hold_their_share():
    curves = LearningCurves(np.array([1]), np.array([1.0]), np.arange(101.0)[:, None])
    low, high = curves.band(0.9)
    assert (low[0], high[0]) == pytest.approx((5.0, 95.0))
    with pytest.raises(ValueError, match="coverage"):
        curves.band(1.0)


def test_a_finding_can_fail():
    assert Finding("x", 1.0, 0.1, 1.04, 0.05).holds
    assert not Finding("x", 1.0, 0.1, 1.06, 0.05).holds
    assert not Finding("x", math.nan, 0.1, 1.0, 0.05).holds


# What may not change a result


CASES = [
    (PerceptronTeacher(20), Normalized(clean_optimum(20), 20)),
    (T2, Shifted(noisy_optimum(12, -1.0), 12, 5.0)),
]


@pytest.mark.parametrize(("teacher", "rule"), CASES, ids=["clean", "noisy"])
def test_threads_blocks_looks_and_other_replicas_change_nothing(teacher, rule, monkeypatch):
    looks = [1.0, 10.0, 30.0]
    curves = simulate.run(teacher, rule, looks, 6, seed=3, threads=1)
    for threads in (2, 5):
        assert (simulate.run(teacher, rule, looks, 6, seed=3, threads=threads).error == curves.error).all()
    assert (simulate.run(teacher, rule, looks, 4, seed=3).error == curves.error[:4]).all()
    assert (simulate.run(teacher, rule, looks[1:], 6, seed=3).error == curves.error[:, 1:]).all()
    assert not (simulate.run(teacher, rule, looks, 6, seed=4).error == curves.error).any()
    monkeypatch.setattr(simulate, "BLOCK", 7)
    assert (simulate.run(teacher, rule, looks, 6, seed=3).error == curves.error).all()


def test_threads_and_blocks_change_nothing_for_smooth_students(monkeypatch):
    run = lambda threads: simulate.run_smooth(quadratic(3), Constant(0.05), [100, 900], 5, 3, threads=threads)  # noqa: E731
    curves = run(1)
    assert (run(3).error == curves.error).all()
    monkeypatch.setattr(simulate, "BLOCK", 64)
    assert (run(2).error == curves.error).all()


def test_progress_rises_from_0_to_1(monkeypatch):
    monkeypatch.setattr(simulate, "BLOCK", 16)
    seen = []
    simulate.run(PerceptronTeacher(8), Normalized(Constant(1.0), 8), [10.0], 3, progress=seen.append)
    assert seen == sorted(seen)
    assert len(seen) == 15
    assert 0 < seen[0] < seen[-1] == 1


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"N": 4}, "N: at least 5"),
        ({"N": 9, "p": 0.5}, "p: "),
        ({"N": 9, "u": -1.0}, "u: "),
        ({"N": 9, "u": 1.0, "q0": 2.0}, "q0: "),
    ],
)
def test_impossible_teachers_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        PerceptronTeacher(**arguments)


def test_impossible_smooth_teachers_are_refused_by_name():
    with pytest.raises(ValueError, match="W0: 3 parameters"):
        SmoothTeacher(Linear(3), np.zeros(2))
    with pytest.raises(ValueError, match="hidden"):
        committee(2, hidden=3)
    with pytest.raises(ValueError, match="N: "):
        quadratic(0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": Normalized(Constant(1.0), 9)}, "rule: its N"),
        ({"rule": Shifted(Constant(1.0), 8, -1.0)}, "warmup"),
        ({"alphas": []}, "alphas"),
        ({"alphas": [2.0, 1.0]}, "alphas"),
        ({"alphas": [0.01]}, "alphas"),
        ({"alphas": [math.inf]}, "alphas"),
        ({"replicas": 0}, "replicas"),
        ({"threads": 0}, "threads"),
        ({"start": 1.0}, "start"),
        ({"teacher": PerceptronTeacher(8, 0.1, 1.0, 0.5), "start": 0.5}, "start"),
        ({"rule": ExactlyShifted(Constant(1.0), 8)}, "no shift T exists"),
        ({"teacher": PerceptronTeacher(8, 0.1), "rule": Unnormalized(Constant(1.0), 8)}, "Unnormalized"),
        ({"teacher": PerceptronTeacher(8, 0.1, 1.0, 0.5), "start": (0.9, 3.0)}, "start"),
    ],
)
def test_bad_arguments_are_refused_by_name(change, message):
    good = {"teacher": PerceptronTeacher(8), "rule": Normalized(Constant(1.0), 8), "alphas": [1.0], "replicas": 2}
    with pytest.raises(ValueError, match=message):
        simulate.run(**(good | change))
    with pytest.raises(TypeError, match="rule"):
        simulate.run(**(good | {"rule": "perceptron"}))


# The figures, in short: same numbers, wider error bars


SHORT = {
    "figure1": (200, 1000.0),
    "figure2": (4, 30_000.0),
    "schedules": (60, 10_000.0),
    "smooth": (4, 1e6),
    "noise": (4, 6000.0),
    "flow": (40, 300.0),
    "balanced": (8, 1000.0),
    "stationary": (3000, 5000.0),
    "smooth-noise": (4, 3e5),
    "parity": (20, 10_000.0),
    "inputs": (12, 200.0),
}


@compiled
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_findings_hold(name):
    """With few replicas a number may be off by its tolerance and three of its standard errors, whatever it is."""
    experiment = EXPERIMENTS[name](*SHORT[name], RunOptions(seed=1, threads=1))
    assert len(experiment.findings) >= 2
    assert [str(finding) for finding in experiment.findings if not finding.holds] == []
    assert [str(finding) for finding in experiment.findings if finding.error > 0 and finding.sigmas < 3] == []
    assert all(finding.error < 0.15 * max(abs(finding.expected), 0.8) for finding in experiment.findings)  # they tell


@compiled
def test_few_students_are_not_held_against_the_law():
    """The mean farthest from 4/π is off by more than the tolerance, and by less than chance allows besides."""
    found = EXPERIMENTS["figure1"](20, 1000.0, RunOptions(seed=1, threads=1)).findings[0]
    assert found.tolerance < abs(found.measured - found.expected) < found.tolerance + 3 * found.error == found.allowed
    assert found.holds
    assert "(known to 0.09 only: more replicas would say more)" in found.what


def test_a_mean_is_judged_by_its_tolerance_and_three_standard_errors():
    values = np.array([1.0, 2.0, 3.0, 4.0])  # 2.5 ± 0.645
    assert mean("x", values, 2.5 - 0.1 - 1.93, 0.1).holds
    assert not mean("x", values, 2.5 - 0.1 - 1.94, 0.1).holds
    assert mean("x", values, 0.0, 0.1).what == "x (known to 1.9 only: more replicas would say more)"
    assert mean("x", values, 0.0, 2.0).what == "x"


@compiled
def test_a_run_too_short_for_its_law_says_so():
    found = EXPERIMENTS["figure1"](200, 100.0, RunOptions(seed=1, threads=1)).findings
    assert not all(finding.holds for finding in found)
    assert all(("α = 100 is short" in finding.what) != finding.holds for finding in found)
    false = [Finding("law", 1.0, 0.1, 0.0, 0.1)]
    assert judge(false, 1000.0, 1000.0) == false  # the run is long enough


@compiled
def test_what_the_theory_forbids_is_seen():
    """A rate that falls too fast misses 4/π; the plain rule never gets near p."""
    fast = simulate.run(PerceptronTeacher(50), Normalized(PowerLaw(2.0, 1.5, 50), 50), [500.0], 100)
    assert abs(fast.mean[0] * 500.0 / theory.clean_constant(2.0) - 1) > 1.0
    teacher = PerceptronTeacher(50, 0.2, 4.0, -1.95)
    plain = simulate.run(teacher, Normalized(noisy_optimum(50, -1.95), 50), np.geomspace(100, 2000, 10), 8)
    assert plain.less(0.2).fit(100, 2000).exponent > -0.2


# The program


@compiled
def test_lab_command_writes_figure_table_and_json(tmp_path):
    folder = tmp_path / "not" / "there yet"

    def call(*more):
        line = ["lab", "figure1", "--replicas", "40", "--alpha", "200", "-o", str(folder), *more]
        return invoke(program, line)

    first = call("--json", "--threads", "1")
    assert first.exit_code == 0, first.output
    result = json.loads(first.stdout)
    assert result["replicas"] == 40
    assert {finding["holds"] for finding in result["findings"]} <= {True, False}
    files = {path.suffix: path.read_bytes() for path in folder.iterdir()}
    assert sorted(files) == [".csv", ".png", ".svg"]
    rows = files[".csv"].decode().splitlines()
    assert rows[0] == "panel,label,kind,x,y,low,high"
    assert len(rows) > 300
    refused = call()
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    again = call("--force", "--threads", "2")
    assert again.exit_code == 0
    assert "4/π" in again.stdout
    assert {path.suffix: path.read_bytes() for path in folder.iterdir()} == files


def test_lab_command_refuses_before_it_runs(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for place in (file, file / "below"):
        refused = invoke(program, ["lab", "figure2", "-o", str(place)])
        assert refused.exit_code == 2
        assert "cannot be made a folder" in refused.stderr
