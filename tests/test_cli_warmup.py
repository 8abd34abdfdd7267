"""`onepass warmup`: what it compiles is what the commands need."""

import os
import threading
from types import SimpleNamespace

import pytest

from onepass.cli import kernels
from onepass.cli.commands.warmup import FILES, ROOMS
from test_cli import onepass, process


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_can_be_warmed_up(tmp_path, room):
    done = onepass(tmp_path, "warmup", room)
    assert "what they need is compiled" in done.stdout
    assert not list(tmp_path.iterdir())


def test_nothing_is_compiled_after_it(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert process(tmp_path, "warmup", "experts", env=environment).returncode == 0
    before = {*(tmp_path / "cache").rglob("*.nbc")}
    assert len(before) > 5
    (tmp_path / "advice.csv").write_text(FILES["advice.csv"])
    for rule in ("hedge", "majority"):
        done = process(tmp_path, "experts", "advice.csv", "--rule", rule, env=environment)
        assert done.returncode == 0, done.stderr
    assert {*(tmp_path / "cache").rglob("*.nbc")} == before


def test_learners_that_need_the_number_of_features_take_it(tmp_path):
    (tmp_path / "two.svm").write_text(FILES["two.svm"])
    for learner in ("normalized", "shifted"):
        done = onepass(tmp_path, "train", "two.svm", "--learner", learner, "--n-features", 3, "--no-intercept")
        assert "120 rows, 3 features" in done.stdout
        done = onepass(tmp_path, "train", "two.svm", "--learner", learner, code=2)
        assert "--n-features" in done.stderr


@pytest.mark.parametrize("compiling", [False, True])
def test_a_long_first_chunk_is_laid_to_compiling_only_where_something_is_compiled(compiling, monkeypatch):
    said, told = [], threading.Event()

    def note(text):
        said.append(text)
        told.set()

    monkeypatch.setattr("onepass._jit.compiling", lambda: compiling)
    patience = kernels.Patience(SimpleNamespace(note=note))
    patience.begin()
    assert told.wait(10.0 if compiling else 1.2) == compiling
    patience.end()
    assert said == ["compiling kernels (once) …"] * compiling
