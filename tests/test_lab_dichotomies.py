"""barkai1995 beyond its figures: weighted shifts, small noise, noisy smooth functions, stationary laws, parity."""

import math

import numpy as np
import pytest
from scipy import special, stats

import oracles_dichotomies as oracles
from onepass.lab import parity, simulate, stationary, theory, threshold_law
from onepass.lab.bench import Bench, RunOptions
from onepass.lab.noisy import ExactlyShifted, ExactlyWeighted
from onepass.lab.parity import ParityTeacher, parity_error, run_parity
from onepass.lab.teachers import PerceptronTeacher, quadratic
from onepass.lab.whole import LAWS, InputSource, run_whole, run_whole_parity
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.learners.shifted import WEIGHTINGS, Shifted
from onepass.schedules import Constant, InverseRoot, NoisyPowerLaw, PowerLaw, rate
from onepass.smooth.estimator import SmoothThresholdClassifier


def same_mean(mine, whole, sigmas=4.0):
    spread = math.hypot(mine.std() / mine.size**0.5, whole.std() / whole.size**0.5)
    return abs(mine.mean() - whole.mean()) < sigmas * spread


# Section 3: a shift that depends on the input


def test_students_of_two_clouds_are_students_of_one():
    teacher = PerceptronTeacher(8, 0.1, 2.0, -1.0)
    angle, q = oracles.clouds(4000, 8, 0.1, (-1.0, teacher.side), 80, np.random.default_rng(7))
    ours = simulate.run(teacher, ExactlyWeighted(Constant(1.0), 8, 3.0), [10.0], 4000, seed=8)
    assert same_mean(ours.angle[:, 0], angle)
    assert same_mean(ours.angle[:, 0] ** 2, angle**2)
    assert same_mean(ours.q[:, 0], q)


@pytest.mark.parametrize(("u", "q0"), [(4.0, -1.95), (2.0, 1.0), (1.5, 0.0)])
def test_the_mean_signed_input_is_the_integral(u, q0):
    teacher = PerceptronTeacher(9, u=u, q0=q0)
    np.testing.assert_allclose(teacher.mean_signed_input, oracles.mean_signed_input(q0, teacher.side), atol=1e-8)


@pytest.mark.parametrize("q0", [-1.0, 0.0])
def test_the_weighted_flow_ends_in_the_law_of_an_exact_shift(q0):
    teacher, schedule = PerceptronTeacher(100, 0.2, 2.0, q0), NoisyPowerLaw(2.0, 1.0, 100, q0)
    flow = theory.noisy_flow(teacher, schedule, [1e6], "weighted")
    assert (flow.error[0] - 0.2) * 1e3 == pytest.approx(theory.noisy_constant(0.2, shift="exact"), rel=0.01)


def test_only_uniform_weights_are_simulated_with_a_learned_shift():
    rule = Shifted(Constant(1.0), 8, 3.0, WEIGHTINGS["linear"])
    with pytest.raises(ValueError, match="ExactlyWeighted"):
        simulate.run(PerceptronTeacher(8, 0.1, 2.0, -1.0), rule, [1.0], 2)


@pytest.mark.parametrize(("u", "q0"), [(4.0, -1.95), (2.0, -1.0), (1.5, 0.3)])
def test_equation_9_is_the_limit_of_small_noise(u, q0):
    gaps = []
    for p in (1e-2, 1e-3, 1e-4):
        teacher = PerceptronTeacher(50, p, u, q0)
        exact = theory.plain_limits(teacher)[0].error - p
        gaps.append(abs((theory.plain_limit_of_small_noise(teacher) - p) / exact - 1.0))
    assert gaps[0] < 0.02
    assert gaps[1] < 0.2 * gaps[0]  # what is left out is of second order
    assert gaps[2] < 0.2 * gaps[1]


@pytest.mark.parametrize(("u", "q0"), [(0.0, 0.0), (1.2, 1.2), (1.5, 0.0)])
def test_equation_9_has_the_paper_s_three_exceptions(u, q0):
    assert theory.plain_limit_of_small_noise(PerceptronTeacher(50, 0.01, u, q0)) == pytest.approx(0.01)


# Section 4: the law of one parameter


def test_the_triangle_solves_equation_24_and_so_does_any_phase():
    for x in np.linspace(-1.9, 1.9, 77):
        assert oracles.balance(lambda v: float(threshold_law.triangle(v, 0.7)), x, 0.7) == pytest.approx(0.0, abs=1e-12)
        ripple = lambda v: float(threshold_law.triangle(v)) * (1 + 0.5 * math.cos(2 * math.pi * v))  # noqa: E731
        assert oracles.balance(ripple, x, 1.0) == pytest.approx(0.0, abs=1e-12)
    bell = oracles.balance(lambda v: math.exp(-3 * v * v), 0.4, 1.0)
    assert abs(bell) > 0.03  # a Gaussian does not


def test_the_correction_solves_equation_26_and_adds_nothing():
    a = 0.7
    for x in np.linspace(0.01, 0.69, 30):
        left = (a - 2 * x) / a**2  # (x·F)′ on (0, a)
        G = lambda v: float(threshold_law.correction(v, a))  # noqa: E731
        assert oracles.balance(G, x, a) == pytest.approx(left, abs=1e-12)
    grid = np.linspace(-a, a, 20_001)
    assert np.trapezoid(threshold_law.correction(grid, a), grid) == pytest.approx(0.0, abs=1e-6)
    share = np.cumsum(threshold_law.triangle(grid, a)) * (grid[1] - grid[0])
    np.testing.assert_allclose(threshold_law.triangle_share(grid, a), share, atol=1e-3)


def test_what_is_said_of_equation_26_can_fail():
    """Students drawn from F + c·ε·G for a uniform phase: both numbers come out for c = 1, and for no other."""
    rng, epsilon = np.random.default_rng(4), np.array([0.02, 0.012])
    phase, side = rng.random((2, 200_000, epsilon.size))

    def holds(c):
        x = np.where(side < 1 - phase + c * epsilon * (2 * phase - 1), phase, phase - 1)
        return [stationary.first_order_ratio(x, epsilon).holds, stationary.worst_phase(x, epsilon).holds]

    assert [holds(c) for c in (1.0, 0.0, -1.0)] == [[True, True], [False, False], [False, False]]


@pytest.mark.parametrize("kappa", [2.0, 6.0])
def test_equation_27_is_solved(kappa):
    law = threshold_law.falling_law(kappa)
    x = np.sort(oracles.jumps(20_000, kappa, np.random.default_rng(3)))
    assert threshold_law.kolmogorov(x, law.share(x)) < threshold_law.kolmogorov_limit(2)
    square = 2 * np.trapezoid(law.x**2 * law.density, law.x)
    assert square * (2 * kappa - 2) == pytest.approx(kappa * law.mean_size, rel=1e-3)  # ⟨x²⟩ does not change
    finer = threshold_law.falling_law(kappa, points=800)
    assert finer.mean_size == pytest.approx(law.mean_size, rel=1e-4)
    assert threshold_law.falling_law(2 * kappa, 0.5).mean_size == pytest.approx(law.mean_size / 2, rel=1e-9)


def test_equation_27_has_no_solution_below_its_threshold():
    with pytest.raises(ValueError, match="κ·a must be above 1"):
        threshold_law.falling_law(1.0)


@pytest.mark.parametrize("p", [0.0, 0.2])
def test_students_that_jump_from_mistake_to_mistake_follow_the_law_of_those_that_do_not(p):
    start, schedule, times = np.linspace(-0.9, 0.9, 6000), PowerLaw(0.3, 0.5, 1.0), np.array([11, 12, 60])
    setting, eta = (0.1, 0.8, p), lambda t: rate(schedule, t)
    whole = oracles.threshold_students(start, setting, eta, 10, times, np.random.default_rng(5))
    found = np.empty_like(whole)
    threshold_law.advance(start, setting, schedule, 10, times, found, np.random.Generator(np.random.SFC64(6)))
    for look in range(times.size):
        assert stats.ks_2samp(found[:, look], whole[:, look]).pvalue > 1e-4
    assert same_mean(found[:, -1] * found[:, 0], whole[:, -1] * whole[:, 0])
    assert abs(found[:, -1]).mean() < 0.5 * abs(start).mean()


def test_students_at_the_teacher_stay_without_noise():
    out = np.empty((2, 1))
    rng = np.random.Generator(np.random.SFC64(6))
    threshold_law.advance(np.full(2, 0.1), (0.1, 0.8, 0.0), PowerLaw(0.3, 0.5, 1.0), 0, np.array([10**6]), out, rng)
    assert (out == 0.1).all()


def test_the_largest_gap_is_kolmogorov_s():
    x = np.sort(np.random.default_rng(1).normal(size=500))
    known = stats.kstest(x, "norm").statistic * math.sqrt(500)
    assert threshold_law.kolmogorov(x, special.ndtr(x)) == pytest.approx(known, rel=1e-12)
    assert threshold_law.kolmogorov(x, special.ndtr(2.0 * x)) > threshold_law.kolmogorov_limit(10)


# Section 4: smooth functions with output noise


def features(x):
    return np.concatenate([x, [x[i] * x[j] for i in range(x.size) for j in range(i, x.size)]])


def noisy_quadric(seed, rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2)) + 0.6  # so that labels are not balanced
    y = np.where([quadratic(2).W0 @ features(x) > 1 for x in X], 1, -1)
    return X, np.where(rng.random(rows) < 0.1, -y, y)


@pytest.mark.parametrize("weighting", ["uniform", "halfspace"])
def test_the_smooth_classifier_shifts_as_defined_in_any_pieces(weighting):
    X, y = noisy_quadric(3, 1500)
    eta = lambda t: 0.3 / math.sqrt(t)  # noqa: E731
    options = {"schedule": eta, "weighting": weighting, "warmup": 200, "fit_intercept": False, "shuffle": False}
    whole = SmoothThresholdClassifier("quadratic", **options).fit(X, y)
    f, slope, examples = (lambda W, x: W @ features(x) - 1.0), (lambda W, x: features(x)), zip(X, y, strict=True)
    expected = oracles.shifted_gradients(f, slope, np.zeros(5), examples, eta, 200, weighting)
    np.testing.assert_allclose(whole.last_, expected, atol=1e-10)
    cut = SmoothThresholdClassifier("quadratic", **options)
    own = SmoothThresholdClassifier(
        lambda W, x: float(W @ features(x) - 1.0), lambda W, x: features(x), 5, start=np.zeros(5), **options
    )
    for first, last in ((0, 1), (1, 700), (700, 1500)):
        cut.partial_fit(X[first:last], y[first:last], classes=[-1, 1])
        own.partial_fit(X[first:last], y[first:last], classes=[-1, 1])
    np.testing.assert_array_equal(cut.last_, whole.last_)
    np.testing.assert_allclose(own.last_, whole.last_, atol=1e-10)
    plain = SmoothThresholdClassifier("quadratic", **options | {"weighting": None}).fit(X, y)
    assert np.abs(plain.last_ - whole.last_).max() > 0.01


def test_a_bad_shift_is_refused_by_name():
    X, y = noisy_quadric(3, 50)
    for change, named in (({"weighting": "linear"}, "weighting"), ({"weighting": "auto", "warmup": -1.0}, "warmup")):
        with pytest.raises(ValueError, match=named):
            SmoothThresholdClassifier("quadratic", **change).fit(X, y)
    with pytest.raises(ValueError, match="p: a probability"):
        simulate.run_noisy_smooth(quadratic(2), simulate.NoisySmooth(Constant(0.1), 0.5), [10], np.zeros((1, 5)))


@pytest.mark.parametrize("weighting", ["uniform", "halfspace", None])
def test_noisy_smooth_students_follow_the_rule(weighting):
    teacher, rng = quadratic(2), simulate.generators_of(1, 9)[0]
    examples, clean = [], []
    for _ in range(2000):
        x = np.array([rng.standard_normal(), rng.standard_normal()])
        clean.append(1 if teacher.W0 @ features(x) > 1 else -1)
        examples.append((x, clean[-1] * (1 if rng.random() >= 0.1 else -1)))
    eta = lambda t: 0.1 / math.sqrt(t)  # noqa: E731
    warmup = 10**9 if weighting is None else 300
    f, slope = (lambda W, x: W @ features(x) - 1.0), (lambda W, x: features(x))
    expected = oracles.shifted_gradients(f, slope, teacher.W0.copy(), examples, eta, warmup, weighting or "uniform")
    rule = simulate.NoisySmooth(InverseRoot(0.1), 0.1, weighting, 300.0)
    curves, ends = simulate.run_noisy_smooth(teacher, rule, [1000, 2000], teacher.W0[None], (9, 1, None))
    np.testing.assert_allclose(ends[0], expected, atol=1e-10)
    differing = (curves.error - 0.1) / 0.8 * 1000
    np.testing.assert_allclose(differing, np.rint(differing), atol=1e-6)


# Section 5: the parity machine


@pytest.mark.parametrize("kind", [Normalized, Unnormalized])
@pytest.mark.parametrize("K", [2, 3])
def test_parity_students_follow_the_law_of_whole_students(kind, K):
    teacher, rule, replicas = ParityTeacher(8 * K, K), kind(Constant(1.0), 8), 4000
    angles, _ = oracles.parity_machines(replicas, 8, K, 60, np.random.default_rng(11), kind is Normalized)
    start = np.full(replicas, 0.5)
    curves = run_parity(teacher, rule, np.array([60 / (8 * K)]), start, RunOptions(seed=12))
    assert same_mean(curves.error[:, 0], parity_error(angles))
    assert same_mean(curves.error[:, 0] ** 2, parity_error(angles) ** 2)


def test_the_error_of_a_parity_machine_is_what_is_counted():
    angles, rng = np.array([0.4, 1.1, 2.0]), np.random.default_rng(2)
    x, z = rng.normal(size=(2, 200_000, 3))
    student = np.cos(angles) * x + np.sin(angles) * z
    share = (np.sign(x).prod(axis=1) != np.sign(student).prod(axis=1)).mean()
    assert parity_error(angles) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(("teacher", "N"), [(ParityTeacher(101, 2), 50), (ParityTeacher(100, 2), 100)])
def test_parity_machines_that_do_not_fit_are_refused(teacher, N):
    with pytest.raises(ValueError, match="N"):
        run_parity(teacher, Normalized(Constant(1.0), N), np.array([1.0]), np.array([0.5]), RunOptions())


def test_blocks_change_nothing_for_parity_students(monkeypatch):
    teacher, start, looks = ParityTeacher(16, 2), np.full(5, 0.5), np.array([2.0, 40.0])
    rule = Normalized(Constant(1.0), 8)
    whole = run_parity(teacher, rule, looks, start, RunOptions(seed=3, threads=1))
    monkeypatch.setattr(parity, "BLOCK", 7)
    assert (run_parity(teacher, rule, looks, start, RunOptions(seed=3, threads=2)).error == whole.error).all()


# Inputs that are not Gaussian


def drawn(name, rng):
    return {
        "Gaussian": rng.standard_normal,
        "binary": lambda shape: rng.choice([-1.0, 1.0], size=shape),
        "uniform": lambda shape: rng.uniform(-(3**0.5), 3**0.5, size=shape),
    }[name]


@pytest.mark.parametrize(
    ("name", "kind", "shift"),
    [*((name, Normalized, None) for name in LAWS), ("binary", ExactlyShifted, "exact"),
     ("uniform", ExactlyWeighted, "weighted")],
)  # fmt: skip
def test_students_of_other_inputs_follow_the_law_of_whole_students(name, kind, shift):
    rng = np.random.default_rng(21)
    teacher = PerceptronTeacher(6, 0.1, math.hypot(0.5, 1.5), 0.5)
    shares = oracles.other_inputs(3000, 6, drawn(name, rng), (0.1, 0.5, 1.5), 60, rng, shift)
    bench = Bench(3000, 10.0, RunOptions(seed=22), 1)
    rule = kind(Constant(1.0), 6) if shift is None else kind(Constant(1.0), 6, 3.0)
    source = InputSource(teacher, LAWS[name], 0.5 if shift == "weighted" else 0.0)
    curves = run_whole(source, rule, np.array([10.0]), bench)
    assert same_mean(curves.error[:, 0], shares)
    assert same_mean(curves.error[:, 0] ** 2, shares**2)


@pytest.mark.parametrize("kind", [Normalized, Unnormalized])
def test_parity_students_of_binary_inputs_follow_the_law_of_whole_students(kind):
    rng = np.random.default_rng(23)
    _, shares = oracles.parity_machines(3000, 7, 2, 60, rng, kind is Normalized, drawn("binary", rng))
    bench, rule = Bench(3000, 10.0, RunOptions(seed=24), 1), kind(Constant(1.0), 7)
    curves = run_whole_parity(ParityTeacher(14, 2), LAWS["binary"], rule, np.array([60 / 14]), bench)
    assert same_mean(curves.error[:, 0], shares)
    assert same_mean(curves.error[:, 0] ** 2, shares**2)
