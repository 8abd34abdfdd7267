"""The house keeps its own rules: what imports what, and kernels that run compiled, interpreted and bounds-checked."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onepass.cli.commands import lab

ROOT = Path(__file__).resolve().parent.parent


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("start", ["import onepass", "import onepass.cli.group"])
def test_starting_up_imports_nothing_heavy(start):
    loaded = python(f"{start}\nimport sys; print(*sys.modules)").split()
    assert not {"numba", "sklearn", "scipy", "pyarrow", "matplotlib"} & set(loaded)


def test_next_to_nothing_is_imported_before_ctrl_c_is_heeded():
    before, after = "import sys; old = set(sys.modules)", "print(*set(sys.modules) - old)"
    loaded = python(f"{before}\nimport onepass.cli\n{after}").split()
    assert not {"click", "collections", "enum", "re", "typing"} & set(loaded)


def test_the_pass_imports_no_scikit_learn():
    loaded = python("import onepass; onepass.Pass('margin')\nimport sys; print(*sys.modules)").split()
    assert not {"sklearn", "pyarrow", "matplotlib", "dask"} & set(loaded)


def test_every_public_name_is_there():
    import onepass

    for name in onepass.__all__:
        assert getattr(onepass, name) is not None
    for room in ("onepass", "onepass.cluster", "onepass.experts", "onepass.io", "onepass.scale"):  # no module hides one
        kinds = python(
            f"import {room} as room\nprint(*(type(getattr(room, name)).__name__ for name in 2 * room.__all__))"
        )
        assert "module" not in kinds.split(), room
    assert set(dir(onepass)) >= set(onepass.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = onepass.nothing


RUN = """
import numpy as np
from onepass import SmoothThresholdClassifier
from onepass.learners import NAMES, ShiftedPerceptron
from onepass.passes import Pass
rng = np.random.default_rng(0)
X = rng.integers(-16, 17, size=(90, 4)) / 8.0
for classes in (2, 3):
    y = np.argmax(X @ rng.integers(-8, 9, size=(4, classes)), axis=1)
    for learner in (*NAMES, ShiftedPerceptron(warmup=3.0)):
        if learner == "shifted":
            continue
        if classes > 2 and isinstance(learner, ShiftedPerceptron):
            continue
        for memory in (1 << 20, 3000):
            run = Pass(learner, classes=range(classes), radius=2.0, watch=True, validation_fraction=0.2,
                       conversion="cutoff", max_trace_memory=memory, n_features=4)
            run.feed(X, y)
            print(learner, memory, run.model().weights.tobytes().hex(), run.certificate(), run.certificate("frozen"))
for function in ("linear", "committee", "quadratic"):
    clf = SmoothThresholdClassifier(function).fit(X, y > 0)
    print(function, clf.weights_.round(12), clf.certificate_)
"""


@pytest.mark.slow
def test_interpreted_equals_compiled_equals_bounds_checked(tmp_path):
    """To the last bit."""
    compiled = python(RUN)
    assert compiled == python(RUN, NUMBA_DISABLE_JIT="1")
    few = RUN.replace("(*NAMES, ShiftedPerceptron(warmup=3.0))", '("adaptive", "margin")')  # all compiled anew: dear
    checked = python(few, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)).splitlines()
    assert len(checked) > 8
    assert {*checked} < {*compiled.splitlines()}


PASS = "from onepass.passes import Pass\n"


def test_kernels_from_the_cache_need_no_compiler(tmp_path):
    """numba makes the libraries known to its compiler only when something is compiled: they take longer to import."""
    code = (
        "import sys\n"
        "from onepass.io import open_stream\n"
        "from onepass.passes import Pass\n"
        f"rows = next(open_stream({str(tmp_path / 'data.svm')!r}, unsorted='sort')).rows\n"
        "run = Pass(); run.feed(rows, [0, 1])\n"
        "print(rows.indices, run.rounds, [f'numba.np.{name}' in sys.modules for name in ('linalg', 'arrayobj')])\n"
    )
    more = (
        "run = Pass('pa', classes=[0, 1, 2]); run.feed([[1.0], [2.0]], [0, 2]); print(run.rounds, *run.model().weights)"
    )
    (tmp_path / "data.svm").write_text("0 2:1 1:2\n1 3:1\n")  # features out of order: the reader's kernel sorts them
    assert python(code, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "[0 1 2] 2 [True, True]"
    found = python(code + more, NUMBA_CACHE_DIR=str(tmp_path)).splitlines()  # what is compiled after that is sound
    assert found == ["[0 1 2] 2 [False, False]", *python(PASS + more).splitlines()]


def test_without_a_writable_cache_it_runs_with_one_notice(tmp_path):
    code = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = []\n"
        "from onepass.passes import Pass\n"
        "run = Pass(); run.feed([[1.0], [2.0]], [0, 1]); print(run.rounds)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "2", done.stderr
    assert done.stderr.count("no writable folder") == 1


RENAMED = """
cache = numba.core.caching.Cache
cache.renamed = cache._load_overload
del cache._load_overload
cache.load_overload = lambda self, sig, context: (context.refresh(), self.renamed(sig, context))[1]
"""


@pytest.mark.parametrize("change", ["del numba.core.runtime.rtsys", RENAMED], ids=["a name", "a method"])
def test_a_numba_with_other_internals_still_caches_kernels(tmp_path, change):
    """By its own cache: compiled once, and loaded in the next process."""
    code = (
        f"import numba.core.caching\n{change}\n"
        "from onepass.rows import Dense, squared_norms\n"
        "import numpy as np\n"
        "norms = np.zeros(2); squared_norms(Dense(np.array([[1.0, 2.0], [3.0, 4.0]])), norms)\n"
        "print(norms, *squared_norms.stats.cache_hits.values())"
    )
    assert python(code, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "[ 5. 25.]"
    assert python(code, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "[ 5. 25.] 1"


NORMS = (
    "from onepass.rows import Dense, squared_norms\n"
    "import numpy as np\n"
    "norms = np.zeros(2); squared_norms(Dense(np.array([[1.0, 2.0], [3.0, 4.0]])), norms)\n"
    "print(norms, sum(squared_norms.stats.cache_hits.values()))"
)


def test_kernels_are_compiled_anew_when_any_source_has_changed(tmp_path):
    """What a kernel calls is compiled into it, from whatever file that comes."""
    shutil.copytree(ROOT / "src" / "onepass", tmp_path / "onepass", ignore=shutil.ignore_patterns("__pycache__"))
    where = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert python(NORMS, **where).strip() == "[ 5. 25.] 0"
    assert python(NORMS, **where).strip() == "[ 5. 25.] 1"
    os.utime(tmp_path / "onepass" / "trace" / "grid.py", ns=(1, 1))
    assert python(NORMS, **where).strip() == "[ 5. 25.] 0"


def test_compiled_code_with_a_bit_turned_over_is_as_good_as_none(tmp_path):
    assert python(NORMS, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "[ 5. 25.] 0"
    for path in tmp_path.rglob("*.nbc"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)
    assert python(NORMS, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "[ 5. 25.] 0"
    assert python(NORMS, NUMBA_CACHE_DIR=str(tmp_path)).strip() == "[ 5. 25.] 1"


def test_without_numbas_internals_nothing_is_prefetched(monkeypatch):
    import numba
    import numpy as np

    from onepass._jit import prefetch

    monkeypatch.delattr("numba.core.cgutils.get_item_pointer")
    assert numba.njit(lambda array: prefetch(array, np.uint64(0)))(np.zeros(3)) is None


def test_no_path_of_a_machine_and_no_list_of_exceptions():
    contract = (ROOT / "pyproject.toml").read_text()
    assert "ignore_imports" not in contract
    for path in ROOT.glob("src/**/*.py"):
        assert "/home/" not in path.read_text(), path


def test_every_package_that_is_imported_is_declared_with_its_lowest_version():
    lowest = subprocess.run(
        [sys.executable, ROOT / ".ci" / "lowest.py"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"numpy==2.0", "pytest==8.3", "dask==2025.1"} <= {*lowest}
    declared = {line.partition("==")[0].replace("scikit-learn", "sklearn") for line in lowest}
    known = sys.stdlib_module_names | {"onepass"}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert {name.partition(".")[0] for name in names} <= declared | known, path


def test_every_file_oracle_and_command_that_the_papers_page_names_is_there():
    page = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    table = page.split("## What each part is held to", 1)[1]
    ranges = re.findall(r"\beq\. (\d+)(?:-(\d+))?", table.split("barkai1995", 1)[1])
    named = {n for first, last in ranges for n in range(int(first), int(last or first) + 1)}
    assert named == set(range(1, 28))  # every equation
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", page):
        places = ("src/onepass", "tests", "")
        assert any((ROOT / place / name).exists() for place in places), name
    for module, name in re.findall(r"`(oracles\w*)\.(\w+)`", page):
        assert f"\ndef {name}(" in (ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8"), (module, name)
    for module, name in re.findall(r"`(theory|threshold_law)\.(\w+)`", page):
        assert callable(getattr(importlib.import_module(f"onepass.lab.{module}"), name, None)), (module, name)
    commands = set(re.findall(r"`lab ([\w-]+)`", page))
    assert commands == set(lab.EXPERIMENTS)
