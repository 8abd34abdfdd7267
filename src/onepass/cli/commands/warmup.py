"""`onepass warmup`: compile the kernels now, so that nothing waits later (in a container image, messages).

What is compiled is what the commands need, since it is the commands that run: each on a few rows of its own.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

from onepass.cli import terminal
from onepass.names import LEARNERS

FILES = {
    "two.svm": "1 1:0.5 3:2\n-1 2:1\n1 1:1 2:0.25\n-1 3:1\n" * 30,
    "three.svm": "0 1:0.5 3:2\n1 2:1\n2 1:1 2:0.25\n1 3:1\n" * 30,
    "two.vw": "1 |a x:0.5 y\n-1 |b z\n" * 20,
    "two.csv": "a,b,c,y\n" + "1,2,0.5,yes\n3,4,0,no\n2,0,1,no\n" * 120,
    "mixed.csv": "a,b,c,y\n" + "1,red,2024-01-05,yes\n3,blue,2024-02-01,no\n,red,2024-03-09,no\n" * 120,
    "words.csv": "t,y\n" + "good day,1\nbad day,0\n" * 20,
    "words.jsonl": '{"t": "good day", "y": 1}\n{"t": "bad day", "y": 0}\n' * 20,
    "advice.csv": "a,b,outcome\n" + "0,1,1\n1,0,1\n0,0,0\n" * 10,
}
ROOMS = ("train", "cluster", "experts", "lab")


def commands(room: str) -> Iterator[str]:
    """What a room is asked to do. Learners, two and several classes, sparse and dense rows each have their kernels."""
    if room == "train":
        for learner in LEARNERS:
            known = " --n-features 3" if learner in ("normalized", "shifted") else ""
            for classes in ("two",) if learner == "shifted" else ("two", "three"):
                for file in (f"{classes}.svm", f"{classes}.npy"):
                    folded = " --max-trace-memory 2KB"
                    more = " --classes 0,1,2" * (classes == "three") + known + " --target -1" * file.endswith("npy")
                    yield f"train {file} --learner {learner} -o model --force{more}"
                    yield f"train {file} --learner {learner} --radius 1 --conversion cutoff{more}{folded}"
                    yield f"predict model {file} -o labels.csv --force"
        yield from (
            "newswire 3000 -o drawn.svm --force",
            "train drawn.svm",
            "compare two.svm",
            "train two.vw",
            "train two.svm --bits 10",
            "train two.svm --cutoffs all --conversion cutoff",
            "train two.svm --learner margin --radius 1 --loss hinge",
            "train two.csv --max-false-alarm 0.5 -o model --force",
            "predict model two.csv --proba -o labels.csv --force",
        )
        yield from ("train mixed.csv", "check mixed.csv")
        yield from ("train words.csv --text-column t", "train words.jsonl --text-column t --target y", "check two.svm")
    elif room == "cluster":
        from onepass.cli.commands.cluster import METHODS

        for init in METHODS:
            yield f"cluster two.csv -k 2 --init {init} --ignore y"
        yield from ("cluster two.svm -k 2", "cluster two.csv -k 2 --stream --ignore y")
    elif room == "experts":
        from onepass.cli.commands.experts import RULES

        yield from (f"experts advice.csv --rule {rule}" + " --switches 3" * (rule == "share") for rule in RULES)
        yield "experts --data two.svm"
    else:
        figures = ("figure1", "figure2", "flow", "noise", "schedules", "balanced", "parity", "inputs")
        yield from (f"lab {name} --replicas 2 --alpha 100 --force" for name in figures)
        yield "lab smooth --replicas 2 --alpha 10000 --force"
        yield "lab stationary --replicas 20 --alpha 1000 --force"
        yield "lab smooth-noise --replicas 2 --alpha 100000 --force"


@click.command("warmup")
@click.argument("rooms", nargs=-1, type=click.Choice(ROOMS))
@terminal.options
def command(rooms: tuple[str, ...], messages: terminal.Messages) -> None:
    """Fill the cache of compiled kernels, of all ROOMS or of those named.

    \b
    Examples:
      onepass warmup
      onepass warmup train
      NUMBA_CACHE_DIR=/opt/cache onepass warmup -q
    """
    start = time.perf_counter()
    jobs = [words for room in rooms or ROOMS for words in commands(room)]
    with tempfile.TemporaryDirectory() as folder, terminal.progress("compiling kernels", len(jobs), messages) as tick:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text)
        for name, classes in (("two.npy", 2), ("three.npy", 3)):
            np.save(Path(folder) / name, [[float(i % 5), float(i % 7), 0.5, float(i % classes)] for i in range(120)])
        with contextlib.chdir(folder):
            for done, words in enumerate(jobs):
                _run(words)
                tick(done + 1, note=words)
    seconds = time.perf_counter() - start
    result = {"command": "warmup", "seconds": seconds, "commands": len(jobs)}
    text = f"{len(jobs)} commands have run, and what they need is compiled ({seconds:.1f} s)"
    messages.result(result, lambda: text)


def _run(words: str) -> None:
    from onepass.cli.group import program

    nowhere = io.StringIO()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a few rows there is much to complain
        try:
            program.main([*words.split(), "-q"], prog_name="onepass", standalone_mode=False)
        except click.UsageError:
            if not words.startswith("lab "):  # where two students are too few to tell anything, but not to compile
                raise
