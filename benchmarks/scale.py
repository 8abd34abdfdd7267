"""Several worker processes on the same text files: how much faster, what travels, and what a chunk costs.

    python benchmarks/scale.py [--quick] [--rcv1 FOLDER]

Prints the time of 1 and of 2 worker processes (one core each) over the same svmlight files, turn about in one run, and
beside them one plain pass in one thread and in as many as there are cores; the bytes that travel per chunk; the time by
number of chunks, from which the cost of a chunk is read. With --rcv1 FOLDER (rcv1_v2_sample.topics.svm.xz and
binary_labels.txt.gz) it compares 4 shards, in one wave and in several, with the sequential pass on held-out rows.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from onepass import Pass
from onepass.datasets import Newswire
from onepass.io import dump_svmlight, open_stream
from onepass.scale import cut, learn, local_workers

WAVES = (1, 2, 4, 8, 16)
PERCEPTRON = {"learner": "perceptron", "conversion": "cutoff", "waves": 1}  # what the figures of docs/scale.md speak of


def seconds(function, *arguments, **named):
    start = time.perf_counter()
    function(*arguments, **named)
    return time.perf_counter() - start


def write_files(folder: Path, documents: int) -> list[Path]:
    """Four files of drawn newswire."""
    wire, files = Newswire(seed=0), []
    for number in range(4):
        X, y = wire.documents(number * documents // 4, (number + 1) * documents // 4, categories=("CCAT", "GCAT"))
        files.append(folder / f"part-{number}.svm")
        dump_svmlight(files[-1], X, np.where(y == "CCAT", 1, -1))
    return files


def plain(files: list[Path], threads: int | None) -> None:
    run = Pass("perceptron", conversion="cutoff")
    with open_stream(files, threads=threads) as stream:
        for rows, labels, _ in stream:
            run.feed(rows, labels)
    run.model()


def speed(files: list[Path], chunk_bytes: int, turns: int) -> None:
    """One worker process against two, and one process that is no worker."""
    inputs = cut(files, chunk_bytes=chunk_bytes)
    times: dict[str, list[float]] = {name: [] for name in ("one worker", "two workers", "one thread", "all cores")}
    with local_workers(1) as one, local_workers(2) as two:
        for client in (one, two):
            learn(inputs, client, **PERCEPTRON)  # imports, compiled kernels and files in memory: alike for all
            learn(inputs, client, **PERCEPTRON)
        for _ in range(turns):
            times["one worker"].append(seconds(partial(learn, **PERCEPTRON), inputs, one))
            times["two workers"].append(seconds(partial(learn, **PERCEPTRON), inputs, two))
            times["one thread"].append(seconds(plain, files, 0))
            times["all cores"].append(seconds(plain, files, None))
    size = inputs.bytes / 1e6
    print(f"{size:.0f} MB of text in {len(inputs.chunks)} chunks; median of {turns} turns, best in brackets")
    for name, spent in times.items():
        print(f"  {name:<12} {np.median(spent):6.2f} s ({min(spent):.2f} s)  {size / np.median(spent):5.0f} MB/s")
    for name in ("one worker", "one thread"):
        ratio, best = (
            np.median(times[name]) / np.median(times["two workers"]),
            min(times[name]) / min(times["two workers"]),
        )
        print(f"  two workers are {ratio:.2f} times as fast as {name} ({best:.2f} by the best turns)")


def bytes_moved(files: list[Path], chunk_bytes: int) -> None:
    """What leaves a worker for each chunk, pickled as Dask sends it."""
    from onepass.scale.tasks import Job, Part, run, vector_of
    from onepass.scale.versions import versions

    inputs = cut(files, chunk_bytes=chunk_bytes)
    print("bytes per chunk                       summary     vector   log that stays")
    for name, options in (("perceptron", {}), ("margin, radius 1", {"learner": "margin", "radius": 1.0})):
        job = Job("bench", {"classes": [-1, 1], "radius": None} | options, versions())
        (ran,) = several = run([job], inputs.chunks[0], None, [None], "log", [[]])
        vector = vector_of(several, Part(0, inputs.chunks[0], ran.summary.digest), 0)
        sizes = [len(pickle.dumps(part, protocol=5)) for part in (ran.summary, vector, ran.trace)]
        print(f"  {name:<18} {chunk_bytes >> 10:7,} KB chunk" + "".join(f"  {size:10,}" for size in sizes))


def by_chunks(files: list[Path], counts: list[int]) -> None:
    """Time by number of chunks. Processor seconds tell what a chunk costs, however busy the machine is.

    r and c come from this process alone; s is what the scheduler and the client, both in this process, spend while two
    workers do the rest.
    """
    size = sum(file.stat().st_size for file in files)
    cut_up = {count: cut(files, chunk_bytes=size // count + 1) for count in counts}
    learn(cut_up[counts[0]], **PERCEPTRON)
    print("chunks  two workers, seconds  here, processor seconds  scheduler and client, processor seconds")
    lines = []
    with local_workers(2) as client:
        learn(cut_up[counts[0]], client, **PERCEPTRON)
        for inputs in cut_up.values():
            begin = time.process_time()
            learn(inputs, **PERCEPTRON)
            alone = time.process_time() - begin
            begin = time.process_time()
            wall = min(seconds(partial(learn, **PERCEPTRON), inputs, client) for _ in range(2))
            office = (time.process_time() - begin) / 2
            lines.append((len(inputs.chunks), alone, office))
            print(f"{len(inputs.chunks):6}  {wall:20.2f}  {alone:23.2f}  {office:39.2f}")
    number, alone, office = np.array(lines).T
    c, base = np.polyfit(number, alone, 1)
    s, _ = np.polyfit(number, office, 1)
    print(f"r = {size / base / 1e6:.0f} MB a second and core, c = {1000 * c:.1f} ms, s = {1000 * s:.1f} ms a chunk")
    for waves in (1, 8):
        total, chunk, workers = 1e13, 1.024e9, 1000
        chunks, rate = total / chunk, size / base
        ends = waves * (chunk / rate + np.ceil(np.log(chunks / waves) / np.log(8)) * (0.01 + 4e5 / 1e9))
        parts = total / rate / workers, chunks / workers * c, chunks * s, ends
        print(
            f"10 TB, 1,000 workers, chunks of 1 GB, {waves} waves: {parts[0]:.0f} s bytes + {parts[1]:.0f} s chunks "
            f"+ {parts[2]:.0f} s scheduler + {parts[3]:.0f} s ends of waves = {sum(parts) / 60:.1f} minutes"
        )


def rcv1(folder: Path, splits: int) -> None:
    """4 shards in so many waves against the sequential pass: loss on a fifth of the rows, averaged over splits."""
    from real_data import rcv1 as read

    X, y = read(folder)
    X = X[:, :47236].tocsr()
    cutoff = {"conversion": "cutoff"}
    cases = {
        "margin, hinge loss": ({"learner": "margin", **cutoff, "radius": 10.0, "fit_intercept": False}, 10.0),
        "perceptron, 0-1": ({"learner": "perceptron", **cutoff}, 1.0),
        "pa, 0-1": ({"learner": "pa", **cutoff}, 1.0),
        "adaptive, 0-1": ({"learner": "adaptive", "conversion": "average"}, 1.0),
    }
    print(f"RCV1 sample, {X.shape[0]} rows, {splits} random splits: loss on held-out rows, and the certificate")
    for name, (options, scaled) in cases.items():
        found: dict[int, list[tuple[float, float]]] = {}
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            size = len(y) * 4 // 5
            train, test = order[:size], order[size:]
            A, B = X[train] * scaled, X[test] * scaled
            sign = np.where(y[test] > 0, 1, -1)

            def loss(model, B=B, sign=sign, hinge="hinge" in name):
                margin = model.decision(B) * sign
                return np.maximum(0, 1 - margin).mean() if hinge else (margin <= 0).mean()

            run = Pass(**options)
            run.feed(A, y[train])
            found.setdefault(0, []).append((loss(run.model()), run.certificate().risk))
            for waves in WAVES:
                borders = np.linspace(0, size, 4 * waves + 1).astype(int)
                pairs = [(A[a:b], y[train][a:b]) for a, b in pairwise(borders)]
                merged = learn(cut(pairs), waves=waves, **options)
                found.setdefault(waves, []).append((loss(merged.model()), merged.certificate().risk))
        base = np.mean(found[0], axis=0)
        print(f"  {name:<20} sequential         loss {base[0]:.4f}            certified {base[1]:.4f}")
        for waves in WAVES:
            mean = np.mean(found[waves], axis=0)
            print(
                f"  {'':<20} 4 shards, {waves:>2} wave{'s' * (waves > 1):<1}  loss {mean[0]:.4f} "
                f"({100 * (mean[0] / base[0] - 1):+5.1f} %)  certified {mean[1]:.4f}"
            )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="small files, few turns")
    options.add_argument("--rcv1", type=Path, help="folder of the RCV1 sample")
    options.add_argument("--splits", type=int, default=10)
    given = options.parse_args()
    documents = 24_000 if given.quick else 720_000
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), documents)
        size = sum(file.stat().st_size for file in files)
        speed(files, size // 16 + 1, 3 if given.quick else 5)
        bytes_moved(files, size // 16 + 1)
        by_chunks(files, [4, 16] if given.quick else [4, 16, 64, 256])
    if given.rcv1 is None:
        print("the RCV1 sample is not part of this project: --rcv1 FOLDER compares shards on it")
    else:
        rcv1(given.rcv1, given.splits)


if __name__ == "__main__":
    main()
