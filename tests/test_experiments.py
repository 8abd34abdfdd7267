"""The experiments of dekel2008, Section 4: the protocol against its definition, and what is made of its curves."""

import csv
import io
import json
import math

import numpy as np
import pytest

import oracles
from onepass.errors import DataError
from onepass.experiments import Corpus, Curves, Design, newswire, pairs, pauses, read, run, study
from onepass.io import dump_svmlight
from oracles_experiments import prefix
from strategies import csr
from test_cli import onepass

RNG = np.random.default_rng(5)
Y = RNG.choice(3, size=900)
X = np.where(RNG.random((900, 40)) < 0.1, RNG.integers(-4, 5, size=(900, 40)) / 8.0, 0.0)
X += 2.0 * np.eye(3, 40)[Y]  # far enough apart for late hypotheses to survive longer than early ones
LABELS = np.array(["a", "b", "c"])[Y]
CORPUS = Corpus("dyadic", csr(X), LABELS, ("a", "b", "c"))


def zero_one(margin):
    return float(margin <= 0)


def hinge(margin):
    return max(0.0, 1.0 - margin)


@pytest.mark.parametrize("learner", ["perceptron", "margin"])
@pytest.mark.parametrize("number", [0, 2])
def test_every_pause_is_what_training_on_that_prefix_alone_gives(learner, number):
    design = Design(per_decade=3, delta=0.9, seed=7)
    problem = pairs(CORPUS)[number]
    found = run(CORPUS, problem, learner, 4, design)
    order = np.random.default_rng([7, number, 4]).permutation(len(problem.places))
    m = 4 * len(order) // 5
    x, y = X[problem.places[order]], np.where(problem.codes[order] == 1, 1, -1)
    R = math.sqrt(max((X * X).sum(axis=1)))
    update, loss, C = {
        "perceptron": (oracles.perceptron, zero_one, 1.0),
        "margin": (oracles.margin_perceptron(R, m), hinge, 1.0 + R),
    }[learner]

    def tested(w):
        return np.mean([loss(margin) for margin in y[m:] * (x[m:] @ w)])

    sizes = pauses(m, 3)
    assert sizes[-1] == m
    for i, size in enumerate(sizes):
        last, average, chosen = prefix(x[:size], y[:size], update, loss, C, m, 0.9)
        assert found["last"][i] == pytest.approx(tested(last), abs=1e-9)
        assert found["average"][i] == pytest.approx(tested(average), abs=1e-9)
        for bound, end in (("betting", ""), ("dekel2008", "_dekel2008")):
            weights, risk, k, members = chosen[bound]
            assert found[f"k{end}"][i] == k
            assert found[f"certificate{end}"][i] == pytest.approx(risk, rel=1e-5)
            assert found[f"cutoff{end}"][i] == pytest.approx(tested(weights), abs=1e-9)
            covered = tested(weights) if learner == "margin" else np.mean([tested(w) for w in members])
            assert found[f"covered{end}"][i] == pytest.approx(covered, abs=1e-9)
    assert max(found["k"].max(), found["k_dekel2008"].max()) > 0  # or the cutoff was never put to the test


def test_the_best_cutoff_in_hindsight_is_no_worse_than_those_chosen():
    design = Design(per_decade=1)
    found = run(CORPUS, pairs(CORPUS)[0], "margin", 0, design)
    assert np.isnan(found["hindsight"][:-1]).all()
    assert found["hindsight"][-1] <= min(found["cutoff"][-1], found["average"][-1], found["cutoff_dekel2008"][-1])


def test_results_do_not_depend_on_the_threads_and_do_on_the_seed():
    wires, design = newswire(700, seed=3), Design(repeats=2, per_decade=2, seed=1)
    one = study(wires, design=design, threads=1)
    ticks = []
    three = study(wires, design=design, threads=3, tick=ticks.append)
    assert [result.table() for result in one] == [result.table() for result in three]
    assert ticks == sorted(ticks)
    assert ticks[-1] == 1.0
    assert len(ticks) == 10 * 2 * 2
    other = study(wires, ["perceptron"], Design(repeats=2, per_decade=2, seed=2))
    assert other[0].table() != one[0].table()
    assert [result.coverage() for result in one] == [{"betting": 1.0, "dekel2008": 1.0}] * 2


def test_the_table_holds_every_curve():
    [found] = study(newswire(400), ["margin"], Design(repeats=3, per_decade=2))
    lines = list(csv.DictReader(io.StringIO(found.table())))
    assert list(lines[0]) == ["problem", "learner", "loss", "rounds", "curve", "mean", "low", "high", "repeats"]
    curves = found.curves[3]
    told = {(int(line["rounds"]), line["curve"]): line for line in lines if line["problem"] == curves.problem}
    for i, rounds in enumerate(curves.rounds.tolist()):
        values = curves.values["average"][:, i]
        line = told[rounds, "average"]
        assert float(line["mean"]) == values.mean()
        assert values.min() <= float(line["low"]) <= float(line["mean"]) <= float(line["high"]) <= values.max()
    assert {line["problem"] for line in lines} == {
        f"{a} / {b}" for a, b in _pairs_of(("CCAT", "ECAT", "GCAT", "MCAT", "OTHER"))
    }


def _pairs_of(names):
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]


def curves_of(**values):
    rounds = np.array([100, 1000, 2000, 4000, 10_000])
    return Curves("a / b", "margin", rounds, {name: np.array(value, dtype=float) for name, value in values.items()})


def test_shares_of_the_gap():
    curves = curves_of(last=[[0, 0.2, 0, 0, 0.4]], average=[[0, 0.6, 0, 0, 0.3]], cutoff=[[0, 0.5, 0, 0, 0.2]])
    assert curves.share("cutoff", 1000) == pytest.approx(0.25)
    assert curves.share("average", 1000) == 0.0
    assert curves.share("last", 1000) == 1.0
    assert math.isnan(curves.share("cutoff", 10_000))  # the average is better than the last: no gap
    assert math.isnan(curves.share("cutoff", 500))  # no such pause


def test_a_steady_fall_does_not_count_as_jumping():
    x = np.log([100, 1000, 2000, 4000, 10_000])
    curves = curves_of(line=[1.0 - 0.1 * x], jumps=[1.0 - 0.1 * x + np.array([0, 0.1, -0.1, 0.1, -0.1])])
    assert curves.spread("line") == pytest.approx(0.0, abs=1e-12)
    assert 0.1 < curves.spread("jumps") < 0.25
    noise = np.random.default_rng(0).normal(size=(20_000, 5))
    assert curves_of(noise=noise).spread("noise") == pytest.approx(1.0, rel=0.05)


def test_one_pause_below_the_truth_is_a_failure():
    curves = curves_of(c=[[0.5] * 5, [0.5] * 5, [0.5] * 5], t=[[0.5] * 5, [0.4, 0.4, 0.51, 0.4, 0.4], [0.1] * 5])
    assert curves.holds("c", "t").tolist() == [True, False, True]
    assert curves_of(c=[[0.5] * 5], t=[[math.nan] * 5]).holds("c", "t") is None


def test_short_rows_are_scaled_up_and_long_ones_left():
    short = Corpus("short", csr(X / 1000.0), LABELS, ("a", "b"))
    assert short.scaled().longest == pytest.approx(10.0)
    assert "scaled" in short.scaled().remarks[-1]
    assert short.scaled().scaled().remarks == short.scaled().remarks
    long = Corpus("long", csr(X * 100.0), LABELS, ("a", "b"))
    assert long.scaled() is long


def test_files_become_pairs(tmp_path):
    y = np.random.default_rng(0).choice(7, size=900, p=[0.02, 0.3, 0.2, 0.2, 0.1, 0.08, 0.1])
    dump_svmlight(tmp_path / "seven.svm", X, y)
    seven = read(tmp_path / "seven.svm")
    assert seven.categories == tuple(str(c) for c in sorted(np.argsort(-np.bincount(y))[:5]))
    assert "5 most frequent of 7 labels" in seven.remarks[0]
    np.testing.assert_array_equal(seven.X.toarray(), X)
    (tmp_path / "named.csv").write_text(
        "f,label\n" + "".join(f"{i / 8},{'up' if i % 3 else 'down'}\n" for i in range(60))
    )
    named = read(tmp_path / "named.csv")
    assert named.categories == ("down", "up")
    assert [problem.name for problem in pairs(named)] == ["down / up"]
    dump_svmlight(tmp_path / "one.svm", X, np.ones(len(X)))
    with pytest.raises(DataError, match="one label only"):
        read(tmp_path / "one.svm")
    dump_svmlight(tmp_path / "few.svm", X[:20], y[:20])
    with pytest.raises(DataError, match="no two categories"):
        pairs(read(tmp_path / "few.svm"))


@pytest.mark.slow
def test_the_command_draws_ten_panels_and_says_what_it_found(tmp_path):
    done = onepass(tmp_path, "reproduce", "--quick", "--documents", 1500, "--repeats", 2, "--json")
    said = json.loads(done.stdout)
    names = [
        f"{f}{c}.{end}" for f in ("figure2", "figure3") for c in ("", "-certificates") for end in ("png", "svg", "pdf")
    ]
    names += ["figure2.csv", "figure3.csv"]
    assert sorted(said["files"]) == sorted(f"reproduced/{name}" for name in names)
    for name in names:
        assert (tmp_path / "reproduced" / name).stat().st_size > 1000
    assert (tmp_path / "reproduced" / "figure2.svg").read_text().count('id="axes_') == 10
    assert (tmp_path / "reproduced" / "figure3-certificates.svg").read_text().count(
        'id="axes_'
    ) == 20  # with the cutoffs below
    assert len(said["figure2"]["problems"]) == len(said["figure3"]["problems"]) == 10
    line = said["figure2"]["problems"][0]
    assert {"last", "average", "cutoff", "certificate", "certificate_dekel2008", "k", "below_last"} <= set(line)
    lines = list(csv.DictReader(io.StringIO((tmp_path / "reproduced" / "figure2.csv").read_text())))
    [end] = [
        r for r in lines if (r["problem"], r["curve"], r["rounds"]) == (line["problem"], "last", str(line["rounds"]))
    ]
    assert float(end["mean"]) == line["last"]
    again = onepass(tmp_path, "reproduce", "figure2", "--quick", code=2)
    assert "is there already; --force" in again.stderr


def test_the_command_reads_rcv1_from_a_folder_and_says_what_is_missing(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "rcv1"
    folder.mkdir()
    tops = ("CCAT", "ECAT", "GCAT")
    words = [[f"w{c}{i}" for i in range(20)] + [f"x{i}" for i in range(40)] for c in range(3)]
    with (folder / "lyrl2004_tokens_train.dat").open("w") as text, (folder / "rcv1-v2.topics.qrels").open("w") as qrels:
        for i in range(240):
            text.write(f".I {i}\n.W\n{' '.join(rng.choice(words[i % 3], size=30))}\n\n")
            qrels.write(f"{tops[i % 3]} {i} 1\n")
    done = onepass(tmp_path, "reproduce", "figure3", "--data", folder, "--repeats", 2, "--per-decade", 2)
    assert "CCAT / ECAT" in done.stdout
    assert "certificate (delta 0.05) was at least the test loss" in done.stdout
    assert "no document is of MCAT, OTHER alone" in done.stderr
    assert (tmp_path / "reproduced" / "figure3.svg").read_text().count('id="axes_') == 3
    (folder / "lyrl2004_tokens_train.dat").write_text(".I 1\nrecov\n")
    bad = onepass(tmp_path, "reproduce", "--data", folder, "--force", code=3)
    assert "lyrl2004_tokens_train.dat:line 2: words before the .W" in bad.stderr
    for options, message in (
        (["--data", "nothing.svm"], "is not there"),
        (["--data", folder, "--documents", 2000], "leave it out with --data"),
        (["--output", "reproduced/figure3.svg"], "cannot be made a folder"),
    ):
        assert message in onepass(tmp_path, "reproduce", "--force", *options, code=2).stderr
