"""A model in use: e-processes by their definition, their level, what they find, and the state between two runs."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from onepass import DataError, LinearModel, ModelError, Monitor, Pass, train
from onepass.certificates.score_bins import border_levels
from onepass.monitoring.files import read
from onepass.monitoring.monitor import INNER, mean_bound, ranks_of
from onepass.scale import cut, learn
from oracles_drift import against, counted, jumping, p_values
from strategies import csr


def drawn(seed, rows, noise=0.1, shift=0.0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    X[:, 0] += shift
    if classes > 2:
        y = np.argmax(X[:, :3], axis=1)
        return X, np.where(rng.random(rows) < noise, rng.integers(0, 3, size=rows), y)
    y = X[:, 0] > 0.3
    return X, np.where(y ^ (rng.random(rows) < noise), "yes", "no")


@pytest.fixture(scope="module")
def model():
    run = Pass("perceptron", expected_rows=6000)
    run.feed(*drawn(0, 6000))
    return run.model()


@pytest.fixture(scope="module")
def several():
    run = Pass("perceptron", classes=[0, 1, 2], expected_rows=6000)
    run.feed(*drawn(0, 6000, classes=3))
    return run.model()


def watched(model, *batches, **options):
    monitor = Monitor(model, **options)
    for X, y in batches:
        monitor.observe(X, y)
    return monitor


def test_every_claim_is_tested_as_defined(model):
    X, y = drawn(1, 300, noise=0.2)
    found = watched(model, (X, y)).result()
    predicted = model.predict(X)
    claims = [found.risk, *found.rates]
    assert {(one.claim.name, one.claim.label) for one in claims} == {
        ("risk", None),
        ("miss", "yes"),
        ("false alarm", "yes"),
        ("precision", "yes"),
        ("precision", "no"),
        ("F1", "yes"),
    }
    for one in claims:
        claim = one.claim
        xs = [counted(claim.name, claim.label, a, b) for a, b in zip(y, predicted, strict=True)]
        rows = [t for t, x in enumerate(xs, 1) if x is not None]
        xs = [x for x in xs if x is not None]
        limit = claim.bound if claim.at_most else 1 - claim.bound
        if claim.name == "F1":
            limit = 1 - claim.bound / (2 - claim.bound)
        path = np.array(against(limit, xs))
        assert math.isclose(one.evidence, max(1.0, path.max()), rel_tol=1e-9)
        rang = np.flatnonzero(path >= one.alarm_at)
        assert one.alarm == (rows[rang[0]] if rang.size else 0)
        assert one.counted == len(xs)
    assert math.isclose(found.risk.observed, np.mean(predicted != y))
    f1 = next(one for one in claims if one.claim.name == "F1")
    hits = np.sum((predicted == "yes") & (y == "yes"))
    assert math.isclose(f1.observed, 2 * hits / (np.sum(predicted == "yes") + np.sum(y == "yes")))


def test_scores_are_ranked_among_those_of_training(model):
    X, _ = drawn(2, 200, shift=0.5)
    monitor = watched(model, (X, None), seed=7)
    seen = model.scores
    borders = seen.borders[INNER]
    bag = [sum(border <= place for border in borders) for place in _places(seen)]
    path = np.array(jumping([p_values(model.decision(X), borders, 7, 1, bag)]))
    path = 2 * path - 1  # there half of the capital is never put in
    assert math.isclose(monitor.result().scores.evidence, max(1.0, path.max()), rel_tol=1e-9)


def _places(seen):
    """A score in the bin of every one that was counted."""
    ends = [seen.borders[0] - 1, *seen.borders]
    return [end for end, count in zip(ends, seen.counts.tolist(), strict=True) for _ in range(count)]


def test_the_bag_is_the_histogram(model):
    (ranks,), counts = ranks_of(model.scores.counts), model.scores.counts
    assert ranks[0] == counts.sum() > 1000
    assert len(INNER) == 15
    assert ranks[1:].tolist() == [*(counts[border + 1 :].sum() for border in INNER), 0]
    shares = np.diff([0, *border_levels()[INNER], 1])
    assert shares.max() < 2.0 / 16


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
def test_false_alarms_are_as_rare_as_promised(model, noise):
    """Where the risk is just what was claimed, and scores are as in training: at most 1 % of streams ring."""
    rng = np.random.default_rng(int(1000 * noise))
    rang = 0
    for seed in range(200):
        X, _ = drawn(10_000 + seed, 400)
        predicted = model.predict(X)
        wrong = rng.random(400) < noise
        y = np.where(wrong, np.where(predicted == "yes", "no", "yes"), predicted)
        monitor = Monitor(LinearModel(model.weights, model.classes, scores=model.scores), risk=noise, seed=seed)
        rang += bool(monitor.observe(X, y))
    assert rang <= 7  # of 200 at 1 %: eight or more come with a probability of 0.1 %


def test_the_averages_lie_between_their_bounds():
    """Also where the risk changes on the way, and at every look: in at most 10 % of the runs one does not."""
    rng = np.random.default_rng(4)
    failed = 0
    for _ in range(200):
        rates = np.where(np.arange(300) < 150, 0.1, 0.4)
        wrong = np.cumsum(rng.random(300) < rates)
        truth = np.cumsum(rates) / np.arange(1, 301)
        looks = range(9, 300, 10)
        outside = [
            not 1 - mean_bound(t + 1, t + 1 - wrong[t], 0.05) <= truth[t] <= mean_bound(t + 1, wrong[t], 0.05)
            for t in looks
        ]
        failed += any(outside)
    assert failed <= 30


def test_a_change_is_found_soon_however_long_the_calm(model):
    rows = {}
    for calm in (500, 50_000):
        monitor = watched(model, drawn(5, calm), drawn(6, 2000, noise=0.25))
        rows[calm] = monitor.result().risk.alarm - calm
    assert 0 < rows[500] < 600
    assert 0 < rows[50_000] < 600


def test_rates_of_several_classes(several):
    X, y = drawn(3, 3000, classes=3)
    monitor = watched(several, (X, y))
    assert monitor.alarms == ()
    y = np.where(y == 2, 1, y)
    alarms = monitor.observe(*(X, y))
    assert "the miss rate of 1" in alarms
    assert "the miss rate of 0" not in alarms
    found = monitor.result()
    assert [one.claim.label for one in found.rates] == [0, 1, 2]
    assert found.rates[2].counted == np.sum(drawn(3, 3000, classes=3)[1] == 2)


def test_inputs_that_change_are_found_without_labels(model):
    monitor = watched(model, (drawn(1, 3000)[0], None))
    assert monitor.alarms == ()
    assert monitor.observe(drawn(2, 1000, shift=0.7)[0]) == ("the scores",)
    found = monitor.result()
    assert found.labelled == 0
    assert found.risk.observed is None
    assert 3000 < found.scores.alarm < 3400
    assert "no longer such as training saw" in str(found)


def test_any_cutting_resuming_and_one_row_at_a_time_give_the_same_bits(model, tmp_path):
    X, y = drawn(8, 700, noise=0.2, shift=0.2)
    y = np.where(np.random.default_rng(0).random(700) < 0.3, "", y)
    whole, one, resumed = Monitor(model), Monitor(model), Monitor(model)
    whole.observe(csr(X), y)
    for i in range(len(y)):
        one.observe(X[i : i + 1], y[i : i + 1])
    model.save(tmp_path / "model")
    for part in np.array_split(np.arange(len(y)), 23):
        resumed.observe(X[part], y[part])
        resumed.save(tmp_path / "state")
        resumed = Monitor.load(tmp_path / "state", LinearModel.load(tmp_path / "model"))
    for other in (one, resumed):
        assert other.result() == whole.result()
        np.testing.assert_array_equal(other.path, whole.path)
    for name in ("a", "b"):
        whole.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_model_without_a_certificate_of_its_own_has_its_average_told(model):
    plain = LinearModel(model.weights, model.classes)
    found = watched(plain, drawn(1, 500)).result()
    assert found.risk.claim.bound is None
    assert found.scores is None
    assert found.alarms == ()
    assert found.risk.lower < found.risk.observed < found.risk.upper
    assert watched(plain, drawn(1, 500, noise=0.4), risk=0.2).alarms == ("the risk",)


def test_members_are_not_the_model():
    run = Pass("perceptron", conversion="average")
    run.feed(*drawn(0, 3000))
    assert Monitor(run.model()).result().risk.claim.bound is None


def test_a_target_is_what_is_watched():
    run = Pass("perceptron", max_false_alarm=0.2, positive="yes")
    run.feed(*drawn(0, 8000))
    model = run.model()
    assert model.cut != 0.0
    found = Monitor(model).result()
    kept = next(one for one in found.rates if one.claim.name == "false alarm")
    assert (kept.claim.bound, kept.claim.label) == (0.2, "yes")


def test_costs_are_watched_as_costs():
    run = Pass("perceptron", cost={("no", "yes"): 1.0, ("yes", "no"): 5.0})
    run.feed(*drawn(0, 8000))
    model = run.model()
    X, y = drawn(1, 1000)
    found = watched(model, (X, y)).result()
    predicted = model.predict(X)
    cost = 5.0 * np.mean((y == "yes") & (predicted == "no")) + np.mean((y == "no") & (predicted == "yes"))
    assert found.risk.claim.name == "mean cost"
    assert math.isclose(found.risk.observed, cost)
    assert found.risk.lower < cost < found.risk.upper


def test_costs_of_several_classes_are_watched_as_costs():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 3))
    y = (X + rng.normal(size=X.shape)).argmax(axis=1)
    cost = {(a, b): 1.0 + 3.0 * (a == 2) + b for a in range(3) for b in range(3) if a != b}
    run = Pass("perceptron", cost=cost)
    run.feed(X, y)
    model = run.model()
    found = watched(model, (X[:1000], y[:1000])).result()
    spent = np.mean([cost.get(pair, 0.0) for pair in zip(y[:1000], model.predict(X[:1000]), strict=True)])
    assert found.risk.claim.name == "mean cost"
    assert math.isclose(found.risk.observed, spent)
    assert [one.claim.name for one in found.rates] == ["miss"] * 3


def test_a_merged_model_can_be_watched():
    X, y = drawn(0, 8000)
    merged = learn(cut([(X[at : at + 1000], y[at : at + 1000]) for at in range(0, 8000, 1000)]), learner="perceptron")
    monitor = watched(merged.model(), drawn(1, 2000))
    assert monitor.alarms == ()
    assert monitor.result().scores.seen > 500


def test_a_model_file_keeps_the_histogram(model, tmp_path):
    model.save(tmp_path / "m")
    again = LinearModel.load(tmp_path / "m")
    np.testing.assert_array_equal(again.scores.counts, model.scores.counts)
    np.testing.assert_array_equal(again.scores.borders, model.scores.borders)
    assert again.scores.price == model.scores.price


@pytest.fixture(scope="module")
def table():
    """Of a table, with labels: 80,000 rows are more than one batch."""
    rng = np.random.default_rng(0)
    job, age = rng.choice(["cook", "poet"], 80_000), rng.normal(size=80_000)
    return pd.DataFrame({"age": age, "job": job, "rich": np.where((age > 0) ^ (job == "poet"), "yes", "no")})


@pytest.fixture(scope="module")
def of_table(table):
    return train(table[:3000], target="rich").model


def test_whatever_the_model_takes_as_a_table_is_watched_in_one_reading(table, of_table):
    arrow, wanted = pa.Table.from_pandas(table, preserve_index=False), Monitor(of_table)
    wanted.observe(of_table.rows_of(table), table["rich"])
    assert wanted.result().labelled == 80_000
    readers = arrow.to_reader(), arrow.to_reader(max_chunksize=7777)
    for source in (table, pl.from_pandas(table), arrow, arrow.combine_chunks().to_batches()[0], *readers):
        monitor = Monitor(of_table)
        monitor.observe(source)
        assert monitor.result() == wanted.result()
        np.testing.assert_array_equal(monitor.path, wanted.path)
    one = Monitor(of_table)
    for row in range(20):
        one.observe(arrow.slice(row, 1))
    assert one.result() == watched(of_table, (table[:20], None)).result()


def test_a_table_without_labels_or_without_rows(table, of_table):
    monitor = Monitor(of_table)
    monitor.observe(table[:0])
    monitor.observe(table[:0], [])
    assert monitor.rows == 0
    monitor.observe(table[:500].drop(columns="rich"))
    assert (monitor.rows, monitor.result().labelled) == (500, 0)


@pytest.mark.parametrize(
    ("change", "y", "words"),
    [
        ({"rich": "perhaps"}, None, "^row 70000: label 'perhaps' is not one of the model's classes no, yes"),
        ({"age": np.inf}, None, "^row 70000: column 'age' holds inf"),
        ({}, ["perhaps"] * 80_000, "^y: row 0: label 'perhaps' is not one"),
        ({}, ["yes"], "^y: 1 labels for 80,000 rows"),
        ({}, [["yes"]], "^y: one label a row"),
    ],
)
def test_bad_tables_change_nothing(table, of_table, change, y, words):
    table = table.copy()
    for name, value in change.items():
        table.loc[70_000, name] = value
    monitor = Monitor(of_table)
    with pytest.raises(DataError, match=words):
        monitor.observe(table, y)
    with pytest.raises(DataError, match="column job is not there"):
        monitor.observe(table[["age", "rich"]], y)
    assert monitor.rows == 0


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.zeros((2, 4)), ["yes", "perhaps"], "label 'perhaps' is not one of the model's classes"),
        (np.zeros((2, 3)), ["yes", "no"], "3 features, but the model was trained on 4"),
        (np.zeros((2, 4)), ["yes"], "1 labels for 2 rows"),
        (np.full((2, 4), np.nan), ["yes", "no"], "finite"),
        (np.zeros((1, 4)), [["yes"]], "one label a row"),
    ],
)
def test_bad_rows_change_nothing(model, X, y, words):
    monitor = watched(model, drawn(1, 50))
    before = monitor.result()
    with pytest.raises(DataError, match=words):
        monitor.observe(X, y)
    assert monitor.result() == before


def test_weights_that_are_no_numbers_are_refused(model):
    with pytest.raises(ModelError, match="no finite numbers"):
        Monitor(LinearModel(model.weights * np.nan, model.classes))


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"delta": 1.0}, {"risk": 0.0}, {"risk": 1.5}])
def test_wrong_arguments(model, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Monitor(model, **options)


def test_a_state_that_is_torn_is_refused(model, tmp_path):
    state = tmp_path / "state"
    watched(model, drawn(1, 300)).save(state)
    data = state.read_bytes()
    for length in range(0, len(data), 97):
        state.write_bytes(data[:length])
        with pytest.raises(ModelError):
            Monitor.load(state, model)
    flipped = bytearray(data)
    for at in range(8, len(data), 211):
        flipped[at] ^= 4
        state.write_bytes(flipped)
        with pytest.raises(ModelError):
            Monitor.load(state, model)
        flipped[at] ^= 4
    state.write_bytes(data)
    assert Monitor.load(state, model).rows == 300


def test_a_state_of_another_model_is_refused(model, several, tmp_path):
    watched(model, drawn(1, 300)).save(tmp_path / "state")
    other = LinearModel(model.weights * 2.0, model.classes, about=model.about, scores=model.scores)
    for stranger in (several, other):
        with pytest.raises(ModelError, match="another model"):
            Monitor.load(tmp_path / "state", stranger)


@pytest.mark.parametrize("name", ["capital.held", "capital.counted", "ranks", "rows", "score", "borders"])
def test_a_forged_state_is_refused(model, tmp_path, name):
    """With the right hash: every array is looked at."""
    monitor = watched(model, drawn(1, 300))
    _, arrays = _written(monitor, tmp_path / "state", model)
    arrays = {key: array.copy() for key, array in arrays.items()}
    arrays[name] = arrays[name] - 10**6 if name != "borders" else arrays[name][::-1].copy()
    with pytest.raises(ModelError):
        Monitor(model).restore(arrays)
    del arrays[name]
    with pytest.raises(ModelError):
        Monitor(model).restore(arrays)


SURE = LinearModel(np.array([[0.0], [1.0]]), ("no", "yes"))  # of a row (1,) it says yes


def wrong(rows):
    """Rows of which SURE is wrong, every time."""
    return np.ones((rows, 1)), ["no"] * rows


def again(monitor, path):
    """The same monitor, after a night in a file."""
    monitor.save(path)
    return Monitor.load(path, monitor.model)


def test_evidence_of_any_strength_can_be_saved_and_loaded(tmp_path):
    """The last bet before there is enough overshoots it by up to 20 times: by how much changes with the risk."""
    met = []
    for risk in (*np.linspace(1e-6, 7e-4, 12), 0.05, 0.3):
        resumed, whole = watched(SURE, wrong(217), risk=risk), watched(SURE, wrong(3000), risk=risk)
        for rows in (1,) * 20 + (2763,):
            resumed.observe(*wrong(rows))
            resumed = again(resumed, tmp_path / "state")
        assert resumed.result() == whole.result()
        assert resumed.alarms == ("the risk",)
        met.append(whole.result().risk.evidence)
    assert max(met) > 1.7e291


def test_the_largest_evidence_that_there_can_be_is_loaded(tmp_path):
    """Just below what is enough, against a risk of almost 0, and the model is wrong once more."""
    monitor = Monitor(SURE, risk=1e-300)
    _, arrays = _written(monitor, tmp_path / "state", SURE)
    arrays = {name: array.copy() for name, array in arrays.items()}
    arrays["capital.held"][0, -1] = np.nextafter(1e290, 0.0)
    monitor.restore(arrays)
    monitor.observe(*wrong(1))
    found = monitor.result()
    assert 1.999e291 < found.risk.evidence < 2.001e291
    monitor = again(monitor, tmp_path / "state")
    monitor.observe(*wrong(10))
    assert again(monitor, tmp_path / "state").result().risk.evidence == found.risk.evidence
    arrays["capital.peak"][0] = 1e292  # more than there can be
    with pytest.raises(ModelError):
        Monitor(SURE).restore(arrays)


@pytest.mark.parametrize("classes", [2, 3])
def test_all_claims_and_the_scores_at_their_strongest_are_loaded(model, several, classes, tmp_path):
    monitor = Monitor({2: model, 3: several}[classes])
    X, _ = drawn(5, 6000, shift=20.0, classes=classes)
    codes = monitor.model.chosen(X) + 1
    monitor.observe(X, np.array(monitor.model.classes)[codes % classes])  # the class after the one that it says
    found = monitor.result()
    assert min(found.risk.evidence, found.scores.evidence) >= 1e290
    assert max(rate.evidence for rate in found.rates) >= 1e290
    assert again(monitor, tmp_path / "state").result() == found


def test_a_risk_that_is_a_whole_number_can_be_loaded(tmp_path):
    run = Pass("perceptron", cost={("no", "yes"): 1.0, ("yes", "no"): 5.0})
    run.feed(*drawn(0, 1000))
    assert again(Monitor(run.model(), risk=2), tmp_path / "state").risk == 2.0


def _written(monitor, path, model):
    monitor.save(path)
    return read(path, model)


def test_what_it_says_fits_into_json(model):
    found = watched(model, drawn(1, 300, noise=0.5)).result()
    plain = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert plain["alarm"] is True
    assert plain["risk"]["certified"] == model.about["certificate"]["risk"]
    assert plain["rows"] == plain["labelled"] == 300
