"""How commands read: what options reach the reader, and what a model remembers of them."""

import contextlib
import gzip
import json
import os
import threading

import numpy as np
import pyarrow.parquet
import pytest

from onepass import LinearModel
from test_cli import X, Y, onepass, process

WORDS = np.where(Y > 0, "yes", "no").tolist()
LINES = [",".join([*map(repr, x), word]) for x, word in zip(X.tolist(), WORDS, strict=True)]
BARE = [line.rsplit(",", 1)[0] for line in LINES]
NAMES = "a,b,c,d,e,f,g,h"


@pytest.fixture
def write(folder):
    def write(name, *lines):
        (folder / name).write_text("\n".join(lines) + "\n")
        return name

    return write


def trained(folder, *arguments):
    """A model's file, and what it says of all rows."""
    onepass(folder, "train", *arguments, "-o", "read.safetensors", "--force", "-q")
    return "read.safetensors", LinearModel.load(folder / "read.safetensors").predict(X).tolist()


def test_no_header_is_obeyed_and_shown(folder, write):
    options = (write("two.csv", "first,second", "up,yes"), "--target", "1", "--categorical", "0")
    counted = {
        option: json.loads(onepass(folder, "check", *options, *option, "--json").stdout)["rows"]
        for option in ((), ("--header",), ("--no-header",))
    }
    assert counted == {(): 1, ("--header",): 1, ("--no-header",): 2}
    assert "header=False" in onepass(folder, "train", *options, "--no-header", "--show-code").stdout


@pytest.mark.parametrize("head", [["city,class"], []])
def test_a_model_remembers_whether_there_was_a_header(folder, write, head):
    rows = [f"{'up' if y > 0 else 'down'},{word}" for y, word in zip(Y, WORDS, strict=True)]
    file, column = write("words.csv", *head, *rows), "city" if head else "0"
    onepass(folder, "train", file, "--target", "-1", "--categorical", column, "-o", "words", "-q", "--force")
    assert LinearModel.load(folder / "words").about["reading"]["header"] is bool(head)
    done = onepass(folder, "predict", "words", write("alone.csv", *head, "city,yes"))
    assert len(done.stdout.split()) == 1


@contextlib.contextmanager
def pipe(folder, file):
    """A pipe that another writes the file to."""
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes((folder / file).read_bytes()))
    writer.start()
    yield "pipe"
    writer.join()
    (folder / "pipe").unlink()


def test_a_pipe_is_opened_once_whatever_the_model_remembers(folder):
    model, expected = trained(folder, "data.csv", "--target", "class")
    with pipe(folder, "data.svm") as piped:  # svmlight has no target
        assert onepass(folder, "predict", model, piped).stdout.split() == expected


def test_check_opens_a_pipe_once_even_if_the_format_has_no_lines(folder):
    table = pyarrow.table({"a": X[:, 0], "y": Y})
    with pyarrow.OSFile(str(folder / "d.arrows"), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    with pipe(folder, "d.arrows") as piped:
        assert "600 rows" in onepass(folder, "check", piped).stdout


@pytest.mark.parametrize("place", [0, 3, -1])
@pytest.mark.parametrize("kind", ["npy", "csv", "no header", "parquet"])
def test_a_model_of_a_numbered_target_predicts_rows_without_a_label(folder, kind, place):
    at = place % 9
    names = [*NAMES.split(",")[:at], "kind", *NAMES.split(",")[at:]]
    whole = np.insert(X, at, Y, axis=1)
    files = {}
    for what, table, heads in (("whole", whole, names), ("bare", X, NAMES.split(","))):
        files[what] = f"{what}.{'csv' if kind == 'no header' else kind}"
        if kind == "npy":
            np.save(folder / files[what], table)
        elif kind == "parquet":
            pyarrow.parquet.write_table(pyarrow.table(dict(zip(heads, table.T, strict=True))), folder / files[what])
        else:
            rows = [",".join(map(repr, row)) for row in table.tolist()]
            (folder / files[what]).write_text("\n".join([*([",".join(heads)] if kind == "csv" else []), *rows]) + "\n")
    model, expected = trained(folder, files["whole"], "--target", place)
    for file in files.values():
        done = onepass(folder, "predict", model, file)
        assert [*map(float, done.stdout.split())] == expected
        assert ("labelled rows" in done.stderr) == (file == files["whole"])


def test_a_place_is_not_taken_for_a_name_nor_a_name_for_a_place(folder):
    np.save(folder / "whole.npy", np.insert(X, 8, Y, axis=1))
    np.save(folder / "bare.npy", X)
    (folder / "bare.csv").write_text("\n".join([NAMES, *BARE]) + "\n")
    for trained_on, target, other in (("whole.npy", -1, "bare.csv"), ("data.csv", "class", "bare.npy")):
        model, expected = trained(folder, trained_on, "--target", target)
        assert onepass(folder, "predict", model, other).stdout.split() == [
            f"{label:g}" if trained_on == "whole.npy" else label for label in expected
        ]


def test_a_column_may_be_named_by_a_number(folder, write):
    rows = [f"{x[0]},{x[1]},{word}" for x, word in zip(X.tolist(), WORDS, strict=True)]
    years = write("years.csv", "one,7,1", *rows)
    for target in ("1", "-1"):  # the name, then the place
        assert json.loads(onepass(folder, "check", years, "--target", target, "--header", "--json").stdout)[
            "labels"
        ] == {word: WORDS.count(word) for word in ("no", "yes")}
    lines = [json.dumps({"2020": word, "t": word}) for word in WORDS]
    done = onepass(folder, "check", write("years.jsonl", *lines), "--target", "2020", "--text-column", "t")
    assert "600 rows" in done.stdout
    np.save(folder / "some.npy", X)
    assert "numbers, not names" in onepass(folder, "check", "some.npy", "--target", "class", code=2).stderr


def test_a_feature_with_a_usual_name_is_not_taken_for_the_target_that_is_absent(folder, write):
    names = NAMES.replace("h", "y")
    model, expected = trained(folder, write("with_y.csv", f"{names},class", *LINES), "--target", "class")
    assert onepass(folder, "predict", model, write("bare_y.csv", names, *BARE)).stdout.split() == expected


@pytest.mark.parametrize("cell", ["", "?"])
def test_a_file_whose_labels_are_yet_to_come_is_predicted(folder, write, cell):
    model, expected = trained(folder, "data.csv", "--target", "class")
    new = write("new.csv", f"{NAMES},class", *(f"{row},{cell}" for row in BARE))
    done = onepass(folder, "predict", model, new)
    assert (done.stdout.split(), "labelled" in done.stderr) == (expected, False)


def test_a_model_takes_as_many_features_as_it_has(folder, write):
    far = (1 << 24) + 5
    file = write("far.svm", *(f"{int(y)} 1:{x[0]} {far}:1" for x, y in zip(X[:50].tolist(), Y, strict=False)))
    onepass(folder, "train", file, "--max-features", far, "--max-watch-memory", "300MB", "-o", "far.safetensors", "-q")
    assert len(onepass(folder, "predict", "far.safetensors", file).stdout.split()) == 50
    (folder / "far.safetensors").unlink()


def test_other_bits_than_the_model_has_are_refused(folder):
    for bits, other, told in ((None, 10, "none"), (10, 9, "10")):
        model, _ = trained(folder, "data.svm", *(() if bits is None else ("--bits", bits)))
        done = onepass(folder, "predict", model, "data.svm", "--bits", other, code=2)
        assert f"--bits {other}: the model was trained with {told}" in done.stderr
    onepass(folder, "predict", model, "data.svm", "--bits", 10)


def test_a_delimiter_is_told_and_remembered(folder, write):
    file = write("semicolons.csv", *(line.replace(",", ";") for line in (f"{NAMES},class", *LINES)))
    assert "fields are separated by ';'" in onepass(folder, "check", file).stdout
    assert "Fix: --delimiter ';'" in onepass(folder, "check", file, "--delimiter", ",", code=3).stderr
    assert "one ASCII character" in onepass(folder, "check", file, "--delimiter", ";;", code=2).stderr
    model, expected = trained(folder, file, "--delimiter", ";")
    assert onepass(folder, "predict", model, file).stdout.split() == expected
    assert onepass(folder, "predict", model, "data.svm").stdout.split() == expected
    tabs = write("tabs.tsv", *(line.replace(",", "\t") for line in (f"{NAMES},class", *LINES)))
    assert onepass(folder, "predict", model, tabs).stdout.split() == expected
    assert "8 columns" in onepass(folder, "check", tabs, "--format", "csv").stdout


def test_what_is_too_long_or_unpacks_to_too_much_can_be_allowed(folder, write):
    file = write("long.svm", *("1 " + " ".join(f"{i}:1" for i in range(1, 600_000)) for _ in range(3)))
    (folder / "zeros.svm.gz").write_bytes(gzip.compress(b"1 1:2\n" * (3 << 20)))
    for path, option, little, enough in (
        (file, "--max-line", 1 << 20, 1 << 23),
        ("zeros.svm.gz", "--max-expand", 10, 10_000),
    ):
        assert f"Fix: {option}" in onepass(folder, "check", path, option, little, code=3).stderr
        done = onepass(folder, "check", path, option, enough)
        assert "bad lines: 0" in done.stdout


def test_a_model_of_several_workers_remembers_the_same(folder):
    about = []
    for name, more in (("alone", ()), ("spread", ("--workers", 1, "--waves", 1))):
        done = process(folder, "train", "data.csv", "--target", "-1", *more, "-o", f"{name}.safetensors", "-q")
        assert done.returncode == 0, done.stderr
        model = LinearModel.load(folder / f"{name}.safetensors")
        about.append((model.about["reading"], model.table, [*model.names.all()]))
    assert about[0] == about[1]
    assert about[0][1].target == "class"


def test_a_run_that_does_not_begin_leaves_no_quarantine_file(folder):
    onepass(folder, "train", "missing.svm", "--on-error", "quarantine=bad.txt", code=3)
    assert not (folder / "bad.txt").exists()
