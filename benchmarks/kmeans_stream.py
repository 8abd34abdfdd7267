"""Peak memory and time of `onepass cluster` over a file larger than it may keep, at two sizes: memory stays flat.

    python benchmarks/kmeans_stream.py [--rows 1200000] [--quick]

Each run is a process of its own (a peak is never forgotten), with --stream, a second pass for labels, and --max-memory
left alone; then once more with all rows kept. The inertia of the stream's centres, counted over all rows, is compared
with the one from clustering all rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, CLUSTERS = 8, 20


def write(path: Path, rows: int) -> None:
    """Overlapping Gaussian clusters, a megabyte or so at a time."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-10, 10, (CLUSTERS, WIDTH))
    with path.open("w") as file:
        for first in range(0, rows, 20_000):
            n = min(20_000, rows - first)
            X = middles[rng.integers(0, CLUSTERS, n)] + 2 * rng.normal(size=(n, WIDTH))
            np.savetxt(file, X, delimiter=",", fmt="%.6f")


def cluster(path: Path, *options: str) -> dict[str, Any]:
    """What the program printed, how long it took, and the most memory it used (MB)."""
    program = (
        "import resource, sys; from onepass.cli import main\n"
        "try: main()\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, "cluster", str(path), "-k", str(CLUSTERS), "--json", "-q", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    unit = 1024 if sys.platform != "darwin" else 1024**2
    peak = int(done.stderr.split()[-1]) / unit
    return {**json.loads(done.stdout), "seconds": time.perf_counter() - start, "peak": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_200_000, help="rows of the larger file")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    rows = 20_000 if options.quick else options.rows
    with tempfile.TemporaryDirectory() as folder:
        file, labels = Path(folder) / "points.csv", Path(folder) / "labels.npy"
        write(file, 5_000)
        cluster(file, "--stream", "--labels", str(labels))  # kernels are compiled once
        cluster(file, "--n-init", "1")
        for n in (rows // 4, rows):
            write(file, n)
            size = file.stat().st_size / 1e6
            streamed = cluster(file, "--stream", "--labels", str(labels), "--force")
            assert np.load(labels).size == n
            kept = cluster(file, "--max-memory", "1000GB", "--n-init", "1")
            print(
                f"{n:,} x {WIDTH}, {size:.0f} MB of text, k = {CLUSTERS}: stream {streamed['seconds']:.1f} s, "
                f"{streamed['peak']:.0f} MB at most (coreset of {streamed['coreset_points']:,}); "
                f"all rows kept {kept['seconds']:.1f} s, {kept['peak']:.0f} MB; "
                f"inertia {streamed['inertia'] / kept['inertia']:.4f} of theirs",
                flush=True,
            )


if __name__ == "__main__":
    main()
