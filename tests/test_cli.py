"""The program, as a user meets it: what goes where, exit codes, files."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from onepass import LinearModel, Pass
from onepass.cli import main
from onepass.io import dump_svmlight
from strategies import EXAMPLES

X, Y = EXAMPLES


def onepass(folder, *arguments, code=0):
    """Run the program in this process: what it prints where, and its exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    here = os.getcwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end:
            main([*map(str, arguments)])
    finally:
        os.chdir(here)
    done = subprocess.CompletedProcess(arguments, end.value.code, *(s.buffer.getvalue().decode() for s in (out, err)))
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def process(folder, *arguments, **options):
    """Run it in a process of its own."""
    program = [sys.executable, "-m", "onepass.cli", *map(str, arguments)]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=300, **options)


def test_train_with_no_options_prints_one_sentence(folder):
    done = onepass(folder, "train", "data.svm")
    assert "With probability 95 %" in done.stdout
    assert "600 rows, 8 features, labels -1, 1" in done.stdout
    assert "reading data.svm as svmlight, compression none" in done.stderr
    assert "rows/s" in done.stderr


def test_train_is_the_api(folder):
    onepass(folder, "train", "data.svm", "--learner", "margin", "--radius", "2", "-o", "api.safetensors", "-q")
    run = Pass("margin", radius=2.0, expected_rows=600)
    run.feed(X, Y.astype(float))
    model = LinearModel.load(folder / "api.safetensors")
    np.testing.assert_allclose(model.decision(X), run.model().decision(X), atol=1e-12)
    assert model.about["certificate"]["risk"] == pytest.approx(run.certificate().risk, abs=1e-9)


def test_the_same_data_gives_the_same_bytes_on_any_number_of_threads(folder):
    for threads, name in ((1, "t1"), (2, "t2"), (5, "t5")):
        onepass(folder, "train", "data.svm", "--threads", threads, "-o", f"{name}.safetensors", "-q")
    one, two, five = ((folder / f"{name}.safetensors").read_bytes() for name in ("t1", "t2", "t5"))
    assert one == two == five


def test_formats_give_the_same_model(folder):
    svm = json.loads(onepass(folder, "train", "data.svm", "--json", "-q").stdout)
    columns = ",".join((folder / "data.csv").read_text().split("\n")[0].split(",")[:-1])  # declared: all rows count
    told = ("--target", "class", "--numeric", columns)
    csv = json.loads(onepass(folder, "train", "data.csv", *told, "--json", "-q").stdout)
    assert csv["classes"] == ["no", "yes"]
    assert (svm["mistakes"], svm["certificate"]["risk"]) == (csv["mistakes"], csv["certificate"]["risk"])
    told = ("--expected-rows", "600")  # a pipe does not tell
    piped = process(folder, "train", "-", "--json", "-q", *told, input=(folder / "data.svm").read_text())
    assert json.loads(piped.stdout)["certificate"] == svm["certificate"]


def test_json_and_jsonl_are_for_machines(folder):
    result = json.loads(onepass(folder, "train", "data.svm", "--json", "-q").stdout)
    assert result["schema"] == 2
    assert result["rows"] == 600
    lines = onepass(folder, "train", "data.svm", "--jsonl", "--log-every", "0.01", "-q").stdout.splitlines()
    assert json.loads(lines[-1])["event"] == "result"
    quiet = onepass(folder, "train", "data.svm", "-q")
    assert quiet.stderr == quiet.stdout == ""


def test_output_is_checked_before_the_run_and_never_overwritten_unasked(folder):
    onepass(folder, "train", "data.svm", "-o", "once.safetensors")
    again = onepass(folder, "train", "data.svm", "-o", "once.safetensors", code=2)
    assert "--force" in again.stderr
    onepass(folder, "train", "data.svm", "-o", "once.safetensors", "--force")
    assert "folder" in onepass(folder, "train", "data.svm", "-o", "no/where.safetensors", code=2).stderr


def test_bad_data_is_exit_3_with_file_line_and_column(folder):
    done = onepass(folder, "train", "bad.svm", code=3)
    assert "bad.svm:line 2, col 6" in done.stderr
    assert done.stdout == ""
    skipped = onepass(folder, "train", "bad.svm", "--on-error", "skip")
    assert "3 rows" in skipped.stdout
    onepass(folder, "train", "bad.svm", "--on-error", "quarantine=kept.txt")
    assert (folder / "kept.txt").read_text() == "-1 2:x\n"
    assert "--max-bad" in onepass(folder, "train", "bad.svm", "--on-error", "skip", "--max-bad", "0", code=3).stderr
    assert "--on-error" in onepass(folder, "train", "bad.svm", "--on-error", "maybe", code=2).stderr
    assert "nosuch.svm" in onepass(folder, "train", "nosuch.svm", code=3).stderr


def test_usage_errors_are_exit_2_and_name_the_option(folder):
    assert "delta: " in onepass(folder, "train", "data.svm", "--delta", "2", code=2).stderr
    assert "'train'" in onepass(folder, "trian", code=2).stderr
    assert "bits" in onepass(folder, "train", "data.csv", "--target", "class", "--zero-based", code=2).stderr
    assert "radius" in onepass(folder, "train", "data.svm", "--loss", "hinge", code=2).stderr


def test_require_risk_is_exit_5(folder):
    assert "not met" in onepass(folder, "train", "data.svm", "--require-risk", "0.0001", code=5).stderr
    onepass(folder, "train", "data.svm", "--require-risk", "0.9")


def test_stop_at_stops(folder):
    result = json.loads(onepass(folder, "train", "data.svm", "--stop-at", "0.5", "--json", "-q").stdout)
    assert result["stopped"]
    assert result["rounds"] < 600
    assert result["certificate"]["risk"] <= 0.5


def test_sorted_and_doubled_data_get_no_certificate(folder):
    assert "No certificate: the labels come in an order" in onepass(folder, "train", "sorted.svm").stdout
    assert "fed twice" in onepass(folder, "train", "data.svm", "data.svm").stdout
    onepass(folder, "train", "sorted.svm", "--require-risk", "0.9", code=5)


def test_show_code_runs_and_gives_the_same(folder):
    shown = onepass(folder, "train", "data.svm", "--learner", "margin", "--radius", "2", "--show-code").stdout
    assert "Pass('margin', radius=2.0, expected_rows=600)" in shown
    ran = subprocess.run([sys.executable, "-c", shown], cwd=folder, capture_output=True, text=True, check=True)
    trained = onepass(folder, "train", "data.svm", "--learner", "margin", "--radius", "2")
    assert ran.stdout.strip() in trained.stdout


@pytest.fixture(scope="module")
def model(folder):
    onepass(folder, "train", "data.csv", "--target", "class", "-o", "model.safetensors", "-q")
    return "model.safetensors"


def test_predict_keeps_order_in_every_format(folder, model):
    expected = LinearModel.load(folder / model).predict(X).tolist()
    done = onepass(folder, "predict", model, "data.csv", "--target", "class")
    assert done.stdout.split() == expected
    wrong = np.mean(np.array(expected) != np.where(Y > 0, "yes", "no"))
    assert f"{wrong:.4f} of the 600 labelled rows" in done.stderr
    onepass(folder, "predict", model, "data.csv", "--target", "class", "--scores", "-o", "p.csv")
    lines = (folder / "p.csv").read_text().splitlines()
    assert lines[0] == "label,score"
    assert [line.split(",")[0] for line in lines[1:]] == expected
    onepass(folder, "predict", model, "data.csv", "--target", "class", "--scores", "-o", "p.jsonl")
    rows = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert [row["label"] for row in rows] == expected
    onepass(folder, "predict", model, "data.csv", "--target", "class", "--scores", "-o", "p.parquet")
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(folder / "p.parquet")
    assert table["label"].to_pylist() == expected
    assert table["score"].to_pylist() == [row["score"] for row in rows]
    assert "--force" in onepass(folder, "predict", model, "data.csv", "--target", "class", "-o", "p.csv", code=2).stderr
    onepass(folder, "predict", model, "data.csv", "--target", "class", "-o", "p.txt")
    onepass(folder, "predict", model, "data.csv", "--target", "class", "-o", "p.txt", "--append")
    assert (folder / "p.txt").read_text().split() == expected * 2


def test_predict_refuses_what_the_model_does_not_know(folder, model):
    (folder / "wide.svm").write_text("1 9:1\n")
    assert "trained on 8" in onepass(folder, "predict", model, "wide.svm", code=3).stderr
    onepass(folder, "predict", model, "wide.svm", "--wider", "ignore")
    (folder / "broken.safetensors").write_bytes(b"\x80\x04pickle")
    assert "broken.safetensors" in onepass(folder, "predict", "broken.safetensors", "data.svm", code=4).stderr
    assert "none.safetensors" in onepass(folder, "predict", "none.safetensors", "data.svm", code=2).stderr


def test_a_closed_pipe_ends_quietly(folder, model):
    program = f"{sys.executable} -m onepass.cli predict {model} data.csv --target class -q | head -1"
    done = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() in ("yes", "no")
    assert done.stderr == ""


def test_inspect_tells_all_and_imports_nothing_heavy(folder, model):
    facts = json.loads(onepass(folder, "inspect", model, "--json").stdout)
    assert facts["classes"] == ["no", "yes"]
    assert (facts["about"]["rows"], facts["about"]["rounds"]) == (600, 600 - 256)  # 256 decided what the columns are
    text = onepass(folder, "inspect", model).stdout
    assert "Adaptive()" in text
    code = (
        "import sys\nfrom onepass.cli.group import program\n"
        f"program(['inspect', {model!r}], standalone_mode=False)\nprint(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert not {"numba", "sklearn", "scipy"} & set(ran.stdout.splitlines()[-1].split())


def test_check_tells_what_is_there(folder):
    result = json.loads(onepass(folder, "check", "data.svm", "--json", "-q").stdout)
    assert (result["rows"], result["features"], result["bad"]) == (600, 8, 0)
    assert result["labels"] == {"-1": int((Y < 0).sum()), "1": int((Y > 0).sum())}
    bad = onepass(folder, "check", "bad.svm", code=3)
    assert "bad lines: 1" in bad.stdout
    assert "-1 2:x" in bad.stdout
    assert "order" in onepass(folder, "check", "sorted.svm").stdout
    assert "600 rows" in onepass(folder, "check", "data.csv", "--target", "class").stdout


def test_compare_shows_every_conversion(folder):
    done = onepass(folder, "compare", "data.svm", "--test", "test.svm", "--json", "-q")
    lines = json.loads(done.stdout)["conversions"]
    assert len(lines) == 18
    assert {line["learner"] for line in lines} == {"adaptive", "pa", "perceptron"}
    assert all(line["delta"] == pytest.approx(0.05 / 18) for line in lines)
    sure = [line["risk"] for line in lines if line["covers"] == "model" and line["informative"]]
    assert sure == sorted(sure)
    best = f"--learner {lines[0]['learner']} --conversion {lines[0]['conversion']}"
    assert json.loads(done.stdout)["train"].startswith("onepass train data.svm")
    assert json.loads(done.stdout)["train"].endswith(best)
    assert all(0 <= line["test_error"] <= 1 for line in lines)
    text = onepass(folder, "compare", "data.svm", "--learner", "margin", "--radius", "2", "--test", "test.svm").stdout
    assert "test hinge" in text
    assert "hold together" in text


@pytest.mark.timeout(120)
def test_ctrl_c_ends_after_the_chunk_with_130_and_no_output(folder):
    program = [sys.executable, "-m", "onepass.cli", "train", "-", "--format", "svmlight", "-o", "cut.safetensors"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running = subprocess.Popen(program, cwd=folder, text=True, **pipes)
    running.stdin.write((folder / "data.svm").read_text() * 100)  # more than one block, and no end
    running.stdin.flush()
    assert "reading" in running.stderr.readline()
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "interrupted after" in err
    assert "Traceback" not in err
    assert not (folder / "cut.safetensors").exists()


def test_slow_input_is_not_taken_for_compiling(folder):
    onepass(folder, "train", "data.svm", "-q")  # compiles
    data = (folder / "data.svm").read_bytes()
    os.mkfifo(folder / "slow.svm")

    def send():
        with open(folder / "slow.svm", "wb", buffering=0) as pipe:
            pipe.write(data * 8)  # enough to tell the format, and no block yet
            time.sleep(1)
            pipe.write(data)

    threading.Thread(target=send).start()
    done = onepass(folder, "train", "slow.svm")
    assert "5,400 rows" in done.stdout
    assert "compiling" not in done.stderr


def test_train_starts_without_what_no_kernel_uses(folder):
    code = (
        "import sys; from onepass.cli import main\n"
        "try: main(['train', 'data.svm', '-q', '-o', 'light.model', '--force'])\n"
        "except SystemExit: print(sorted({'scipy.linalg', 'sklearn', 'cffi', 'pyarrow'} & set(sys.modules)))\n"
        "import scipy.linalg.cython_blas"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("[]\n"), done
    assert done.returncode == 0, done.stderr


def test_from_an_empty_cache_the_first_word_is_about_compiling(folder, tmp_path):
    """Said before anything is read; a kernel that is there is not announced."""
    command = [sys.executable, "-m", "onepass.cli", "train", "data.svm"]
    where = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    where.pop("NUMBA_DISABLE_JIT", None)
    with subprocess.Popen(command, cwd=folder, env=where, stderr=subprocess.PIPE, text=True) as run:
        assert re.fullmatch(r"compiling kernels \(once, about \d+ s\) …\n", run.stderr.readline())
        run.kill()
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "runs_1").mkdir()
    (tmp_path / "runs_1" / f"adapting.adapt-9.{version}.nbi").touch()
    with subprocess.Popen(command, cwd=folder, env=where, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr.readline().startswith("reading data.svm")
        run.kill()


def test_help_has_examples_and_version_is_said(folder):
    for name in ("train", "predict", "compare", "check", "inspect", "warmup", "demo"):
        assert "Examples:" in onepass(folder, name, "--help").stdout
    assert "onepass" in onepass(folder, "--version").stdout
    assert "train" in onepass(folder, "--help").stdout


def test_predict_reads_a_table_as_training_did_and_refuses_other_columns(folder):
    rng = np.random.default_rng(0)
    points = zip(rng.normal(size=(300, 2)), rng.choice(["x", "y"], 300), strict=True)
    rows = [f"{a:.3f},{b:.3f},{city},{'hi' if a > b else 'lo'}" for (a, b), city in points]
    (folder / "t.csv").write_text("a,b,city,level\n" + "\n".join(rows) + "\n")
    onepass(folder, "train", "t.csv", "--target", "level", "--categorical", "city", "-o", "t.safetensors", "-q")
    labelled = onepass(folder, "predict", "t.safetensors", "t.csv")
    assert "of the 300 labelled rows" in labelled.stderr
    (folder / "bare.csv").write_text("a,b,city\n" + "\n".join(row.rsplit(",", 1)[0] for row in rows) + "\n")
    assert onepass(folder, "predict", "t.safetensors", "bare.csv").stdout == labelled.stdout
    (folder / "swapped.csv").write_text("b,a,city\n" + "\n".join(row.rsplit(",", 1)[0] for row in rows) + "\n")
    swapped = [",".join([b, a, city, "7"]) for a, b, city, _ in (row.split(",") for row in rows)]
    (folder / "swapped.csv").write_text("b,a,city,more\n" + "\n".join(swapped) + "\n")
    done = onepass(folder, "predict", "t.safetensors", "swapped.csv")
    assert done.stdout == labelled.stdout
    assert "columns that the model does not know: more" in done.stderr
    (folder / "lost.csv").write_text("b,city\n1,x\n")
    refused = onepass(folder, "predict", "t.safetensors", "lost.csv", code=3)
    assert "column a is not there. Columns: b, city" in refused.stderr
    assert refused.stdout == ""


def test_what_several_labels_need_is_named(folder):
    (folder / "three.svm").write_text("0 1:1\n1 1:2\n2 1:3\n")
    onepass(folder, "train", "three.svm")
    hinge = onepass(folder, "train", "three.svm", "--learner", "margin", "--radius", "1", code=3).stderr
    assert "must know all classes beforehand" in hinge
    assert "Fix: --classes 0,1,2" in hinge
    assert (
        "--validation-fraction 0.1" in onepass(folder, "train", "data.svm", "--conversion", "validation", code=2).stderr
    )


def test_head_of_a_long_prediction_ends_quietly(folder):
    dump_svmlight(folder / "long.svm", np.tile(X, (40, 1)), np.tile(Y, 40))
    onepass(folder, "train", "data.svm", "-o", "head.safetensors", "--force", "-q")
    predict = f"{sys.executable} -m onepass.cli predict head.safetensors long.svm --scores -q"
    program = f"{predict} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.stdout.split()[-1] == "0", done.stderr
    assert done.stderr == ""


def test_no_file_is_written_over_another(folder):
    (folder / "own.svm").write_text("1 1:1\n-1 2:1\n" * 20)
    for options, words in {
        ("-o", "same", "--checkpoint", "same"): "--checkpoint: same is --output, too",
        ("-o", "same", "--report", "./same"): "--report: ./same is --output, too",
        ("-o", "same", "--on-error", "quarantine=same"): "--on-error: same is --output, too",
        ("-o", "own.svm", "--force"): "--output: own.svm is what is read, too",
        ("-o", "-"): "--output - is not supported",
    }.items():
        assert words in onepass(folder, "train", "own.svm", *options, code=2).stderr
    assert not (folder / "same").exists()
    assert (folder / "own.svm").read_text().startswith("1 1:1")


def test_workers_refuse_what_is_for_one_process(folder):
    done = onepass(folder, "train", "data.svm", "--workers", "2", "--on-error", "quarantine=file", code=2)
    assert "--on-error quarantine=FILE works in one process" in done.stderr


def test_a_learner_that_does_worse_than_a_guess_is_told(folder):
    rng = np.random.default_rng(0)
    lines = [f"{int(y)},{rng.normal():.3f},{1e5 * rng.normal():.0f}" for y in rng.random(2000) < 0.1]
    (folder / "rare.csv").write_text("y,a,b\n" + "\n".join(lines) + "\n")
    done = onepass(folder, "train", "rare.csv", "--target", "y")
    assert re.search(r'always saying "0": [\d.]+ %\). It is not shown to do better than that', done.stdout)
    said = json.loads(onepass(folder, "train", "rare.csv", "--json", "-q").stdout)["certificate"]
    assert (said["baseline"]["label"], said["beats_baseline"]) == (0.0, False)
    assert "not shown" not in onepass(folder, "train", "data.svm").stdout


def test_the_code_that_is_shown_skips_bad_lines_too(folder):
    assert "on_error='skip'" in onepass(folder, "train", "data.svm", "--on-error", "skip", "--show-code").stdout


def test_a_quantity_is_no_label(folder):
    (folder / "prices.csv").write_text("a,price\n" + "".join(f"{i % 7},{i}.25\n" for i in range(1000)))
    done = onepass(folder, "train", "prices.csv", "--target", "price", code=3)
    assert "column price has 256 different values in its first rows: classes are wanted" in done.stderr


@pytest.mark.parametrize("arguments", [("train", "data.svm"), ("check", "data.svm"), ("inspect", "full.safetensors")])
def test_a_full_stdout_is_said_in_one_line(folder, arguments):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    onepass(folder, "train", "data.svm", "-o", "full.safetensors", "-q", "--force")
    with open("/dev/full", "w") as full:
        program = [sys.executable, "-m", "onepass.cli", *arguments]
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        told = {"cwd": folder, "stdout": full, "stderr": subprocess.PIPE, "text": True, "env": buffered}
        done = subprocess.run(program, check=False, **told)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "onepass: the output: No space left on device"
