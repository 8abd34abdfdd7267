"""Races: entries as if alone, the same bits however the stream is cut, who is dropped and why, and what it costs."""

import copy
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pyarrow
import pytest
import scipy.sparse

import oracles_race as oracle
from onepass import OnePassClassifier, train
from onepass.checkpoints import checkpoint
from onepass.errors import CheckpointError, ConversionError, DataError, LimitError, ResumeError
from onepass.history import History
from onepass.io.columns import TableOptions
from onepass.io.table_stream import TableStream
from onepass.models import LinearModel
from onepass.passes import Pass
from onepass.race import BETS, Entry, Race, begin, entries_named, first_features, log_wealth
from onepass.rows import Rows
from onepass.standings import CROWDED
from onepass.tables.reading import narrowed
from onepass.training import narrow
from test_cli import onepass

FIRST = 256


def drawn(rows=1500, seed=0, features=6):
    """Labels that a line tells apart up to noise, by the last features more than by the first; multiples of 1/8."""
    rng = np.random.default_rng(seed)
    X = np.round(8 * rng.normal(size=(rows, features))) / 8
    return X, np.where(0.5 * X[:, 0] + X[:, 5] + 0.5 * rng.normal(size=rows) > 0, "b", "a")


def raced(names=("adaptive", "perceptron"), first=FIRST, **options):
    return begin(names, {"classes": ["a", "b"], **options}, first=first)


def unequal(first=FIRST, **options):
    """One entry sees all features, the other only the first four, which tell little."""
    made = {"classes": ["a", "b"], "delta": 0.025, **options}
    entries = [Entry("narrow", Pass(**made), features=4), Entry("wide", Pass(**made))]
    return Race(entries, 0.05, first)


def fed(race, X, y, cuts=()):
    for a, b in zip([0, *cuts], [*cuts, len(y)], strict=True):
        race.feed(X[a:b], y[a:b])
    return race


def same(first, second):
    """Whether two races have come to the same, to the last bit."""
    assert first.as_dict() == second.as_dict()
    assert first.certificate() == second.certificate()
    np.testing.assert_array_equal(first.model().weights, second.model().weights)
    assert repr(first.state()["alone"]) == repr(second.state()["alone"])


# --- entries ----------------------------------------------------------------------------------------------------------


def test_every_entry_is_what_it_would_be_alone_with_its_share_of_delta():
    X, y = drawn()
    race = fed(raced(first=None), X, y)
    for entry in race.entries:
        alone = Pass(entry.name, classes=["a", "b"], delta=0.05 / 2)
        alone.feed(X, y)
        assert entry.run.certificate() == alone.certificate()
        np.testing.assert_array_equal(entry.run.model().weights, alone.model().weights)
    least = min(entry.run.certificate().risk for entry in race.entries)
    certificate = race.certificate()
    assert (certificate.risk, certificate.delta, certificate.entries) == (least, 0.05, 2)
    assert "With probability 95 %" in str(certificate)
    assert "the best of 2 entries, each at δ/2" in str(certificate)
    assert certificate.rates.delta == pytest.approx(0.05)
    assert race.model().about["race"]["deployed"] == race.leader.name


@pytest.mark.parametrize("cuts", [(1, 2, 255, 256, 257), (300, 701, 1047)])
def test_any_cutting_gives_the_same_bits(cuts):
    X, y = drawn()
    whole, parts = fed(unequal(), X, y), fed(unequal(), X, y, cuts)
    assert any(entry.dropped for entry in whole.entries)
    same(whole, parts)


def test_who_is_dropped_is_worse_beyond_doubt_by_definition():
    """The models compared are those frozen at the last power of two; their mistakes are counted here row by row."""
    X, y = drawn()
    race, sign = unequal(), np.where(y == "b", 1.0, -1.0)
    loser, rival = race.entries
    for at in range(0, len(y), 10):
        race.feed(X[at : at + 10], y[at : at + 10])
        if loser.dropped is not None:
            break
    start, end = 1 << loser.dropped.row.bit_length() - 1, loser.dropped.row
    start //= 1 if start < end else 2
    wrong = []
    for entry, features in ((loser, 4), (rival, 6)):
        weights = entry.run.watched.model(start)
        wrong.append(sign[start:end] * (X[start:end, :features] @ weights[1:, 0] + weights[0, 0]) <= 0)
    own, other = oracle.alone(*wrong)
    assert (loser.dropped.own, loser.dropped.other) == (own, other)
    assert np.exp(loser.dropped.wealth) == pytest.approx(oracle.wealth(own, other))
    assert np.exp(loser.dropped.needed) == pytest.approx(oracle.price(start, FIRST, 2))
    assert loser.dropped.wealth >= loser.dropped.needed
    assert loser.run.rows == end
    race.feed(X[race.rows :], y[race.rows :])
    assert loser.run.rows == end
    assert rival.run.rows == len(y)
    assert race.leader is rival


@pytest.mark.parametrize(("own", "other"), [(0, 0), (1, 0), (0, 1), (60, 20), (700, 650)])
def test_wealth_is_the_mixture_of_its_definition(own, other):
    assert sorted(BETS) == sorted(oracle.BETS)
    assert np.exp(log_wealth(own, other)) == pytest.approx(oracle.wealth(own, other))


def test_with_costs_or_a_threshold_nobody_is_dropped():
    X, y = drawn(1500)
    cost = {("a", "b"): 1.0, ("b", "a"): 5.0}
    for more in ({"cost": cost}, {"max_false_alarm": 0.2}):
        race = fed(raced(**more), X, y)
        assert not any(entry.dropped for entry in race.entries)
        risks = [entry.run.certificate() for entry in race.entries]
        if "cost" in more:
            assert race.certificate().risk == min(one.risk for one in risks)
        else:
            bounds = [one.threshold.other_bound if one.threshold.reached else 2.0 for one in risks]
            assert race.entries.index(race.leader) == bounds.index(min(bounds))


def test_it_stops_for_all_where_the_best_has_reached_the_aim():
    X, y = drawn()
    whole = fed(raced(stop_at=0.35), X, y)
    parts = fed(raced(stop_at=0.35), X[: whole.rows], y[: whole.rows], (50, 77))
    assert whole.stopped
    assert parts.stopped
    assert whole.rows < len(y)
    same(whole, parts)


def test_a_history_changes_nothing():
    X, y = drawn()
    watched = History(raced())
    watched.feed(X, y)
    same(watched.run, fed(raced(), X, y))
    assert watched.finish()[-1].risk == watched.run.certificate().risk


def test_rows_that_drift_for_one_are_certified_for_none():
    X, y = drawn(3000)
    turned = np.where(y == "a", "b", "a")
    race = fed(unequal(first=None), X, np.where(np.arange(3000) < 1500, y, turned))
    assert any(entry.run.guards.reasons() for entry in race.entries)
    assert race.certificate().withheld


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("plain", "alone is no race"),
        ("plain,bins,plain", "twice"),
        ("plain,bin", "Did you mean bins"),
        ("plain,adaptive", "not both"),
    ],
)
def test_what_is_no_race(given, message):
    with pytest.raises(ValueError, match=message):
        entries_named(given)


def test_a_race_refuses_what_does_not_go_with_it():
    for more in ({"conversion": "average"}, {"validation_fraction": 0.1}, {"on_drift": "restart"}):
        with pytest.raises(ConversionError, match="race"):
            raced(**more)


@pytest.mark.parametrize("delta", [0.0, 1.0, 2.0, math.nan])
def test_a_delta_that_only_its_share_could_be_is_refused(delta):
    X, y = np.eye(2), np.array([0, 1])
    with pytest.raises(ValueError, match="delta: a number between 0 and 1 expected"):
        begin(["adaptive", "perceptron"], {"delta": delta})
    race = begin(["adaptive", "perceptron"], {})
    race.feed(X, y)
    for ask in (race.certificate, race.leader.run.certificate):
        with pytest.raises(ValueError, match="delta: a number between 0 and 1 expected"):
            ask(delta=delta)


def test_bad_rows_leave_it_as_it_was():
    X, y = drawn(600)
    race, bad = fed(raced(), X, y), X[:20].copy()
    bad[7, 2] = np.nan
    before = copy.deepcopy(race)
    with pytest.raises(DataError, match="finite"):
        race.feed(bad, y[:20])
    same(before, race)
    same(fed(before, X, y), fed(race, X, y))


def test_where_nobody_is_dropped_what_one_has_no_room_for_is_learned_by_none():
    X, y = drawn(40)
    race = raced(first=None)
    race.entries[1].run.watched.memory = 0
    for _ in range(2):
        with pytest.raises(LimitError):
            race.feed(X, y)
        assert [entry.run.rows for entry in race.entries] == [0, 0]


def bad_value(X, y):
    X[1400, 2] = np.nan
    return X, y, "row 1400: feature 2: nan"


def bad_label(X, y):
    y = y.astype("<U8")
    y[:60], y[1400] = np.arange(60) % 48, "late"
    return X, y, "row 1400: label 'late' is number 51"


def more_labels_than_rows(X, y):
    return X[:1000], y, "1500 labels for 1000 rows"


def beyond_the_shape(X, y):
    found = scipy.sparse.csr_array(X)
    found.indices[found.indptr[1400]] = 9
    return found, y, "row 1400: feature index 9 is outside the 6 columns"


def third_label_of_two(X, y):
    y[1400] = "c"
    return X, y, "row 1400: a label after the first 2, and Perceptron"


@pytest.mark.parametrize("spoil", [bad_value, bad_label, more_labels_than_rows, beyond_the_shape, third_label_of_two])
def test_bad_rows_are_named_as_in_the_batch_and_nothing_of_it_is_learned(spoil, monkeypatch):
    X, y = drawn()
    given, labels, message = spoil(X.copy(), y.copy())
    race = begin(["adaptive", "perceptron"], {}, first=FIRST)
    if spoil is third_label_of_two:
        monkeypatch.setattr(type(race.entries[1].run.learner), "several", False)
    race.feed(*drawn(200, seed=1))
    before = copy.deepcopy(race)
    with pytest.raises(DataError, match=message):
        race.feed(given, labels)
    assert [entry.run.rows for entry in race.entries] == [200, 200]
    same(before, race)
    same(fed(before, *drawn()), fed(race, *drawn()))


def growing():
    """A third class joins at row 700, where the wide entry's models have no room, a fourth at 1200: none has any."""
    X, y = drawn()
    y[700::3], y[1200] = "c", "d"
    made = {"delta": 0.025, "max_watch_memory": 200}
    return Race([Entry("wide", Pass(**made)), Entry("narrow", Pass(**made), features=4)], 0.05), X, y


@pytest.mark.parametrize("cuts", [(), (700,), (699, 701), (1, 300, 650, 1000)])
def test_an_entry_without_room_is_dropped_at_a_row_that_no_cut_moves(cuts, tmp_path):
    race, X, y = growing()
    for a, b in zip([0, *cuts], [*cuts, 1200], strict=True):
        race.feed(X[a:b], y[a:b])
        checkpoint.save(tmp_path / "c", race)
        race = growing()[0]
        checkpoint.resume(tmp_path / "c", race)
    wide, narrow = race.entries
    assert (wide.dropped.row, wide.run.rows, narrow.run.rows) == (700, 700, 1200)
    assert race.leader is narrow
    assert "dropped at row 700: needs more memory than max_watch_memory" in "\n".join(race.lines())
    assert json.loads(json.dumps(race.as_dict()))["entries"][0]["dropped"]["reason"] == CROWDED
    assert race.certificate().delta == 2 * narrow.run.certificate().delta == 0.05
    alone = Pass(delta=0.025, max_watch_memory=200)
    alone.feed(X[:1200, :4], y[:1200])
    assert narrow.run.certificate() == alone.certificate()
    whole, X, y = growing()
    same(fed(whole, X[:1200], y[:1200]), race)
    with pytest.raises(LimitError, match="4 features × 4 classes"):  # the last one's error stands
        race.feed(X[1100:], y[1100:])
    same(whole, race)


def test_entries_that_have_room_for_other_numbers_of_models_are_compared_at_one_age():
    rng = np.random.default_rng(0)
    X = np.round(8 * rng.normal(size=(3500, 6))) / 8
    y = (X @ rng.normal(size=(6, 20)) + rng.normal(size=(3500, 20))).argmax(axis=1)
    made = {"classes": range(20), "delta": 0.025}
    race = Race([Entry("two", Pass(**made, max_watch_memory=2000)), Entry("four", Pass(**made))], 0.05, FIRST)
    fed(race, X, y)
    assert [entry.run.watched.slots for entry in race.entries] == [2, 4]
    assert not race.state()["alone"].any(), "the same learner is held against itself"
    assert not any(entry.dropped for entry in race.entries)
    assert [entry.run.watched.tested for entry in race.entries] == [3072, 2048]


# --- state ------------------------------------------------------------------------------------------------------------


def test_a_race_goes_on_from_its_checkpoint(tmp_path):
    X, y = drawn()
    whole = fed(unequal(), X, y)
    for at in (100, 1400):
        checkpoint.save(tmp_path / "c", fed(unequal(), X[:at], y[:at]))
        later = unequal()
        checkpoint.resume(tmp_path / "c", later)
        same(whole, fed(later, X[at:], y[at:]))
    with pytest.raises(ResumeError, match="race"):
        checkpoint.resume(tmp_path / "c", raced(("adaptive", "pa")))
    with pytest.raises(ResumeError):
        checkpoint.resume(tmp_path / "c", Pass(classes=["a", "b"]))


@pytest.mark.parametrize(
    ("field", "value"), [("alone", np.zeros((3, 3), np.int64)), ("dropped", [None]), ("rows", 7), ("stretch", -1)]
)
def test_a_state_that_cannot_be_is_refused(field, value):
    X, y = drawn(500)
    state = fed(raced(), X, y).state()
    raced().check_state(state)
    with pytest.raises(CheckpointError):
        raced().check_state(state | {field: value})


# --- faces ------------------------------------------------------------------------------------------------------------


def test_the_classifier_races_learners():
    X, y = drawn()
    found = OnePassClassifier(race=["adaptive", "perceptron"], shuffle=False).fit(X, y)
    race = fed(raced(first=1 << 14, n_features=6, expected_rows=len(y)), X, y)
    assert found.certificate_ == race.certificate()
    assert found.race_ == race.as_dict()
    assert found.predict(X).tolist() == race.model().predict(X).tolist()
    again = pickle.loads(pickle.dumps(found))
    assert again.predict(X).tolist() == found.predict(X).tolist()
    assert again.partial_fit(X[:50], y[:50]).race_["entries"][0]["rows"] == 1550
    with pytest.raises(ValueError, match="encodings of tables"):
        OnePassClassifier(race=["plain", "bins"]).fit(X, y)
    with pytest.raises(AttributeError):
        _ = OnePassClassifier().race_


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table in which a number bends, and two categories matter only together."""
    folder = tmp_path_factory.mktemp("race")
    rng = np.random.default_rng(0)
    x, a, b = rng.normal(size=3000), rng.integers(2, size=3000), rng.integers(2, size=3000)
    y = np.where((np.abs(x) < 0.7) ^ (a == b), "in", "out")
    lines = [f"{v:.4f},k{i},m{j},{label}" for v, i, j, label in zip(x, a, b, y, strict=True)]
    (folder / "t.csv").write_text("x,a,b,y\n" + "\n".join(lines) + "\n")
    (folder / "flat.csv").write_text("a,y\n" + "\n".join(f"k{i},{label}" for i, label in zip(a, y, strict=True)))
    return folder


def test_train_races_the_encodings_of_a_table(folder):
    done = onepass(folder, "train", "t.csv", "-o", "m", "--report", "m.html", "--json", "--force")
    said = json.loads(done.stdout)
    assert [entry["name"] for entry in said["race"]["entries"]] == ["plain", "bins", "crosses"]
    assert said["race"]["deployed"] == "crosses"
    assert said["certificate"]["entries"] == 3
    assert said["certificate"]["risk"] == min(entry["risk"] for entry in said["race"]["entries"])
    assert "3 pairs of 3 columns" in done.stderr
    assert "The race" in (folder / "m.html").read_text()
    assert "certificate: the same" in onepass(folder, "verify", "m", "t.csv").stdout
    assert "predicted wrong" in onepass(folder, "predict", "m", "t.csv").stderr
    result = train(folder / "t.csv")
    assert json.loads(json.dumps(result.race)) == said["race"]
    assert "race of 3" in str(result)
    saved = LinearModel.load(folder / "m")
    np.testing.assert_array_equal(saved.weights, result.model.weights)
    assert saved.about["race"] == said["race"]
    assert saved.table == result.table


def test_a_narrower_winner_has_its_own_plan(folder):
    result = train(folder / "t.csv", race="plain,bins")
    assert result.race["deployed"] == result.run.leader.name
    assert result.table.crosses == ()
    plain = train(folder / "t.csv", race="off", delta=0.025)
    own = next(entry for entry in result.run.entries if entry.name == "plain")
    np.testing.assert_array_equal(own.run.model().weights, plain.model.weights)
    assert plain.race is None


def test_races_that_are_asked_for(folder):
    said = json.loads(onepass(folder, "train", "t.csv", "--race", "adaptive,pa", "--bins", "--json", "-q").stdout)
    assert [entry["name"] for entry in said["race"]["entries"]] == ["adaptive", "pa"]
    assert "race" not in json.loads(onepass(folder, "train", "t.csv", "--race", "off", "--json", "-q").stdout)
    assert "race" not in json.loads(onepass(folder, "train", "t.csv", "--bins", "--json", "-q").stdout)
    for given, word, code in (
        ("plain", "no race", 2),
        ("plain,bin", "Did you mean bins", 2),
        ("plain,bins", "nothing to make bins of", 2),
        ("plain,crosses", "no two columns to cross", 3),
    ):
        file = "flat.csv" if given in ("plain,bins", "plain,crosses") else "t.csv"
        assert word in onepass(folder, "train", file, "--race", given, code=code).stderr


def test_a_race_goes_on_through_the_command_line(folder):
    """A bad line ends the run, which goes on without it: the same bits as if it had been left out at once."""
    lines = (folder / "t.csv").read_text().splitlines()
    (folder / "bad.csv").write_text("\n".join([*lines[:2500], "bad,k1,m1,in", *lines[2500:]]) + "\n")
    kept = ["--checkpoint", "race.checkpoint"]
    onepass(folder, "train", "t.csv", "bad.csv", "-o", "later", *kept, code=3)
    done = onepass(
        folder, "train", "t.csv", "bad.csv", "-o", "later", *kept, "--resume", "--on-error", "skip", "--json"
    )
    assert "going on from" in done.stderr
    assert [entry["rows"] for entry in json.loads(done.stdout)["race"]["entries"]] == [6000] * 3
    both = onepass(folder, "train", "t.csv", "bad.csv", "--on-error", "skip", "-o", "both", "--json")
    assert json.loads(both.stdout)["race"] == json.loads(done.stdout)["race"]
    np.testing.assert_array_equal(LinearModel.load(folder / "later").weights, LinearModel.load(folder / "both").weights)


@pytest.mark.parametrize("race", [(), ("--race", "plain,bins")])
def test_the_code_that_is_shown_races_too(folder, race):
    options = ["train", "t.csv", *race]
    shown = onepass(folder, *options, "--show-code").stdout
    ran = subprocess.run([sys.executable, "-c", shown], cwd=folder, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in onepass(folder, *options).stdout


@pytest.mark.parametrize(
    "options", [["--race", "off"], ["--learner", "pa"], ["--race", "plain,bins", "--learner", "pa"], ["--cross", "all"]]
)
def test_the_code_that_is_shown_for_a_table_writes_the_same_model(folder, options):
    shown = onepass(folder, "train", "t.csv", *options, "--show-code", "-o", "shown").stdout
    (folder / "shown").unlink(missing_ok=True)
    subprocess.run([sys.executable, "-c", shown], cwd=folder, capture_output=True, text=True, check=True)
    onepass(folder, "train", "t.csv", *options, "-o", "said", "--force")
    assert (folder / "shown").read_bytes() == (folder / "said").read_bytes()


def test_the_code_that_is_shown_for_workers_finds_the_columns(folder):
    options = ["train", "t.csv", "--workers", "1", "--chunk-bytes", "1MB"]
    shown = onepass(folder, *options, "--show-code").stdout
    (folder / "shown.py").write_text(shown)
    ran = subprocess.run([sys.executable, "shown.py"], cwd=folder, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in onepass(folder, *options).stdout


def test_prefixes_of_rows_are_rows_of_narrower_encodings():
    rows = Rows(np.array([0, 3, 3, 5]), np.array([0, 4, 9, 2, 5], np.int32), np.arange(5.0))
    for features in (0, 3, 5, 10):
        for found, wanted in zip(first_features(rows, features), narrowed(rows, features), strict=True):
            assert found.tolist() == wanted.tolist()


def test_features_that_no_entry_sees_any_more_are_not_made():
    rng = np.random.default_rng(0)
    columns = {f"n{j}": np.round(rng.normal(size=9000), 3) for j in range(5)}
    columns |= {f"c{j}": rng.choice([*"abcdefgh"], 9000) for j in range(4)}
    score = sum(columns[f"n{j}"] for j in range(5)) + sum(columns[f"c{j}"] < "d" for j in range(4))
    columns["y"] = np.where(score + rng.normal(size=9000) > 1.5, "yes", "no")
    races, sizes = [], []
    for narrowing in (False, True):
        stream = TableStream(pyarrow.table(columns).to_reader(500), TableOptions(kinds="found", wide=True))
        stream.look_ahead()
        races.append(begin(stream.table.encodings, {"uncounted_rows": 256}, stream.table, first=1024))
        for chunk in stream:
            races[-1].feed(chunk.rows, chunk.labels)
            if narrowing:
                narrow(races[-1], stream)
        sizes.append(len(chunk.rows.indices))
    same(*races)
    assert races[0].entries[2].dropped is not None, "nothing was to be narrowed"
    assert sizes[1] < sizes[0] / 2


# --- certificates -----------------------------------------------------------------------------------------------------

RUNS, DELTA, RISK = 200, 0.2, 0.3


def violated(rng, entries, given_back):
    """Whether the certificate of the best entry ever fails, of equal ones that are independent of each other.

    Those far behind the best are dropped on the way; `given_back`: the others then share the whole δ.
    """
    looks = np.unique(np.geomspace(30, 10**6, 100).astype(int))
    rows = np.diff(looks, prepend=0)[:, None]
    mistakes = np.cumsum(rng.binomial(rows, RISK, (len(looks), entries)), axis=0)
    far = 2.5 * np.sqrt(looks * RISK * (1 - RISK))[:, None]
    alive = ~np.maximum.accumulate(mistakes - mistakes.min(axis=1, keepdims=True) > far, axis=0)
    alive[:, 0] |= ~alive.any(axis=1)
    best = np.where(alive, mistakes, looks[:, None]).min(axis=1)
    level = DELTA / (alive.sum(axis=1) if given_back else entries)
    return bool((oracle.log_bets(best, looks, RISK) >= np.log(1 / level)).any())


def test_a_dropped_entry_takes_its_share_with_it():
    """With δ/c each, certificates fail in at most δ of the runs; were the share given to the survivor, in more."""
    counts = {}
    for given_back in (False, True):
        rng = np.random.default_rng(5)
        counts[given_back] = sum(violated(rng, 30, given_back) for _ in range(RUNS))
    assert counts[False] <= DELTA * RUNS
    assert counts[True] > DELTA * RUNS + 2.3 * np.sqrt(DELTA * (1 - DELTA) * RUNS)


def test_certificates_of_races_hold():
    """c = 3 learners on fresh draws; the risk of a linear model is known: the label is a side of a plane, or noise."""
    wrong = 0
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 4))
        y = np.where((X[:, 0] > 0) ^ (rng.random(200) < 0.15), "b", "a")
        race = raced(("adaptive", "pa", "perceptron"), first=128, delta=DELTA, fit_intercept=False)
        race.feed(X, y)
        w = race.model().weights[1:, 0]
        angle = np.arccos(np.clip(w[0] / np.linalg.norm(w), -1, 1)) / np.pi
        wrong += 0.15 + 0.7 * angle > race.certificate().risk
    assert wrong <= DELTA * RUNS


def test_a_race_is_a_value_that_can_be_told():
    race = raced()
    assert isinstance(race, Race)
    assert "adaptive" in repr(race)
