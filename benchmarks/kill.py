"""kill -9 at random moments: each run is killed, resumed, and held against one that was never stopped, bit for bit.

    python benchmarks/kill.py [--kills 100] [--documents 30000] [--folder DIR] [--quick]

A kill falls anywhere between the start of the process and its end: imports, reading, learning, writing a checkpoint,
writing the model; every second one only after a first checkpoint was seen, since much of so short a run is imports.
Some resumed runs are killed again. Prints where the kills fell, and after how many of them the run ended with the same
model file and the same certificate; fails if it was not all.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from onepass.datasets import Newswire
from onepass.io import dump_svmlight

FILES = ("news.svm", "news.svm.gz", "table.csv", "table.parquet")
LEARNING = (
    ["--conversion", "penalised"],
    ["--learner", "pa"],
    ["--learner", "margin", "--radius", "auto"],
    ["--learner", "pa2", "--max-trace-memory", "8MB"],
)


def write(folder: Path, documents: int) -> None:
    """The same kind of data in four formats: sparse text, plain and compressed, and a table of numbers."""
    rows, codes = Newswire(seed=1).rows(0, documents, ("CCAT", "GCAT"))
    dump_svmlight(folder / "news.svm", rows, codes)
    (folder / "news.svm.gz").write_bytes(gzip.compress((folder / "news.svm").read_bytes(), 1))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6 * documents, 30)).round(3)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=len(X)) > 0, "up", "down")
    table = pyarrow.table({**{f"x{j}": X[:, j] for j in range(30)}, "y": y})
    pyarrow.csv.write_csv(table, folder / "table.csv")
    pyarrow.parquet.write_table(table, folder / "table.parquet", row_group_size=20_000)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--documents", type=int, default=30_000)
    options.add_argument("--folder", type=Path)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--quick", action="store_true", help="five kills")
    args = options.parse_args()
    kills = 5 if args.quick else args.kills
    with tempfile.TemporaryDirectory() as made:
        folder = args.folder or Path(made)
        write(folder, args.documents)
        equal, fell = torture(folder, kills, random.Random(args.seed))
    for where, number in sorted(fell.items()):
        print(f"{number:4d} kills {where}")
    print(f"{kills} times kill -9, each resumed: {equal} of {kills} ended bit-equal, model and certificate")
    if equal < kills:
        raise SystemExit(1)


def torture(folder: Path, kills: int, rng: random.Random) -> tuple[int, collections.Counter[str]]:
    """(kills whose run ended bit-equal, where kills fell)."""
    expected: dict[tuple[str, int], tuple[object, bytes, float]] = {}
    fell: collections.Counter[str] = collections.Counter()
    equal = done = 0
    while done < kills:
        what = rng.choice(FILES), rng.randrange(len(LEARNING))
        program = [sys.executable, "-m", "onepass.cli", "train", what[0], *LEARNING[what[1]], "--json", "-q"]
        if what not in expected:
            finished(program, folder)  # compiles, if need be
            start = time.perf_counter()
            said, model = finished(program, folder)
            expected[what] = said, model, time.perf_counter() - start
        said, model, took = expected[what]
        program += ["--checkpoint", "kept", "--checkpoint-every", "1ms"]
        again, own = True, 0
        while again and done < kills:
            fell[killed(program, folder, took, rng)] += 1
            done, own, again = done + 1, own + 1, rng.random() < 0.25
            program = [*program, "--resume"] if "--resume" not in program else program
        equal += own * (finished(program, folder) == (said, model))
        for file in ("kept", "kept.prev", "kept.lock"):
            (folder / file).unlink(missing_ok=True)
        assert not [file for file in os.listdir(folder) if "kept" in file], os.listdir(folder)
    return equal, fell


def killed(program: list[str], folder: Path, took: float, rng: random.Random) -> str:
    """Kill the program at a random moment; where that fell, as far as the files tell."""
    number = inode(folder / "kept")
    process = subprocess.Popen(
        [*program, "-o", "model"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0.0, 1.05 * took))
    else:
        while process.poll() is None and inode(folder / "kept") in (None, number):
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.5 * took))
    ended = process.poll() is not None
    process.kill()
    process.wait()
    if ended:
        return "that came too late: the run had ended"
    if (folder / "model").exists():
        return "after the model was written"
    if any(file.startswith(".kept") for file in os.listdir(folder)):
        return "while a checkpoint was being written"
    if inode(folder / "kept") not in (None, number):
        return "after a checkpoint"
    return "before the first checkpoint" + (" of a resumed run" if number else "")


def inode(path: Path) -> int | None:
    """Which file it is; None if there is none (a new one may be taking its place)."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def finished(program: list[str], folder: Path) -> tuple[object, bytes]:
    """(certificate, model file) of a run that is left alone."""
    if "--resume" not in program:
        (folder / "model").unlink(missing_ok=True)
    done = subprocess.run([*program, "-o", "model"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{program} failed: {done.stderr}")
    model = (folder / "model").read_bytes()
    (folder / "model").unlink()
    return json.loads(done.stdout)["certificate"], model


if __name__ == "__main__":
    main()
