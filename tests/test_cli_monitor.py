"""`onepass monitor`: exit codes, the state between runs, the page, and the line that `predict` says."""

import gzip
import json

import numpy as np
import pytest

from invoking import invoke
from onepass.cli.group import program, run


def write(path, seed, rows, noise=0.05, shift=0.0, labels=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    X[:, 0] += shift
    y = np.where((X[:, 0] > 0) ^ (rng.random(rows) < noise), "yes", "no")
    lines = [",".join([*(f"{v:.6f}" for v in x), label if labels else ""]) for x, label in zip(X, y, strict=True)]
    path.write_text("\n".join(["a,b,c,label", *lines]) + "\n")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("monitor")
    write(place / "train.csv", 0, 5000)
    write(place / "fine.csv", 1, 2000)
    write(place / "worse.csv", 2, 2000, noise=0.2)
    write(place / "other.csv", 3, 2000, shift=0.7, labels=False)
    said = invoke(program, ["train", place / "train.csv", "--target", "label", "-o", place / "model"])
    assert said.exit_code == 0, said.output
    return place


def monitor(place, *arguments):
    return invoke(program, ["monitor", place / "model", *arguments])


def test_no_alarm_is_exit_code_0_and_an_alarm_6(place):
    fine = monitor(place, place / "fine.csv")
    assert fine.exit_code == 0, fine.output
    assert fine.stdout.startswith("No sign against the certificate in 2,000 labelled rows")
    worse = monitor(place, place / "fine.csv", place / "worse.csv")
    assert worse.exit_code == 6
    assert worse.stdout.startswith("ALARM: the risk, ")
    assert "ALARM, within the first 4,000 rows: the risk" in worse.stderr
    assert run(["monitor", str(place / "model"), str(place / "fine.csv"), "-q"]) == 0


def test_rows_without_labels(place):
    found = monitor(place, place / "other.csv")
    assert found.exit_code == 6
    assert found.stdout.startswith("ALARM: the scores: these rows are no longer such as training saw")


def test_a_state_goes_on_and_equals_one_run(place, tmp_path):
    state = tmp_path / "state"
    first = monitor(place, place / "fine.csv", "--state", state)
    assert first.exit_code == 0
    second = monitor(place, place / "worse.csv", "--state", state, "--json")
    assert second.exit_code == 6
    found, whole = json.loads(second.stdout), monitor(place, place / "fine.csv", place / "worse.csv", "--json")
    assert found["resumed_after"] == 2000
    assert found["rows"] == 4000
    same = ("risk", "rates", "scores", "alarms", "labelled")
    assert {name: found[name] for name in same} == {name: json.loads(whole.stdout)[name] for name in same}
    assert found["details"]["path"] == json.loads(whole.stdout)["details"]["path"]


def test_jsonl_tells_of_an_alarm_before_the_result(place):
    events = [json.loads(line) for line in monitor(place, place / "worse.csv", "--jsonl").stdout.splitlines()]
    assert [event["event"] for event in events] == ["alarm", "result"]
    assert "the risk" in events[0]["alarms"]
    assert events[1]["alarm"] is True


def test_the_page_has_the_evidence_and_can_be_made_again(place, tmp_path):
    page = tmp_path / "page.html"
    found = monitor(place, place / "worse.csv", "--report", page, "--json")
    text = page.read_text()
    assert "Evidence against the certificate" in text
    assert "false alarm of yes" in text
    (tmp_path / "run.json").write_text(found.stdout)
    again = invoke(program, ["report", tmp_path / "run.json", "-o", tmp_path / "again.html"])
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again.html").read_text() == text
    assert monitor(place, place / "worse.csv", "--report", page).exit_code == 2


def test_bad_data_leaves_the_state_as_it_was(place, tmp_path):
    state = tmp_path / "state"
    monitor(place, place / "fine.csv", "--state", state)
    before = state.read_bytes()
    (tmp_path / "strange.csv").write_text("a,b,c,label\n1,2,3,yes\n1,2,3,perhaps\n")
    (tmp_path / "narrow.csv").write_text("a,b,label\n1,2,yes\n")
    (tmp_path / "text.csv").write_text("a,b,c,label\n1,2,oops,yes\n")
    packed = gzip.compress((place / "worse.csv").read_bytes())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    words = {
        "strange.csv": "'perhaps' is not one of the model's classes",
        "narrow.csv": "column c is not there",
        "text.csv": "column 'c' holds numbers, but here 'oops'",
        "cut.csv.gz": "ends early",
    }
    for name, said in words.items():
        found = monitor(place, tmp_path / name, "--state", state)
        assert run(["monitor", str(place / "model"), str(tmp_path / name), "--state", str(state)]) == 3
        assert said in str(found.exception), name
        assert state.read_bytes() == before


def test_a_bad_state_is_refused(place, tmp_path):
    state = tmp_path / "state"
    monitor(place, place / "fine.csv", "--state", state)
    good = state.read_bytes()
    call = ["monitor", str(place / "model"), str(place / "fine.csv"), "--state", str(state)]
    for bad in (good[:-9], b"", b"x" * 100, good.replace(b'"seed\\": 0', b'"seed\\": 1')):
        assert bad != good
        state.write_bytes(bad)
        assert run(call) == 4
        assert state.read_bytes() == bad
    state.write_bytes(good)
    assert run([*call, "--delta", "0.2"]) == 2
    write(tmp_path / "more.csv", 9, 3000)
    invoke(program, ["train", tmp_path / "more.csv", "--target", "label", "-o", tmp_path / "other"])
    assert run(["monitor", str(tmp_path / "other"), str(place / "fine.csv"), "--state", str(state)]) == 4
    assert state.read_bytes() == good


def test_an_output_that_is_read_is_refused(place):
    assert monitor(place, place / "fine.csv", "--state", place / "model").exit_code == 2
    assert monitor(place, place / "fine.csv", "--state", place / "fine.csv").exit_code == 2


def test_another_risk_can_be_held_against(place):
    assert monitor(place, place / "fine.csv", "--risk", 0.01).exit_code == 6
    assert monitor(place, place / "worse.csv", "--risk", 2).exit_code == 2


def test_predict_says_it_in_one_line(place, tmp_path):
    said = {}
    for name in ("fine", "worse", "other"):
        told = ["predict", place / "model", place / f"{name}.csv", "-o", tmp_path / f"{name}.txt", "--json"]
        said[name] = invoke(program, told)
        assert said[name].exit_code == 0, said[name].output
    assert "No sign against the certificate in 2,000 labelled rows" in said["fine"].stderr
    assert "ALARM: the risk" in said["worse"].stderr
    assert "ALARM: the scores" in said["other"].stderr
    assert json.loads(said["worse"].stdout)["monitor"]["alarm"] is True
