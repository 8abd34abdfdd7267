"""Kernels from an empty cache: none twice for types that differ in nothing, and a second process for the last ones."""

import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from onepass.cli import ahead

TWICE = {
    # called by kernels and by Python, which need it in two forms
    "pair.tangent": "a certificate's root is sought by a kernel, and one point of it is asked for by Python",
    "grid.floor_index": "a place on the grid",
    # of two types each, which the file of the learner's kernels could make one
    "adapting._standard": "rounds with loss are counted as a whole number here, and as a float there",
}
ALONE = "import sys\nfrom onepass.cli import ahead, main\nahead.cores = lambda: 1\nmain()"
COLD = {name: text for name, text in os.environ.items() if name != "NUMBA_DISABLE_JIT"}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with a table and sparse rows."""
    folder, draw = tmp_path_factory.mktemp("cold"), random.Random(0)
    table, sparse = ["age,job,income,y"], []
    for _ in range(1000):
        age, job, income = draw.randrange(18, 80), draw.randrange(5), draw.lognormvariate(10, 0.4)
        good = age + income / 500 + 9 * job + draw.gauss(0, 8) > 110
        table.append(f"{age},{'abcde'[job]},{income:.0f},{'yes' if good else 'no'}")
        sparse.append(f"{1 if good else -1} 1:{age} {2 + job}:1 9:{income:.0f}")
    (folder / "table.csv").write_text("\n".join(table) + "\n")
    (folder / "rows.svm").write_text("\n".join(sparse) + "\n")
    return folder


def train(folder, name, cache, program=("-m", "onepass.cli")):
    """What a run of the program in a process of its own prints, and what it has left in the cache of kernels."""
    command = [sys.executable, *program, "train", name, "--json", "-o", f"{cache.name}.model"]
    where = {**COLD, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), kernels(cache)


def kernels(cache):
    """Which kernels are there, and when each was written."""
    return {path.relative_to(cache): path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}


def plainly(result):
    return {name: value for name, value in result.items() if name not in ("output", "seconds")}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table.csv", "rows.svm"])
def test_nothing_is_compiled_twice_or_in_vain(drawn, name):
    """Twice: for types that differ in nothing. In vain: by the second process, and not by a run without it."""
    cache, other = drawn / f"cache-{name}", drawn / f"other-{name}"
    result, needed = train(drawn, name, cache, ("-c", ALONE))
    forms = collections.Counter(re.match(r"([^.]+\..+)-\d+\.py", path.name)[1] for path in needed)
    assert {kernel for kernel, count in forms.items() if count > 1} <= {*TWICE}
    assert len(needed) < 105  # each costs a file; those of an svmlight run are 100, of 6.5 s in all
    other.mkdir()
    where = {**COLD, "NUMBA_CACHE_DIR": str(other)}
    command = [sys.executable, "-m", "onepass.cli.ahead"]
    with subprocess.Popen(
        command, env=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        assert run.stdout.read() == b""
    before = kernels(other)
    assert len(before) > 35
    again, after = train(drawn, name, other)
    assert {path: after[path] for path in before} == before
    assert {path.name for path in after} == {path.name for path in needed}
    assert plainly(again) == plainly(result)
    models = [(drawn / f"{place.name}.model").read_bytes() for place in (cache, other)]
    assert models[0] == models[1]


@pytest.mark.parametrize(
    ("paths", "learner", "conversion", "wanted"),
    [
        (("a.csv",), "adaptive", "frozen", True),
        (("a.svm", "b.npy"), "adaptive", "frozen", False),
        (("a.svm",), "perceptron", "frozen", False),
        (("a.svm",), "adaptive", "cutoff", False),
    ],
)
def test_it_is_wanted_where_it_compiles_what_is_needed(monkeypatch, paths, learner, conversion, wanted):
    monkeypatch.setattr(ahead, "cores", lambda: 2)
    assert ahead.helps(paths, learner, conversion) is wanted
    monkeypatch.setattr(ahead, "cores", lambda: 1)
    assert not ahead.helps(paths, learner, conversion)


def children(process):
    """The processes that this one has started, by their number, with their states."""
    found = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in found.splitlines()]
    return {int(pid): state for pid, parent, state in lines if int(parent) == process}


def is_running(process):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")  # a process that has ended, and whom nobody asked how, is a Z


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_second_process_ends_with_the_first(drawn, tmp_path, number):
    command = [sys.executable, "-c", "from onepass.cli import ahead, main\nahead.cores = lambda: 2\nmain()", "train"]
    where = {**COLD, "NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen([*command, "table.csv"], cwd=drawn, env=where, stderr=subprocess.PIPE) as run:
        assert b"compiling kernels" in run.stderr.readline()
        until = time.monotonic() + 60
        while not (helpers := children(run.pid)) and time.monotonic() < until:
            time.sleep(0.02)
        assert len(helpers) == 1
        run.send_signal(number)
        run.send_signal(number)  # the second one ends it at once, where the first may wait for the end of a chunk
        run.wait(60)
    until = time.monotonic() + 60
    while any(map(is_running, helpers)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(is_running, helpers))


def test_after_the_block_it_is_gone(monkeypatch, tmp_path):
    started, start = [], subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **kwargs: started.append(start(*args, **kwargs)) or started[-1]
    )
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with ahead.compiling(False):
        assert not started
    with ahead.compiling(True):
        assert started[0].poll() is None
    assert started[0].returncode is not None


def test_where_no_kernel_can_be_kept_it_compiles_none():
    """A notice, which nobody hears from the second process, and the end."""
    code = (
        "import sys, numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from onepass.cli import ahead\n"
        "ahead.compile_late_kernels()\n"
        "print('onepass.watching' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=COLD, capture_output=True, text=True, timeout=120)
    assert done.stdout == "False\n", done.stderr


def test_where_none_can_be_started_nothing_is_said(monkeypatch, capfd):
    for nowhere in ("/no/such/python", "", None):
        monkeypatch.setattr(sys, "executable", nowhere)
        with ahead.compiling(True):
            pass
    assert capfd.readouterr() == ("", "")
