"""Files of labels and of centres: .csv, .parquet or .npy, by their ending; whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass.cli.outputs import Output

TABLES = (".csv", ".parquet", ".npy")


@contextmanager
def label_file(target: Output | None, rows: int) -> Iterator[Callable[[Any], object]]:
    """Takes labels piece by piece, `rows` in all; the file takes its place only when it is whole."""
    if target is None:
        yield lambda labels: None
        return
    kind = Path(target.path).suffix.lower()
    with target.opened() as file:
        if kind == ".npy":
            header = {"descr": "<i4", "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_1_0(file, header)
            yield lambda labels: file.write(labels.astype("<i4").tobytes())
        elif kind == ".parquet":
            import pyarrow
            from pyarrow import parquet

            schema = pyarrow.schema([("label", pyarrow.int32())])
            with parquet.ParquetWriter(file, schema) as writer:
                yield lambda labels: writer.write_table(pyarrow.table({"label": labels}, schema=schema))
        else:
            file.write(b"label\n")
            yield lambda labels: file.write(("\n".join(map(str, labels.tolist())) + "\n").encode())


def least_bytes(path: str, rows: int) -> int:
    """What a file of so many labels takes at least: four bytes each, or a digit and the end of a line."""
    return rows * {".npy": 4, ".csv": 2}.get(Path(path).suffix.lower(), 0)


def write_centres(target: Output, centres: npt.NDArray[Any], names: list[str]) -> None:
    """The centres under the names of their columns, in the format of the file's ending; whole or not at all."""
    kind = Path(target.path).suffix.lower()
    with target.opened() as file:
        if kind == ".npy":
            np.save(file, centres)
            return
        import pyarrow as pa

        table = pa.table(dict(zip(names, centres.T, strict=True)))
        if kind == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, file)
        else:
            from pyarrow import csv

            csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
