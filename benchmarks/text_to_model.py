"""From a text file to a saved model: the whole command, start-up included, against Vowpal Wabbit and scikit-learn.

    python benchmarks/text_to_model.py [--sizes 0.5 2] [--runs 6] [--folder DIR] [--learner perceptron]

Writes svmlight and Vowpal Wabbit files of newswire documents (the Perceptron errs on 1 % to 6 % of them), then runs the
programs in turn and prints medians, ratios and peak memory. All find the same machine: just before each run its file
is read, and half a gigabyte written and freed, since on a virtual machine whoever comes first to memory fetches it from
the host; and each round has an order of its own, since it matters who ran before. scikit-learn's loader reads the
smallest file only, unless asked: it needs minutes and gigabytes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

PAIR = ("CCAT", "GCAT")
# All of them as installed: with their modules compiled.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
OPTIONS: list[str] = []  # of `onepass train`, beside its defaults
ONEPASS = [sys.executable, "-m", "onepass.cli"]
WABBIT = "import sys, vowpalwabbit; vowpalwabbit.Workspace(sys.argv[1]).finish()"
PREPARE = """
import sys
with open(sys.argv[1], "rb", buffering=0) as file:
    while file.read(1 << 20):
        pass
b"1" * (1 << 29)
"""
SKLEARN = """
import sys, pickle
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
pickle.dump(SGDClassifier(loss="hinge", max_iter=1, tol=None, shuffle=False).fit(X, y), open(sys.argv[2], "wb"))
"""


def written(folder: Path, gigabytes: float) -> dict[str, Path]:
    """Files of about this size, made unless they are there, in another process.

    This one stays small, since Linux counts its memory as used by the programs that it starts.
    """
    files = {kind: folder / f"{gigabytes:g}.{kind}" for kind in ("svm", "vw", "svm.gz", "vw.gz")}
    if not all(path.exists() for path in files.values()):
        writer = get_context("spawn").Process(target=write, args=(files, gigabytes))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise SystemExit("the files could not be written")
    return files


def write(files: dict[str, Path], gigabytes: float) -> None:
    """The same documents in both formats, and both compressed."""
    from onepass.datasets import Newswire

    wire, done, first = Newswire(), 0, 0
    value = {}
    with open(files["svm"], "wb") as svm, open(files["vw"], "wb") as vw:
        while done < gigabytes * 1e9:
            rows, codes = wire.rows(first, first + 20_000, PAIR)
            first += 20_000
            words, values, ends = rows.indices.tolist(), rows.values.tolist(), rows.indptr.tolist()
            for v in set(values):
                value[v] = f"{v:.6g}"
            tokens = [f"{w + 1}:{value[v]}" for w, v in zip(words, values, strict=True)]
            lines = [" ".join(tokens[a:b]) for a, b in pairwise(ends)]
            labels = [("-1", "1")[code] for code in codes]
            text = "".join(f"{label} {line}\n" for label, line in zip(labels, lines, strict=True)).encode()
            svm.write(text)
            vw.write("".join(f"{label} | {line}\n" for label, line in zip(labels, lines, strict=True)).encode())
            done += len(text)
    for kind in ("svm", "vw"):
        with open(files[kind], "rb") as plain, gzip.open(files[f"{kind}.gz"], "wb", compresslevel=1) as packed:
            while piece := plain.read(1 << 24):
                packed.write(piece)


def run(program: list[str]) -> tuple[float, float]:
    """(seconds, peak MB) of a program."""
    start = time.perf_counter()
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{program} failed: {process.stderr.read().decode()[-500:] if process.stderr else ''}")
    return seconds, used.ru_maxrss / 1024


def run_ready(program: list[str], file: Path) -> tuple[float, float]:
    """The same, with the file in memory and memory at hand."""
    run([sys.executable, "-c", PREPARE, str(file)])
    return run(program)


def onepass(file: Path, out: Path) -> list[str]:
    return [*ONEPASS, "train", str(file), "-o", str(out), "--force", "-q", *OPTIONS]


def wabbit(file: Path, out: Path) -> list[str]:
    return [sys.executable, "-c", WABBIT, f"-d {file} --loss_function hinge -b 18 --quiet -f {out}"]


def sklearn(file: Path, out: Path) -> list[str]:
    return [sys.executable, "-c", SKLEARN, str(file), str(out)]


PROGRAMS = {
    "onepass svm": (onepass, "svm"),
    "onepass vw": (onepass, "vw"),
    "vowpal wabbit": (wabbit, "vw"),
    "onepass svm.gz": (onepass, "svm.gz"),
    "onepass vw.gz": (onepass, "vw.gz"),
    "vowpal wabbit gz": (wabbit, "vw.gz"),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", type=float, nargs="*", default=[0.5, 2.0])
    options.add_argument("--runs", type=int, default=6)
    options.add_argument("--folder", type=Path)
    options.add_argument("--learner", help="another learner than the default")
    options.add_argument("--sklearn-runs", type=int, default=1)
    args = options.parse_args()
    OPTIONS.extend(["--learner", args.learner] if args.learner else [])
    folder = args.folder or Path(tempfile.mkdtemp())
    small = folder / "ten.svm"
    small.write_text("".join(f"{1 if i % 2 else -1} {i + 1}:1\n" for i in range(10)))
    out = folder / "model"
    run(onepass(small, out))  # compile, if need be
    for name, program in (("onepass --help", [*ONEPASS, "--help"]), ("onepass train, ten lines", onepass(small, out))):
        print(f"{name:28s} {statistics.median(run(program)[0] for _ in range(5)):6.2f} s")
    for size in args.sizes:
        files = written(folder, size)
        print(f"\n{size:g} GB of svmlight ({os.path.getsize(files['svm']):,} bytes)")
        spent: dict[str, list[float]] = {name: [] for name in PROGRAMS}
        memory: dict[str, float] = {}
        for k in range(args.runs):
            for name, (program, kind) in random.Random(k).sample([*PROGRAMS.items()], len(PROGRAMS)):
                seconds, peak = run_ready(program(files[kind], out), files[kind])
                spent[name].append(seconds)
                memory[name] = max(peak, memory.get(name, 0.0))
        if args.sklearn_runs:
            found = [run_ready(sklearn(files["svm"], out), files["svm"]) for _ in range(args.sklearn_runs)]
            spent["scikit-learn"], memory["scikit-learn"] = [s for s, _ in found], max(m for _, m in found)
        median = {name: statistics.median(values) for name, values in spent.items()}
        for name, seconds in median.items():
            packed = name.endswith("gz")
            peer = median["vowpal wabbit gz" if packed else "vowpal wabbit"]
            here = median["onepass svm.gz" if packed else "onepass svm"]
            ratios = f"vowpal wabbit / this {peer / seconds:5.2f}, this / onepass {seconds / here:5.2f}"
            print(f"{name:18s} {seconds:7.2f} s  {memory[name]:6.0f} MB   {ratios}")
    print(f"\nthis process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
