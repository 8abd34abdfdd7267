"""How a table's columns become rows: where each stands in a file, what type it is read as, and what is made of it.

A `TablePlan` says what the columns are: declared, found from the first rows, or given by a model. A layout knows where
a file has them, in whatever order. `kinds="numbers"` gives dense rows (points, advice) as long as all columns are
numbers; else rows are sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from onepass.errors import Argument, DataError, Phrase, printable
from onepass.io.chunk import Labels
from onepass.io.columns import TableOptions
from onepass.io.lines import LineError, finite
from onepass.rows import AnyRows, Dense
from onepass.tables.column_names import each, find, find_place, refuse_bad_names
from onepass.tables.column_values import (
    MISSING,
    filled,
    is_missing,
    is_number,
    is_numeric,
    labels_in,
    numbers,
    other_kind,
    strings,
)
from onepass.tables.encoding import encode
from onepass.tables.feature_names import NAMES, FeatureNames, Met
from onepass.tables.finding import find_plan, find_target
from onepass.tables.plan import CATEGORY, LEFT_OUT, NULLS, NUMBER, WORDS, CellError, TablePlan, listed
from onepass.tables.reading import places_of

Note = Callable[[str], None]
MEND = Phrase("mend it, or {}", Argument("on_error", "skip"))


class Examples(NamedTuple):
    """Rows, their labels if there are some, and names of features among them."""

    rows: AnyRows
    labels: Labels | None
    met: tuple[Met, ...] = ()


class Layout:
    """The columns of a plan, each where this file has it."""

    def __init__(self, plan: TablePlan, names: Sequence[str], options: TableOptions, path: str) -> None:
        self.plan, self.options = plan, options
        self.names = tuple(name.strip() for name in names)
        try:
            self.at = places_of(list(self.names), plan)
        except DataError as error:
            raise DataError(error.args[0], source=path) from None
        self.target = self._target({name: place for place, name in enumerate(self.names)}, path)
        self.kinds = {self.at[column.name]: column.kind for column in plan.used}
        self.used = sorted({*self.kinds, *([] if self.target is None else [self.target])})

    def _target(self, at: dict[str, int], path: str) -> int | None:
        """Where the label is: the plan's, unless another was named, and nowhere where none is needed."""
        named = self.options.target if self.options.plan is not None else None
        if named is not None and find(named, self.names) is not None:
            return find(named, self.names)
        wanted = self.plan.target
        if wanted is not None and wanted not in at and self.options.labelled:
            message = f"there is no column {printable(wanted)!r}. Columns: {listed(self.names)}"
            raise DataError(message, source=path, argument="target")
        return None if wanted is None else at.get(wanted)

    @property
    def extra(self) -> list[str]:
        """Columns of the file that the plan does not know."""
        planned = {column.name for column in self.plan.columns} | {self.plan.target}
        return [name for name in self.names if name not in planned]

    def type_of(self, place: int) -> Any:
        """The Arrow type that a column of text is read as."""
        import pyarrow

        if place == self.target:
            return (
                pyarrow.float64()
                if self.plan.label == "number"
                else pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
            )
        if self.kinds[place] == CATEGORY:
            return pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        return pyarrow.float64() if self.kinds[place] == NUMBER else pyarrow.string()

    def examples(self, columns: dict[int, Any]) -> Examples:
        """Rows and labels of Arrow columns by place. Raises CellError."""
        needed, plan, settled = bool(self.options.labelled), self.plan, self.options.settled
        labels = None
        if self.target is not None:
            labels = labels_of(columns[self.target], str(plan.target), plan.label, needed)
        if settled.dense:
            return Examples(self._dense(columns), labels)
        named = {name: columns[place] for name, place in self.at.items()}
        try:
            rows, met = encode(named, self.wanted, settled.names)
        except CellError as cell:
            raise CellError(cell.row, cell.message, self._remedy(cell.remedy)) from None
        return Examples(rows, labels, tuple(met))

    def _remedy(self, remedy: Any) -> Any:
        """What helps: where the columns are a model's, nothing that says anew what they are."""
        return remedy if self.options.plan is None or remedy is None else MEND

    @property
    def wanted(self) -> TablePlan:
        """The plan, or a narrower one where less than all of it is still wanted."""
        encoding = self.options.settled.encoding
        return self.plan if encoding is None else self.plan.narrowed(encoding)

    def _dense(self, columns: dict[int, Any]) -> Dense:
        missing, width = self.plan.missing, len(self.plan.used)
        size = len(next(iter(columns.values())))
        values = np.zeros((size, 2 * width if missing == "indicator" else width))
        for j, column in enumerate(self.plan.used):
            values[:, j], absent = numbers(columns[self.at[column.name]], column.name, missing)
            if missing == "indicator":
                values[:, width + j] = absent
        return Dense(values)

    def fault(self, place: int, cell: bytes, column: int) -> LineError | None:
        """What is wrong with one cell of text, which stands at this byte of its line."""
        name, text, label = self.names[place], cell.decode().strip(), place == self.target
        number = self.plan.label == "number" if label else self.kinds[place] == NUMBER
        lost = text in NULLS or (number and self.plan.missing != "error" and is_missing(text))
        if lost and (number or label or text == ""):
            if label:
                return _no_label(name, column) if self.options.labelled else None
            missing = self.plan.missing == "error" and self.kinds[place] != WORDS
            said = LineError(f"column {printable(name)!r} has no value", column, self._remedy(MISSING))
            return said if missing else None
        if number:
            return self._bad_number(cell, column, name, label)
        return None if label else self._bad_text(text, column, place)

    def _bad_number(self, cell: bytes, column: int, name: str, label: bool) -> LineError | None:
        try:
            finite(cell.strip(), column + len(cell) - len(cell.lstrip()), "value", self.plan.missing)
        except LineError as fault:
            remedy = MEND if label else self._remedy(Phrase("{}; if it is no number, {}", MEND, other_kind(name)))
            shown = f"column {printable(name)!r} holds numbers, but here {printable(cell[:40])!r}: {fault.message}"
            return LineError(shown, fault.column, remedy)
        return None

    def _bad_text(self, text: str, column: int, place: int) -> LineError | None:
        import pyarrow

        own = next(one for one in self.plan.used if self.at[one.name] == place)
        alone = TablePlan((own,), bits=self.plan.bits, missing=self.plan.missing)
        try:
            encode({own.name: pyarrow.array([text], pyarrow.string())}, alone)
        except CellError as error:
            return LineError(error.message, column, self._remedy(error.remedy))
        return None


def _no_label(name: str, column: int) -> LineError:
    remedy = Phrase("leave out rows without a label, or {}", Argument("on_error", "skip"))
    return LineError(f"column {printable(name)!r} has no value", column, remedy)


def labels_of(column: Any, name: str, kind: str, needed: bool) -> Labels:
    """The labels of an Arrow column; one that is missing, where none is needed, is nan or empty. Raises CellError."""
    labels: Labels = labels_in(column, name, kind)
    absent = np.isnan(labels) if kind == "number" else labels == ""
    if needed and absent.any():
        message = f"column {printable(name)!r} has no value"
        raise CellError(int(absent.argmax()), message, "leave out rows without a label")
    return labels


def layout_of(
    names: Sequence[str],
    sample: Sequence[Any],
    options: TableOptions,
    path: str,
    note: Note,
    header: bool | None = None,
) -> Layout:
    """The layout of a file by the Arrow arrays of its first rows: its plan is given, the first file's, or found now."""
    settled = options.settled
    if options.table is None:
        if options.kinds == "found" or options.text_column is not None:
            settled.plan = find_plan(names, sample, options.declared, path)
        else:
            settled.plan = _numbers_plan([name.strip() for name in names], sample, options, path)
            settled.dense = all(column.kind in (NUMBER, LEFT_OUT) for column in settled.plan.columns)
        settled.header = header
    plan = options.table
    assert plan is not None
    if options.named and settled.names is None:
        before = dict(zip(NAMES, settled.met_before, strict=True)) if settled.met_before else None
        settled.names = FeatureNames(plan) if before is None else FeatureNames.from_arrays(plan, before)
    layout = Layout(plan, names, options, path)
    if not settled.examples:
        settled.examples = {name: _some(column) for name, column in zip(layout.names, sample, strict=True)}
    settled.unused += [name for name in layout.extra if name not in settled.unused]
    if layout.extra:
        note(f"{printable(path)}: columns that are not used: {listed(layout.extra)}")
    return layout


def _some(column: Any) -> list[str]:
    """The first different values of a column, as text."""
    found = dict[str, None]()
    for value in column.slice(0, 64).to_pylist():
        if value is not None and str(value).strip():
            found[str(value).strip()[:100]] = None
        if len(found) == 5:
            break
    return list(found)


def _numbers_plan(names: list[str], sample: Sequence[Any], options: TableOptions, path: str) -> TablePlan:
    """Every column a number, but those that are declared otherwise."""
    refuse_bad_names(names, path)
    target = find_target(names, None, options.declared, path)
    empty = target if target is not None and not options.labelled and str(sample[target].type) == "null" else None
    target = None if empty is not None else target
    said = {
        find_place(option, name, names, path)
        for option, wanted in options.declared.kinds.items()
        for name in each(wanted, names)
    }
    for place, (name, column) in enumerate(zip(names, sample, strict=True)):
        kind = _not_numbers(column)
        if place not in said and place not in (target, empty) and kind is not None:
            remedy = other_kind(name) if kind == "text" else Argument("ignore", [printable(name)])
            raise DataError(f"column {printable(name)!r} holds {kind}, not numbers", source=path, remedy=remedy)
    plain = tuple(name for place, name in enumerate(names) if place not in {*said, target, empty})
    declared = options.declared._replace(
        numeric=(*options.numeric, *plain), target=None if target is None else names[target]
    )
    if target is None:
        declared = declared._replace(labelled=None)
    return find_plan(names, sample, declared, path)


def _not_numbers(column: Any) -> str | None:
    """What a column holds, if most of what is there are no numbers."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if is_numeric(kind) or types.is_boolean(kind):
        return None
    if strings(column) is None:
        return "only nulls" if types.is_null(kind) else str(kind)
    known = filled(column)
    return None if 2 * sum(map(is_number, known)) > len(known) or not known else "text"
