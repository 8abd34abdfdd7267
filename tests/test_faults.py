"""Faults as a user of the program meets them: exit code, message, and what is left behind. docs/faults.md lists all."""

import errno
import gzip
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from onepass import DataError, OnePassClassifier, Pass
from onepass.cli import feeding
from onepass.io import dump_svmlight
from strategies import dyadic
from test_cli import onepass, process

ROOT = Path(__file__).resolve().parents[1]
X, Y = dyadic(7, 400, 6, noise=0.0)


@pytest.fixture(name="here")
def here_fixture(tmp_path):
    """A folder with data and a model made from it."""
    dump_svmlight(tmp_path / "good.svm", X, Y)
    onepass(tmp_path, "train", "good.svm", "-o", "old.safetensors", "-q")
    return tmp_path


def table(*rows):
    return "a,b,y\n" + "".join(f"{row}\n" for row in rows)


BAD = {  # name: (content, what the message says, where, what to do)
    "empty.svm": (b"", "no examples", "", ""),
    "comments.svm": (b"# a\n\n", "no examples", "", ""),
    "nan.svm": (b"1 1:2\n-1 1:nan\n", "not a finite number", "line 2, col 6", "--missing zero"),
    "overflow.svm": (b"1 1:1e400\n", "overflows", "line 1, col 5", ""),
    "comma.svm": (b"1 1:0,5\n", "not a number", "line 1, col 6", ""),
    "multilabel.svm": (b"1,2 1:1\n", "several labels", "line 1, col 1", "one label"),
    "zero.svm": (b"1 0:1\n", "indices start at 1", "line 1, col 3", "--zero-based"),
    "unsorted.svm": (b"1 7:1 3:1\n", "index 3 after 7", "line 1, col 7", "--unsorted sort"),
    "bomb.svm": (b"1 10000000000:1\n", "needs 80 GB", "line 1, col 3", "--bits 24"),
    "cut.svm": (b"1 1:2\n-1 5:", "no value after the colon", "line 2, col 6", ""),
    "old.svm": (b"1 1:2\r-1 2:3\r", "CR only", "", "tr"),
    "wide.svm": ("1 1:2\n".encode("utf-16"), "UTF-16", "", "iconv"),
    "page.svm": (b"<!DOCTYPE html><p>404\n", "HTML", "", "fetch"),
    "pickle.svm": (b"\x80\x04\x95pickle", "pickle", "", ""),
    "cut.svm.gz": (gzip.compress(b"1 1:2\n" * 500)[:-9], "ends early", "", "--allow-truncated"),
    "cell.csv": (
        table("1,2,1", *["1,7,0", "2,4,1"] * 20, "1,x,0", "3,4,1").encode(),
        "column 'b' holds numbers",
        "line 43, col 3",
        "--on-error",
    ),
    "ragged.csv": (table("1,2,1", "1,0").encode(), "expected 3 columns, got 2", "line 3", ""),
    "quote.csv": (b'a,y\n1,"x\n2,y\n', "never closed", "line 2", "double it"),
    "latin.csv": (b"a,y\n1,caf\xe9\n", "not UTF-8", "line 2, col 6", "iconv"),
    "twice.csv": (b"a,a,y\n1,2,3\n", "two columns are named 'a'", "", "--no-header"),
    "header.csv": (b"a,y\n", "no examples", "", ""),
    "broken.jsonl": (b'{"y": 1, "t": \n', "not JSON", "line 1, col 15", ""),
    "label.vw": (b"|a b\n", "no label", "line 1, col 1", "put a label"),
    "footer.parquet": (b"PAR1" + b"\0" * 40, "damaged or cut short", "", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_exit_3_and_leaves_the_old_model_as_it_was(here, name):
    content, message, place, remedy = BAD[name]
    (here / name).write_bytes(content)
    before = (here / "old.safetensors").read_bytes()
    options = ["--text-column", "t", "--target", "y"] if name.endswith("jsonl") else []
    done = onepass(here, "train", name, *options, "-o", "old.safetensors", "--force", code=3)
    assert done.stdout == ""
    assert message in done.stderr
    assert f"{name}:{place}" in done.stderr if place else name in done.stderr
    assert not remedy or re.search(f"Fix: .*{re.escape(remedy)}", done.stderr)
    assert "Traceback" not in done.stderr
    assert (here / "old.safetensors").read_bytes() == before
    assert not [path for path in here.iterdir() if "part" in path.name]


def test_one_example_and_one_class_are_learned_where_that_is_defined(here):  # 2
    (here / "one.svm").write_text("1 1:2\n")
    done = onepass(here, "train", "one.svm", "-o", "one.safetensors")
    assert "Not yet informative" in done.stdout
    (here / "same.svm").write_text("3 1:2\n" * 50)
    result = json.loads(onepass(here, "train", "same.svm", "--json", "-q").stdout)
    assert result["classes"] == [3.0]
    with pytest.raises(ValueError, match="class"):
        OnePassClassifier().fit(X[:5], np.ones(5))


def test_labels_written_in_many_ways_are_one_label(here):  # 8
    (here / "many.svm").write_text("+1 1:2\n1 1:2\n1.0 1:1\n-1 1:-1\n-1.00 1:-2\n")
    done = onepass(here, "train", "many.svm")
    assert "labels -1, 1" in done.stdout


@pytest.mark.parametrize("blank", [False, True])
def test_a_third_label_joins_or_is_named_with_its_line(here, blank):  # 9
    lines = [f"{i % 2} 1:{i % 3}" for i in range(300)]
    lines[217] = "7 1:1"
    text = "\n".join([*lines[:100], *([""] if blank else []), *lines[100:]])
    (here / "late.svm").write_text(text + "\n")
    done = onepass(here, "train", "late.svm", "--classes", "0,1", code=3)
    assert f"late.svm:line {218 + blank}: label 7.0 is not one of" in done.stderr
    done = onepass(here, "train", "late.svm", "--max-classes", "2", code=3)
    assert f"late.svm:line {218 + blank}: label 7.0 is number 3, and at most 2 classes may be met" in done.stderr
    assert "Fix: --max-classes that allows it" in done.stderr
    assert "labels 0, 1, 7" in onepass(here, "train", "late.svm").stdout


LARGE = {
    "large.svm": "1 1:1\n\n# no row\n-1 qid:3 2:1\n1 x\n1 1:1e300\n-1 2:1\n",
    "large.vw": "1 |a b:1\n\n\n-1 |a c\nspam\n1 |a b:1e300\n-1 |a c\n",
    "large.csv": 'y,a,b\n1,2,3\n\n-1,"5\n",3\n1,1e300,3\n-1,2,3\n',
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("command", ["train", "cluster", "predict"])
def test_a_value_too_large_is_named_with_its_own_line(here, name, command):
    """Whatever stands before it that is no row: blank lines, comments, bad lines, a header, quoted newlines."""
    (here / name).write_text(LARGE[name])
    given = {"train": ["train"], "cluster": ["cluster", "-k", "2"], "predict": ["predict", "m"]}[command]
    if command == "predict":
        good = LARGE[name].replace("1e300", "2")
        (here / f"good-{name}").write_text(good)
        onepass(here, "train", f"good-{name}", "-o", "m", "--force", "--on-error", "skip")
    skip = [] if name.endswith(".csv") else ["--on-error", "skip"]  # which leaves a row of a table out
    done = onepass(here, *given, name, *skip, code=3)
    line = 1 + LARGE[name][: LARGE[name].index("1e300")].count("\n")
    assert f"{name}:line {line}: " in done.stderr, done.stderr
    assert ("mend it" if command == "predict" and name.endswith(".csv") else "rescale") in done.stderr


# Bad lines left out ---------------------------------------------------------------------------------

SKIP = {  # kind: (header, a line of either class, two bad lines, where the first is bad)
    "svm": ("", ("1 1:2", "-1 1:-2"), ("-1 2:x", "1 1:1 1:1"), "line 81, col 6"),
    "csv": ("a,y\n", ("2,1", "-2,0"), ("x,0", "3"), "line 82, col 1"),
    "tsv": ("a\ty\n", ("2\t1", "-2\t0"), ("x\t0", "3"), "line 82, col 1"),
    "jsonl": ("", ('{"t": "a", "y": 1}', '{"t": "b", "y": 0}'), ('{"t":', "[]"), "line 81, col 6"),
    "vw": ("", ("1 | a", "-1 | c"), ("| b", "x | d"), "line 81, col 1"),
}


@pytest.mark.parametrize("kind", SKIP)
def test_bad_lines_are_left_out_named_and_counted_in_the_certificate(here, kind):  # §1, 20
    header, good, bad, place = SKIP[kind]
    lines = [good[label] for label in np.random.default_rng(0).integers(0, 2, size=118)]
    lines[80:80] = bad
    (here / f"s.{kind}").write_text(header + "\n".join(lines) + "\n")
    options = ["--text-column", "t"] if kind == "jsonl" else []
    options += ["--target", "y"] if kind in ("csv", "tsv", "jsonl") else []
    options += ["--numeric", "a"] if kind in ("csv", "tsv") else []  # declared, so that all rows count
    first = f"s.{kind}:{place}: "
    command = ["train", f"s.{kind}", *options, "--on-error", "quarantine=kept.txt"]
    result = json.loads(onepass(here, *command, "--json", "-q").stdout)
    assert (result["rows"], result["skipped"]) == (118, 2)
    assert result["skipped_lines"][0].startswith(first)
    assert any("2 bad lines were left out" in text for text in result["certificate"]["assumptions"])
    assert (here / "kept.txt").read_text() == "".join(f"{line}\n" for line in bad)
    assert "kept.txt: File exists" in onepass(here, *command, code=2).stderr
    skip = ["train", f"s.{kind}", *options, "--on-error", "skip", "--max-bad"]
    said = onepass(here, *skip, "2%").stdout
    assert f"left out 2 bad lines, the first: {first}" in said
    assert "2 bad lines were left out" in said.partition("Assumed:")[2]
    few = onepass(here, *skip, "1%", code=3)
    assert f"2 bad lines in 120, more than --max-bad 1% allows; the first: {first}" in few.stderr
    checked = onepass(here, "check", f"s.{kind}", *options, code=3).stdout
    assert "bad lines: 2" in checked
    assert first in checked


def test_predictions_say_which_lines_have_none(here):
    (here / "new.svm").write_text("1 1:2\n1 x:1\n-1 2:1\n")
    done = onepass(here, "predict", "old.safetensors", "new.svm", "--on-error", "skip")
    first, empty, last = done.stdout.splitlines()
    assert (bool(first), empty, bool(last)) == (True, "", True)
    assert "1 bad line has an empty prediction, the first: new.svm:line 2, col 3" in done.stderr


# What makes a certificate void, and what it must say --------------------------------------------------


def test_a_file_that_changes_while_it_is_read_gets_no_certificate(here, monkeypatch):  # 32
    path = here / "grows.svm"
    path.write_bytes((here / "good.svm").read_bytes())
    feed = feeding.feed_chunk

    def grow(*chunk):
        feed(*chunk)
        with path.open("ab") as file:
            file.write(b"1 1:1\n")

    monkeypatch.setattr(feeding, "feed_chunk", grow)
    assert "No certificate: grows.svm changed while it was read" in onepass(here, "train", "grows.svm").stdout


def test_what_a_cut_off_file_still_holds_is_labelled(here):  # 29
    data = gzip.compress((here / "good.svm").read_bytes())
    (here / "cut.svm.gz").write_bytes(data[: len(data) // 2])
    done = onepass(here, "train", "cut.svm.gz", "--allow-truncated")
    assert "the compressed stream ended early" in done.stdout.partition("Assumed:")[2]
    assert "cut.svm.gz: the compressed stream ends early" in done.stderr


# Files, folders, terminals ------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_model(here, monkeypatch):  # 34
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = (here / "old.safetensors").read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    done = onepass(here, "train", "good.svm", "-o", "old.safetensors", "--force", code=1)
    assert "cannot write to old.safetensors: No space left on device" in done.stderr
    assert (here / "old.safetensors").read_bytes() == before
    assert not [path for path in here.iterdir() if path.name.endswith(".part")]


def test_labels_and_names_cannot_move_the_cursor(here):  # 58
    name = "\x1b[31mred.csv"
    (here / name).write_text("a,y\n" + "1,\x1b[2Jone\n2,two\n" * 20)
    done = onepass(here, "train", name, "--target", "y")
    assert "\x1b" not in done.stdout + done.stderr
    assert r"\x1b[2Jone" in done.stdout
    assert r"\x1b[31mred.csv" in done.stderr


EVIL = "\x1b[31m\x9b2J\r\b\n\u202e"
SHOWN = r"\x1b[31m\x9b2J\r\x08\n\u202e"
NAMED = {  # whatever takes a name: what is run, the exit code
    "output": (["train", "good.svm", "-o", EVIL], 0),
    "output that is there": (["train", "good.svm", "-o", f"{EVIL}.there"], 2),
    "output without a folder": (["train", "good.svm", "-o", f"{EVIL}/x"], 2),
    "page": (["train", "good.svm", "--report", f"{EVIL}.html"], 0),
    "checkpoint": (["train", "good.svm", "--checkpoint", EVIL, "--resume"], 0),
    "checkpoint that is none": (["train", "good.svm", "--checkpoint", f"{EVIL}.there", "--resume"], 4),
    "model": (["verify", f"{EVIL}.model"], 0),
    "model that is none": (["inspect", f"{EVIL}.there"], 4),
    "model that is not there": (["predict", EVIL, "good.svm"], 2),
    "predictions": (["predict", "old.safetensors", "good.svm", "-o", EVIL], 0),
    "data": (["check", EVIL], 3),
    "quarantine": (["check", "good.svm", "--on-error", f"quarantine={EVIL}.there"], 2),
    "config": (["--config", f"{EVIL}.there", "train", "good.svm"], 2),
    "centres": (["cluster", "points.csv", "-k", "1", "--centres", f"{EVIL}.csv", "--figure", f"{EVIL}.svg"], 0),
    "points": (["cluster", f"{EVIL}.points", "-k", "1", "--format", "csv"], 0),
    "figure": (["experts", "advice.csv", "--figure", f"{EVIL}.svg", "--report", f"{EVIL}.html"], 0),
    "expert": (["experts", "odd.csv"], 0),
    "run": (["report", f"{EVIL}.there"], 3),
    "documents": (["newswire", "2", "-o", EVIL], 0),
    "command": ([EVIL], 2),
    "option": (["train", f"--{EVIL}"], 2),
    "choice": (["train", "good.svm", "--learner", EVIL], 2),
    "learner": (["experts", "--data", "good.svm", "--experts", EVIL], 2),
    "folder": (["reproduce", "figure2", "-o", f"{EVIL}.there"], 2),
    "scheduler": (["train", "good.svm", "--dask", f"local:{EVIL}"], 2),
}


@pytest.mark.parametrize("name", NAMED)
def test_no_name_reaches_a_terminal_as_it_is(here, name):  # 58
    command, code = NAMED[name]
    (here / f"{EVIL}.there").write_text("\x1b")
    (here / f"{EVIL}.model").write_bytes((here / "old.safetensors").read_bytes())
    (here / "points.csv").write_text("a\n1\n2\n3\n")
    (here / f"{EVIL}.points").write_text("a\n1\n2\n3\n")
    (here / "advice.csv").write_text("one,two,outcome\n" + "0,1,1\n" * 9)
    (here / "odd.csv").write_text('one,"\x1b[31m\x9b2J\b\u202e",outcome\n' + "0,1,1\n" * 9)
    done = onepass(here, *command, code=code)
    said = done.stdout + done.stderr
    assert not re.search("[^\n -~\xa1-\u2027\u2030-\uffff]", said), said
    otherwise = {"expert": r"\x1b[31m\x9b2J\x08\u202e", "option": r"\x9b2J\r\x08"}  # click 8.1 drops colours itself
    assert SHOWN in said or otherwise.get(name, SHOWN) in said, said


def test_all_words_go_through_one_place():  # 58
    """Which escapes them: see onepass.cli.terminal."""
    for path in (ROOT / "src" / "onepass" / "cli").rglob("*.py"):
        if path.name != "terminal.py":
            assert not re.search(r"click\.s?echo|Console\(", path.read_text()), path


def test_what_is_printed_as_toml_is_read_again(here):  # 58
    printed = onepass(here, "train", "good.svm", "-o", EVIL, "--print-config").stdout
    assert tomllib.loads(printed)["train"]["output"] == EVIL
    assert printed.replace("\n", "").isprintable()


def test_a_page_on_stdout_is_written_as_it_is(here):
    onepass(here, "report", "old.safetensors", "-o", "page.html")
    assert onepass(here, "report", "old.safetensors", "-o", "-").stdout == (here / "page.html").read_text()


def test_colours_and_bars_are_still_drawn(here):
    program = [sys.executable, "-m", "onepass.cli", "--color", "always", "experts", "advice.csv"]
    (here / "advice.csv").write_text("one,two,outcome\n" + "0,1,1\n" * 9)
    done = subprocess.run(program, cwd=here, capture_output=True, text=True, timeout=60)
    assert "\x1b[" in done.stdout


@pytest.mark.parametrize("module", ["click", "onepass.errors", "json"])
def test_ctrl_c_while_the_program_is_being_imported(here, module):  # 39
    """Deterministically: the module that is imported then raises what the signal would."""
    code = (
        "import builtins, sys\nimported = builtins.__import__\n"
        "def pressed(name, *more):\n"
        f"    if name == {module!r}: raise KeyboardInterrupt\n"
        "    return imported(name, *more)\n"
        "import onepass.cli\n"
        "builtins.__import__ = pressed\n"
        "sys.argv = ['onepass', 'train', 'good.svm']\n"
        "onepass.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "onepass: interrupted\n")


def test_half_of_a_surrogate_pair_is_valid_json(here):  # 58
    (here / "half.jsonl").write_text('{"t": "a", "y": "\\ud800"}\n{"t": "b", "y": "é"}\n' * 9)
    options = ("half.jsonl", "--target", "y", "--text-column", "t", "--json")
    assert json.loads(onepass(here, "train", *options).stdout)["classes"] == ["\\ud800", "é"]


def test_odd_places_names_and_hash_seeds_change_nothing(here):  # 50, 59, 60
    odd = here / ("däta 🎲 " + "x" * 200)
    odd.mkdir()
    (odd / "gööd file.svm").write_bytes((here / "good.svm").read_bytes())
    places = [
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Chatham", "COLUMNS": "20", "TERM": "dumb"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "de_DE.UTF-8", "TZ": "UTC", "COLUMNS": "200", "NO_COLOR": "1"},
    ]
    models = []
    for number, place in enumerate(places):
        done = process(odd, "train", "gööd file.svm", "-o", f"{number}.safetensors", env={**os.environ, **place})
        assert done.returncode == 0, done.stderr
        assert "0." in done.stdout
        models.append((odd / f"{number}.safetensors").read_bytes())
    assert models[0] == models[1] == (here / "old.safetensors").read_bytes()


def test_nothing_reads_the_clock_on_the_wall():  # 60: so that it may jump; time is measured by a clock that cannot
    for path in (ROOT / "src").rglob("*.py"):
        assert not re.search(
            r"\btime\.time\b|datetime\.now|utcnow|\btoday\(|from time import time\b", path.read_text()
        ), path


def test_without_stderr_the_result_still_comes(here):  # 59
    command = f"{sys.executable} -m onepass.cli train good.svm -o quiet.safetensors 2>&-"
    done = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, text=True, timeout=120)
    assert "With probability 95 %" in done.stdout
    assert (here / "quiet.safetensors").read_bytes() == (here / "old.safetensors").read_bytes()


def test_a_damaged_kernel_cache_is_made_anew(here, tmp_path_factory):  # 53
    cache = tmp_path_factory.mktemp("cache")
    code = "from onepass.looks import look_after; print(look_after(64))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.stdout.strip() == "65", done.stderr
        files = [path for path in cache.rglob("*") if path.suffix in (".nbi", ".nbc")]
        assert files
        for path in files:
            path.write_bytes(path.read_bytes()[:40] + b"junk")
    assert "Traceback" not in done.stderr


def test_it_runs_in_threads_and_after_a_fork(here):  # 54
    code = (
        "import joblib, multiprocessing, threading, numpy as np\n"
        "from onepass import Pass\n"
        "X = np.random.default_rng(0).normal(size=(300, 4)); y = X[:, 0] > 0\n"
        "def learn(queue):\n"
        "    run = Pass(); run.feed(X, y); queue.put(run.model().weights.tobytes())\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('fork')\n"
        "    queue = context.Queue(); learn(queue); found = [queue.get(timeout=60)]\n"
        "    for kind in (threading.Thread, context.Process):\n"
        "        worker = kind(target=learn, args=(queue,)); worker.start()\n"
        "        found.append(queue.get(timeout=60)); worker.join(60)\n"
        "    class List(list):\n"
        "        put = list.append\n"
        "    def listed():\n"
        "        heard = List(); learn(heard); return heard[0]\n"
        "    for backend in ('loky', 'threading'):\n"
        "        found += joblib.Parallel(2, backend=backend)(joblib.delayed(listed)() for _ in range(2))\n"
        "    print(len(set(found)))\n"
    )
    (here / "fork.py").write_text(code)
    done = subprocess.run([sys.executable, "fork.py"], cwd=here, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "1", done.stderr


# Arrays and counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [2**24, 2**31, 2**40])
def test_counts_beyond_32_bits_are_exact(rounds):  # 46
    """A pass that is told it has come a long way counts on from there as one that has not."""
    near, far = Pass(), Pass()
    near.feed(X[:300], Y[:300])
    state = near.state()
    ledger = state["learner"]["ledger"]
    state["rows"], state["rounds"], ledger["since"] = (
        at + rounds for at in (state["rows"], state["rounds"], ledger["since"])
    )
    ledger["tally"].rounds[0] += rounds  # where a hypothesis would have counted them that lived one round each
    far.restore(state)
    for run in (near, far):
        run.feed(X[300:], Y[300:])
    a, b = near.trace(), far.trace()
    assert (far.rows, far.rounds, b.updates, far.mistakes) == (X.shape[0] + rounds, b.rounds, a.updates, near.mistakes)
    assert b.rounds == a.rounds + rounds == int(b.tally.rounds.sum()) + b.alive
    assert a.alive == b.alive
    new = slice(ledger["entered"], None)
    assert (b.log.round[new] - a.log.round[new] == rounds).all()


def test_mistakes_without_end_overflow_nothing():  # 48
    run = Pass("perceptron", conversion="cutoff", order_alarm=False, repeat_alarm=False, max_trace_memory=1 << 16)
    rows, contrary = np.ones((500_000, 1)), np.tile([1, 0], 250_000)  # each label the other than what was learned
    for _ in range(20):
        run.feed(rows, contrary)
    assert run.mistakes == run.rounds == 10_000_000
    assert run.certificate("average").empirical == run.certificate("average").risk == 1.0
    assert np.isfinite(run.model().weights).all()


def test_a_rejected_chunk_changes_no_bit_of_a_pass():
    run = Pass()
    run.feed(X, Y)
    before = run.model().weights.tobytes(), str(run.certificate())
    for rows, labels in (([[np.nan] * 6], [1]), (X[:60], range(60)), (X[:1, :3], [1]), (X[:2], [1])):
        with pytest.raises(DataError):
            run.feed(rows, labels)
    assert (run.model().weights.tobytes(), str(run.certificate())) == before


# The document --------------------------------------------------------------------------------------------


def test_every_test_that_the_table_of_faults_names_exists():
    text = (ROOT / "docs" / "faults.md").read_text()
    named = re.findall(r"`(test_\w+)::(test_\w+)`", text)
    assert len(named) > 50
    for file, function in named:
        assert f"def {function}(" in (ROOT / "tests" / f"{file}.py").read_text(), (file, function)
    rows = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert rows >= {*range(1, 62)} - {55, 56}
