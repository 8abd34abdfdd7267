"""Claim: a raw table is read no slower than pyarrow streams it and NumPy hashes it, and 3 × as fast as Vowpal Wabbit.

    python benchmarks/tables.py [--megabytes 500] [--keep FOLDER]

A CSV of eight numbers and eight categories is drawn. Printed, from one run each, in turn, and the best of three:
`open_stream` with found kinds and names (rows ready to learn from), pyarrow's streaming reader with each category
dictionary-encoded and hashed in NumPy into the same sparse rows, the whole of `onepass train`, and Vowpal Wabbit's
learning from its own text of the same rows, written beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

CATEGORIES = (2, 3, 5, 8, 12, 30, 100, 1000)
PIECE = 100_000


def draw(folder: Path, megabytes: float) -> tuple[Path, Path]:
    """The table, and the same rows in Vowpal Wabbit's format."""
    import pandas as pd

    rng = np.random.default_rng(0)
    table, wire = folder / "table.csv", folder / "table.vw"
    effects = [rng.normal(size=size) for size in CATEGORIES]
    with open(table, "w") as out, open(wire, "w") as vw:
        first = True
        while out.tell() < megabytes * 1e6:
            numbers = np.round(rng.normal(size=(PIECE, 8)) * 10.0 ** np.arange(-2, 6), 3)
            codes = [rng.integers(size, size=PIECE) for size in CATEGORIES]
            score = (numbers / 10.0 ** np.arange(-2, 6)).sum(axis=1) / 2 + sum(
                effect[code] for effect, code in zip(effects, codes, strict=True)
            )
            label = np.where(score + rng.normal(size=PIECE) > 0, "yes", "no")
            frame = pd.DataFrame(numbers, columns=[f"n{j}" for j in range(8)])
            for j, code in enumerate(codes):
                frame[f"c{j}"] = np.char.add("value", code.astype(str))
            frame["y"] = label
            frame.to_csv(out, index=False, header=first)
            sign = np.where(label == "yes", "1", "-1")
            words = [sign + " |"]
            words += [" " + name + ":" + frame[name].astype(str) for name in frame.columns[:8]]
            words += [" " + name + "=" + frame[name].astype(str) for name in frame.columns[8:16]]
            line = words[0]
            for word in words[1:]:
                line = line + word
            vw.write("\n".join(line) + "\n")
            first = False
    return table, wire


def ours(table: Path) -> int:
    from onepass.io import open_stream

    rows = 0
    with open_stream(table, kinds="found", named=True) as stream:
        for chunk in stream:
            rows += chunk.size
    return rows


def arrow(table: Path) -> int:
    """Batches, dictionaries hashed by NumPy's own arithmetic (FNV over the bytes), rows put together by NumPy."""
    from pyarrow import csv

    rows = 0
    for batch in csv.open_csv(table):
        size = batch.num_rows
        columns, values = [], []
        for j, name in enumerate(batch.schema.names[:-1]):
            column = batch.column(j)
            if name.startswith("n"):
                columns.append(np.full(size, j, np.int32))
                values.append(np.asarray(column, np.float64))
            else:
                encoded = column.dictionary_encode()
                hashes = np.array([fnv(f"{name}={word}") for word in encoded.dictionary.to_pylist()], np.int64)
                columns.append((8 + (hashes & 0x3FFFF)).astype(np.int32)[np.asarray(encoded.indices)])
                values.append(np.ones(size))
        indices, data = np.stack(columns, axis=1), np.stack(values, axis=1)
        order = np.argsort(indices, axis=1)
        np.take_along_axis(indices, order, axis=1), np.take_along_axis(data, order, axis=1)
        np.asarray(batch.column(16).dictionary_encode().indices)
        rows += size
    return rows


def fnv(word: str) -> int:
    found = 2166136261
    for byte in word.encode():
        found = ((found ^ byte) * 16777619) & 0xFFFFFFFF
    return found


def train(table: Path) -> int:
    said = subprocess.run(
        [sys.executable, "-m", "onepass.cli", "train", str(table), "--json", "-q"],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(json.loads(said.stdout)["rows"])


def wabbit(wire: Path) -> int:
    from vowpalwabbit import Workspace

    machine = Workspace(f"-d {wire} --loss_function logistic -b 18 --quiet --no_stdin")
    machine.finish()
    return 0


def timed(work: Callable[[Any], int], path: Path) -> float:
    start = time.perf_counter()
    work(path)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=500.0)
    parser.add_argument("--keep", type=Path, help="draw into this folder, and use what is there")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    try:
        table, wire = folder / "table.csv", folder / "table.vw"
        if not table.exists():
            table, wire = draw(folder, given.megabytes)
        works: dict[str, tuple[Callable[[Any], int], Path]] = {
            "onepass, reading": (ours, table),
            "pyarrow and NumPy": (arrow, table),
            "onepass train": (train, table),
        }
        if find_spec("vowpalwabbit") is not None:
            works["Vowpal Wabbit"] = (wabbit, wire)
        best = dict.fromkeys(works, float("inf"))
        ours(table)  # kernels
        for _ in range(3):
            for name, (work, path) in works.items():
                best[name] = min(best[name], timed(work, path))
        size = os.path.getsize(table) / 1e6
        print(f"{size:.0f} MB of CSV, {os.path.getsize(wire) / 1e6:.0f} MB for Vowpal Wabbit")
        for name, seconds in best.items():
            print(f"{name:20s} {seconds:7.2f} s  {size / seconds:6.0f} MB/s of CSV")
        print(f"pyarrow and NumPy / onepass, reading: {best['pyarrow and NumPy'] / best['onepass, reading']:.2f}")
        if "Vowpal Wabbit" in best:
            print(f"Vowpal Wabbit / onepass, reading: {best['Vowpal Wabbit'] / best['onepass, reading']:.2f}")
            print(f"Vowpal Wabbit / onepass train: {best['Vowpal Wabbit'] / best['onepass train']:.2f}")
    finally:
        if given.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
