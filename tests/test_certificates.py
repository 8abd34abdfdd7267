"""Certificates against the definition, round by round; and what they say of themselves."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from onepass import certificates
from onepass.certificates import Certificate, betting, certify, dekel2008, dekel2008_a, round_up
from onepass.conversions import CONVERSIONS
from onepass.errors import ConversionError
from onepass.passes import Pass
from onepass.trace import merge
from onepass.trace.tally import BETS
from strategies import csr, dyadic

DELTA = 0.05


def trace_of(learner, seed=0, rows=400, **options):
    X, y = dyadic(seed, rows, 5, noise=0.1)
    run = Pass(learner, classes=[-1, 1], order_alarm=False, **options)
    run.feed(csr(X), y)
    return run.trace()


def rounds_of(trace, loss):
    """X per round, and 1 where the round ended a run: all that a certificate is made of."""
    x = np.zeros(trace.rounds)
    margin = trace.log.margin
    if loss == "zero_one":
        x[trace.log.round - 1] = margin <= 0
    else:
        x[trace.log.round - 1] = np.maximum(0, 1 - margin) / trace.terms.loss_bound
    ends = np.zeros(trace.rounds)
    ends[trace.log.round - 1] = 1.0
    return x, ends


CASES = [("perceptron", {}, "zero_one"), ("margin", {"radius": 2.0}, "hinge"), ("margin", {"radius": 2.0}, "zero_one")]


@pytest.mark.parametrize(("learner", "options", "loss"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_betting_for_every_conversion_is_the_definition(learner, options, loss, seed):
    trace = trace_of(learner, seed, **options)
    x, ends = rounds_of(trace, loss)
    C = 1.0 if loss == "zero_one" else trace.terms.loss_bound
    starts = np.cumsum(trace.survival) - trace.survival

    def bound(chosen, price):
        return C * oracles.betting(x[np.asarray(chosen, dtype=bool)], DELTA * price)

    def price(i):
        return 1 / ((i + 1) * (i + 2))

    hold = np.arange(trace.rounds)
    close = {"rel": 1e-6, "abs": 0}
    assert certify(trace, "average", loss=loss).risk == pytest.approx(bound(np.ones_like(x), 1), **close)
    last = certify(trace, "last", loss=loss)
    assert last.risk == pytest.approx(bound(hold >= starts[-1], price(trace.updates)), **close)
    j = int(np.argmax(trace.survival))
    longest = certify(trace, "longest", loss=loss)
    chosen = (hold >= starts[j]) & (hold < starts[j] + trace.survival[j])
    assert (longest.choice.value, longest.risk) == (j, pytest.approx(bound(chosen, price(j)), **close))
    grid = [k for k in oracles.grid(int(trace.survival.max())) if k < trace.survival.max()]
    risks = [bound(oracles.counted(ends, k), price(i)) for i, k in enumerate(grid)]
    cut = certify(trace, "cutoff", loss=loss)
    assert cut.risk == pytest.approx(min(risks), **close)
    assert risks[grid.index(cut.choice.value)] == pytest.approx(min(risks), **close)
    assert cut.counted == oracles.counted(ends, cut.choice.value).sum()
    suffixes = [bound(hold >= s, price(s)) for s in starts]
    suffix = certify(trace, "suffix", loss=loss)
    assert suffix.risk == pytest.approx(min(suffixes), **close)
    assert suffix.counted == trace.rounds - suffix.choice.value


@pytest.mark.parametrize(("learner", "options", "loss"), CASES)
@pytest.mark.parametrize("bound", ["betting", "dekel2008"])
@pytest.mark.parametrize("seed", range(3))
def test_all_cutoffs_equal_brute_force_over_every_k(learner, options, loss, bound, seed):
    """k with cutoffs="all" is the best of all 0 … m−1 by eq. (3), and of equally good ones the smallest."""
    trace = trace_of(learner, seed, rows=250, cutoffs="all", **options)
    x, ends = rounds_of(trace, loss)
    C = 1.0 if loss == "zero_one" else trace.terms.loss_bound
    a = dekel2008_a(trace.rounds, None, DELTA, family=True)
    risks = []
    for k in range(trace.rounds):
        B = oracles.counted(ends, k)
        if bound == "betting":
            risks.append(C * oracles.betting(x[B], DELTA / ((k + 1) * (k + 2))))
        else:
            risks.append(oracles.dekel2008(B.sum(), C * x[B].sum(), a, C))
    found = certify(trace, "cutoff", bound=bound, loss=loss)
    assert found.risk == pytest.approx(min(risks), rel=1e-6)
    best = np.flatnonzero(np.array(risks) <= min(risks) * (1 + 1e-9))
    if best.size == 1:
        assert found.choice.value == best[0]
    q = CONVERSIONS["cutoff"].members(trace, found.choice.value)
    B = oracles.counted(ends, found.choice.value)
    run_number = np.concatenate([[0], np.cumsum(ends)])[: trace.rounds].astype(int)
    np.testing.assert_array_equal(q, np.bincount(run_number[B], minlength=len(q)))


# --- what members do to each class, and what that costs ---------------------------------------------------------------

CLASS_COST = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [4.0, 5.0, 0.0]])


def replayed(X, y, classes):
    """(the code of each row's label, what the perceptron of that round took it for), every hypothesis kept."""
    Z = np.hstack([np.ones((len(X), 1)), X])
    W = oracles.hypotheses(Z, y, oracles.perceptron, Z.shape[1] if classes == 2 else (Z.shape[1], classes))
    codes, said = ((y > 0).astype(int) if classes == 2 else y), []
    for w, z, label, code in zip(W, Z, y, codes, strict=False):
        d, margin = oracles.direction(w, z, label)
        said.append(code if margin > 0 else 1 - code if classes == 2 else int(np.argmin(d[0])))
    return codes, np.array(said)


def rules_of(ends, everything):
    """{conversion: [(value, rounds counted, price)]} of a run whose hypotheses end in these rounds."""
    rounds, starts = len(ends), np.concatenate([[0], np.flatnonzero(ends) + 1])
    longest = int(np.diff(np.concatenate([starts, [rounds]])).max())
    cutoffs = range(longest) if everything else [k for k in oracles.grid(longest) if k < longest]
    return {
        "average": [(0, np.ones(rounds, dtype=bool), 1.0)],
        "suffix": [(s, np.arange(rounds) >= s, 1 / ((s + 1) * (s + 2))) for s in starts if s < rounds],
        "cutoff": [(k, oracles.counted(ends, k), 1 / ((i + 1) * (i + 2))) for i, k in enumerate(cutoffs)],
    }


@pytest.mark.parametrize(
    ("classes", "options"), [(2, {}), (3, {}), (3, {"cutoffs": "all"}), (3, {"max_trace_memory": 9000})]
)
def test_joint_rates_and_costs_of_members_are_the_definition(classes, options):
    X, y = dyadic(4, 250, 4, classes, noise=0.1)
    names = [-1, 1] if classes == 2 else [0, 1, 2]
    costs = {(names[a], names[b]): CLASS_COST[a, b] for a in range(classes) for b in range(classes) if a != b}
    run = Pass("perceptron", classes=names, conversion="cutoff", cost=costs, order_alarm=False, **options)
    run.feed(csr(X), y)
    codes, said = replayed(X, y, classes)
    largest = CLASS_COST[:classes, :classes].max()
    x, ends = CLASS_COST[codes, said] / largest, (codes != said).astype(float)
    for name, rules in rules_of(ends, "cutoffs" in options).items():
        if name == "suffix" and run.trace().compacted:
            continue
        found = run.certificate(name)
        bounds = [largest * oracles.betting(x[B], DELTA * price) for _, B, price in rules]
        assert (found.loss, found.covers, found.loss_bound) == ("cost", "members", largest)
        assert found.risk == pytest.approx(min(bounds), rel=1e-6)
        _, B, price = next(rule for rule in rules if rule[0] == (found.choice.value or 0))
        assert found.empirical == pytest.approx(largest * x[B].mean())
        rates = found.rates
        assert (rates.covers, rates.frozen, rates.parts) == ("members", None, classes)
        for code, rate in enumerate(rates.rates):
            wrong = (codes == code) & (ends == 1)
            assert (rate.name, rate.label, rate.observed) == ("joint miss", names[code], wrong[B].mean())
            assert rate.bound == pytest.approx(oracles.betting(wrong[B], DELTA * price / classes), rel=1e-6)
        assert "of the ensemble's members, on average" in str(found)
        assert "of the ensemble's members, on average" in str(rates)
        assert Certificate.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_rates_asked_late_are_those_of_the_rounds_certified():
    X, y = dyadic(4, 400, 4, noise=0.1)
    for name in ("average", "cutoff", "suffix"):
        early, late = (Pass("perceptron", conversion=name, order_alarm=False) for _ in range(2))
        early.feed(X[:200], y[:200])
        late.feed(X[:200], y[:200])
        asked = late.certificate()
        late.feed(X[200:], y[200:])
        assert asked.rates == early.certificate().rates


def test_mistakes_by_kind_add_up_over_parts():
    X, y = dyadic(6, 300, 4, 3, noise=0.1)
    runs = [Pass(learner, classes=[0, 1, 2], conversion="cutoff") for learner in ("adaptive", "adaptive")]
    for run, part in zip(runs, (slice(0, 150), slice(150, 300)), strict=True):
        run.feed(X[part], y[part])
    together = merge([run.trace() for run in runs])
    np.testing.assert_array_equal(together.tally.kinds, sum(run.trace().tally.kinds for run in runs))
    assert together.tally.kinds.sum() == sum(run.mistakes for run in runs)
    rates = certify(together, "average").rates.rates
    assert [round(300 * rate.observed) for rate in rates] == together.tally.kinds.sum(axis=0).tolist()


def test_costs_that_members_cannot_have_are_refused():
    dear = {("a", "b"): 1.0, ("b", "a"): 2.0, ("a", "a"): 0.5}
    with pytest.raises(ConversionError, match="only mistakes are counted"):
        Pass(conversion="average", cost=dear)
    with pytest.raises(ConversionError, match="choose the conversion frozen"):
        Pass(conversion="last", cost={("a", "b"): 1.0, ("b", "a"): 2.0})
    run = Pass("perceptron", cost=dear, conversion="frozen")
    run.feed(np.eye(2), ["a", "b"])
    assert run.certificate("average").loss == "zero_one"
    with pytest.raises(ValueError, match="loss: one of"):
        run.certificate("average", loss="cost")


def test_first_hypothesis_counts_one_round_more():
    """B_0 = 1 in eq. (3), also where the first round ends the first hypothesis."""
    for y in ([1, 1, -1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, -1, 1]):
        for intercept in (True, False):
            run = Pass(classes=[-1, 1], fit_intercept=intercept, cutoffs="all", order_alarm=False)
            run.feed(np.ones((8, 1)), y)
            trace = run.trace()
            x, ends = rounds_of(trace, "zero_one")
            (block,) = CONVERSIONS["cutoff"].choices(trace, "zero_one")
            for k, rounds, losses in zip(block.value, block.rounds, block.losses, strict=True):
                B = oracles.counted(ends, k)
                assert (rounds, losses) == (B.sum(), x[B].sum())


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.floats(1e-6, 0.5))
@settings(deadline=None, max_examples=60)
def test_betting_never_goes_below_the_average_loss(losses, delta):
    S = np.log1p(-np.outer(losses, BETS)).sum(axis=0)
    bound = betting(len(losses), S, delta)
    assert bound == pytest.approx(oracles.betting(losses, delta), rel=1e-6)
    assert bound >= np.mean(losses) - 1e-12


def test_betting_is_monotone_and_ends_at_the_loss_bound():
    S = 5 * np.log1p(-BETS)
    assert betting(0, np.zeros(64), 0.05) == 1.0
    assert betting(3, 3 * np.log1p(-BETS), 0.05) == 1.0
    assert betting(100, S, 0.001) > betting(100, S, 0.1) > betting(1000, S, 0.1)


def test_dekel2008_is_the_formula():
    for n, total in ((1000, 30.0), (50, 0.0), (10, 10.0)):
        assert dekel2008(n, total, 12.0) == pytest.approx(oracles.dekel2008(n, total, 12.0, 1.0))
    assert dekel2008(0, 0.0, 12.0) == 1.0
    assert dekel2008_a(10, 1000, 0.05, True) == pytest.approx(math.log(1000**2 / 0.05))
    for t, m, j in ((1, 4, 1), (4, 4, 1), (5, 8, 2), (8, 8, 2), (1000, 1024, 9)):
        assert dekel2008_a(t, None, 0.05, True) == pytest.approx(math.log(m**2 * j * (j + 1) / 0.05))
        assert dekel2008_a(t, None, 0.05, False) == pytest.approx(math.log(m * j * (j + 1) / 0.05))


def test_a_horizon_that_was_passed_withholds_dekel2008_only():
    trace = trace_of("perceptron", horizon=100)
    certificate = certify(trace, bound="dekel2008")
    assert math.isnan(certificate.risk)
    assert "horizon" in str(certificate)
    assert certify(trace).withheld is None


def test_hinge_is_refused_where_it_has_no_bound():
    for learner, options in (("perceptron", {"radius": 1.0}), ("margin", {}), ("pa", {"radius": 1.0})):
        trace = trace_of(learner, **options)
        assert certify(trace).loss == "zero_one"
        with pytest.raises(ConversionError, match="radius"):
            certify(trace, loss="hinge")
    with pytest.raises(ConversionError, match="radius"):
        Pass("perceptron", loss="hinge")


def test_a_certificate_says_what_it_covers():
    trace = trace_of("perceptron")
    members = certify(trace, "cutoff")
    assert (members.covers, members.loss) == ("members", "zero_one")
    assert "twice" in str(members)
    assert certify(trace, "longest").covers == "model"
    trace = trace_of("margin", radius=2.0, rows=1500)
    model = certify(trace, "cutoff")
    assert (model.covers, model.loss) == ("model", "hinge")
    assert "95 %" in str(model)
    assert "Assumed" in str(model)
    assert round_up(100 * model.risk, 2) in str(model)
    assert json.loads(json.dumps(model.as_dict()))["choice"]["value"] == model.choice.value
    assert certify(trace, "average").choice.value is None


def test_round_up_never_shows_less():
    for risk in (0.05, 0.05001, 0.123456, 1.0, 10.99999):
        assert float(round_up(risk)) >= risk - 1e-12


def test_held_out_rows_judge_frozen_hypotheses():
    X, y = dyadic(2, 600, 5, noise=0.1)
    run = Pass("perceptron", conversion="cutoff", classes=[-1, 1], validation_fraction=0.3, order_alarm=False, seed=7)
    run.feed(X, y)
    trace, out = run.trace(), kept_out(run)
    Z = np.column_stack([np.ones(600), X])
    W = oracles.hypotheses(Z[~out], y[~out], oracles.perceptron, (6,))
    learned = np.cumsum(~out)
    for t, weights in trace.hypotheses.frozen.items():
        number = t.bit_length() - 1
        np.testing.assert_array_equal(weights[:, 0], W[t])
        later = out & (learned >= t)
        assert trace.candidates.tally.rounds[number] == later.sum()
        assert trace.candidates.tally.mistakes[number] == (y[later] * (Z[later] @ W[t]) <= 0).sum()
    certificate = certify(trace, "validation")
    t = certificate.choice.value
    later = out & (learned >= t)
    x = (y[later] * (Z[later] @ run.model("validation").weights[:, 0]) <= 0).astype(float)
    assert certificate.risk == pytest.approx(oracles.betting(x, DELTA / 64), rel=1e-6)
    assert certificate.covers == "model"


def test_validation_rows_are_not_learned_from():
    X, y = dyadic(2, 600, 5, noise=0.1)
    run = Pass(classes=[-1, 1], validation_fraction=0.3, order_alarm=False, seed=7)
    run.feed(X, y)
    assert run.rows == 600
    assert 100 < 600 - run.rounds < 260
    with_other_labels = np.where(kept_out(run), -y, y)
    other = Pass(classes=[-1, 1], validation_fraction=0.3, order_alarm=False, seed=7)
    other.feed(X, with_other_labels)
    np.testing.assert_array_equal(run.trace().last, other.trace().last)
    assert certify(run.trace(), "validation").risk < certify(other.trace(), "validation").risk
    with pytest.raises(ConversionError, match="betting"):
        run.certificate("validation", bound="dekel2008")


def kept_out(run):
    from onepass.heldout import held_out

    return held_out(run.seed, 0, run.rows, run.validation_fraction)


@pytest.mark.parametrize("conversion", ["frozen", "validation"])
def test_undeclared_candidates_are_refused_with_the_remedy(conversion):
    trace = trace_of("perceptron", conversion="cutoff")
    with pytest.raises(ConversionError, match="before the first row"):
        certify(trace, conversion)


def test_bad_arguments_are_named():
    trace = trace_of("perceptron")
    for options, name in (
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"bound": "hoeffding"}, "bound"),
        ({"loss": "squared"}, "loss"),
    ):
        with pytest.raises(ValueError, match=f"{name}: "):
            certify(trace, **options)
    with pytest.raises(ValueError, match="conversion: "):
        certify(trace, "median")


def test_no_rounds_no_certificate():
    certificate = Pass().certificate()
    assert isinstance(certificate, Certificate)
    assert "no row" in str(certificate)
    one = Pass()
    one.feed([[1.0]], [1])
    assert not one.certificate().informative
    assert "Not yet informative" in str(one.certificate())
    assert certificates.certify(one.trace(), "last").counted == 0


def test_a_withheld_certificate_equals_itself():  # its risk is NaN; dataclasses differ between Pythons
    one, other = (Pass("perceptron", conversion="cutoff").certificate() for _ in range(2))
    assert math.isnan(one.risk)
    assert (
        one == other,
        hash(one) == hash(other),
        one == certify(Pass("perceptron", conversion="cutoff").trace(), "average"),
    ) == (True, True, False)


def test_no_certificate_is_said_to_be_sure_and_huge_numbers_are_rounded_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    run = Pass("perceptron", classes=[0, 1], cost={(0, 1): 1e308, (1, 0): 1e-308})
    run.feed(X, (X[:, 0] > 0).astype(int))
    for delta, said in ((1e-9, "1 - 1e-09"), (1e-300, "1 - 1e-300"), (0.05, "95 %")):
        certificate = run.certificate(delta=delta)
        assert f"robability {said}" in str(certificate)
        assert f"robability {said}" in str(certificate.rates)
        assert "100 %" not in f"{certificate} {certificate.rates}"
    risk = run.certificate().risk
    shown = float(str(run.certificate()).split("at most ")[1].split(". ")[0])
    assert risk <= shown <= risk * 1.00001


def test_what_is_not_yet_informative_is_said_in_plain_words():
    run = Pass("perceptron", classes=[0, 1])
    run.feed(np.eye(2), [0, 1])
    first = str(run.certificate()).split(" (")[0]
    assert first.startswith("Not yet informative: these rows do not show, with probability 95 %, that any share of new")
    assert "0-1" not in first


# --- beside always saying the most frequent label ---------------------------------------------------------------------


def coin_tosses(seed, rows=3000, share=0.3):
    """A pass over rows of which a share is "yes", and nothing tells which."""
    rng = np.random.default_rng(seed)
    run = Pass(expected_rows=rows, on_drift="ignore")
    run.feed(rng.normal(size=(rows, 2)), np.where(rng.random(rows) < share, "yes", "no"))
    return run


def test_what_always_saying_a_label_costs_at_least_is_a_bound_by_betting():
    run = coin_tosses(0)
    certificate = run.certificate()
    known = certificate.baseline
    assert known.label == "no"
    counts = run.trace().watched.counts
    seen = counts.rows[counts.slot_of(certificate.choice.value)]
    assert known.error == 1 - seen.max() / seen.sum()
    price = certificates.candidate_price(certificate.choice.value, 3000)
    surely = betting(int(seen.sum()), seen.max() * np.log1p(-BETS), DELTA * price / 2)  # of saying "no" being right
    assert known.least == pytest.approx(1 - surely)
    assert known.least < known.error


def test_a_model_is_shown_to_beat_a_guess_only_where_bounds_say_so():
    runs = [coin_tosses(seed).certificate() for seed in range(40)]
    assert not any(one.beats_baseline for one in runs)
    assert all("not shown to do better than that" in str(one) for one in runs if one.informative)
    near = runs[0]
    between = Certificate(**{**vars(near), "risk": (near.baseline.least + near.baseline.error) / 2})
    assert between.beats_baseline is False
    assert f"as little as {100 * near.baseline.least:.0f}"[:12] in str(between)
    below = Certificate(**{**vars(near), "risk": near.baseline.least - 0.01})
    assert below.beats_baseline is True
    assert "not shown" not in str(below)


def test_the_root_of_betting_is_never_passed():
    """Newton's steps against the definition in exact fractions of a bet, where δ is near 1 as where it is tiny."""
    from decimal import Decimal, getcontext

    from onepass.certificates.betting import BETS, betting

    getcontext().prec = 60
    bets = [Decimal(float(c)) for c in BETS]
    rng = np.random.default_rng(0)
    for _ in range(40):
        rounds = int(10 ** rng.uniform(0, 9))
        lost = int(rng.binomial(min(rounds, 10**6), 10 ** rng.uniform(-5, 0)))
        delta = float(rng.choice([10 ** rng.uniform(-30, -0.1), 1.0 - 10 ** rng.uniform(-12, -1)]))
        sums = lost * np.log1p(-BETS)
        mu = Decimal(betting(rounds, sums, delta))
        wealth = sum(
            (Decimal(float(s)) - rounds * (1 - c * mu).ln()).exp() for s, c in zip(sums, bets, strict=True)
        ) / len(bets)
        assert mu == 1 or wealth >= (1 - Decimal("1e-11")) / Decimal(delta)
