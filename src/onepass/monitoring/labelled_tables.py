"""Tables as a monitor takes them, with their labels: what `onepass monitor` makes of a file with the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.errors import DataError
from onepass.models import LinearModel
from onepass.rows import AnyRows, Array
from onepass.tables.column_values import labels_in
from onepass.tables.frames import array_of, bad_cell, batches_of
from onepass.tables.plan import CellError, TablePlan
from onepass.tables.reading import joined, places_of


def rows_and_labels(source: Any, model: LinearModel) -> tuple[AnyRows, Array | None]:
    """(a table's rows as the model learned them, the labels in its own column; None: it has no such column).

    It is read once: a stream is gone then, and a query need not give its rows in the same order again.
    """
    plan = model.table
    assert plan is not None
    names, _, batches = batches_of(source)
    places_of(names, plan)  # also of a table without rows
    target = {name.strip(): place for place, name in enumerate(names)}.get(plan.target or "")
    rows, labels, done = [], list[Array](), 0
    for batch in batches:
        try:
            rows.append(model.rows_of(batch))
            if target is not None:
                labels.append(_labels(batch.column(target), plan))
        except CellError as error:
            raise bad_cell(error, done) from None
        except DataError as error:
            raise _after(done, error) from None
        done += batch.num_rows
    if target is None:
        return joined(rows), None
    return joined(rows), np.concatenate(labels) if labels else np.zeros(0)


def labels_like(y: Any, plan: TablePlan) -> Array:
    """Labels that stand beside a table, as they would be read in its own column."""
    given = np.asarray(y)
    if given.ndim != 1 or plan.target is None:
        return given  # as they are: what is wrong with them is said where they are looked up
    try:
        return _labels(array_of(given.tolist(), plan.target), plan)
    except CellError as error:
        raise DataError(error.message, argument="y", row=error.row) from None


def _labels(column: Any, plan: TablePlan) -> Array:
    """The labels of an Arrow column, as in the one that the model learned to predict. Raises CellError."""
    return labels_in(column, str(plan.target), plan.label)


def _after(rows: int, error: DataError) -> DataError:
    """What is wrong with a row of a batch, by its place in the table, where so many rows stand before the batch."""
    if error.row is None:
        return error
    return DataError(error.args[0], row=rows + error.row, remedy=error.remedy)
