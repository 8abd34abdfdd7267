"""`onepass compare`: the entries of a race beside learners and conversions, none dropped, and the winner's command."""

import json
import shlex

import numpy as np
import pyarrow
import pyarrow.csv
import pytest

from onepass.io import open_stream
from onepass.models import LinearModel
from onepass.passes import Pass
from test_cli import onepass

UNCOUNTED = 256


def bent(rows, seed=0):
    """A label that lies between two borders of a number, more often so for smiths, with noise."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 60, rows), rng.choice(["cook", "poet", "smith"], rows)
    rich = (age > 30) & (age < 50) ^ (job == "smith") ^ (rng.random(rows) < 0.1)
    return pyarrow.table({"age": age, "job": job, "rich": np.where(rich, "yes", "no")})


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    where = tmp_path_factory.mktemp("compare")
    pyarrow.csv.write_csv(bent(1500), where / "t.csv")
    pyarrow.csv.write_csv(bent(500, seed=1), where / "fresh.csv")
    return where


def compared(folder, *options):
    return json.loads(onepass(folder, "compare", *options, "--json", "-q").stdout)


def typed(folder, command, *more):
    """What the program says to a command that it printed, without its files."""
    words = shlex.split(command)[1:]
    del words[words.index("-o") : words.index("--report") + 2]
    return json.loads(onepass(folder, *words, *more, "--json", "-q").stdout)


def test_the_entries_that_train_races_are_shown_beside_learners_and_conversions(tables):
    result = compared(tables, "t.csv")
    lines, raced = result["conversions"], [line for line in result["conversions"] if "entry" in line]
    assert result["entries"] == ["plain", "bins", "crosses"]
    assert sorted(line["entry"] for line in raced) == sorted(result["entries"])
    assert {(line["learner"], line["conversion"]) for line in raced} == {("adaptive", "frozen")}
    assert all(line["encoding"] == line["entry"] for line in raced)
    assert len(lines) == 18 + 2  # plain is among the learners and conversions
    assert len({(line["learner"], line["conversion"], line["encoding"]) for line in lines}) == 20
    assert all(line["delta"] == pytest.approx(0.05 / 20) for line in lines)
    race = json.loads(onepass(tables, "train", "t.csv", "--delta", 3 * 0.05 / 20, "--json", "-q").stdout)["race"]
    risks, mistakes = ({entry["name"]: entry[what] for entry in race["entries"]} for what in ("risk", "mistakes"))
    assert {line["entry"]: line["risk"] for line in raced} == pytest.approx(risks, abs=1e-12)
    assert {line["entry"]: line["mistakes"] for line in raced} == mistakes


def test_the_best_comes_first_models_before_members(tables):
    lines = compared(tables, "t.csv")["conversions"]
    covers = [line["covers"] for line in lines]
    assert covers == sorted(covers, key=["model", "members"].index)
    for kind in ("model", "members"):
        risks = [line["risk"] for line in lines if line["covers"] == kind and line["informative"]]
        assert risks == sorted(risks)
    assert lines[0]["entry"] != "plain"


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--race", "off"),
        ("--race", "plain,bins"),
        ("--race", "adaptive,pa"),
        ("--race", "bins,crosses", "--cross", "age*job", "--learner", "pa"),
        ("--learner", "pa", "--bins", "--no-intercept", "--classes", "no,yes"),
        ("--validation-fraction", "0.2", "--seed", "3", "--delta", "0.2"),
    ],
    ids=lambda options: " ".join(options) or "default",
)
def test_the_winners_command_certifies_what_was_said(tables, options):
    result = compared(tables, "t.csv", *options)
    first = result["conversions"][0]
    again = typed(tables, result["train"])
    own = again["certificate"]
    for name in ("risk", "delta", "choice", "counted", "conversion"):
        assert own[name] == first[name]
    assert "race" not in again
    assert again["mistakes"] == first["mistakes"] == result["mistakes"]


def test_every_model_could_win_and_has_its_command(tables, monkeypatch):
    """Whichever of the models is taken for the first, its command gives its certificate again."""
    from onepass.cli import contenders

    calls, own = [], contenders.command_for
    monkeypatch.setattr(contenders, "command_for", lambda *given: calls.append(given) or own(*given))
    lines = compared(tables, "t.csv", "--learner", "adaptive")["conversions"]
    _, *rest = calls[0]
    for line in lines:
        again = typed(tables, own(line, *rest))["certificate"]
        assert (again["risk"], again["choice"]) == (line["risk"], line["choice"])
    assert {line["encoding"] for line in lines} == {"plain", "bins", "crosses"}


@pytest.mark.slow
def test_nobody_is_dropped(tables):
    pyarrow.csv.write_csv(bent(20_000), tables / "long.csv")
    race = json.loads(onepass(tables, "train", "long.csv", "--json", "-q").stdout)["race"]
    assert any(entry["dropped"] for entry in race["entries"])
    result = compared(tables, "long.csv", "--learner", "adaptive")
    assert result["entries"] == [entry["name"] for entry in race["entries"]]
    assert all(line["rounds"] == 20_000 - UNCOUNTED for line in result["conversions"])


def test_race_off_leaves_learners_and_conversions(tables):
    result = compared(tables, "t.csv", "--race", "off")
    assert len(result["conversions"]) == 18
    assert {line["encoding"] for line in result["conversions"]} == {"plain"}
    assert "entries" not in result
    assert not any("entry" in line for line in result["conversions"])
    shown = onepass(tables, "compare", "t.csv", "--race", "off").stdout
    assert "Entries of the race" not in shown
    assert "--race off" in shown or "--learner adaptive --conversion frozen" not in shown  # typed, nothing races


@pytest.mark.parametrize(
    ("options", "encodings"),
    [
        (("--learner", "pa"), {"plain"}),
        (("--bins",), {"bins"}),
        (("--cross", "all"), {"crosses"}),
        (("--text-column", "job"), {"plain"}),
        (("--numeric", "age", "--categorical", "job"), {"plain"}),
        (("--validation-fraction", "0.1"), {"plain"}),
    ],
)
def test_where_train_would_not_race_nor_does_compare(tables, options, encodings):
    result = compared(tables, "t.csv", *options)
    assert "entries" not in result
    assert {line["encoding"] for line in result["conversions"]} == encodings


def test_learners_named_by_the_race_are_compared(tables):
    result = compared(tables, "t.csv", "--race", "pa,adaptive")
    assert result["entries"] == ["pa", "adaptive"]
    assert {line["learner"] for line in result["conversions"]} == {"pa", "adaptive"}
    assert {line["conversion"] for line in result["conversions"] if "entry" in line} == {"frozen"}
    both = compared(tables, "t.csv", "--race", "pa,adaptive", "--learner", "perceptron")
    assert {line["learner"] for line in both["conversions"]} == {"perceptron", "pa", "adaptive"}


def test_svmlight_files_have_no_encodings_and_the_passes_of_before(folder):
    result = compared(folder, "data.svm")
    assert "entries" not in result
    assert not any({"encoding", "entry"} & set(line) for line in result["conversions"])
    assert "--race" not in result["train"]
    for name in ("adaptive", "pa", "perceptron"):
        run = Pass(name, conversion="cutoff", watch=True, expected_rows=600)
        with open_stream(folder / "data.svm") as stream:
            for rows, labels, _ in stream:
                run.feed(rows, labels)
        for line in result["conversions"]:
            if line["learner"] == name:
                assert line["mistakes"] == run.mistakes
                assert line["risk"] == run.certificate(line["conversion"], delta=0.05 / 18).risk
    assert typed(folder, result["train"])["certificate"]["risk"] == result["conversions"][0]["risk"]


def test_what_is_measured_is_the_error_of_that_model(tables):
    result = compared(tables, "t.csv", "--learner", "adaptive", "--test", "fresh.csv")
    first = result["conversions"][0]
    typed(tables, result["train"], "-o", "winner", "--force")
    fresh = bent(500, seed=1)
    wrong = LinearModel.load(tables / "winner").predict(fresh.drop(["rich"])) != fresh["rich"].to_numpy()
    assert first["test_error"] == pytest.approx(wrong.mean())
    assert all("test_error" in line for line in result["conversions"])


def test_text_and_page_name_the_encoding_and_the_entries(tables):
    done = onepass(tables, "compare", "t.csv", "--learner", "adaptive", "--report", "c.html")
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["learner", "encoding", "conversion", "certified", "of"]
    assert next(line.split()[1] for line in lines if "frozen" in line) in ("bins", "crosses")
    said = next(line for line in lines if line.startswith("Entries of the race"))
    assert all(name in said for name in ("plain", "bins", "crosses", "none dropped"))
    assert "With probability 95 % all certified numbers hold together." in lines
    page = (tables / "c.html").read_text()
    assert "encoding" in page
    assert "adaptive, crosses, frozen" in page
    assert "all 8 hold together with probability 95 %" in page


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--race", "plain,bin"), "Did you mean bins?"),
        (("--race", "plain"), "plain alone is no race"),
        (("--race", "plain,pa"), "not both"),
        (("--race", "plain,bins", "--validation-fraction", "0.1"), "no row is kept out"),
        (("--race", "plain,bins", "--bound", "dekel2008"), "certified by betting"),
        (("--max-memory", "100MB"), "--max-memory allows 100 MB"),
    ],
)
def test_what_cannot_be_compared_is_said(tables, options, words):
    assert words in onepass(tables, "compare", "t.csv", *options, code=2).stderr


def test_encodings_are_a_tables(folder):
    assert "encodings are a table's" in onepass(folder, "compare", "data.svm", "--race", "plain,bins", code=2).stderr


def test_the_memory_of_all_entries_is_said(tables):
    many, few = (
        onepass(tables, "compare", "t.csv", *options, "--learner", "adaptive", "-v").stderr
        for options in ((), ("--race", "off"))
    )
    weights = [int(text.split("weights ")[1].split(" MB")[0].replace(",", "")) for text in (many, few)]
    assert weights[0] > 3 * weights[1] > 0


def test_a_share_of_delta_for_each_holds_where_frozen_models_are_refused(tables):
    lines = compared(tables, "t.csv", "--bound", "dekel2008")["conversions"]
    assert not any("entry" in line for line in lines)
    assert all("refused" in line for line in lines if line["conversion"] == "frozen")
