"""What the README says is what happens."""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


def block_after(heading, language):
    part = README.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.search(rf"```{language}\n(.*?)```", part, re.DOTALL).group(1)


def same_text(said, happened):
    """Equal but for the last digits of numbers, which another processor's logarithm may round otherwise."""
    assert NUMBER.sub("#", said) == NUMBER.sub("#", happened)
    for a, b in zip(NUMBER.findall(said), NUMBER.findall(happened), strict=True):
        a, b = float(a.replace(",", "").rstrip(".")), float(b.replace(",", "").rstrip("."))
        assert a == pytest.approx(b, abs=3e-4 if b < 100 else 0)


def test_ten_lines_print_what_the_readme_shows():
    code = block_after("Ten lines", "python")
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    same_text(block_after("Ten lines", "text"), out.getvalue())


def test_the_demo_prints_what_the_readme_shows():
    done = subprocess.run(
        [sys.executable, "-m", "onepass.cli", "demo", "-q"], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stderr == ""
    same_text(block_after("What the demo prints", "text"), done.stdout)


def test_the_commands_run_and_train_prints_what_the_readme_shows(tmp_path):
    commands = [line.split("#")[0].split() for line in block_after("From a file", "sh").splitlines()]
    assert [words[:2] for words in commands if words[0] != "onepass"] == []
    printed = {}
    for words in commands:
        done = subprocess.run(
            [sys.executable, "-m", "onepass.cli", *words[1:], "-q"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        printed[words[1]] = done.stdout
    same_text(block_after("From a file", "text"), printed["train"])
    assert "hold together" in printed["compare"]
    machine = block_after("For machines", "sh").replace("python -c", f"{sys.executable} -c")
    piped = machine.replace("onepass train", f"{sys.executable} -m onepass.cli train -q")
    said = subprocess.run(["bash", "-c", piped], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(said.stdout) == json.loads(block_after("For machines", "json"))
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 1001


def test_every_file_and_make_target_it_names_is_there():
    for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", README):
        assert list((ROOT / "src/onepass").glob(name)) or (ROOT / name).exists() or (ROOT / "tests" / name).exists(), (
            name
        )
    for name in re.findall(r"`([a-z_/]+/)`", README):
        assert (ROOT / "src/onepass" / name).is_dir() or (ROOT / name).is_dir(), name
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make (\w+)|^    make (\w+)", README, re.MULTILINE):
        assert f"\n{''.join(target)}:" in makefile, target
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link).exists(), link
    oracles = (ROOT / "tests/oracles.py").read_text()
    for name in ("perceptron", "margin_perceptron", "passive_aggressive", "counted", "dekel2008", "betting"):
        assert f"def {name}(" in oracles
