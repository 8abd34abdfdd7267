"""What commands write: never over what they read, never over what another run wrote meanwhile."""

import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from onepass.cli import outputs
from onepass.io import dump_svmlight
from strategies import dyadic
from test_cli import onepass

X, Y = dyadic(5, 120, 4, noise=0.05)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One file of every kind that a command reads."""
    folder = tmp_path_factory.mktemp("outputs")
    dump_svmlight(folder / "data.svm", X, Y)
    dump_svmlight(folder / "test.svm", X[:40], Y[:40])
    onepass(folder, "train", "data.svm", "-o", "model", "-q")
    np.savetxt(folder / "points.csv", X, delimiter=",", header="a,b,c,d", comments="")
    (folder / "advice.csv").write_text("one,two,outcome\n" + "0,1,1\n1,0,0\n" * 20)
    (folder / "advice.svg").write_bytes((folder / "advice.csv").read_bytes())
    (folder / "run.json").write_text(onepass(folder, "train", "data.svm", "--json", "-q").stdout)
    (folder / "run.toml").write_text("[newswire]\nseed = 1\n")
    (folder / "list.txt").write_text("data.svm\n")
    (folder / "parts").mkdir()
    dump_svmlight(folder / "parts" / "one.svm", X, Y)
    return folder


@pytest.fixture
def here(made, tmp_path):
    """The same files for every test."""
    return shutil.copytree(made, tmp_path / "here")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


READ = {  # what is read and may not be written, the command, the option that names it
    "train": ("data.svm", ["train", "data.svm"], "--output"),
    "train, page": ("data.svm", ["train", "data.svm"], "--report"),
    "train, glob": ("data.svm", ["train", "d*.svm"], "--output"),
    "train, folder": ("parts/one.svm", ["train", "parts"], "--output"),
    "train, list": ("list.txt", ["train", "@list.txt"], "--output"),
    "train, in a list": ("data.svm", ["train", "@list.txt"], "--output"),
    "train, config": ("run.toml", ["--config", "run.toml", "train", "data.svm"], "--output"),
    "train, checkpoint": ("data.svm", ["train", "data.svm"], "--checkpoint"),
    "train, workers": ("data.svm", ["train", "data.svm", "--workers", "2"], "--output"),
    "predict, data": ("data.svm", ["predict", "model", "data.svm"], "--output"),
    "predict, model": ("model", ["predict", "model", "data.svm"], "--output"),
    "predict, behind the data": ("data.svm", ["predict", "model", "data.svm", "--append"], "--output"),
    "predict, behind the model": ("model", ["predict", "model", "data.svm", "--append"], "--output"),
    "compare": ("test.svm", ["compare", "data.svm", "--test", "test.svm"], "--report"),
    "cluster, labels": ("points.csv", ["cluster", "points.csv", "-k", "2"], "--labels"),
    "cluster, centres": ("points.csv", ["cluster", "points.csv", "-k", "2"], "--centres"),
    "cluster, page": ("points.csv", ["cluster", "points.csv", "-k", "2"], "--report"),
    "experts, figure": ("advice.svg", ["experts", "advice.svg", "--format", "csv"], "--figure"),
    "experts, page": ("advice.csv", ["experts", "advice.csv"], "--report"),
    "experts, data": ("data.svm", ["experts", "--data", "data.svm"], "--report"),
    "report": ("run.json", ["report", "run.json"], "--output"),
    "newswire": ("run.toml", ["--config", "run.toml", "newswire", "10"], "--output"),
}


@pytest.mark.parametrize("link", [None, "symbolic", "hard"])
@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_never_written_over(here, name, link):
    """By whatever name it goes, and whatever --force says."""
    file, command, option = READ[name]
    path = file
    if link is not None:
        path = f"link{(here / file).suffix}"
        (here / path).symlink_to(here / file) if link == "symbolic" else (here / path).hardlink_to(here / file)
    before = contents(here)
    refused = onepass(here, *command, option, path, "--force", code=2)
    assert f"{option}: {path} is what is read, too" in refused.stderr
    assert contents(here) == before


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("predict model - -o data.svm --force < data.svm", "data.svm"),
        ("predict model data.svm >> data.svm", "stdout"),
        ("report run.json -o - >> run.json", "stdout"),
    ],
)
def test_what_the_shell_has_opened_is_looked_at_too(here, command, place):
    before = contents(here)
    program = f"{sys.executable} -m onepass.cli {command}"
    done = subprocess.run(["bash", "-c", program], cwd=here, capture_output=True, text=True, timeout=60)
    assert (done.returncode, f"--output: {place} is what is read, too" in done.stderr) == (2, True), done.stderr
    assert contents(here) == before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["cluster", "points.csv", "-k", "2", "--labels", "x.csv", "--centres", "./x.csv"],
            "--centres: ./x.csv is --l",
        ),
        (["train", "data.svm", "-o", "x", "--report", "x"], "--report: x is --output, too"),
        (["train", "data.svm", "-o", "x.prev", "--checkpoint", "x"], "--checkpoint: x.prev is --output, too"),
        (["predict", "model", "data.svm", "-o", "x", "--on-error", "quarantine=x"], "--on-error: x is --output, too"),
    ],
)
def test_two_outputs_are_two_files(here, command, message):
    assert message in onepass(here, *command, code=2).stderr


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["cluster", "points.csv", "-k", "2"], "--labels"),
        (["experts", "advice.csv"], "--figure"),
        (["newswire", "10"], "--output"),
        (["report", "run.json"], "--output"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_named_before_the_run(here, monkeypatch, command, option):
    end = {"--labels": ".csv", "--figure": ".svg"}.get(option, "")
    nowhere = onepass(here, *command, option, f"nowhere/x{end}", code=2)
    assert f"{option}: the folder nowhere is not there or cannot be written to" in nowhere.stderr
    taken = onepass(here, *command, option, f"points{end or '.csv'}" if end != ".svg" else "advice.svg", code=2)
    assert "--force overwrites it" in taken.stderr or "is what is read" in taken.stderr
    (here / "locked").mkdir(mode=0o500)
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != "locked")  # root may write anywhere
    locked = onepass(here, *command, option, f"locked/x{end}", code=2)
    assert f"{option}: the folder locked is not there or cannot be written to" in locked.stderr
    full = SimpleNamespace(f_blocks=1000, f_bfree=2, f_bavail=2, f_frsize=512)
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    assert f"{option}: . has 1,024 bytes left" in onepass(here, *command, option, f"x{end}", code=2).stderr


def test_labels_that_will_not_fit_are_refused_before_the_work(here, monkeypatch):
    monkeypatch.setattr(outputs, "LEAST", 16)
    nearly = SimpleNamespace(f_blocks=1000, f_bfree=1, f_bavail=1, f_frsize=479)
    monkeypatch.setattr(os, "statvfs", lambda path: nearly)
    refused = onepass(here, "cluster", "points.csv", "-k", "2", "--labels", "x.npy", code=2)
    assert "--labels: . has 479 bytes left, and at least 480 are needed" in refused.stderr


RACES = {  # what is written when another run was faster, under the name that is then its own
    "train": (["train", "data.svm", "-o", "m", "--report", "p.html"], ["m", "p.html"]),
    "predict": (["predict", "model", "data.svm", "-o", "x.csv"], ["x.csv"]),
    "compare": (["compare", "data.svm", "--report", "p.html"], ["p.html"]),
    "cluster": (
        ["cluster", "points.csv", "-k", "2", "--labels", "l.npy", "--centres", "c.csv", "--figure", "f.svg"],
        ["l.npy", "c.csv", "f.svg"],
    ),
    "cluster, elbow": (["cluster", "points.csv", "--k-range", "1:2", "--figure", "f.svg"], ["f.svg"]),
    "experts": (["experts", "advice.csv", "--figure", "f.svg", "--report", "p.html"], ["f.svg", "p.html"]),
    "report": (["report", "run.json", "-o", "p.html"], ["p.html"]),
    "newswire": (["newswire", "5", "-o", "n.svm"], ["n.svm"]),
}


@pytest.mark.parametrize("name", RACES)
def test_who_ends_second_keeps_its_result_beside(here, monkeypatch, name):
    """Both found the place free; the first has written to it since."""
    command, files = RACES[name]
    sync = os.fsync

    def overtaken(handle):
        for file in files:
            (here / file).write_bytes(b"theirs")
        sync(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", overtaken)
        done = onepass(here, *command, code=1)
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    for file in files:
        stem, dot, end = file.partition(".")
        kept = here / f"{stem}.1{dot}{end}"
        assert f"{file} was written by another process meanwhile; this result is kept in {kept}" in done.stderr
        assert (here / file).read_bytes() == b"theirs"
        assert len(kept.read_bytes()) > 10
        (here / file).unlink()
        kept.rename(here / file)
    ours = {file: (here / file).read_bytes() for file in files}
    onepass(here, *command, "--force")
    assert ours == {file: (here / file).read_bytes() for file in files}
    assert not [path for path in here.iterdir() if path.name.endswith(".part")]


def test_the_result_names_the_file_that_was_written(here, monkeypatch):
    sync = os.fsync

    def overtaken(handle):
        (here / "m").write_bytes(b"theirs")
        sync(handle)

    monkeypatch.setattr(os, "fsync", overtaken)
    done = onepass(here, "train", "data.svm", "-o", "m", "--json", "-q", code=1)
    assert json.loads(done.stdout)["output"] == str(here / "m.1")
    assert "kept in" in done.stderr


def test_the_next_run_sweeps_up_what_a_killed_one_left(here):
    (here / ".x.csv.abcd_123.part").write_bytes(b"half")
    (here / ".y.csv.abcd_123.part").write_bytes(b"another's")
    onepass(here, "predict", "model", "data.svm", "-o", "x.csv", "-q")
    assert [path.name for path in here.iterdir() if path.name.endswith(".part")] == [".y.csv.abcd_123.part"]
