"""A whole table in memory to rows, by a plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.errors import DataError, printable
from onepass.rows import AnyRows, Dense, Rows
from onepass.tables.encoding import encode
from onepass.tables.frames import bad_cell, batches_of
from onepass.tables.plan import CellError, TablePlan, listed


def rows_of_table(source: Any, plan: TablePlan) -> Rows:
    """The rows of a table whose columns are found by name. Raises DataError that lists those that are not there.

    >>> import pyarrow
    >>> from onepass.tables.plan import NUMBER, Column
    >>> plan = TablePlan((Column("a", NUMBER), Column("b", NUMBER)), missing="zero")
    >>> rows_of_table(pyarrow.table({"c": [5, 6], "b": [3, None], "a": [1, 2]}), plan)
    Rows(indptr=array([0, 2, 3]), indices=array([0, 1, 0], dtype=int32), values=array([1., 3., 2.]))
    """
    names, _, batches = batches_of(source)
    at = places_of(names, plan)
    parts, done = list[Rows](), 0
    for batch in batches:
        try:
            parts.append(encode({name: batch.column(place) for name, place in at.items()}, plan).rows)
        except CellError as error:
            raise bad_cell(error, done) from None
        done += batch.num_rows
    return joined(parts)


def places_of(names: list[str], plan: TablePlan) -> dict[str, int]:
    """Where a table has the columns of a plan."""
    at = {name.strip(): place for place, name in enumerate(names)}
    twice = next((name.strip() for place, name in enumerate(names) if at[name.strip()] != place), None)
    if twice is not None and any(column.name == twice for column in plan.used):
        raise DataError(f"two columns are named {printable(twice)!r}", remedy="rename one")
    lost = [column.name for column in plan.used if column.name not in at]
    if lost:
        what = "column {} is not there" if len(lost) == 1 else "columns {} are not there"
        raise DataError(f"{what.format(listed(lost))}. Columns: {listed(at)}")
    return {column.name: at[column.name] for column in plan.used}


def joined(parts: list[Rows]) -> Rows:
    """Rows, one part after the other."""
    if not parts:
        return Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    ends = np.cumsum([0, *(len(part.values) for part in parts)])
    indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends[:-1], strict=True))])
    return Rows(
        indptr, np.concatenate([part.indices for part in parts]), np.concatenate([part.values for part in parts])
    )


def narrowed(rows: AnyRows, features: int) -> AnyRows:
    """The rows without features beyond the first so many."""
    if isinstance(rows, Dense):
        return Dense(rows.values[:, :features])
    keep = rows.indices < features
    if keep.all():
        return rows
    ends = np.concatenate([[0], np.cumsum(keep)])[rows.indptr]
    return Rows(ends, rows.indices[keep], rows.values[keep])
