"""What checkpoints cost: the whole command with and without them, in turn, on a large text file.

    python benchmarks/checkpoint.py [--gigabytes 2] [--every 10s 1s] [--runs 3] [--folder DIR] [--quick]

A `news.svm` that is in the folder already is taken as it is.

Prints medians, their ratio, how many checkpoints were written and the share of the time that writing took, as the
program itself measures it. The ratio also holds the noise of the machine; the share does not.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from onepass.datasets import Newswire
from onepass.io import dump_svmlight


def write(path: Path, gigabytes: float) -> None:
    """Newswire documents, of which a Perceptron gets 1 % to 6 % wrong."""
    wire, first = Newswire(), 0
    with open(path, "wb") as file:
        while file.tell() < gigabytes * 1e9:
            rows, codes = wire.rows(first, first + 20_000, ("CCAT", "GCAT"))
            dump_svmlight(file, rows, codes)
            first += 20_000


def run(program: list[str], folder: Path) -> tuple[float, str]:
    """(seconds, what it said on stderr)."""
    start = time.perf_counter()
    done = subprocess.run(program, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return time.perf_counter() - start, done.stderr


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gigabytes", type=float, default=2.0)
    options.add_argument("--every", nargs="*", default=["10s", "1s", "0s"])
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--folder", type=Path)
    options.add_argument("--quick", action="store_true", help="a small file, once")
    args = options.parse_args()
    size, runs = (0.05, 1) if args.quick else (args.gigabytes, args.runs)
    with tempfile.TemporaryDirectory() as made:
        measure(args.folder or Path(made), size, args.every, runs)


def measure(folder: Path, gigabytes: float, intervals: list[str], runs: int) -> None:
    """One round of all programs after another, `runs` times."""
    data = folder / "news.svm"
    if not data.exists():
        write(data, gigabytes)
    program = [sys.executable, "-m", "onepass.cli", "train", str(data), "-o", "model", "--force"]
    run(program, folder)  # compiles, if need be, and brings the file into memory
    print(f"{os.path.getsize(data):,} bytes of svmlight")
    spent: dict[str, list[float]] = {"": [], **{every: [] for every in intervals}}
    written: dict[str, tuple[int, float]] = {}
    for _ in range(runs):
        for every in spent:
            more = ["--checkpoint", "kept", "--checkpoint-every", every] if every else []
            seconds, said = run([*program, *more], folder)
            spent[every].append(seconds)
            found = re.search(r"(\d+) checkpoints, ([0-9.]+) s", said)
            number, writing = (int(found[1]), float(found[2]) / seconds) if found else (0, 0.0)
            written[every] = number, max(writing, written.get(every, (0, 0.0))[1])
    plain = statistics.median(spent.pop(""))
    print(f"without checkpoints      {plain:7.2f} s")
    for every, values in spent.items():
        number, share = written[every]
        median = statistics.median(values)
        print(
            f"every {every:4s} {number:4d} written {median:7.2f} s  ratio {median / plain:5.3f}  writing ≤ {share:.1%}"
        )


if __name__ == "__main__":
    main()
