"""`onepass predict`: predictions that can be joined with the data again, and files that are whole or not there."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pyarrow.parquet
import pytest

from onepass import LinearModel, OnePassClassifier, Pass, models
from onepass.io import dump_svmlight, open_stream
from strategies import dyadic
from test_cli import onepass

X, Y = dyadic(3, 300, 4, noise=0.05)
ODD = ["non\xa0merci", "yes, sir", 'so "so"\r', "half \ud800"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data and its model; and a model whose labels ask for care, each predicted once for odd.npy."""
    folder = tmp_path_factory.mktemp("predict")
    dump_svmlight(folder / "data.svm", X, Y)
    onepass(folder, "train", "data.svm", "-o", "model", "-q")
    rows = [[float(i % 4 == place) for place in range(4)] for i in range(40)]
    run = Pass(classes=ODD)
    run.feed(rows, [ODD[i % 4] for i in range(40)])
    run.model().save(folder / "odd.model")
    (folder / "odd.csv").write_text("a,b,c,d\n1,0,0,0\n0,1,0,0\n0,0,1,0\n0,0,0,1\n")
    return folder


def table(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_labels_are_written_so_that_they_can_be_read_again(folder):
    readable = [*ODD[:3], r"half \ud800"]  # UTF-8 has no half of a surrogate pair
    columns = [f"score_{name}" for name in readable]
    onepass(folder, "predict", "odd.model", "odd.csv", "--scores", "-o", "odd_out.csv")
    header, *rows = table(folder / "odd_out.csv")
    assert (header, [row[0] for row in rows]) == (["label", *columns], readable)
    onepass(folder, "predict", "odd.model", "odd.csv", "--scores", "-o", "odd_out.jsonl")
    objects = [json.loads(line) for line in (folder / "odd_out.jsonl").read_text().splitlines()]
    assert [found["label"] for found in objects] == ODD
    assert [[*map(float, row[1:])] for row in rows] == [[found[f"score_{name}"] for name in ODD] for found in objects]
    onepass(folder, "predict", "odd.model", "odd.csv", "--scores", "-o", "odd_out.parquet")
    found = pyarrow.parquet.read_table(folder / "odd_out.parquet")
    assert (found.column_names, found["label"].to_pylist()) == (["label", *columns], readable)


@pytest.mark.parametrize("bad", [[0], [3, 4], [9], [0, 1, 2, 9], [*range(10)]], ids=str)
@pytest.mark.parametrize("kind", ["svm", "csv", "jsonl"])
def test_a_bad_line_has_an_empty_prediction_in_its_place(folder, kind, bad, tmp_path):
    lines = {
        "svm": [f"0 1:{i}" for i in range(10)],
        "csv": ["a,b,c,d", *(f"{i},0,0,0" for i in range(10))],
        "jsonl": [json.dumps({"a": i, "b": 0, "c": 0, "d": 0}) for i in range(10)],
    }[kind]
    whole, cut = tmp_path / f"whole.{kind}", tmp_path / f"cut.{kind}"
    whole.write_text("\n".join([*lines, ""]))
    broken = {"svm": "0 1:x", "csv": "x,0,0,0", "jsonl": "{"}[kind]
    head = len(lines) - 10
    rows = [broken if i - head in bad else line for i, line in enumerate(lines)]
    cut.write_text("\n".join([*rows, ""]))
    if len(bad) == 10:
        onepass(folder, "predict", "model", cut, "--on-error", "skip", code=3)
        return
    for ending in ("txt", "csv", "jsonl", "parquet"):
        for more in ([], ["--scores", "--proba"]):
            found = []
            for path in (whole, cut):
                out = tmp_path / f"{path.stem}.out.{ending}"
                onepass(folder, "predict", "model", path, "--on-error", "skip", "--force", "-o", out, *more)
                found.append(predictions(out, ending))
            assert len(found[0]) == len(found[1]) == 10
            for i, (expected, got) in enumerate(zip(*found, strict=True)):
                if i in bad:
                    assert all(cell in ("", None) or cell != cell for cell in got)
                else:
                    assert got == expected


def predictions(path, ending):
    """The rows of an output file, as lists."""
    if ending == "parquet":
        return [list(row.values()) for row in pyarrow.parquet.read_table(path).to_pylist()]
    if ending == "jsonl":
        return [list(json.loads(line).values()) for line in path.read_text().splitlines()]
    return table(path)[1:] if ending == "csv" else [line.split() for line in path.read_text().splitlines()]


def test_plain_labels_are_escaped_for_a_terminal_alone(folder):
    run = Pass(classes=["a\xa0b", "c"])
    run.feed([[1.0], [-1.0]] * 9, ["a\xa0b", "c"] * 9)
    run.model().save(folder / "plain.model")
    (folder / "plain.csv").write_text("a\n1\n-1\n")
    assert onepass(folder, "predict", "plain.model", "plain.csv").stdout == "a\xa0b\nc\n"
    ours, theirs = os.openpty()
    program = [sys.executable, "-m", "onepass.cli", "predict", "plain.model", "plain.csv", "-q"]
    subprocess.run(program, cwd=folder, stdout=theirs, check=True, timeout=120)
    os.close(theirs)
    assert os.read(ours, 100).split() == [rb"a\xa0b", b"c"]
    os.close(ours)
    assert "the end of a line" in onepass(folder, "predict", "odd.model", "odd.csv", code=2).stderr


def test_what_is_appended_to_a_new_file_has_a_header(folder):
    append = ("predict", "odd.model", "odd.csv", "-o", "more.csv", "--append")
    onepass(folder, *append)
    onepass(folder, *append)
    assert [row[0] for row in table(folder / "more.csv")][::4] == ["label", r"half \ud800", r"half \ud800"]


def test_a_place_that_cannot_be_written_to_is_named_before_anything_is_read(folder):
    refused = onepass(folder, "predict", "model", "no.svm", "-o", "nodir/out.csv", code=2)
    assert "--output: the folder nodir is not there" in refused.stderr
    assert "is a folder" in onepass(folder, "predict", "model", "no.svm", "-o", folder, "--force", code=2).stderr
    again = onepass(folder, "predict", "model", "no.svm", "-o", "data.svm", code=2)
    assert "--force overwrites it, --append writes behind it" in again.stderr


@pytest.mark.parametrize(
    ("redirection", "code", "reason"),
    [(">&-", 2, "stdout is closed"), ("> /dev/full", 1, "cannot write to stdout: No space left on device")],
)
def test_stdout_that_takes_nothing_is_an_error_in_one_line(folder, redirection, code, reason):
    program = f"{sys.executable} -m onepass.cli predict model data.svm -q {redirection}"
    done = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"Error: {reason}")


def test_a_share_of_bad_lines_is_judged_at_the_end_too(folder):
    (folder / "half.svm").write_text("1 1:1\n1 x\n")
    predict = ("predict", "model", "half.svm", "--on-error", "skip", "-o", "half.csv")
    assert "1 bad lines in 2, more than" in onepass(folder, *predict, "--max-bad", "10%", code=3).stderr
    assert not (folder / "half.csv").exists()
    onepass(folder, *predict, "--max-bad", "50%")
    refused = onepass(folder, *predict, "--append", "--max-bad", "junk", code=2)
    assert "--max-bad must be a number" in refused.stderr
    assert (folder / "half.csv").read_text() == 'label\n-1\n""\n'
    plain = onepass(folder, "predict", "model", "data.svm", "--max-bad", "junk", code=2)
    assert plain.stdout == ""


def test_an_output_may_be_a_pipe_or_a_link(folder):
    expected = onepass(folder, "predict", "model", "data.svm").stdout
    program = f"{sys.executable} -m onepass.cli predict model data.svm -q -o >(cat > piped.txt); wait $!"
    subprocess.run(["bash", "-c", program], cwd=folder, check=True, timeout=120)
    assert (folder / "piped.txt").read_text() == expected
    (folder / "far").mkdir()
    (folder / "link.txt").symlink_to("far/labels.txt")
    onepass(folder, "predict", "model", "data.svm", "-o", "link.txt")
    assert (folder / "far" / "labels.txt").read_text() == expected
    assert "--force" in onepass(folder, "predict", "model", "data.svm", "-o", "link.txt", code=2).stderr
    (folder / "astray.txt").symlink_to("nodir/labels.txt")
    assert "nodir is not there" in onepass(folder, "predict", "model", "data.svm", "-o", "astray.txt", code=2).stderr


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_no_file_behind(folder, tmp_path, number, code):
    program = [sys.executable, "-m", "onepass.cli", "predict", folder / "model", "-", "-o", "cut.csv"]
    running = subprocess.Popen(program, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    running.stdin.write((folder / "data.svm").read_bytes() * 200)  # more than one block, and no end
    running.stdin.flush()
    while not os.listdir(tmp_path):
        time.sleep(0.05)
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (code, b"interrupted\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("option", ["--json", "--jsonl"])
def test_labels_and_objects_do_not_share_stdout(folder, option):
    refused = onepass(folder, "predict", "model", "data.svm", option, code=2)
    assert (refused.stdout, "add --output FILE" in refused.stderr) == ("", True)
    done = onepass(folder, "predict", "model", "data.svm", option, "-o", f"apart{option}.csv")
    assert json.loads(done.stdout.splitlines()[-1])["rows"] == 300


def test_a_name_that_is_too_long_is_named_before_anything_is_read(folder):
    longest = os.pathconf(folder, "PC_NAME_MAX")
    onepass(folder, "predict", "model", "data.svm", "-o", "x" * longest)
    refused = onepass(folder, "predict", "model", "no.svm", "-o", "x" * (longest + 1), code=2)
    assert "File name too long" in refused.stderr


CLASSES = 2000


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A model of 2,000 classes, and rows of one feature each: a block of scores is far more than the text."""
    folder = tmp_path_factory.mktemp("wide")
    weights = np.random.default_rng(0).integers(-8, 9, (9, CLASSES)) / 8
    LinearModel(weights, tuple(range(CLASSES))).save(folder / "m")
    (folder / "rows.svm").write_text("".join(f"{i % CLASSES} {1 + i % 8}:{1 + i % 5}\n" for i in range(4000)))
    return folder


def test_scores_that_nobody_asked_for_are_not_held(wide):
    """Memory is bounded by a block of scores, not by rows times classes: 64 MB here, and 320 as a list of numbers."""
    model, rows = LinearModel.load(wide / "m"), np.random.default_rng(1).integers(-8, 9, (4000, 8)) / 8
    clf = OnePassClassifier.load(_certified(wide))
    expected = np.argmax(model.decision(rows), axis=1).tolist()
    tracemalloc.start()
    try:
        onepass(wide, "predict", "m", "rows.svm", "-o", "labels.txt", "--force")
        assert model.predict(rows).tolist() == expected
        assert clf.predict(rows).tolist() == expected
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
    assert len((wide / "labels.txt").read_text().splitlines()) == 4000


@pytest.mark.parametrize("kind", ["txt", "csv", "jsonl", "parquet"])
def test_scores_are_written_a_block_at_a_time(wide, kind, monkeypatch):
    few = "".join((wide / "rows.svm").read_text().splitlines(keepends=True)[:30])
    (wide / "few.svm").write_text(few)
    model, written = LinearModel.load(wide / "m"), []
    for most in (1 << 20, 7 * CLASSES):  # all at once, and seven rows at a time
        monkeypatch.setattr(models, "SCORES", most)
        file = wide / f"scores-{most}.{kind}"
        said = onepass(wide, "predict", "m", "few.svm", "--scores", "-o", file, "--force")
        assert "of the 30 labelled rows" in said.stderr
        written.append(pyarrow.parquet.read_table(file).to_pydict() if kind == "parquet" else file.read_bytes())
    assert written[0] == written[1]
    with open_stream(wide / "few.svm") as stream:
        rows = next(stream).rows
        blocks = [scores.shape for _, scores in model.decisions(rows)]
        assert np.concatenate([scores for _, scores in model.decisions(rows)]).tolist() == model.decision(rows).tolist()
    assert blocks == [(7, CLASSES)] * 4 + [(2, CLASSES)]


def _certified(folder):
    """The model, with a certificate, as a classifier needs one."""
    about = {"certificate": Pass().certificate().as_dict()}
    model = LinearModel.load(folder / "m")
    LinearModel(model.weights, model.classes, about=about).save(folder / "certified")
    return folder / "certified"


def test_labels_that_the_model_does_not_know_are_misjudged_and_told(folder):
    rows, labels = np.tile(X, (4, 1)), np.tile(Y, 4)
    dump_svmlight(folder / "strange.svm", rows, np.where(np.arange(labels.size) % 2, labels, 7))
    said = onepass(folder, "predict", "model", "strange.svm", "-o", "strange.out").stderr
    assert "600 of them have a label that is none of the model's classes" in said
    assert "ALARM: the risk" in said
    dump_svmlight(folder / "unlabelled.svm", rows, np.zeros(labels.size))  # the format wants a label
    said = onepass(folder, "predict", "model", "unlabelled.svm", "-o", "unlabelled.out").stderr
    assert "1,200 of them have a label that is none of the model's classes" in said
    assert "ALARM" not in said


def test_columns_without_a_header_are_named_on_stderr(folder):
    said = onepass(folder, "predict", "model", "data.svm", "--scores", "--proba")
    assert "columns, with spaces between: label score proba_-1 proba_1" in said.stderr
    assert "columns" not in onepass(folder, "predict", "model", "data.svm").stderr


def test_what_a_models_columns_are_is_not_declared_anew(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{'ab'[i % 2]},{'yn'[int(rng.random() < 0.5)]}" for i in range(400)]
    (tmp_path / "t.csv").write_text("\n".join(["size,job,good", *lines, ""]))
    (tmp_path / "bad.csv").write_text("\n".join(["size,job,good", *lines[:20], "large,a,y", ""]))
    onepass(tmp_path, "train", "t.csv", "-o", "m.safetensors", "-q")
    said = onepass(tmp_path, "predict", "m.safetensors", "bad.csv", code=3).stderr
    assert "bad.csv:line 22, col 1: column 'size' holds numbers, but here 'large'" in said
    assert "Fix: mend it, or --on-error skip" in said
    assert "--categorical" not in said
    refused = onepass(tmp_path, "predict", "m.safetensors", "bad.csv", "--categorical", "size", code=2).stderr
    assert "--categorical: the model knows what its columns are" in refused
    assert "--categorical size" in onepass(tmp_path, "train", "bad.csv", "--numeric", "size", code=3).stderr


def test_inspect_shows_what_a_model_weighs_of_a_column(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{'abc'[i % 3]},{'yn'[int(rng.random() < 0.5)]}" for i in range(600)]
    (tmp_path / "t.csv").write_text("\n".join(["size,job,good", *lines, ""]))
    onepass(tmp_path, "train", "t.csv", "-o", "m.safetensors", "-q", "--race", "off")
    every = json.loads(onepass(tmp_path, "inspect", "m.safetensors", "--json").stdout)["heaviest"]
    jobs = json.loads(onepass(tmp_path, "inspect", "m.safetensors", "--column", "job", "--json").stdout)["heaviest"]
    assert jobs == [one for one in every if one["name"].startswith("job=")]
    assert len(jobs) == 3
    one = json.loads(onepass(tmp_path, "inspect", "m.safetensors", "--weights", "1", "--json").stdout)["heaviest"]
    assert one == every[:1]
    none = onepass(tmp_path, "inspect", "m.safetensors", "--weights", "0").stdout
    assert "towards" not in none
    assert "did you mean 'size'" in onepass(tmp_path, "inspect", "m.safetensors", "--column", "sizes", code=3).stderr
