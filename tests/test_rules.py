"""Rules of the house that a program can check, each with the place and the remedy.

What a rule excuses stands in a table beside it with the reason; an entry that excuses nothing is a failure too. Tables
called BEING_PARTED name what is on its way out: there an entry may be left over.
"""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from rooms import ROOMS, rooms_of

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").glob("*.py")])
TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
SOURCES = {path: tree for path, tree in TREES.items() if path.startswith("src/")}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Breach(NamedTuple):
    """A place where a rule is broken; `key` is what a table would excuse it by."""

    key: tuple[str, str]
    line: int
    what: str

    def __str__(self):
        return f"{self.key[0]}:{self.line}: {self.what}"


def must_be_none(breaches, remedy, excused=(), being_parted=()):
    """Fail with every breach that no table excuses, and with every entry that excuses nothing."""
    keys = {breach.key for breach in breaches}
    faults = [str(breach) for breach in breaches if breach.key not in {*excused, *being_parted}]
    idle = [f"{path}: {name} is excused and need not be: delete the entry" for path, name in {*excused} - keys]
    assert not faults, "\n".join([*faults, f"Remedy: {remedy}"])
    assert not idle, "\n".join(idle)


def definitions(tree, kinds, within=""):
    """(qualified name, node) of every function or class, those inside others too."""
    for node in ast.iter_child_nodes(tree):
        name = within
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            name = f"{within}.{node.name}".lstrip(".")
            if isinstance(node, kinds):
                yield name, node
        yield from definitions(node, kinds, name)


# --- a function fits on a screen and takes at most seven things ------------------------------------------------------

LINES, PARAMETERS = 60, 7

LARGE = {
    # kernels: a call between their parts would cost more than the parts
    ("src/onepass/io/svmlight.py", "_line"): "a kernel: one line, read in registers from its label to its end",
    ("src/onepass/io/vw.py", "_line"): "a kernel: one line, read in registers from its label to its end",
    ("src/onepass/lab/noisy.py", "advance"): "a kernel: thirteen numbers stay in registers from round to round",
    ("src/onepass/runs/shifting.py", "_learn"): "a kernel: its sums stay in registers from round to round",
    ("src/onepass/runs/shifting.py", "advance"): "what the kernel needs, and what bounds its room",
    # scikit-learn's contract: a constructor names every parameter, and get_params reads them from its signature
    ("src/onepass/estimator.py", "OnePassClassifier.__init__"): "an estimator's constructor",
    ("src/onepass/smooth/estimator.py", "SmoothThresholdClassifier.__init__"): "an estimator's constructor",
    ("src/onepass/cluster/estimator.py", "KMeans.__init__"): "an estimator's constructor",
    # public functions whose arguments a user names one by one
    ("src/onepass/cluster/run.py", "kmeans"): "the parameters of KMeans, without the estimator",
    ("src/onepass/scale/lloyd.py", "kmeans"): "the parameters of KMeans, on several machines",
    ("src/onepass/scale/fitting.py", "fit"): "what says where the rows are, and how they are shared out",
    ("src/onepass/lab/simulate.py", "run"): "an experiment: what is learned, how long, how often, from where",
    ("src/onepass/lab/simulate.py", "run_smooth"): "an experiment: what is learned, how long, how often, from where",
    ("src/onepass/io/opener.py", "open_stream"): "how files are read; all but the first have a default",
    ("src/onepass/io/stream.py", "Stream.__init__"): "what open_stream was told, and what it found",
    ("src/onepass/errors.py", "DataError.__init__"): "a record: what is wrong where, each with a name",
    # oracles keep the letters of the papers
    ("tests/oracles_lab.py", "noisy_path"): "a definition in the paper's letters",
    ("tests/oracles_lab.py", "whole"): "a definition in the paper's letters",
}


def parameters(function):
    asked = function.args
    names = [one.arg for one in (*asked.posonlyargs, *asked.args, *asked.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def code_lines(function):
    """Without the docstring: what a user has to be told of a public function has as many lines as it needs."""
    lines, first = function.end_lineno - function.lineno + 1, function.body[0]
    return lines - (first.end_lineno - first.lineno + 1 if ast.get_docstring(function) is not None else 0)


def too_large(path, tree):
    for name, node in definitions(tree, FUNCTIONS):
        lines, taken = code_lines(node), len(parameters(node))
        if lines > LINES or taken > PARAMETERS:
            yield Breach((path, name), node.lineno, f"{name} has {lines} lines and {taken} parameters")


def test_a_function_fits_on_a_screen_and_takes_at_most_seven_things():
    found = [breach for path, tree in TREES.items() for breach in too_large(path, tree)]
    remedy = f"at most {LINES} lines and {PARAMETERS} parameters: part it, or let what belongs together travel as one"
    must_be_none(found, remedy, LARGE)


# --- nobody reads another object's private attribute -----------------------------------------------------------------

NAMED_TUPLES = {"_replace", "_asdict", "_fields", "_make", "_field_defaults"}  # public, in spite of their names

NUMBA = "numba has no public way to load kernels without its compiler; without these names its own cache is used"
ONE_STEP = "one step of what is tested through the public face elsewhere"
PRIVATE = {
    **{("src/onepass/_kernel_cache.py", name): NUMBA for name in ("_cache_file", "_cache_path", "_impl", "_memo")},
    ("src/onepass/_kernel_cache.py", "_guard_against_spurious_io_errors"): NUMBA,
    ("src/onepass/_kernel_cache.py", "_load_overload"): NUMBA,
    ("src/onepass/_kernel_cache.py", "_compiling_counter"): "numba asks it whether a kernel calls itself",
    ("src/onepass/_jit.py", "_cache"): NUMBA,
    ("src/onepass/cli/ahead.py", "_exit"): "os._exit is public in spite of its name",
    ("src/onepass/experts/estimator.py", "_BaseComposition"): "scikit-learn's base of estimators that hold others",
    ("src/onepass/scale/lloyd.py", "_stream"): "an estimator that was fitted elsewhere is put together",
    ("src/onepass/scale/lloyd.py", "_mass"): "an estimator that was fitted elsewhere is put together",
    ("tests/test_io_svmlight.py", "_nearest"): ONE_STEP,
    ("tests/test_cli_memory.py", "_remedy"): ONE_STEP,
    ("tests/test_io_prefetch.py", "_pool"): "how many blocks wait can be seen nowhere else",
    ("tests/test_io_prefetch.py", "_work_queue"): "how many blocks wait can be seen nowhere else",
}
PRIVATE_BEING_PARTED = {
    *(("src/onepass/scale/fitting.py", name) for name in ("_pass", "_kept", "_looked")),
    *(("src/onepass/passes.py", name) for name in ("_log", "_answers", "_compact")),
    ("tests/test_averager.py", "_runs"),
    ("tests/test_checkpoint_file.py", "_begun"),
    ("tests/test_estimator.py", "_pass"),
    *(("tests/test_learners_rates.py", name) for name in ("_state", "_weights")),
    *(("tests/test_learners_shifted.py", name) for name in ("_setting", "_lazy")),
    ("tests/test_learners_smooth.py", "_averager"),
}


def private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_"


def own_names(kind):
    """The private names that a class gives its objects: methods, fields, and what is set on self."""
    for node in ast.walk(kind):
        if isinstance(node, FUNCTIONS):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            yield node.attr


def is_self(node):
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def prying(path, tree, own=frozenset()):
    """Private names of others that are read; a class may use its own names on another object of its kind."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Attribute) and private(node.attr):
            if not is_self(node.value) and node.attr not in NAMED_TUPLES | own:
                yield Breach((path, node.attr), node.lineno, f"{ast.unparse(node)} is another object's")
        elif isinstance(node, ast.ImportFrom):
            for name in filter(private, [alias.name for alias in node.names]):
                if node.module not in (None, "onepass"):  # a module with a low line is private to the house, not to one
                    yield Breach((path, name), node.lineno, f"{name} belongs to {node.module}")
        yield from prying(path, node, own | {*own_names(node)} if isinstance(node, ast.ClassDef) else own)


def test_nobody_reads_another_objects_private_attribute():
    found = [breach for path, tree in TREES.items() for breach in prying(path, tree)]
    must_be_none(found, "ask the object: give it a public method or attribute", PRIVATE, PRIVATE_BEING_PARTED)


# --- oracles, class names --------------------------------------------------------------------------------------------


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "."


def test_an_oracle_imports_nothing_of_ours():
    ours = {"onepass", *(path.stem for path in (ROOT / "tests").glob("*.py") if not path.stem.startswith("oracles"))}
    oracles = {path: tree for path, tree in TREES.items() if re.match(r"tests/oracles\w*\.py", path)}
    assert oracles
    found = [
        Breach((path, name), line, f"imports {name}")
        for path, tree in oracles.items()
        for line, name in imported(tree)
        if name.partition(".")[0] in ours
    ]
    must_be_none(found, "write the definition out in NumPy: what shares code with the kernels shares their errors")


def test_a_class_name_stands_once():
    places = defaultdict(list)
    for path, tree in SOURCES.items():
        for name, node in definitions(tree, ast.ClassDef):
            if not node.name.startswith("_"):
                places[node.name].append(Breach((path, name), node.lineno, f"class {node.name} stands elsewhere too"))
    found = [breach for several in places.values() if len(several) > 1 for breach in several]
    must_be_none(found, "name one of them by what it is alone")


# --- tests -----------------------------------------------------------------------------------------------------------


def fixtures(tree):
    """name → line; the name is the one that tests take."""
    found = {}
    for node in tree.body:
        for made in getattr(node, "decorator_list", []):
            call = made if isinstance(made, ast.Call) else ast.Call(made, [], [])
            if ast.unparse(call.func) == "pytest.fixture":
                named = [word.value.value for word in call.keywords if word.arg == "name"]
                found[(named or [node.name])[0]] = found[node.name] = node.lineno
    return found


MODULES = {path: tree for path, tree in TREES.items() if path.startswith("tests/test_")}


def test_a_fixture_of_several_modules_lives_in_conftest():
    """Not imported: pytest finds it by its name, and ruff sees an unused import that is defined again."""
    made = {Path(path).stem: fixtures(tree) for path, tree in MODULES.items()}
    found = [
        Breach((path, alias.name), node.lineno, f"{alias.name} is a fixture of {node.module}")
        for path, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in made.get(node.module, ())
    ]
    must_be_none(found, "move it to tests/conftest.py and take it by its name, without an import")


@pytest.mark.parametrize("module", [Path(path).stem for path in MODULES])
def test_a_test_module_has_one_room(module):
    assert len(rooms_of(module)) == 1, f"Remedy: name {module} in ROOMS of tests/rooms.py, once"


def test_rooms_are_markers_and_stand_in_the_guide():
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    assert [marker.partition(":")[0] for marker in markers] == ["slow", *ROOMS], "Remedy: markers of pyproject.toml"
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = {row[1]: tuple(re.findall(r"`([^`]+)`", row[2])) for row in re.finditer(r"\| `(\w+)` \| (.*) \|", guide)}
    assert rows == ROOMS, "Remedy: the table of CONTRIBUTING.md is ROOMS of tests/rooms.py"


# --- the rules themselves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def f(a, b, c, d, *, e, f, g, h): ...", "f"),
        ("class A:\n def f(self, a, b, c, d, e, f, g, *more, h): ...", "A.f"),
        ("def f():" + "\n 1" * 60, "f"),
        ("def f():\n def g():" + "\n  1" * 60, "g"),
    ],
)
def test_what_is_too_large_is_seen(text, name):
    assert name in [breach.key[1].removeprefix("f.") for breach in too_large("x.py", ast.parse(text))]


@pytest.mark.parametrize("text", ["def f(a, b, c, d, e, f, g, *h, **i): 1", "def f():" + "\n 1" * 59])
def test_what_is_not_too_large_is_not(text):
    assert not [*too_large("x.py", ast.parse(text))]


@pytest.mark.parametrize(
    "text", ["a._b", "a._b = 1", "f()._b", "self.a._b", "from a import _b", "class A:\n def f(self, a): a._b"]
)
def test_prying_is_seen(text):
    assert [str(breach)[:6] for breach in prying("x.py", ast.parse(text))] == [f"x.py:{1 + text.count(chr(10))}"]


@pytest.mark.parametrize(
    "text",
    [
        *("self._a", "cls._a = 1", "super()._a()", "a._replace(b=1)", "a.__dict__", "from onepass import _jit"),
        *("class A:\n def _a(self): return copy(self)._a", "class A:\n _a: int\n def f(self, other): other._a"),
    ],
)
def test_what_is_ones_own_is_not_prying(text):
    assert not [*prying("x.py", ast.parse(text))]


def test_an_entry_that_excuses_nothing_is_told():
    breach = Breach(("a.py", "f"), 3, "f is long")
    must_be_none([breach], "part it", {breach.key: "a reason"})
    with pytest.raises(AssertionError, match=r"a\.py:3: f is long\n *Remedy: part it"):
        must_be_none([breach], "part it")
    with pytest.raises(AssertionError, match="need not be"):
        must_be_none([], "part it", {breach.key: "a reason"})
