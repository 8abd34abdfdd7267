"""Races on several machines: entries as if alone, one reading of every chunk, the same bits for any workers."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from onepass import OnePassClassifier, scale
from onepass.errors import CheckpointError, ConversionError, LimitError, ResumeError
from onepass.models import LinearModel
from onepass.scale import cut, learn, local_workers
from onepass.scale.chunks import DataChunk
from onepass.standings import CROWDED
from onepass.training import USUAL, encodings_for, settled_by
from test_cli import onepass
from test_race import drawn
from test_scale_checkpoint import Kept, KilledError

NAMES = ("adaptive", "perceptron", "pa")
ROWS, FILES = 800, 8


def pieces(rows=2400, chunks=12, **more):
    X, y = drawn(rows, **more)
    return cut([(X[part], y[part]) for part in np.array_split(np.arange(rows), chunks)])


def same(first, second):
    """Whether two runs have come to the same, to the last bit."""
    assert first.certificate() == second.certificate()
    np.testing.assert_array_equal(first.model().weights, second.model().weights)
    assert first.model().about == second.model().about


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table in several files: a number bends, and two categories matter only together."""
    folder = tmp_path_factory.mktemp("races")
    rng = np.random.default_rng(0)
    for number in range(FILES):
        x, a, b = rng.normal(size=ROWS), rng.integers(2, size=ROWS), rng.integers(2, size=ROWS)
        y = np.where((np.abs(x) < 0.7) ^ (a == b) ^ (rng.random(ROWS) < 0.05), "in", "out")
        lines = [f"{v:.4f},k{i},m{j},{label}" for v, i, j, label in zip(x, a, b, y, strict=True)]
        (folder / f"t{number}.csv").write_text("x,a,b,y\n" + "\n".join(lines) + "\n")
    return folder


def table(folder, *names, **more):
    """(the chunks of a table as these entries need it, the options of their passes)."""
    inputs = cut(sorted(map(str, folder.glob("t?.csv"))), defaults=lambda format: {**USUAL, **encodings_for(names)})
    return inputs, settled_by(inputs.table, {"max_features": 1 << 24, **more})


# --- entries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [1, 12])
def test_every_learner_is_what_it_would_be_alone_with_its_share_of_delta(chunks):
    race = learn(pieces(chunks=chunks), race=NAMES)
    for entry in race.entries:
        same(entry.run, learn(pieces(chunks=chunks), learner=entry.name, delta=0.05 / 3))
    least = min(entry.run.certificate().risk for entry in race.entries)
    certificate = race.certificate()
    assert (certificate.risk, certificate.delta, certificate.entries) == (least, 0.05, 3)
    assert race.model().about["race"] == race.as_dict()
    np.testing.assert_array_equal(race.model().weights, race.leader.run.model().weights)


def test_every_encoding_is_what_it_would_be_alone(folder):
    names = ("plain", "bins", "crosses")
    inputs, options = table(folder, *names, max_false_alarm=0.3, positive="out", classes=["in", "out"])
    race = learn(inputs, race=names, **options)
    for name, entry in zip(names, race.entries, strict=True):
        alone, own = table(folder, name, max_false_alarm=0.3, positive="out", classes=["in", "out"])
        assert alone.table == inputs.table.narrowed(name)
        same(entry.run, learn(alone, delta=0.05 / 3, **own))
    assert race.table_of(inputs.table) == inputs.table.narrowed(race.leader.name)


def test_every_chunk_is_read_once(monkeypatch):
    read, known = [], DataChunk.read
    monkeypatch.setattr(DataChunk, "read", lambda chunk, *given: read.append(chunk.number) or known(chunk, *given))
    learn(pieces(), race=NAMES, classes=["a", "b"])
    assert sorted(read) == list(range(12))


def test_a_race_stops_for_all_where_the_best_has_reached_the_aim():
    told = []
    learn(pieces(), race=NAMES, waves=12, watch=lambda progress: told.append(progress.certificate()))
    stop_at = told[6].risk
    first = next(wave for wave, one in enumerate(told) if one.risk <= stop_at)
    race = learn(pieces(), race=NAMES, waves=12, stop_at=stop_at)
    assert race.stopped
    assert {entry.run.rows for entry in race.entries} == {200 * (first + 1)}
    assert race.certificate() == told[first]


def test_rows_that_drift_for_one_are_certified_for_none():
    X, y = drawn(4800)
    y = np.where(np.arange(4800) < 2600, y, np.where(y == "a", "b", "a"))
    chunks = cut([(X[part], y[part]) for part in np.array_split(np.arange(4800), 12)])
    race = learn(chunks, race=NAMES)
    assert any(entry.run.certificate().withheld for entry in race.entries)
    assert race.certificate().withheld


def test_what_cannot_race_is_refused_before_a_row_is_read():
    for more in ({"conversion": "average"}, {"on_drift": "restart"}):
        with pytest.raises(ConversionError, match="race"):
            learn(pieces(), race=NAMES, **more)
    with pytest.raises(ConversionError, match="Shifted"):
        learn(pieces(), race="adaptive,shifted")
    with pytest.raises(ValueError, match="encodings of tables"):
        scale.fit(OnePassClassifier(race="plain,bins"), [drawn(100)])


def test_a_classifier_races_on_workers_too():
    X, y = drawn(2400)
    data = [(X[part], y[part]) for part in np.array_split(np.arange(2400), 12)]
    found = scale.fit(OnePassClassifier(race=["adaptive", "pa"]), data)
    race = learn(pieces(), race=["adaptive", "pa"])
    assert found.certificate_ == race.certificate()
    assert found.race_ == race.as_dict()
    assert found.predict(X).tolist() == race.model().predict(X).tolist()


def test_an_entry_whose_candidates_have_no_room_is_dropped(folder, tmp_path):
    names = ("crosses", "plain")
    inputs, options = table(folder, *names)
    widths = [entry.run.width for entry in learn(inputs, race=names, **options).entries]
    assert widths[0] > widths[1]
    options |= {"max_watch_memory": 8 * 2 * widths[1], "waves": 8}
    race = learn(inputs, race=names, **options)
    crosses, plain = race.entries
    assert (crosses.dropped.row, crosses.dropped.reason) == (ROWS, CROWDED)
    assert race.leader is plain
    assert race.certificate().delta == 2 * plain.run.certificate().delta == 0.05
    with pytest.raises(KilledError):
        learn(inputs, race=names, checkpoints=Kept(tmp_path / "run", 3), **options)
    same(learn(inputs, race=names, checkpoints=Kept(tmp_path / "run"), **options), race)
    with pytest.raises(LimitError, match="max_watch_memory"):
        learn(inputs, race=names, **options | {"max_watch_memory": 8})


# --- state ------------------------------------------------------------------------------------------------------------


def test_a_race_that_goes_on_comes_to_the_same_bits(tmp_path):
    options = {"classes": ["a", "b"], "waves": 6, "race": NAMES}
    whole = learn(pieces(), **options)
    with pytest.raises(KilledError):
        learn(pieces(), checkpoints=Kept(tmp_path / "run", 3), **options)
    later = Kept(tmp_path / "run")
    same(learn(pieces(), checkpoints=later, **options), whole)
    assert later.waves == [4, 5]
    for change in ({"race": NAMES[:2]}, {"race": None}, {"delta": 0.1}):
        with pytest.raises(ResumeError):
            learn(pieces(), checkpoints=Kept(tmp_path / "run"), **(options | change))


def test_entries_that_stand_at_different_waves_are_no_state():
    class Forger(Kept):
        def save(self, run):
            self.waves.append(run.state())
            if run.wave == 2:
                run.check_state(self.waves[1])
                first, second = (state["entries"] for state in self.waves)
                for entries in ([first[0], *second[1:]], second[:2], None):
                    with pytest.raises(CheckpointError):
                        run.check_state({"entries": entries, "dropped": [None] * 3})
                with pytest.raises(CheckpointError):
                    run.check_state({"entries": second, "dropped": [0, 0, 0]})
                raise KilledError

        def restore(self, run):
            pass

    with pytest.raises(KilledError):
        learn(pieces(), checkpoints=Forger(None), waves=4, race=NAMES)


# --- workers ----------------------------------------------------------------------------------------------------------


def test_two_workers_are_one_is_this_process(folder):
    names = ("plain", "bins", "crosses")
    inputs, options = table(folder, *names)
    here = learn(inputs, race=names, waves=4, **options)
    for workers in (1, 2):
        with local_workers(workers) as client:
            same(learn(inputs, client, race=names, waves=4, **options), here)


def program(folder, *arguments):
    given = [sys.executable, "-m", "onepass.cli", *map(str, arguments)]
    return subprocess.run(given, capture_output=True, text=True, timeout=300, cwd=folder)


def test_the_program_races_the_encodings_of_a_table_on_workers(folder):
    files = [f"t{number}.csv" for number in range(FILES)]
    done = program(folder, "train", *files, "--workers", 2, "-o", "m", "--report", "m.html", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    inputs, options = table(folder, "plain", "bins", "crosses")
    here = learn(inputs, race=("plain", "bins", "crosses"), **options)
    assert said["race"] == json.loads(json.dumps(here.as_dict()))
    assert (said["race"]["deployed"], said["certificate"]["entries"], said["chunks"]) == ("crosses", 3, FILES)
    assert "The race" in (folder / "m.html").read_text()
    saved = LinearModel.load(folder / "m")
    np.testing.assert_array_equal(saved.weights, here.model().weights)
    assert saved.about["race"] == said["race"]
    assert saved.table.encodings == ("plain", "bins", "crosses")
    text = program(folder, "train", *files, "--workers", 1, "--race", "adaptive,pa", "--bins").stdout
    assert "race of 2, each certified at δ = 0.025" in text
    assert "race of" not in program(folder, "train", *files, "--workers", 1, "--race", "off").stdout


def test_one_chunk_is_verified_by_the_entry_that_was_deployed(folder):
    done = program(folder, "train", "t0.csv", "--workers", 1, "-o", "one", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["certificate"]["entries"] == 3
    assert "certificate: the same" in onepass(folder, "verify", "one", "t0.csv").stdout


def test_several_chunks_cannot_be_verified_in_one_pass(folder):
    files = [f"t{number}.csv" for number in range(FILES)]
    assert program(folder, "train", *files, "--workers", 1, "-o", "all", "-q").returncode == 0
    assert "merged from 8 chunks" in onepass(folder, "verify", "all", *files, code=4).stderr


def test_the_program_killed_after_a_wave_goes_on_to_the_same_bits(folder):
    files, kept = [f"t{number}.csv" for number in range(FILES)], folder / "run.checkpoint"
    given = ["train", *files, "--workers", 1, "--race", "plain,crosses", "-o", "r", "--checkpoint", kept]
    with subprocess.Popen(
        [sys.executable, "-m", "onepass.cli", *map(str, given)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
    ) as begun:
        while not kept.exists():
            assert begun.poll() is None, begun.stdout.read()
            time.sleep(0.005)
        begun.kill()
    assert not (folder / "r").exists()
    done = program(folder, *given, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert "going on from" in done.stderr
    inputs, options = table(folder, "plain", "crosses")
    here = learn(inputs, race=("plain", "crosses"), **options)
    assert json.loads(done.stdout)["race"] == json.loads(json.dumps(here.as_dict()))
    np.testing.assert_array_equal(LinearModel.load(folder / "r").weights, here.model().weights)
    again = program(folder, *given, "--resume")
    assert "this run is finished" in again.stderr
