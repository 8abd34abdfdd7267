"""What each column of a table is, found from its first rows where the user does not say it.

| found | when, of the values that are there |
|---|---|
| number | Arrow says so, or 95 % of the texts read as numbers and none as a code (007) |
| date | Arrow says so, or 95 % of the texts are written like dates |
| words | texts of three words or more on average, most of them different |
| category | Arrow's booleans and dictionaries; any other text |
| left out | no value is there; texts nearly all different; whole numbers that rise by one; lists, bytes |

A column whose first values are all alike is left out for as long as they are: that value is no feature, others will be.
A rule of thumb may be wrong, and is then overruled by name: `Declared`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from onepass.errors import Argument, DataError, Phrase, printable
from onepass.tables import dates
from onepass.tables.bins import PARTS, borders_of
from onepass.tables.column_names import each, find, find_place, refuse_bad_names
from onepass.tables.column_values import (
    filled,
    is_missing,
    is_number,
    is_numeric,
    moments,
    numbers,
    numbers_in,
    strings,
)
from onepass.tables.crosses import EIGHTHS, LEFT_TO_TABLE, pairs_of
from onepass.tables.plan import CATEGORY, DATE, LEFT_OUT, LOOKED_AT, NUMBER, WORDS, Column, TablePlan, listed

USUAL_TARGETS = ("target", "label", "class", "y")
MOST = 0.95  # of the values: then the others are errors
FEW = 20  # rows that do not show that a column is an identifier
SEVERAL = 3.0  # words that a text has on average
LABELS = 20  # different values that a last column may have and still look like a label


class Declared(NamedTuple):
    """What the user says: columns by name or place. labelled: False needs no target, None has none unless named."""

    target: str | int | None = None
    numeric: tuple[str | int, ...] = ()
    categorical: tuple[str | int, ...] = ()
    text: tuple[str | int, ...] = ()
    date: tuple[str | int, ...] = ()
    ignore: tuple[str | int, ...] = ()
    text_column: str | int | None = None
    missing: str = "indicator"
    bits: int = 18
    labelled: bool | None = True
    bins: bool = False
    cross: tuple[str, ...] = ()
    wide: bool = False  # bins and crosses besides, unless every column is declared, so that all rows can count

    @property
    def kinds(self) -> dict[str, tuple[str | int, ...]]:
        """Options and the columns that they name."""
        return {name: getattr(self, name) for name in ("numeric", "categorical", "text", "date", "ignore")}


KIND_OF = {
    "numeric": NUMBER,
    "categorical": CATEGORY,
    "text": WORDS,
    "date": DATE,
    "ignore": LEFT_OUT,
    "text_column": WORDS,
}


def find_plan(names: Sequence[str], columns: Sequence[Any], declared: Declared, path: str) -> TablePlan:
    """The plan of a table by the Arrow arrays of its first rows. Raises DataError where it fits no plan."""
    names = [name.strip() for name in names]
    refuse_bad_names(names, path)
    columns = [column.slice(0, LOOKED_AT) for column in columns]
    target = find_target(names, columns, declared, path)
    said = _said(names, target, declared, path)
    found = [
        _declared_as(names[place], column, KIND_OF[said[place]], path)
        if place in said
        else _found(names[place], column)
        for place, column in enumerate(columns)
    ]
    features = tuple(column for place, column in enumerate(found) if place != target)
    if declared.text_column is not None:
        alone = find_place("text_column", declared.text_column, names, path)
        features = tuple(_only(column, names[alone]) for column in features)
    if not any(column.kind != LEFT_OUT for column in features):
        raise DataError(f"there is no column to learn from: {_why(features)}", source=path)
    told = declared.text_column is not None or len(said) == len(features)
    if declared.wide and not told:
        declared = declared._replace(bins=True, cross=(LEFT_TO_TABLE,))
    at = {name: columns[place] for place, name in enumerate(names)}
    if declared.bins:
        features = tuple(column._replace(borders=_borders(column, at[column.name], PARTS)) for column in features)
    crosses = pairs_of(declared.cross, features, lambda name: names[find_place("cross", name, names, path)], path)
    crossed = {name for pair in crosses for name in pair}
    features = tuple(
        column._replace(coarse=_borders(column, at[column.name], EIGHTHS)) if column.name in crossed else column
        for column in features
    )
    dated = any(column.kind == DATE for column in features)  # how they are written, and from when they count, is found
    looked = 0 if told and not dated and not declared.bins and not crosses else LOOKED_AT
    plan = TablePlan(features, bits=declared.bits, missing=declared.missing, looked_at=looked)
    plan = replace(plan, bins=declared.bins, crosses=crosses)
    return plan if target is None else _with_target(plan, names[target], columns[target])


def _said(names: list[str], target: int | None, declared: Declared, path: str) -> dict[int, str]:
    """The option that names each column, by place."""
    said: dict[int, str] = {} if target is None else {target: "target"}
    alone = () if declared.text_column is None else (declared.text_column,)
    for option, wanted in {**declared.kinds, "text_column": alone}.items():
        for name in each(wanted, names):
            place = find_place(option, name, names, path)
            if said.setdefault(place, option) != option:
                words = "column {!r} cannot be both {} and {}"
                message = Phrase(words, printable(names[place]), Argument(said[place]), Argument(option))
                raise DataError(message, source=path, remedy="choose one")
    if target is not None:
        del said[target]
    return said


def _only(column: Column, name: str) -> Column:
    return Column(name, WORDS) if column.name == name else Column(column.name, LEFT_OUT, reason="not the text column")


def _with_target(plan: TablePlan, name: str, column: Any) -> TablePlan:
    texts = strings(column)
    if texts is None and is_numeric(column.type):
        return _labelled(plan, name, "number", numbers_in(column))
    known = filled(column)
    if all(map(is_number, known)):
        return _labelled(plan, name, "number", [float(text) for text in known if not is_missing(text)])
    return _labelled(plan, name, "text", known)


def _labelled(plan: TablePlan, name: str, label: str, met: list[Any]) -> TablePlan:
    return replace(plan, target=name, label=label, labels=tuple(sorted(set(met))))


def _why(columns: Sequence[Column]) -> str:
    if not columns:
        return "the label's column stands alone"
    return "; ".join(f"{printable(column.name)}: {column.reason}" for column in columns[:5])


# --- one column -------------------------------------------------------------------------------------------------------


def _found(name: str, column: Any) -> Column:
    """What a column of which nothing is said is."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _category(name, filled(column), len(column))
    if types.is_boolean(kind):
        return _category(name, [str(value).lower() for value in column.drop_null().to_pylist()], len(column))
    if types.is_temporal(kind) and not types.is_duration(kind) and not types.is_interval(kind):
        return _date(name, column, "") if column.null_count < len(column) else _empty(name)
    if is_numeric(kind):
        return _number(name, numbers_in(column), len(column))
    if types.is_null(kind):
        return _empty(name)
    if strings(column) is None:
        return Column(name, LEFT_OUT, reason=f"{kind}, which cannot be read")
    return _text(name, column)


def _text(name: str, column: Any) -> Column:
    import pyarrow

    known = filled(column)
    if not known:
        return _empty(name)
    numbers = sum(map(is_number, known))
    if numbers >= MOST * len(known) and not any(map(_is_code, known)):
        return _number(name, [float(text) for text in known if is_number(text) and not is_missing(text)], len(column))
    form = dates.form_of(pyarrow.array(known, pyarrow.string()), MOST)
    if form is not None:
        return _date(name, column, form)
    different = len(set(known)) / len(known)
    if len(set(known)) == 1:
        return _category(name, known, len(column))
    if np.mean([len(text.split()) for text in known]) >= SEVERAL and different > 0.5:
        return Column(name, WORDS)
    if different >= MOST and len(known) >= FEW:
        return Column(name, LEFT_OUT, reason="differs in nearly every row")
    return Column(name, CATEGORY)


def _number(name: str, known: list[float], rows: int) -> Column:
    if not known:
        return _empty(name)
    values = np.array(known)
    if len(values) == rows >= FEW and (np.diff(values) == 1.0).all() and (values % 1.0 == 0.0).all():
        return Column(name, LEFT_OUT, reason="counts the rows")
    same = repr(float(values[0])) if len(values) == rows > 1 and (values == values[0]).all() else ""
    return Column(name, NUMBER, _neutral(values), constant=same)


def _borders(column: Column, values: Any, parts: int) -> tuple[float, ...]:
    """The borders of a number's bins; none where it is no number."""
    if column.kind != NUMBER:
        return ()
    known = [text for text in filled(values) if is_number(text)] if strings(values) is not None else None
    found = np.array(known, np.float64) if known is not None else numbers(values.drop_null(), column.name, "zero")[0]
    return borders_of(found, parts)


def _date(name: str, column: Any, form: str) -> Column:
    when, absent = moments(column, form)
    known = when[~absent]
    clock = bool((known % dates.DAY != 0).any())
    unit = dates.DAY / 24 if form in dates.TIMES else dates.DAY
    return Column(name, DATE, _neutral(known / unit), form, clock)


def _category(name: str, known: list[str], rows: int) -> Column:
    if not known:
        return _empty(name)
    same = known[0] if len(set(known)) == 1 and len(known) == rows > 1 else ""
    return Column(name, CATEGORY, constant=same.lower() if same.lower() in ("true", "false") else same)


def _empty(name: str) -> Column:
    return Column(name, LEFT_OUT, reason="nothing but missing values")


def _is_code(text: str) -> bool:
    """Whether digits begin with a 0 that a number would not have."""
    return re.fullmatch(r"0\d+", text) is not None


def _neutral(values: Any) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if finite.size else 0.0


def _declared_as(name: str, column: Any, kind: str, path: str) -> Column:
    """A column of the kind that the user says; DataError where its values cannot be that."""
    if kind == LEFT_OUT:
        return Column(name, LEFT_OUT, reason="as told")
    if kind in (WORDS, CATEGORY):
        return Column(name, kind)
    if kind == NUMBER:
        return Column(name, NUMBER)
    import pyarrow

    form = None
    if strings(column) is None:
        form = "" if _found(name, column).kind in (DATE, LEFT_OUT) else None
    else:
        known = filled(column)
        form = dates.form_of(pyarrow.array(known, pyarrow.string()), MOST) if known else dates.ISO
    if form is None:
        shown = printable(str(filled(column)[0])) if strings(column) is not None else str(column.type)
        raise DataError(f"column {printable(name)!r} holds no dates, but {shown}", source=path, argument="date")
    return _date(name, column, form)


# --- the label --------------------------------------------------------------------------------------------------------


def find_target(names: Sequence[str], columns: Sequence[Any] | None, declared: Declared, path: str) -> int | None:
    """The label's column: named, of a usual name, or the last if it looks like one; None where there need be none."""
    if declared.target is not None:
        if declared.labelled is False:
            return find(declared.target, names)
        return find_place("target", declared.target, names, path)
    if declared.labelled is None:
        return None
    usual = [place for place, name in enumerate(names) if name.strip().lower() in USUAL_TARGETS]
    if len(usual) == 1:
        return usual[0]
    last = len(names) - 1
    if columns is not None and not usual and len(names) > 1 and _looks_like_label(columns[last]):
        return last
    if declared.labelled:
        message = f"which column is the label? Columns: {listed(names)}"
        raise DataError(message, source=path, remedy=Argument("target", like="NAME"))
    return None


def _looks_like_label(column: Any) -> bool:
    """Whether a column holds few different values, each of them several times on average, and none is missing."""
    known: list[Any]
    if is_numeric(column.type):
        known = numbers_in(column)
        whole = all(value.is_integer() for value in known)
    elif strings(column) is not None or str(column.type) == "bool":
        known, whole = filled(column), True
    else:
        return False
    return whole and len(known) == len(column) and 2 <= len(set(known)) <= min(LABELS, len(known) / 2)
