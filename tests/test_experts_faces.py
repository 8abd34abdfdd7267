"""The two faces of the experts room: the scikit-learn classifier and the command."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from invoking import invoke
from onepass.cli.commands.experts import command
from onepass.experts import (
    Doubling,
    ExpertsClassifier,
    Hedge,
    RandomizedWeightedMajority,
    WeightedMajority,
    expert_grid,
)

PAIR = [
    ("hinge", SGDClassifier(random_state=0)),
    ("fast", SGDClassifier(learning_rate="constant", eta0=1.0, random_state=0)),
]


@parametrize_with_checks([ExpertsClassifier(PAIR, block_size=32)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def stream(rows: int = 400, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(rows, 8, n_informative=6, n_classes=classes, flip_y=0.1, random_state=1)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("forecaster", [None, WeightedMajority(0.5), RandomizedWeightedMajority(Doubling())])
def test_rows_are_predicted_by_the_vote_then_learned(classes, forecaster):
    """The same, written out: experts predict, the vote is taken, the forecaster learns who was wrong, experts learn."""
    X, y = stream(150, classes)
    model = ExpertsClassifier(PAIR, forecaster).fit(X, y)
    experts = [clone(expert) for _, expert in PAIR]
    rule = Hedge() if forecaster is None else type(forecaster)(forecaster.beta)
    weights, mistakes = np.full(2, 0.5), 0
    for t in range(len(y)):
        if t:
            said = np.array([expert.predict(X[[t]])[0] for expert in experts])
            share = [weights[said == c].sum() for c in range(classes)]
            mistakes += int(np.argmax(share) != y[t])
            rule.update(said != y[t], 0)
            weights = rule.weights
        for expert in experts:
            expert.partial_fit(X[[t]], y[[t]], classes=np.arange(classes))
    assert (model.mistakes_, model.rounds_) == (mistakes, 149)
    assert model.weights_.tolist() == weights.tolist()
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.run_.loss <= model.run_.bound
    if not isinstance(forecaster, WeightedMajority):
        assert model.mistakes_ <= 2 * model.run_.loss


def test_cutting_the_stream_changes_nothing():
    X, y = stream(120)
    whole, parts = ExpertsClassifier(PAIR).fit(X, y), ExpertsClassifier(PAIR)
    for a, b in ((0, 1), (1, 50), (50, 120)):
        parts.partial_fit(X[a:b], y[a:b], classes=[0, 1])
    assert parts.weights_.tolist() == whole.weights_.tolist()
    assert parts.mistakes_ == whole.mistakes_
    assert parts.predict_proba(X).tolist() == whole.predict_proba(X).tolist()


def test_the_vote_finds_the_expert_that_works():
    X, y = stream(600)
    useless = SGDClassifier(learning_rate="constant", eta0=1e-12, random_state=0)
    model = ExpertsClassifier([("useless", useless), ("bayes", GaussianNB())], block_size=10).fit(X, y)
    assert model.weights_[1] > 0.95
    assert model.run_.best == 1


def test_a_grid_is_a_list_of_experts_with_parameters():
    grid = expert_grid(SGDClassifier(random_state=0), {"alpha": [1e-4, 1e-2], "loss": ["hinge", "log_loss"]})
    model = ExpertsClassifier(grid)
    name = grid[0][0]
    assert len(grid) == 4
    assert model.get_params()[f"{name}__alpha"] == 1e-4
    model.set_params(**{f"{name}__alpha": 0.5})
    assert grid[0][1].alpha == 0.5


def test_bad_arguments_of_the_classifier():
    X, y = stream(40)
    with pytest.raises(TypeError, match=r"'batch' \(LogisticRegression\) has no partial_fit"):
        ExpertsClassifier([("batch", LogisticRegression())]).fit(X, y)
    with pytest.raises(ValueError, match="experts: at least one"):
        ExpertsClassifier([]).fit(X, y)
    with pytest.raises(ValueError, match="block_size=0"):
        ExpertsClassifier(PAIR, block_size=0).fit(X, y)
    model = ExpertsClassifier(PAIR, block_size=10).fit(X, y)
    before = (model.weights_.tolist(), model.rounds_, model.experts_[0].coef_.tolist())
    with pytest.raises(ValueError, match="class 7 is not among"):
        model.partial_fit(X, np.where(np.arange(40) == 39, 7, y))
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full_like(X, np.nan), y)
    assert before == (model.weights_.tolist(), model.rounds_, model.experts_[0].coef_.tolist())


# The command


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    advice = y[:, None] ^ (rng.random((200, 4)) < [0.1, 0.2, 0.5, 0.9])
    lines = ["a,b,c,d,outcome", *(",".join(map(str, [*row, truth])) for row, truth in zip(advice, y, strict=True))]
    path = tmp_path / "advice.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, advice, y


def call(*arguments: object, **options: object):
    return invoke(command, arguments, **options)


@pytest.mark.parametrize(
    ("options", "forecaster"),
    [
        ([], Hedge()),
        (["--rate", "0.5"], Hedge(0.5)),
        (["--rule", "majority"], WeightedMajority(0.5)),
        (["--rule", "majority", "--beta", "0.25"], WeightedMajority(0.25)),
        (["--rule", "randomized", "--beta", "doubling"], RandomizedWeightedMajority(Doubling())),
        (["--rule", "randomized", "--seed", "3"], RandomizedWeightedMajority(random_state=3)),
    ],
)
def test_the_command_is_the_api(table, options, forecaster):
    path, advice, outcomes = table
    result = call(path, "--json", *options)
    said = json.loads(result.output)
    run = forecaster.run(advice, outcomes)
    assert result.exit_code == 0
    assert said["forecaster"] == repr(forecaster)
    assert (said["loss"], said["mistakes"], said["bound"]) == (run.loss, run.mistakes, run.bound)
    assert (said["best"], said["best_loss"], said["regret"]) == ("a", run.best_loss, run.regret)
    assert {row["expert"]: row["weight"] for row in said["table"]} == dict(
        zip("abcd", run.weights[-1].tolist(), strict=True)
    )


def test_majority_learns_from_the_mistakes_of_its_vote_alone_and_the_help_says_so():
    advice, outcomes = [[1, 1, 0]], [1]  # the vote is right, the last expert is not
    assert WeightedMajority(0.5).run(advice, outcomes).weights[-1].tolist() == [1 / 3] * 3
    assert RandomizedWeightedMajority(0.5).run(advice, outcomes).weights[-1].tolist() == [0.4, 0.4, 0.2]
    assert "majority only when the vote errs" in " ".join(call("--help").output.split())


def test_stdin_sleepers_and_plain_text(table):
    path, _, _ = table
    text = path.read_text().splitlines()
    text[1] = "1,,,0,1"
    program = [sys.executable, "-m", "onepass.cli", "experts", "-", "--rule", "majority", "--top", "2"]
    result = subprocess.run(program, input="\n".join(text), capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "Weighted majority: 4 experts, 200 rounds" in result.stdout
    assert "by theorem" in result.stdout
    assert sum(line.split()[:1] in (["a"], ["b"], ["c"], ["d"]) for line in result.stdout.splitlines()) == 2


def test_columns_that_are_no_experts_are_left_out(table, tmp_path):
    path, _, _ = table
    first, *lines = path.read_text().splitlines()
    dated = tmp_path / "dated.csv"
    dated.write_text("\n".join([f"day,{first},note", *(f"2026-01-{i % 9},{line},x" for i, line in enumerate(lines))]))
    plain = json.loads(call(path, "--json").output)
    said = json.loads(call(dated, "--ignore", "day", "--ignore", "note", "--json").output)
    assert {key: said[key] for key in ("table", "loss", "experts")} == {
        key: plain[key] for key in ("table", "loss", "experts")
    }
    assert call(dated, "--ignore", "dya", "--ignore", "note").exit_code != 0


def test_bad_lines_of_advice_are_counted(table):
    path, _, _ = table
    path.write_text(path.read_text() + "1,2\n")
    assert json.loads(call(path, "--on-error", "skip", "--json").output)["skipped"] == 1
    assert "left out 1 bad lines" in call(path, "--on-error", "skip").output
    assert call(path, "--on-error", "skip", "--max-bad", "0").exit_code != 0


def test_share_is_compared_with_the_best_sequence(table):
    said = json.loads(call(table[0], "--rule", "share", "--switches", "2", "--json").output)
    assert said["sequence_loss"] <= said["best_loss"]
    assert said["loss"] <= said["tracking_bound"]


def test_the_figure_is_written_once(table, tmp_path):
    pytest.importorskip("matplotlib")
    for name, magic in (("w.png", b"\x89PNG"), ("w.svg", b"<?xml")):
        target = tmp_path / name
        assert call(table[0], "--figure", target).exit_code == 0
        first = target.read_bytes()
        assert first.startswith(magic)
        refused = call(table[0], "--figure", target)
        assert refused.exit_code == 2
        assert "--force" in refused.stderr
        assert call(table[0], "--figure", target, "--force").exit_code == 0
        assert target.read_bytes() == first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beta", "0.5"], "--beta has no meaning for --rule hedge"),
        (["--rule", "majority", "--beta", "1.5"], "beta=1.5 must be a number in (0, 1)"),
        (["--rule", "majority", "--beta", "anytime"], "beta=Anytime()"),
        (["--rate", "fast"], "neither a number nor one of"),
        (["--rate", "1", "--horizon", "10"], "--horizon tunes the rate itself"),
        (["--figure", "nowhere/w.png"], "the folder nowhere is not there"),
        (["--figure", "w.gif"], "must end in"),
        (["--categorical", "a"], "--categorical is for --data"),
        (["--target", "a"], "--target is for --data"),
    ],
)
def test_wrong_usage_is_exit_2(table, options, message):
    result = call(table[0], *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.csv: no examples"),
        ("a,outcome\n", "bad.csv: no examples"),
        ("a,b\n1,0\n", "Fix: --outcome"),
        ("outcome\n1\n", "the label's column stands alone"),
        ("a,a,outcome\n1,0,1\n", "two columns are named 'a'"),
        ("a,outcome\nx,1\n", "column 'a' holds text"),
        ("a,day,outcome\n1,monday,1\n", "--ignore COLUMN leaves one out"),
        ("a,outcome\n1,1\n0,0\nx,1\n", "bad.csv:line 4, col 1: column 'a' holds numbers, but here 'x'"),
        ("a,outcome\n1,1\n0.5,0,1\n", "bad.csv:line 3: expected 2 columns, got 3"),
        ("a,outcome\n2,1\n", "round 0, expert 0 says 2"),
        ("a,outcome\n1,\n", "bad.csv:line 2, col 3: column 'outcome' has no value"),
        ("a,b,outcome\n,,1\n", "every expert is asleep"),
    ],
)
def test_bad_data_is_exit_3_in_one_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    program = [sys.executable, "-m", "onepass.cli", "experts", str(path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_learners_can_be_the_experts(tmp_path):
    """Their advice is what each predicted before it learned; with one expert the count is that learner's mistakes."""
    from onepass import Pass
    from onepass.io import dump_svmlight

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, 1, -1)
    dump_svmlight(tmp_path / "train.svm", X, y)
    for learner in ("perceptron", "pa"):
        run = Pass(learner)
        run.feed(X, y)
        done = call("--data", tmp_path / "train.svm", "--experts", learner, "--rule", "majority", "--json")
        assert json.loads(done.stdout)["mistakes"] == run.mistakes
    done = call("--data", tmp_path / "train.svm", "--rule", "majority", "--json")
    assert done.exit_code == 0, done.output
    assert call("--data", tmp_path / "train.svm", "--experts", "perceptrn").exit_code == 2
    assert call().exit_code == 2


def test_examples_are_read_as_other_commands_read_them(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["day,colour,size,class", *(f"2026,{c},{v},{c}" for c, v in zip("ab" * 50, rng.random(100), strict=True))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    options = ("--target", "class", "--categorical", "colour", "--ignore", "day", "--json")
    said = json.loads(call("--data", tmp_path / "table.csv", *options).output)
    assert said["rounds"] == 100
    assert said["best_loss"] < 5  # the colour tells the class
    assert call("--data", tmp_path / "table.csv", "--target", "class").exit_code != 0
