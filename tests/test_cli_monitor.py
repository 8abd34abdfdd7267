"""`onepass monitor`: exit codes, the state between runs, the page, and the line that `predict` says."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from invoking import invoke
from onepass import LinearModel, Monitor, train
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


@pytest.mark.parametrize("risk", [None, 1e-300, 0.005, 0.02])
def test_after_the_strongest_alarm_the_state_goes_on(place, tmp_path, risk):
    """Every row is of the other class: the evidence ends beyond 1e290, by up to 20 times, as the risk has it."""
    write(tmp_path / "turned.csv", 4, 3000, noise=1.0)
    call = [tmp_path / "turned.csv", "--state", tmp_path / "state", *([] if risk is None else ["--risk", risk])]
    evidence = []
    for run_number in range(3):
        found = monitor(place, *call, "--json")
        assert found.exit_code == 6, found.exception
        assert json.loads(found.stdout)["resumed_after"] == 3000 * run_number
        evidence.append(json.loads(found.stdout)["risk"]["evidence"])
    assert evidence[0] > 5e290
    assert evidence == [evidence[0]] * 3
    loaded = Monitor.load(tmp_path / "state", LinearModel.load(place / "model"))
    assert loaded.result().risk.evidence == evidence[0]


def people(seed, rows, rate):
    """Two kinds of columns, with holes; of some rows the label is not known yet."""
    rng = np.random.default_rng(seed)
    job, age = rng.choice(["cook", "poet", "smith"], rows), rng.integers(-80, 80, rows) / 8.0
    rich = ((age > 0) & (job != "poet")) ^ (rng.random(rows) < rate)
    frame = pd.DataFrame({"id": np.arange(rows), "age": age, "job": job, "rich": rich})
    frame.loc[rng.random(rows) < 0.1, ["age"]] = np.nan
    frame.loc[rng.random(rows) < 0.1, ["job"]] = None
    return frame, rng.random(rows) < 0.2


SPELLED = {
    "truths.parquet": {True: True, False: False},
    "numbers.csv": {True: 1, False: -1},
    "text.csv": {True: "yes", False: " no"},
    "text and numbers.csv": {True: "yes", False: 0},
}


def labels_spelled(frame, name, unknown):
    """The frame with its labels as the file has them, but for those that are not known yet."""
    labels = frame["rich"].map(SPELLED[name]).astype(object)
    labels[unknown] = None
    return frame.assign(rich=labels)


@pytest.mark.parametrize("name", SPELLED)
def test_python_watches_frames_to_the_same_bits(tmp_path, name):
    frame, _ = people(0, 3000, 0.05)
    train(labels_spelled(frame, name, np.zeros(3000, bool)), target="rich").model.save(tmp_path / "model")
    new, unknown = people(1, 700, 0.2)
    new = labels_spelled(new, name, unknown)
    new.to_parquet(tmp_path / name) if name.endswith("parquet") else new.to_csv(tmp_path / name, index=False)
    told = invoke(program, ["monitor", tmp_path / "model", tmp_path / name, "--state", tmp_path / "state"])
    assert told.exit_code in (0, 6), told.exception
    others = new[["job", "rich", "age"]]  # in another order, and without a column that is left out
    ways = {
        "its own labels": [(new, None)],
        "in pieces": [(new[:300], None), (new[300:301], None), (new[301:], None)],
        "labels beside it": [(others.drop(columns="rich"), others["rich"])],
        "labels in place of its own": [(others.assign(rich="?"), others["rich"].tolist())],
    }
    for way, batches in ways.items():
        monitor = Monitor(LinearModel.load(tmp_path / "model"))
        for rows, labels in batches:
            monitor.observe(rows, labels)
        monitor.save(tmp_path / "mine")
        assert monitor.result().labelled == 700 - unknown.sum()
        assert (tmp_path / "mine").read_bytes() == (tmp_path / "state").read_bytes(), way


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
