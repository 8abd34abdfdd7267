"""Several machines with real worker processes: killed at every step, poisoned, unlike each other, and left alone."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import dask
import dask.array
import dask.bag
import dask.dataframe
import numpy as np
import pandas
import psutil
import pytest

from onepass import OnePassClassifier, scale
from onepass.errors import DataError, ScaleError
from onepass.io import dump_svmlight
from onepass.models import LinearModel
from onepass.scale import connect, cut, learn, local_workers
from onepass.scale.clusters import tls_faults
from onepass.scale.executors import DaskExecutor
from onepass.scale.lloyd import kmeans
from strategies import csr, dyadic

CHUNKS = 6


@pytest.fixture(scope="module")
def started(here):
    """A client with two workers, once kernels are compiled; if a nanny gave up (on a worker killed while it started),
    all are replaced."""
    with ExitStack() as stack:
        held = []

        def client():
            if held:
                with suppress(TimeoutError):
                    held[-1].wait_for_workers(2, timeout=20)
                    return held[-1]
                stack.pop_all().close()
            held.append(stack.enter_context(local_workers(2)))
            return held[-1]

        yield client


@pytest.fixture
def client(started):
    return started()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("scale") / "data.svm"
    X, y = dyadic(0, 3_000, 60, zeros=0.8, noise=0.05)
    dump_svmlight(path, csr(X), y)
    return path


@pytest.fixture(scope="module")
def inputs(file):
    return cut(file, chunk_bytes=file.stat().st_size // CHUNKS + 1)


@pytest.fixture(scope="module")
def here(inputs):
    runs = {waves: learn(inputs, waves=waves, conversion="cutoff") for waves in (1, 2)}
    return runs | {"frozen": learn(inputs, waves=3)}


def same(merged, expected):
    np.testing.assert_array_equal(merged.model().weights, expected.model().weights)
    assert merged.certificate() == expected.certificate()
    assert merged.model().about == expected.model().about


def pids(client):
    """Of worker processes that have registered: one killed while it starts is given up by its nanny."""
    return list(client.run(os.getpid, on_error="ignore").values())  # one that is dying gives no answer


def kill(numbers):
    for number in numbers:
        os.kill(number, signal.SIGKILL)


@pytest.mark.parametrize("waves", [1, 2])
def test_two_workers_are_one_is_this_process(client, inputs, here, waves):
    same(learn(inputs, client, waves=waves, conversion="cutoff"), here[waves])
    if waves == 2:
        with local_workers(1) as alone:
            same(learn(inputs, alone, waves=waves, conversion="cutoff"), here[waves])
            same(learn(inputs, alone, waves=3), here["frozen"])


def test_drift_on_real_workers_withholds_or_restarts_to_the_same_bits(client):
    """The concept turns: seen by the martingales of chunks on either worker, and by those of this process."""
    rng = np.random.default_rng(1)
    X = rng.integers(-8, 9, size=(9600, 8)) / 8.0
    y = np.where(np.where(np.arange(9600) < 4400, X[:, 0], X[:, 1]) > 0, 1, -1)
    chunks = cut([(csr(X[at : at + 800]), y[at : at + 800]) for at in range(0, 9600, 800)])
    runs = {}
    for how in ("withhold", "restart"):
        runs[how] = learn(chunks, client, waves=6, classes=[-1, 1], on_drift=how)
        same(runs[how], learn(chunks, waves=6, classes=[-1, 1], on_drift=how))
    assert runs["withhold"].certificate().withheld is not None
    assert runs["withhold"].certificate().drift.alarm == 5
    assert len(runs["restart"].regimes.ended) == 1
    assert runs["restart"].certificate().withheld is None


def test_workers_killed_while_rows_watch_frozen_models(client, inputs, here):
    """The candidates that a dead worker had are sent again, and whatever is run again counts once."""
    same(learn(inputs, client, waves=3), here["frozen"])
    when = {1, 3, 5}  # in each wave

    def watch(progress):
        if progress.step == 1 and progress.done in when:
            when.discard(progress.done)
            kill(pids(client)[:1])

    merged = learn(inputs, client, watch=watch, waves=3)
    assert not when
    assert merged.outcome.lost >= 1
    assert merged.certificate().counted
    same(merged, here["frozen"])


def test_local_workers_listen_on_the_loopback_interface_only(client):
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    listening = [c.laddr.ip for p in family for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert len(listening) > 3
    assert set(listening) == {"127.0.0.1"}


@pytest.mark.slow
@pytest.mark.parametrize(("deaths", "step"), [("one", 1), ("two", 1), ("all", 1), ("one", 2), ("all", 2)])
def test_workers_killed_in_either_step(client, inputs, here, deaths, step):
    """Right and bit-identical. In step 2 the logs of step 1 die with their worker, and their chunks are run again."""
    when = {1, 3} if (deaths, step) == ("two", 1) else {1} if step == 1 else {CHUNKS}
    victims = set()

    def watch(progress):
        if progress.step == 1 and progress.done in when:
            when.discard(progress.done)
            there = [number for number in pids(client) if number not in victims]
            chosen = there[:1] if deaths == "one" or when or (deaths, step) == ("two", 1) else there
            kill(chosen)
            victims.update(chosen)

    merged = learn(inputs, client, watch=watch, waves=1, conversion="cutoff")
    assert victims
    same(merged, here[1])
    if step == 2:
        assert merged.outcome.lost >= 1
        assert merged.outcome.again >= 1


def test_a_task_that_kills_its_worker_ends_in_an_error_that_names_the_chunk(client):
    X, y = dyadic(1, 50, 4)

    def poison():
        os.kill(os.getpid(), signal.SIGKILL)

    chunks = [(X, y), dask.delayed(poison)(), (X, y)]
    start = time.monotonic()
    with pytest.raises(ScaleError, match=r"chunk 1 \(delayed 1\): each of the \d workers that began it died"):
        learn(cut(chunks), client, classes=[-1, 1])
    crowd = max(1.0, os.getloadavg()[0] / os.cpu_count())  # a minute of our own, on a machine that others use too
    assert time.monotonic() - start < 60 * crowd


def test_rows_that_changed_between_two_readings_are_noticed(client, tmp_path):
    """The ends of the file stay as they were, so that only what comes out of the chunk can tell."""
    X, y = dyadic(2, 2_500, 60, zeros=0.5)
    path = tmp_path / "data.svm"
    dump_svmlight(path, csr(X), y)
    text = path.read_bytes()
    assert len(text) > 300_000
    middle = text.index(b"\n-1 ", 150_000)
    inputs = cut(path, chunk_bytes=100_000)

    def watch(progress):
        if progress.done == progress.chunks and progress.step == 1:
            path.write_bytes(text[:middle] + b"\n+1 " + text[middle + 4 :])
            kill(pids(client))

    with pytest.raises(
        ScaleError, match=r"chunk 1 \(.*data\.svm, bytes 100,000 to 200,000\): read again it gave other"
    ):
        learn(inputs, client, watch=watch, waves=1, conversion="cutoff")


def test_errors_of_tasks_name_the_chunk(client, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:2\n" * 50 + "1 1:1\n-1 2:x\n" + "1 1:1\n" * 50)
    with pytest.raises(DataError, match=r"a\.svm:line 102, col 6"):
        learn(cut(tmp_path / "a.svm", chunk_bytes=200), client)
    with pytest.raises(ScaleError, match=r"chunk 1 .*ZeroDivisionError"):
        learn(cut([(np.eye(2), [0, 1]), dask.delayed(lambda: 1 // 0)()]), client, classes=[0, 1])


def change_version(version):
    import onepass

    before, onepass.__version__ = onepass.__version__, version
    return before


def test_workers_of_another_version_are_refused_with_the_table(client, inputs):
    odd = list(client.scheduler_info()["workers"])[1]
    (before,) = client.run(change_version, "0.0.9", workers=[odd]).values()
    try:
        with pytest.raises(ScaleError, match="versions differ") as told:
            learn(inputs, client)
        lines = [line.split() for line in str(told.value).splitlines()]
        assert lines[1:] == [["onepass"], ["client", before], [odd, "0.0.9"]]
    finally:
        client.run(change_version, before, workers=[odd])


@pytest.mark.slow
def test_dask_collections_and_delayed_chunks(client):
    X, y = dyadic(3, 900, 6)
    expected = learn(cut([(X[at : at + 300], y[at : at + 300]) for at in range(0, 900, 300)]), waves=3)
    array = dask.array.from_array(X, chunks=(300, 4))
    labels = dask.array.from_array(y, chunks=450)
    same_weights = expected.model().weights
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(label=y)
    cases = {
        "array": cut(array, labels),
        "frame": cut(frame_of(frame), target="label"),
        "bag": cut(dask.bag.from_sequence(list(zip(X.tolist(), y.tolist(), strict=True)), npartitions=3)),
        "delayed": cut([dask.delayed(lambda a: (X[a : a + 300], y[a : a + 300]))(a) for a in (0, 300, 600)]),
    }
    for name, given in cases.items():
        merged = learn(given, client, waves=3)
        np.testing.assert_array_equal(merged.model().weights, same_weights, err_msg=name)
        assert merged.certificate() == expected.certificate(), name
    clf = scale.fit(OnePassClassifier(), frame_of(frame), target="label", client=client)
    assert clf.feature_names_in_.tolist() == list("abcdef")
    assert clf.predict(frame[list("abcdef")]).shape == (900,)
    twice = dask.delayed(lambda: (X, y))()
    with pytest.raises(ValueError, match="same delayed call"):
        cut([twice, twice])
    with pytest.raises(ValueError, match="target"):
        cut(frame_of(frame), target="labels")
    with pytest.raises(ValueError, match="labels for"):
        cut(array, labels[:450])


def frame_of(frame):
    return dask.dataframe.from_pandas(frame, npartitions=3, sort=False)


def test_kmeans_on_workers_is_kmeans_here(client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 3)) + 8.0 * rng.integers(0, 6, size=(4_000, 1))
    one = kmeans([X[at : at + 1_000] for at in range(0, 4_000, 1_000)], 6)
    two = kmeans(dask.array.from_array(X, chunks=(1_000, 3)), 6, client)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    assert (one.inertia_, one.n_iter_) == (two.inertia_, two.n_iter_)


def program(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "onepass.cli", *map(str, arguments)], capture_output=True, text=True, timeout=300, **more
    )


def test_the_program_trains_on_local_workers(file, inputs, here, tmp_path):
    chunk = file.stat().st_size // CHUNKS + 1
    model = tmp_path / "m.safetensors"
    done = program(
        "train",
        file,
        "--workers",
        2,
        "--chunk-bytes",
        chunk,
        "--waves",
        2,
        "--conversion",
        "cutoff",
        "-o",
        model,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["chunks"], result["waves"], result["again"], result["workers"]) == (CHUNKS, 2, 0, 2)
    assert result["certificate"] == here[2].certificate().as_dict()
    np.testing.assert_array_equal(LinearModel.load(model).weights, here[2].model().weights)


def test_the_program_killed_after_a_wave_goes_on_to_the_same_bits(file, here, tmp_path):
    chunk, model, kept = file.stat().st_size // CHUNKS + 1, tmp_path / "m.safetensors", tmp_path / "run.checkpoint"
    given = ["train", file, "--workers", 1, "--chunk-bytes", chunk, "--waves", 3, "-o", model, "--checkpoint", kept]
    with subprocess.Popen(
        [sys.executable, "-m", "onepass.cli", *map(str, given)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as begun:
        while not kept.exists():
            assert begun.poll() is None, begun.stdout.read()
            time.sleep(0.005)
        begun.kill()
    assert not model.exists()
    other = program(*given, "--resume", "--delta", 0.1)
    assert other.returncode == 2
    assert "delta: 0.05 then, 0.1 now" in other.stderr
    done = program(*given, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert f"going on from {kept} after" in done.stderr
    assert json.loads(done.stdout)["certificate"] == here["frozen"].certificate().as_dict()
    np.testing.assert_array_equal(LinearModel.load(model).weights, here["frozen"].model().weights)
    again = program(*given, "--resume")
    assert again.returncode == 0, again.stderr
    assert "this run is finished" in again.stderr


def test_the_program_certifies_the_model_that_it_writes(file, inputs, here, tmp_path):
    """And it stops, where it is asked to, at the end of a wave."""
    chunk, model = file.stat().st_size // CHUNKS + 1, tmp_path / "m.safetensors"
    given = ["train", file, "--workers", 2, "--chunk-bytes", chunk, "--waves", 3, "--conversion", "frozen", "-o", model]
    done = program(*given, "--json")
    assert done.returncode == 0, done.stderr
    result, own = json.loads(done.stdout), here["frozen"].certificate()
    assert result["certificate"] == own.as_dict()
    assert (own.conversion, own.covers, result["stopped"]) == ("frozen", "model", False)
    np.testing.assert_array_equal(LinearModel.load(model).weights, here["frozen"].model().weights)
    done = program(*given, "--stop-at", 0.99, "--force")
    assert done.returncode == 0, done.stderr
    assert "in 3 waves, the model was frozen at the end of wave 1" in done.stdout
    assert "stopped at the end of a wave" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--conversion", "suffix", "--workers", "2"], "Choose frozen, cutoff, average or longest"),
        (["--dask", "tcp://127.0.0.1:1", "--workers", "2"], "one of them"),
        (["--dask", "tcp://127.0.0.1:1", "--tls-ca-file", "ca.pem"], "tls://"),
        (["--dask", "local:x"], "local:N"),
        (["--dask", "tls://127.0.0.1:1"], "--tls-ca-file: missing"),
        (["--dask", "tls://127.0.0.1:1"], "--tls-cert: missing"),
        (["--dask", "tls://127.0.0.1:1", "--tls-ca-file", __file__], "Error: --tls-cert: missing"),
        (["--dask", "tls://127.0.0.1:1", "--tls-cert", "no.pem"], "--tls-cert: no.pem: No such file"),
        (["--workers", "2", "--on-error", "quarantine=bad"], "quarantine"),
    ],
)
def test_the_program_refuses_what_cannot_be(file, arguments, told):
    done = program("train", file, *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_tls_files_reach_dask(monkeypatch, tmp_path):
    """And nothing unencrypted is accepted beside them."""
    import distributed

    asked = {}

    def refuse(address, **given):
        asked.update(given, address=address)
        raise OSError("nobody there")

    monkeypatch.setattr(distributed, "Client", refuse)
    monkeypatch.chdir(tmp_path)
    files = {"tls_ca_file": "ca.pem", "tls_cert": "me.pem", "tls_key": "me.key"}
    for file in files.values():
        Path(file).touch()
    with (
        pytest.raises(ScaleError, match="no scheduler answers at tls://host:8786"),
        connect("tls://host:8786", **files),
    ):
        pass
    security = asked["security"]
    assert security.require_encryption
    assert (security.tls_ca_file, security.tls_client_cert, security.tls_client_key) == ("ca.pem", "me.pem", "me.key")
    with pytest.raises(ValueError, match="not encrypted"), connect("tcp://host:8786", **files):
        pass
    with pytest.raises(ValueError, match="tls_cert: missing: tls://host:8786"), connect("tls://host:8786"):
        pass
    known = {"distributed.comm.tls.ca-file": "ca.pem", "distributed.comm.tls.client.cert": "me.pem"}
    with dask.config.set(known):  # what Dask's own configuration gives is not missing
        assert tls_faults("tls://host:8786", dict.fromkeys(files)) == {}


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and a worker without a nanny, as processes of their own."""
    where, started = tmp_path / "scheduler.json", []

    def start(*arguments):
        command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=tmp_path))

    start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(where))
    while not where.exists() or not where.read_text():
        time.sleep(0.05)
    address = json.loads(where.read_text())["address"]
    start("dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    yield address, *started
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("victim", ["scheduler", "worker"])
def test_a_scheduler_or_the_last_worker_that_is_gone_for_good(cluster, inputs, victim):
    """No worker comes back: one line that names what is not done, never a gap and no endless waiting."""
    address, scheduler, worker = cluster
    logged = Logged()
    for name in ("distributed.client", "distributed.core", "distributed.comm"):
        logging.getLogger(name).addHandler(logged)

    def watch(progress):
        kill([scheduler.pid if victim == "scheduler" else worker.pid])

    with connect(address, timeout=5.0) as client:
        client.wait_for_workers(1, timeout=60)
        with pytest.raises(ScaleError, match=r"chunk \d.*data\.svm") as told:
            learn(inputs, client, watch=watch, patience=2.0)
    assert "\n" not in str(told.value)
    assert ("To go on" in str(told.value)) == (victim == "scheduler")
    assert logged.records == []


class Logged(logging.Handler):
    """What Dask would have said beside our one line."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record.getMessage())


def test_a_scheduler_that_is_gone_between_two_steps(cluster, inputs):
    """Not while results are awaited: whatever Dask then says is put in our words."""
    address, scheduler, _ = cluster
    with connect(address, timeout=5.0) as client, pytest.raises(ScaleError, match="To go on, start the scheduler"):
        _lose(scheduler, client)


def _lose(scheduler, client):
    with DaskExecutor(client, patience=60.0) as executor:
        kill([scheduler.pid])
        while client.status == "running":
            time.sleep(0.01)
        executor.hold("value", 1)
        raise RuntimeError("what Dask says")


def test_importing_onepass_imports_no_dask():
    code = "import onepass, onepass.cli.commands.train, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"dask", "distributed", "onepass.scale"} & set(done.stdout.split())
    for path in (Path(__file__).parent.parent / "src/onepass").rglob("*.py"):
        if "scale" not in path.parts:
            assert "import dask" not in path.read_text(), path
