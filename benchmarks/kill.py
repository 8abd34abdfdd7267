"""kill -9 at random moments: each run is killed, resumed, and held against one that was never stopped, bit for bit.

    python benchmarks/kill.py [--kills 100] [--documents 8000] [--folder DIR] [--quick]

Every run is the whole command in a process of its own, forked from this one, which has everything imported and
compiled: so kills fall on reading, learning, writing a checkpoint and writing the model, and not on imports (the test
suite kills fresh processes). Every second kill waits for a first checkpoint. Some resumed runs are killed again. Prints
where the kills fell, and after how many of them the run ended with the same model file and the same certificate; fails
if it was not all.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import gzip
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from onepass.cli import main as onepass
from onepass.datasets import Newswire
from onepass.io import dump_svmlight

FILES = ("news.svm", "news.svm.gz", "table.csv", "table.parquet")
LEARNING = (
    ["--conversion", "frozen"],
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
    options.add_argument("--documents", type=int, default=8_000)
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
        program = ["train", what[0], *LEARNING[what[1]], "--json", "-q", "-o", "model"]
        if what not in expected:
            compiled(program, folder)
            start = time.perf_counter()
            said, model = finished(program, folder)
            expected[what] = said, model, time.perf_counter() - start
        said, model, took = expected[what]
        program += ["--checkpoint", "kept", "--checkpoint-every", "1ms", "--resume"]
        again, own = True, 0
        while again and done < kills:
            where = killed(program, folder, took, rng)
            if where is None:
                break
            fell[where] += 1
            done, own, again = done + 1, own + 1, rng.random() < 0.25
        equal += own * (finished(program, folder) == (said, model))
        for file in ("kept", "kept.prev", "kept.lock"):
            (folder / file).unlink(missing_ok=True)
        assert not [file for file in os.listdir(folder) if "kept" in file], os.listdir(folder)
    return equal, fell


def killed(program: list[str], folder: Path, took: float, rng: random.Random) -> str | None:
    """Kill the program at a random moment; where that fell, as far as the files tell. None: it had ended before."""
    number = inode(folder / "kept")
    process = started(program, folder)
    status = None
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0.0, took))
    else:
        while status is None and inode(folder / "kept") in (None, number):
            time.sleep(0.001)
            status = ended(process, os.WNOHANG)
        time.sleep(rng.uniform(0.0, 0.3 * took))
    if status is None:
        status = ended(process, os.WNOHANG)
    if status is None:
        os.kill(process, signal.SIGKILL)
        status = ended(process)
    if status != -signal.SIGKILL:
        return None
    if (folder / "model").exists():
        return "after the model was written"
    if any(file.startswith(".kept") for file in os.listdir(folder)):
        return "while a checkpoint was being written"
    if inode(folder / "kept") not in (None, number):
        return "after a checkpoint"
    return "before the first checkpoint" + (" of a resumed run" if number else "")


def started(program: list[str], folder: Path) -> int:
    """A process that runs the program in the folder, its stdout in a file."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    os.chdir(folder)
    sys.stdout, sys.stderr = open("stdout", "w"), open("stderr", "w")  # noqa: SIM115 - the process is about to end
    code = 1
    try:
        onepass(program)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(process: int, how: int = 0) -> int | None:
    """The exit code, negative if a signal ended it; None if it has not."""
    known, status = os.waitpid(process, how)
    return os.waitstatus_to_exitcode(status) if known else None


def compiled(program: list[str], folder: Path) -> None:
    """Run it once in this process, so that those to come find everything compiled."""
    with contextlib.chdir(folder), contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        onepass(program)
    (folder / "model").unlink()


def inode(path: Path) -> int | None:
    """Which file it is; None if there is none (a new one may be taking its place)."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def finished(program: list[str], folder: Path) -> tuple[object, bytes]:
    """(certificate, model file) of a run that is left alone."""
    if ended(started(program, folder)):
        raise SystemExit(f"{program} failed: {(folder / 'stderr').read_text()}")
    model = (folder / "model").read_bytes()
    (folder / "model").unlink()
    return json.loads((folder / "stdout").read_text())["certificate"], model


if __name__ == "__main__":
    main()
