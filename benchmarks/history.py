"""What it costs to watch a pass for its report page: one file read and learned with and without a History, in one run.

Processor time of all threads, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from onepass.datasets import Newswire
from onepass.history import History
from onepass.io import dump_svmlight, open_stream
from onepass.passes import Pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, two repeats")
    args = parser.parse_args()
    rows, repeats = (20_000, 2) if args.quick else (args.rows, args.repeats)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "news.svm"
        X, y = Newswire(0).documents(0, rows, categories=("CCAT", "GCAT"))
        dump_svmlight(path, X, (y == "CCAT").astype(int))
        print(f"{rows:,} rows, {path.stat().st_size / 1e6:.0f} MB of text; the least of {repeats}")
        measure(path, repeats)


def measure(path: Path, repeats: int) -> None:
    for learner, options in (
        ("perceptron", {}),
        ("perceptron", {"conversion": "frozen"}),
        ("margin", {"radius": 16.0}),
    ):
        plain, watched, looks = [], [], 0
        for _ in range(repeats):
            run = Pass(learner, **options)
            plain.append(seconds(run, path))
            history = History(Pass(learner, **options))
            watched.append(seconds(history, path))
            looks = len(history.points)
            assert history.run.certificate() == run.certificate()
        name = f"{learner} {options.get('conversion', 'cutoff')}"
        extra = min(watched) - min(plain)
        print(
            f"{name:22s} {min(plain):.3f} s alone, {looks} looks add {1000 * extra:.0f} ms: "
            f"{100 * extra / min(plain):.1f} %"
        )


def seconds(run: Pass | History, path: Path) -> float:
    start = time.process_time()
    with open_stream(path) as stream:
        for rows, labels, _ in stream:
            run.feed(rows, labels)
    return time.process_time() - start


if __name__ == "__main__":
    main()
