"""Tables in memory, or on their way, as the same chunks that a file of these rows gives: batch by batch, once.

What the columns are is found from the first rows, or declared, exactly as for files: see layout.py.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

from onepass.cores import cores
from onepass.errors import DataError
from onepass.io.chunk import Chunk, Origin
from onepass.io.columns import TableOptions
from onepass.io.layout import Examples, Layout, layout_of
from onepass.io.prefetch import Prefetcher, Task
from onepass.io.tabular import read_column
from onepass.tables.feature_names import FeatureNames
from onepass.tables.frames import bad_cell, batches_of, first_rows
from onepass.tables.plan import CellError, TablePlan


class TableStream:
    """Chunks of a table: a frame of pandas or polars, a table or reader of pyarrow, or whatever has
    `__arrow_c_stream__`.

    Rows are numbered from 0, as the caller's own are. `expected_rows` is the table's length, where it has one.

    >>> import pyarrow
    >>> stream = TableStream(pyarrow.table({"a": [1.0, 2.0], "y": ["no", "yes"]}), TableOptions())
    >>> chunk = next(stream)
    >>> chunk.rows.values.tolist(), chunk.labels.tolist(), stream.expected_rows
    ([[1.0], [2.0]], ['no', 'yes'], 2)
    """

    def __init__(self, source: Any, options: TableOptions) -> None:
        names, size, batches = batches_of(source)
        self.expected_rows = size or None
        self.options = options
        self.notes = list[str]()
        self.rows = 0
        self._begun = 0  # the first row of the chunk last handed out
        self._chunks = self._read(names, batches)
        self._ahead: Chunk | None = None

    @property
    def table(self) -> TablePlan | None:
        """What the columns are, once the first rows are read."""
        return self.options.table

    @property
    def feature_names(self) -> FeatureNames | None:
        """What the features met are called, where that is remembered (`named`)."""
        return self.options.settled.names

    def look_ahead(self) -> None:
        """Read the first chunk, which is still handed out as the first: then it is known what the columns are."""
        if self._ahead is None:
            self._ahead = next(self._chunks, None)

    def narrow(self, encoding: str) -> None:
        """Make only the features of a narrower encoding from now on, or soon: batches are encoded ahead."""
        self.options.narrow(encoding)

    def located(self, error: DataError) -> DataError:
        """What is wrong with a row of the chunk last handed out, by its place in the table."""
        if error.row is None:
            return error
        return DataError(error.args[0], row=self._begun + error.row, remedy=error.remedy)

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        chunk, self._ahead = self._ahead, None
        chunk = next(self._chunks) if chunk is None else chunk
        self._begun = chunk.origin.start
        return chunk

    def __enter__(self) -> TableStream:
        return self

    def __exit__(self, *error: object) -> None:
        self._chunks.close()

    def _read(self, names: list[str], batches: Iterator[Any]) -> Generator[Chunk, None, None]:
        sample, batches = first_rows(names, batches)
        layout = layout_of(names, sample, self.options, "", self._note)
        tasks = (Task(batch.num_rows, partial(_examples, batch, layout)) for batch in batches)
        threads = max(0, min(8, cores() - 1))
        ahead = Prefetcher(tasks, threads, threads + 1, beside=False)  # the caller draws: a database may insist on that
        try:
            for size, found in ahead:
                start, self.rows = self.rows, self.rows + size
                for met in found.met:
                    self.feature_names.meet(met)  # type: ignore[union-attr]
                yield Chunk(found.rows, found.labels, Origin("", 1, start, self.rows, self.rows, size))
        except CellError as cell:
            raise bad_cell(cell, self.rows) from None
        finally:
            ahead.close()
        for remark in self.options.remarks(0):
            self._note(remark)

    def _note(self, text: str) -> None:
        self.notes.append(text)


def _examples(batch: Any, layout: Layout) -> Examples:
    """Rows and labels of a batch. Raises CellError."""
    return layout.examples({place: read_column(batch.column(place), layout, place) for place in layout.used})
