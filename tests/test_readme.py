"""What README.md and the pages in docs/ say is what happens."""

import contextlib
import importlib
import inspect
import io
import json
import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
THEORY, MACHINES, DEMO, START, IMBALANCE, TEXT = (
    (ROOT / "docs" / f"{name}.md").read_text() for name in ("theory", "machines", "demo", "start", "imbalance", "text")
)
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def section(heading):
    return README.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def same_text(said, happened):
    """Equal but for the last digits of numbers, which another processor's logarithm may round otherwise."""
    assert NUMBER.sub("#", said) == NUMBER.sub("#", happened)
    for a, b in zip(NUMBER.findall(said), NUMBER.findall(happened), strict=True):
        a, b = float(a.replace(",", "").rstrip(".")), float(b.replace(",", "").rstrip("."))
        assert a == pytest.approx(b, abs=3e-4 if b < 1 else 0.03 if b < 100 else 0)


def shell(commands, folder):
    """Stdout of these lines of README or a page, with the program and the scripts of this clone."""
    python = f"{sys.executable} -m onepass.cli"
    text = re.sub(r"^onepass |(?<=\| )onepass ", f"{python} ", commands, flags=re.MULTILINE)
    text = re.sub(r"^python examples/", f"{sys.executable} {ROOT}/examples/", text, flags=re.MULTILINE)
    text = text.replace("python -c", f"{sys.executable} -c")
    command = ["bash", "-e", "-o", "pipefail", "-c", text]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_short_and_begins_without_terms_of_art():
    assert len(README.splitlines()) <= 120
    first = README.split("\n\n")[1]
    assert not re.search(r"online|hypothes|conver|ensemble|certif|martingale|risk|round|frozen|betting", first)


def test_ten_lines_print_what_the_readme_shows():
    (code,), (said,) = blocks(section("Ten lines"), "python"), blocks(section("Ten lines"), "text")
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    same_text(said, out.getvalue())


def test_the_demo_prints_what_the_readme_shows(tmp_path):
    (said,) = blocks(section("Try it"), "text")
    printed = shell("onepass demo --report demo.html", tmp_path)
    same_text(said, printed[: len(said)])
    assert len(printed.splitlines()) < 24
    assert (tmp_path / "demo.html").exists()


def test_all_of_the_demo_is_what_the_page_shows(tmp_path):
    (said,) = blocks(DEMO, "text")
    same_text(said, shell("onepass demo --all", tmp_path)[: len(said)])


def test_a_raw_table_gives_what_the_readme_shows(tmp_path):
    (commands,), (said,) = blocks(section("A raw table"), "sh"), blocks(section("A raw table"), "text")
    printed = shell(commands, tmp_path)
    same_text(said, printed[: len(said)])
    labels, fresh = ((tmp_path / f"{name}.csv").read_text().splitlines()[1:] for name in ("labels", "fresh"))
    wrong = np.mean([label != row.rpartition(",")[2] for label, row in zip(labels, fresh, strict=True)])
    assert len(labels) == 3000
    assert "predict model.safetensors fresh.csv" in commands  # not what it was trained on
    (share,) = re.findall(r"Of the 3,000 fresh rows the model gets ([\d.]+) % wrong", README)
    (told,) = re.findall(r"([\d.]+) of the 3,000 labelled rows were predicted wrong", START)
    assert [float(share) / 100, float(told)] == pytest.approx([wrong, wrong], abs=1e-3)


def test_drawn_parts_give_the_threshold_that_the_page_asks_for(tmp_path):
    (commands,) = blocks(IMBALANCE, "sh")
    assert "at most 1 % of the rows of class 'fine' are called 'fault'" in shell(commands, tmp_path)


def test_words_alone_give_what_the_page_shows():
    (code,), (said,) = blocks(TEXT, "python"), blocks(TEXT, "text")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    same_text(said, out.getvalue())


def test_what_machines_are_told(tmp_path):
    (commands,), (said,) = blocks(MACHINES, "sh"), blocks(MACHINES, "json")
    printed = shell(commands, tmp_path).splitlines()[-1]
    assert json.loads(printed) == json.loads(said)


def test_every_file_link_and_make_target_is_there():
    for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", README + THEORY):
        found = [list((ROOT / "src/onepass").glob(name)), (ROOT / name).exists(), (ROOT / "tests" / name).exists()]
        assert any(found), name
    for name in re.findall(r"`([a-z_/]+/)`", README + THEORY):
        assert (ROOT / "src/onepass" / name).is_dir() or (ROOT / name).is_dir(), name
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make (\w+)|^    make (\w+)", README, re.MULTILINE):
        assert f"\n{''.join(target)}:" in makefile, target
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link).exists(), link
    oracles = (ROOT / "tests/oracles.py").read_text()
    for name in ("perceptron", "margin_perceptron", "passive_aggressive", "counted", "dekel2008", "betting"):
        assert f"def {name}(" in oracles


def test_every_benchmark_is_named_on_its_page():
    page = (ROOT / "docs/benchmarks.md").read_text()
    scripts = {path.name for path in (ROOT / "benchmarks").glob("*.py")}
    assert scripts == set(re.findall(r"`(?:python benchmarks/)?(\w+\.py)", page))


def test_badges_and_citation_say_what_the_project_says():
    pictures = runpy.run_path(str(ROOT / "docs/pictures.py"))
    for name, value in pictures["badges"]().items():
        assert (ROOT / f"docs/figures/badge-{name}.svg").read_text() == pictures["badge"](name, value)
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {pictures['badges']()['version']}\n" in citation
    assert "name: The onepass developers" in citation
    assert f"version = {{{pictures['badges']()['version']}}}" in (ROOT / "docs/about.md").read_text()


# --- what others do not do -------------------------------------------------------------------------------------------


def test_every_line_of_the_comparison_names_what_shows_it():
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    lines = [line for line in section("What others do not do").splitlines() if line.startswith("| ")][1:]
    assert len(lines) >= 6
    for line in lines:
        shown = line.rstrip(" |").rpartition("| ")[2]
        name = re.fullmatch(r"`(test_\w+)`", shown)
        assert f"def {name[1]}(" in tests if name else shown == "[Drift](docs/drift.md)", line


def test_others_refuse_what_is_taken_here():
    """The peers are looked at where they are installed; scikit-learn always is."""
    import pandas as pd
    from sklearn.linear_model import SGDClassifier

    import onepass

    drawn = runpy.run_path(str(ROOT / "examples/tables/customers.py"))["customers"](600)
    frame = pd.DataFrame(drawn)
    assert onepass.train(frame, target="bought").certificate.informative
    columns, label = frame.drop(columns="bought"), frame["bought"]
    with pytest.raises(ValueError, match="could not convert"):
        SGDClassifier().fit(columns, label)
    if find_spec("river"):
        from river import linear_model

        with pytest.raises(TypeError):
            linear_model.LogisticRegression().learn_one(columns.iloc[0].to_dict(), True)
    if find_spec("mapie"):
        controller = importlib.import_module("mapie.risk_control").BinaryClassificationController
        assert "X_calibrate" in inspect.signature(controller.calibrate).parameters


# --- the pages in docs/ ----------------------------------------------------------------------------------------------

# page → what its blocks take for granted; the example data of each are drawn
GIVEN = {
    "cluster": "X = rng.normal(size=(400, 2)); pieces = np.array_split(X, 4)\n"
    "pathlib.Path('points.csv').write_text('a,b\\n' + '\\n'.join(f'{a},{b}' for a, b in rng.normal(size=(90, 2))))",
    "drift": "import onepass\nX = rng.normal(size=(3000, 3)); y = X[:, 0] > 0\n"
    "run = onepass.Pass(); run.feed(X, y); model = run.model()",
    "experts": "advice = rng.integers(0, 2, (300, 4)); outcomes = rng.integers(0, 2, 300)\nimport numpy\n"
    "X = rng.normal(size=(300, 3)); y = X[:, 0] > 0\nfrom onepass.experts import Hedge\n"
    "forecaster = Hedge(); forecaster.update([0.0, 1.0], 1.0)",
    "formats": "import gzip, pandas as pd\n"
    "pathlib.Path('data.svm.gz').write_bytes(gzip.compress(b'1 1:1\\n-1 2:1\\n'))\n"
    "frame = pd.DataFrame({'a': rng.normal(size=300), 'y': rng.integers(0, 2, 300)}); new = frame[['a']]",
    "learners": "X = rng.normal(size=(300, 2)); y = X[:, 0] > 0",
    "start": "import runpy, pandas\nfor name, rows, seed in (('customers', 12_000, 0), ('fresh', 30, 1)):\n"
    "    drawn = runpy.run_path(str(ROOT / 'examples/tables/customers.py'))['customers'](rows, seed)\n"
    "    pandas.DataFrame(drawn).to_csv(f'{name}.csv', index=False)",
    "resume": "pathlib.Path('data.svm').write_text('1 1:1\\n-1 2:1\\n' * 50)",
    "report": "X = rng.normal(size=(90, 2)); chunks = [(X[:40], X[:40, 0] > 0), (X[40:], X[40:, 0] > 0)]",
}
ELSEWHERE = {  # what needs machines that a test has not
    "scale": "local workers, tested in test_scale_cluster; batch systems and Kubernetes",
}


@pytest.mark.parametrize("page", sorted(path.stem for path in (ROOT / "docs").glob("*.md")))
def test_blocks_of_python_run(page, tmp_path, monkeypatch):
    found = blocks((ROOT / f"docs/{page}.md").read_text(), "python")
    if page in ELSEWHERE or not found:
        return
    monkeypatch.chdir(tmp_path)
    names = {"np": np, "rng": np.random.default_rng(0), "pathlib": importlib.import_module("pathlib"), "os": os}
    names["ROOT"] = ROOT
    exec(GIVEN.get(page, ""), names)
    with contextlib.redirect_stdout(io.StringIO()):
        for code in found:
            exec(code, names)
