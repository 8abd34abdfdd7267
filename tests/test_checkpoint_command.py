"""`onepass train --checkpoint --resume`, as a user meets it: signals, kills, full disks, other files, two at once."""

import contextlib
import gzip
import io
import json
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from onepass import Pass
from onepass.checkpoints import checkpoint, packing, tensors
from onepass.cli import checkpoints, inputs, main, signals
from onepass.datasets import Newswire
from onepass.io import dump_svmlight
from strategies import dyadic

X, Y = dyadic(7, 3000, 6, noise=0.1)
TRAIN = ("train", "data.svm", "-o", "model", "--checkpoint", "kept")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    dump_svmlight(tmp_path / "data.svm", X, Y)
    (tmp_path / "data.svm.gz").write_bytes(gzip.compress((tmp_path / "data.svm").read_bytes()))
    said = inputs.Reading.arguments
    monkeypatch.setattr(inputs.Reading, "arguments", lambda self: said(self) | {"block_size": 5000})  # many blocks
    monkeypatch.chdir(tmp_path)
    return tmp_path


def onepass(*arguments, code=0):
    """(stdout, stderr) of the program, run in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end:
        main([*map(str, arguments)])
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]
    assert end.value.code == code, said
    return said


@pytest.fixture
def at(monkeypatch):
    """Do something when so many blocks have been learned."""

    def arrange(block, action):
        fed, blocks = checkpoints.Checkpointer.fed, iter(range(1, 1 << 20))

        def counted(self, run, stream):
            fed(self, run, stream)
            if next(blocks) == block:
                action(self, run)

        monkeypatch.setattr(checkpoints.Checkpointer, "fed", counted)

    return arrange


def signalled(*signals):
    return lambda *_: [os.kill(os.getpid(), number) for number in signals]


OPTIONS = {
    "plain": [],
    "average": ["--conversion", "average"],
    "target": ["--max-false-alarm", "0.2"],
    "compacted margin": ["--learner", "margin", "--radius", "auto", "--max-trace-memory", "20KB"],
    "validation": ["--conversion", "validation", "--validation-fraction", "0.1", "--learner", "pa"],
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("file", ["data.svm", "data.svm.gz"])
def test_ctrl_c_says_how_to_go_on_and_going_on_gives_the_same_bytes(folder, at, monkeypatch, options, file):
    whole, _ = onepass("train", file, "-o", "whole", *OPTIONS[options])
    train = ["train", file, "-o", "model", "--checkpoint", "kept", *OPTIONS[options]]
    monkeypatch.setattr(sys, "argv", ["onepass", *train])
    for block in (1, 4, 9):  # the same run, stopped three times
        at(block, signalled(signal.SIGINT))
        out, err = onepass(*train, "--resume", code=130)
        assert "With probability 95 %" in out or "No certificate: no row has been learned yet" in out
        assert "interrupted after" in err
        command = err.partition("to go on: ")[2].splitlines()[0]
        assert shlex.split(command) == ["onepass", *train, "--resume"]
        assert not (folder / "model").exists()
    out, err = onepass(*shlex.split(command)[1:])
    assert "going on from kept after" in err
    assert out == whole.replace("whole", "model")
    assert (folder / "model").read_bytes() == (folder / "whole").read_bytes()


def test_sigterm_is_143_and_the_signals_are_as_before(folder, at):
    before = [signal.getsignal(number) for number in signals.SIGNALS]
    at(3, signalled(signal.SIGTERM))
    out, _ = onepass(*TRAIN, "--json", code=143)
    found = json.loads(out)
    assert found["resume"].endswith("--resume")
    assert 0 < found["rows"] == checkpoint.load("kept").state["rows"] < 3000
    assert found["certificate"]["rounds"] == found["rows"]
    assert [signal.getsignal(number) for number in signals.SIGNALS] == before
    assert sorted(os.listdir(folder)) == ["data.svm", "data.svm.gz", "kept"]


def test_twice_ends_at_once_and_leaves_the_last_checkpoint(folder, at):
    at(3, signalled(signal.SIGINT))
    onepass(*TRAIN, code=130)
    good = (folder / "kept").read_bytes()
    at(6, signalled(signal.SIGINT, signal.SIGINT))
    out, err = onepass(*TRAIN, "--resume", code=130)
    assert out == ""
    assert "interrupted after" not in err
    assert (folder / "kept").read_bytes() == good


def test_ctrl_c_while_a_checkpoint_is_written_waits_for_it(folder, at, monkeypatch):
    save = checkpoint.save

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        save(*arguments)

    monkeypatch.setattr(checkpoint, "save", interrupted)
    at(4, lambda kept, run: kept.save(run))
    out, err = onepass(*TRAIN, "--jsonl", code=130)
    monkeypatch.undo()
    written, result = map(json.loads, out.splitlines())
    assert (written["event"], result["event"]) == ("checkpoint", "result")
    assert written["rows"] == result["rows"] == checkpoint.load(folder / "kept").state["rows"]
    assert "once more ends at once" not in err  # that goes to the terminal itself, not through Python


def test_without_a_checkpoint_ctrl_c_ends_after_the_block_with_its_certificate(folder, at):
    at(2, signalled(signal.SIGINT))
    out, err = onepass("train", "data.svm", "-o", "model", "--json", code=130)
    assert json.loads(out)["resume"] is None
    assert "to go on" not in err
    assert sorted(os.listdir(folder)) == ["data.svm", "data.svm.gz"]


def test_a_finished_run_says_so_and_gives_its_result_again(folder):
    first, _ = onepass(*TRAIN, "--resume")
    again, err = onepass(*TRAIN, "--resume")
    assert "this run is finished" in err
    assert again == first
    assert json.loads(onepass(*TRAIN, "--resume", "--json")[0])["rows"] == 3000
    onepass(*TRAIN, "--resume", "--require-risk", "0.0001", code=5)
    assert "learner: 'Adaptive()' then" in onepass(*TRAIN, "--resume", "--learner", "pa", code=2)[1]
    assert "--output model" in onepass(*TRAIN[:2], *TRAIN[4:], "--resume", code=2)[1]
    assert "there already; --resume goes on" in onepass(*TRAIN, code=2)[1]
    (folder / "model").unlink()
    assert "is gone" in onepass(*TRAIN, "--resume", code=2)[1]
    assert onepass(*TRAIN, "--force")[0] == first
    (folder / "data.svm").write_text("1 1:1\n")
    assert "is another file" in onepass(*TRAIN, "--resume", code=2)[1]


NOTES = {
    "a finished run without a result": ("said.result", {"result": None}),
    "a result that is text": ("said.result", {"result": "0.01"}),
    "a result without an output": ("said.result", {"result": {"risk": 0.1}}),
    "an output that is a list": ("said.result.output", {"result": {"output": [], "risk": 0.1}}),
    "a risk that is text": ("said.result.risk", {"result": {"output": "model", "risk": "0.1"}}),
    "no text": ("said.text", {"text": None}),
    "reading that is a list": ("said.reading", {"reading": []}),
    "a quarantine that is a number": ("said.quarantine", {"quarantine": 7}),
    "a history of text": ("said.history", {"history": ["x"]}),
}


@pytest.mark.parametrize("what", NOTES)
def test_a_forged_note_is_exit_4_and_names_the_field(folder, what):
    field, change = NOTES[what]
    onepass(*TRAIN)
    content, arrays = tensors.read(folder / "kept", lambda said: None, 1 << 20)
    tensors.write(folder / "kept", content | {"said": content["said"] | change}, arrays)
    for option in ((), ("--json",)):
        assert f"'{field}'" in onepass(*TRAIN, "--resume", *option, code=4)[1]


def test_a_place_beyond_the_data_is_exit_4_and_names_the_field(folder, at):
    at(3, signalled(signal.SIGINT))
    onepass(*TRAIN, code=130)
    found = checkpoint.load(folder / "kept")
    content, arrays = tensors.read(folder / "kept", lambda said: None, 1 << 20)
    for field, value in {"at": 1 << 40, "format": "bogus", "consumed": 1 << 40}.items():
        position = packing.pack(found.position._replace(**{field: value}), {})
        tensors.write(folder / "kept", content | {"position": position}, arrays)
        err = onepass(*TRAIN, "--resume", code=4)[1]
        assert f"'position.{field}'" in err
        assert "--on-error skip" not in err  # there is nothing to skip
    assert not (folder / "model").exists()


def test_what_is_no_file_is_no_checkpoint(folder):
    os.mkfifo(folder / "pipe")
    assert "not a regular file" in onepass("train", "data.svm", "--checkpoint", "pipe", "--resume", code=4)[1]
    assert "is no checkpoint" in onepass("train", "data.svm", "--checkpoint", "pipe", "--force", code=2)[1]


def test_killed_between_model_and_note_it_ends_well_when_resumed(folder, at, monkeypatch):
    whole, _ = onepass("train", "data.svm", "-o", "whole")
    at(5, lambda kept, run: kept.save(run))
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpointer, "finish", lambda *_: sys.exit(9))
        onepass(*TRAIN, code=9)
    assert (folder / "model").exists()
    assert onepass(*TRAIN, "--resume")[0] == whole.replace("whole", "model")
    assert (folder / "model").read_bytes() == (folder / "whole").read_bytes()
    (folder / "kept").unlink()
    at(5, signalled(signal.SIGINT))
    (folder / "model").unlink()
    onepass(*TRAIN, code=130)
    (folder / "model").write_text("somebody else's")
    assert "--force overwrites it" in onepass(*TRAIN, "--resume", code=2)[1]


def test_other_options_other_files_another_version_are_refused_by_name(folder, at, monkeypatch):
    at(3, signalled(signal.SIGINT))
    onepass(*TRAIN, code=130)
    for option, words in {
        ("--learner", "pa"): "learner: 'Adaptive()' then, 'PassiveAggressive",
        ("--delta", "0.1"): "delta: 0.05 then, 0.1 now",
        ("--no-intercept",): "fit_intercept: True then, False now",
        ("--conversion", "cutoff"): "conversion: 'frozen' then, 'cutoff' now",
        ("--expected-rows", "9"): "then, 9 now",
        ("--stop-at", "0.2"): "stop_at: None then, 0.2 now",
        ("--zero-based",): "zero_based: False then, True now",
        ("--duplicates", "sum"): "duplicates: None then, 'sum' now",
        ("data.svm.gz",): "1 files then, 2 now",
    }.items():
        assert words in onepass(*TRAIN, "--resume", *option, code=2)[1].replace("\n", " ")
    assert "data.svm.gz is another file" in onepass(TRAIN[0], "data.svm.gz", *TRAIN[2:], "--resume", code=2)[1]
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "__version__", "9.9.9")
        assert "this is 9.9.9" in onepass(*TRAIN, "--resume", code=2)[1].replace("\n", " ")
    onepass(*TRAIN, "--resume", "--threads", "1", "--checkpoint-every", "5m", "--require-risk", "1")  # these may differ


def test_damage_is_told_and_the_one_before_taken_and_two_are_exit_4(folder, at):
    whole, _ = onepass("train", "data.svm", "-o", "whole")
    at(3, lambda kept, run: kept.save(run))
    at(7, signalled(signal.SIGINT))
    onepass(*TRAIN, code=130)
    good = (folder / "kept").read_bytes()
    (folder / "kept").write_bytes(good[:-9])
    before = (folder / "kept.prev").read_bytes()
    out, err = onepass(*TRAIN, "--resume")
    assert "kept: damaged or cut short" in err
    assert out == whole.replace("whole", "model")
    assert (folder / "model").read_bytes() == (folder / "whole").read_bytes()
    (folder / "model").unlink()
    (folder / "kept").write_bytes(good[:100])
    (folder / "kept.prev").write_bytes(before[:100])
    assert "so is the one before it" in onepass(*TRAIN, "--resume", code=4)[1]


def test_a_bad_line_keeps_what_came_before_and_skipping_it_gives_the_same_as_from_the_start(folder):
    text = (folder / "data.svm").read_text().splitlines(keepends=True)
    text[2000:2000] = ["this is no line\n"]
    (folder / "data.svm").write_text("".join(text))
    whole, _ = onepass("train", "data.svm", "-o", "whole", "--on-error", "skip")
    _, err = onepass(*TRAIN, code=3)
    assert "line 2001" in err
    assert "rows before the error" in err
    out, err = onepass(*TRAIN, "--resume", "--on-error", "skip")
    assert "going on from kept after 1," in err
    assert out == whole.replace("whole", "model")
    assert (folder / "model").read_bytes() == (folder / "whole").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_last_row_waits_for_the_result(folder, monkeypatch, number):
    certificate, signals = Pass.certificate, [number]

    def interrupted(self, *arguments, **named):
        while signals:
            os.kill(os.getpid(), signals.pop())
        return certificate(self, *arguments, **named)

    monkeypatch.setattr(Pass, "certificate", interrupted)
    out, _ = onepass("train", "data.svm", "-o", "model", code=128 + number)
    assert "wrote model" in out


def test_a_start_that_was_killed_early_leaves_no_quarantine_in_the_way(folder):
    with open("data.svm", "a") as file:
        file.write("no number\n")
    (folder / "bad.txt").write_text("of a start that left no checkpoint\n")
    _, err = onepass(*TRAIN, "--on-error", "quarantine=bad.txt", "--resume")
    assert "it is now bad.txt.1" in err
    assert (folder / "bad.txt.1").read_text().startswith("of a start")
    assert "no number" in (folder / "bad.txt").read_text()
    onepass("train", "data.svm", "--on-error", "quarantine=bad.txt", code=2)


def test_a_quarantine_file_is_gone_on_with_and_holds_each_line_once(folder, at):
    text = (folder / "data.svm").read_text().splitlines(keepends=True)
    (folder / "data.svm").write_text("".join(line + ("bad\n" if i % 9 == 0 else "") for i, line in enumerate(text)))
    whole, _ = onepass("train", "data.svm", "-o", "whole", "--on-error", "quarantine=whole.txt")
    at(4, signalled(signal.SIGINT))
    onepass(*TRAIN, "--on-error", "quarantine=bad.txt", code=130)
    with open("bad.txt", "ab") as file:  # as if the run had gone on for a while after the checkpoint
        file.write(b"bad\nba")
    assert onepass(*TRAIN, "--on-error", "quarantine=bad.txt", "--resume")[0] == whole.replace("whole", "model")
    assert (folder / "bad.txt").read_text() == "bad\n" * 334 == (folder / "whole.txt").read_text()
    assert (folder / "model").read_bytes() == (folder / "whole").read_bytes()


def test_a_full_disk_is_told_and_the_run_goes_on(folder, at, monkeypatch):
    whole, _ = onepass("train", "data.svm", "-o", "whole")
    at(3, lambda kept, run: kept.save(run))
    save = checkpoints.Checkpointer.save

    def on_a_full_disk(kept, run):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
        save(kept, run)
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    at(6, on_a_full_disk)
    at(9, on_a_full_disk)
    at(12, signalled(signal.SIGINT, signal.SIGINT))
    _, err = onepass(*TRAIN, code=130)
    assert err.count("no checkpoint could be written to kept: File too large") == 1
    assert sorted(os.listdir(folder)) == ["data.svm", "data.svm.gz", "kept", "whole"]  # the last good one, no torn one
    assert onepass(*TRAIN, "--resume")[0] == whole.replace("whole", "model")
    assert (folder / "model").read_bytes() == (folder / "whole").read_bytes()


def test_the_interval_grows_with_what_writing_costs(folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "save", lambda *_: time.sleep(0.01))
    kept = checkpoints.Checkpointer("kept", 0.0, checkpoints.terminal.Messages())
    kept.fed(SimpleNamespace(rows=1), SimpleNamespace(position=object()))
    assert kept.due - time.perf_counter() > 19 * 0.01


def test_usage_is_checked_before_the_run(folder):
    assert "add --checkpoint FILE" in onepass("train", "data.svm", "--resume", code=2)[1]
    assert "stdin cannot be read again" in onepass("train", "-", "--checkpoint", "kept", "--resume", code=2)[1]
    assert "not there or cannot be" in onepass("train", "data.svm", "--checkpoint", "no/kept", code=2)[1]
    assert "is a folder" in onepass("train", "data.svm", "--checkpoint", ".", code=2)[1]
    assert "not a time" in onepass(*TRAIN, "--checkpoint-every", "soon", code=2)[1]
    (folder / "kept").write_text("something else")
    assert "is there already" in onepass(*TRAIN, code=2)[1]
    assert "not a checkpoint" in onepass(*TRAIN, "--resume", code=4)[1]
    assert "is no checkpoint" in onepass(*TRAIN, "--force", code=2)[1]
    assert (folder / "kept").read_text() == "something else"


def test_two_processes_on_one_checkpoint_the_second_refuses(folder):
    with checkpoint.locked("kept"):
        assert f"kept is in use by process {os.getpid()}" in onepass(*TRAIN, code=2)[1]
        assert "in use" in onepass(*TRAIN, "--resume", code=2)[1]
    onepass(*TRAIN)


PROGRAM = [sys.executable, "-m", "onepass.cli"]


def test_pipes_say_at_the_start_that_they_cannot_resume(folder):
    text = (folder / "data.svm").read_bytes()
    more = {"capture_output": True, "timeout": 120}
    done = subprocess.run([*PROGRAM, "train", "-", "--checkpoint", "kept"], input=text, **more)
    assert done.stderr.decode().startswith("stdin cannot be read again: this run cannot be resumed")
    os.mkfifo("pipe")
    with subprocess.Popen(["sh", "-c", "cat data.svm > pipe"]):
        _, err = onepass("train", "pipe", "--checkpoint", "kept", "--resume")
    assert "pipe cannot be read again" in err
    assert not (folder / "kept").exists()


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_ten_kills_at_random_moments_each_resumed_bit_for_bit(tmp_path):
    rows, codes = Newswire(seed=1).rows(0, 9000, ("CCAT", "GCAT"))
    dump_svmlight(tmp_path / "news.svm", rows, codes)
    (tmp_path / "news.svm.gz").write_bytes(gzip.compress((tmp_path / "news.svm").read_bytes(), 1))
    rng, expected, went_on = random.Random(0), {}, 0
    learning = ["--learner", "pa", "--json", "-q"]
    for number in range(10):
        file = ("news.svm", "news.svm.gz")[number % 2]
        program = [*PROGRAM, "train", file, *learning]
        if file not in expected:
            start = time.perf_counter()
            done = subprocess.run([*program, "-o", f"{file}.model"], cwd=tmp_path, capture_output=True, check=True)
            expected[file] = json.loads(done.stdout)["certificate"], (tmp_path / f"{file}.model").read_bytes()
            took = time.perf_counter() - start
        kept = ["--checkpoint", f"kept{number}", "--checkpoint-every", "1ms", "-o", f"model{number}"]
        running = subprocess.Popen(
            [*program, *kept], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        moment = time.perf_counter() + took * rng.uniform(0.3, 1.0)
        while running.poll() is None and not (  # at a random moment, or at one after the first checkpoint
            (tmp_path / f"kept{number}").exists() if number % 3 else time.perf_counter() > moment
        ):
            time.sleep(0.002)
        time.sleep(0.1 * rng.random())
        running.kill()
        running.wait()
        went_on += (tmp_path / f"kept{number}").exists()
        done = subprocess.run([*program, *kept, "--resume"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (json.loads(done.stdout)["certificate"], (tmp_path / f"model{number}").read_bytes()) == expected[file]
    assert went_on >= 4  # the others were killed before their first checkpoint
