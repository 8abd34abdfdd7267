"""Peak memory of a pass over 3 million sparse rows: flat once the trace is compacted.

    python benchmarks/memory.py [--rows 3000000]

A quarter of the rows are updates, so the kept rows outgrow the default of 256 MB and are folded into columns. Prints
what the process has used at most after 10 %, a third and all of the stream.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

import numpy as np

from onepass import Pass
from onepass.rows import Rows


def chunk(rng, rows: int, features: int, values: int, teacher) -> tuple[Rows, np.ndarray]:
    """Sparse rows with indices spread over all features; a fifth of the labels are wrong."""
    step = features // values
    indices = (np.arange(values) * step + rng.integers(0, step, size=(rows, values))).astype(np.int32)
    x = rng.normal(size=(rows, values))
    y = np.sign((x * teacher[indices]).sum(axis=1) + 1e-9)
    flip = rng.random(rows) < 0.2
    return Rows(np.arange(rows + 1) * values, indices.reshape(-1), x.reshape(-1)), np.where(flip, -y, y).astype(int)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=3_000_000)
    options.add_argument("--values", type=int, default=106)
    options.add_argument("--bits", type=int, nargs="*", default=[18, 20])
    args = options.parse_args()
    if len(args.bits) > 1:  # a process each: a peak is never forgotten
        for bits in args.bits:
            given = ["--rows", str(args.rows), "--values", str(args.values), "--bits", str(bits)]
            subprocess.run([sys.executable, __file__, *given], check=True)
        return
    (bits,) = args.bits
    rng = np.random.default_rng(0)
    teacher = rng.normal(size=1 << bits)
    run = Pass("perceptron", conversion="cutoff", classes=[-1, 1])
    print(f"2^{bits} features, max_trace_memory {run.max_trace_memory >> 20} MB", flush=True)
    done = 0
    for mark in [args.rows // 10, args.rows // 3, args.rows]:
        while done < mark:
            part = min(10_000, mark - done)
            run.feed(*chunk(rng, part, 1 << bits, args.values, teacher))
            done += part
        trace = run._trace()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        columns = trace.columns
        how = f"{columns.fold.A.size} columns of {columns.bits} bits" if columns else "rows kept"
        print(f"  {done:10,} rows, {trace.updates:9,} updates, {how:24s} peak {peak:7.0f} MB", flush=True)


if __name__ == "__main__":
    main()
