"""How fast text becomes rows: megabytes a second of one core, and against scikit-learn's loader on the same file.

The rows are made like those of RCV1: about 78 tf-idf values a row among 47,236 terms. Best of several runs, in turn.
One core is timed by its own clock (processor time), so that a busy machine says the same; streams by the clock on the
wall.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from onepass.io import open_stream
from onepass.io.lines import LineFormat, closed, parse_lines
from onepass.io.svmlight import Svmlight
from onepass.io.vw import VowpalWabbit

BLOCK = 1 << 20
STYLES = {
    "svmlight, 6 digits": ("{} {}", "{}:{:.6f}"),
    "svmlight, 17 digits": ("{} {}", "{}:{!r}"),
    "vw, numbered": ("{} | {}", "{}:{:.6f}"),
    "vw, words": ("{} |terms {}", "w{}:{:.6f}"),
}


def newswire(megabytes: float, style: str, seed: int = 0) -> bytes:
    """Text of about that size in one of the styles."""
    line, word = STYLES[style]
    rng = np.random.default_rng(seed)
    lines, size = list[str](), 0
    while size < megabytes * 1e6:
        terms = np.unique(rng.zipf(1.3, 400) % 47_236 + 1)
        terms = np.sort(rng.choice(terms, min(len(terms), max(1, rng.poisson(78))), replace=False))
        values = rng.gamma(1.0, 1.0, len(terms))
        values /= np.linalg.norm(values)
        words = " ".join(map(word.format, terms.tolist(), values.tolist()))
        lines.append(line.format(rng.choice([-1, 1]), words))
        size += len(lines[-1]) + 1
    return "\n".join(lines).encode() + b"\n"


def best(runs: int, clock: Callable[[], float], *functions: Callable[[], object]) -> list[float]:
    """The least time of each function, run in turn."""
    times = [[float("inf")] for _ in functions]
    for _ in range(runs):
        for function, spent in zip(functions, times, strict=True):
            start = clock()
            function()
            spent.append(clock() - start)
    return [min(spent) for spent in times]


def one_core(form: LineFormat, text: bytes) -> Callable[[], None]:
    """Parse the text block by block in the calling thread."""
    blocks, start = [], 0
    while start < len(text):
        end = text.find(b"\n", min(start + BLOCK, len(text)) - 1) + 1
        blocks.append(closed(text[start:end]))
        start = end

    def run() -> None:
        for buffer, size in blocks:
            parse_lines(form, buffer, size)

    return run


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 MB instead of 32")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    megabytes = 4 if options.quick else 32
    print(f"{'text':<22}{'MB/s, one core':>16}{'non-zeros/s':>14}")
    for style in STYLES:
        text = newswire(megabytes / 4, style) * 4
        form = VowpalWabbit() if style.startswith("vw") else Svmlight()
        run = one_core(form, text)
        run()  # compiles
        (spent,) = best(options.runs, time.thread_time, run)
        stored = parse_lines(form, *closed(text)).rows.values.size
        print(f"{style:<22}{len(text) / spent / 1e6:>16.0f}{stored / spent / 1e6:>12.1f} M")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rcv1-like.svm"
        text = newswire(megabytes / 4, "svmlight, 6 digits") * 4
        path.write_bytes(text)
        run = one_core(Svmlight(), text)
        ours, peer = best(options.runs, time.thread_time, run, lambda: load_svmlight_file(str(path)))
        print(f"\nscikit-learn's load_svmlight_file: {len(text) / peer / 1e6:.0f} MB/s")
        print(f"tokenizer, one core: {peer / ours:.1f} times as fast")
        for threads in (1, 2):

            def stream(threads: int = threads) -> None:
                with open_stream(path, threads=threads) as chunks:
                    for _ in chunks:
                        pass

            (spent,) = best(options.runs, time.perf_counter, stream)
            rate = len(text) / spent / 1e6
            print(f"open_stream, {threads} thread(s), from disk: {rate:.0f} MB/s, {peer / spent:.1f} times as fast")


if __name__ == "__main__":
    main()
