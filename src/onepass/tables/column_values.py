"""The values of one column, an Arrow array of text or of what the text stands for: numbers, dates, categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onepass.errors import Argument, Phrase, printable
from onepass.rows import LARGEST, Floats
from onepass.tables import dates
from onepass.tables.plan import NULLS, CellError

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
MISSING = Phrase("{} or {}", Argument("missing", "zero"), Argument("missing", "indicator"))
WHOLE = 2.0**53  # below this, whole numbers are written digit by digit


# --- text and numbers -------------------------------------------------------------------------------------------------


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type is a number."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_duration(kind))


def numbers_in(column: Any) -> list[float]:
    """The numbers that are there of a column of numbers: of durations how many of their units; neither null nor NaN."""
    import pyarrow
    from pyarrow import types

    plain = column.cast(pyarrow.int64()) if types.is_duration(column.type) else column
    known = [float(value) for value in plain.drop_null().to_pylist()]
    return [value for value in known if value == value]


def strings(column: Any) -> Any | None:
    """The column as Arrow strings, trimmed, if it is text or a dictionary of text; None if it is not."""
    import pyarrow
    from pyarrow import compute, types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        return None
    return compute.utf8_trim_whitespace(column.cast(pyarrow.string()))


def filled(column: Any) -> list[str]:
    """The texts that are there, trimmed; of a dictionary of other values these as text."""
    import pyarrow

    texts = strings(column)
    if texts is None:
        texts = (
            column.cast(column.type.value_type).cast(pyarrow.string())
            if hasattr(column.type, "value_type")
            else column.cast(pyarrow.string())
        )
    return [text for text in texts.to_pylist() if text is not None and text not in NULLS]


def is_missing(text: str) -> bool:
    """Whether a text says that there is no value: no text, a word for it, or what reads as NaN.

    >>> is_missing("NA"), is_missing("-nan"), is_missing("0")
    (True, True, False)
    """
    return text in NULLS or (is_number(text) and float(text) != float(text))


def is_number(text: str) -> bool:
    """Whether a text reads as a number, with nothing that only Python would allow.

    >>> is_number("-1.5e3"), is_number("1_000"), is_number("inf"), is_number("Rome")
    (True, False, True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


# --- a whole column ---------------------------------------------------------------------------------------------------


def numbers(column: Any, name: str, missing: str) -> tuple[Floats, Mask]:
    """The column's numbers with 0 where they are missing, and where that is. Raises CellError."""
    import pyarrow
    from pyarrow import types

    texts = strings(column)
    if texts is not None:
        values, absent = _parsed(texts, name)
    else:
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_boolean(column.type):
            column = column.cast(pyarrow.int8())
        if types.is_duration(column.type):
            column = column.cast(pyarrow.int64())
        absent = np.asarray(column.is_null(nan_is_null=True))
        values = np.asarray(_as_floats(column, name).fill_null(0.0))
        values = np.where(absent, 0.0, values) if absent.any() else values
    if absent.any() and missing == "error":
        raise no_value(int(absent.argmax()), name)
    fine = np.abs(values) <= LARGEST  # NaN is not
    if not fine.all():
        row = int((~fine).argmax())
        large = bool(np.isfinite(values[row]))
        what = "too large to be squared" if large else "not a finite number"
        first = "rescale the column" if large else "mend it"
        remedy = Phrase(f"{first}, {{}}, or {{}}", Argument("on_error", "skip"), other_kind(name))
        raise CellError(row, f"column {printable(name)!r} holds {values[row]}, which is {what}", remedy)
    return values, absent


def _as_floats(column: Any, name: str) -> Any:
    import pyarrow

    if not is_numeric(column.type) and not pyarrow.types.is_null(column.type):
        raise CellError(0, f"column {printable(name)!r} holds {column.type}, not numbers", other_kind(name))
    if pyarrow.types.is_decimal(column.type):  # Arrow's own way to floats is off by a rounding
        column = column.cast(pyarrow.string())
    return column.cast(pyarrow.float64(), safe=False)


def _parsed(texts: Any, name: str) -> tuple[Floats, Mask]:
    """The numbers that texts are."""
    import pyarrow
    from pyarrow import compute

    absent = compute.is_in(texts, value_set=pyarrow.array([*NULLS, None], pyarrow.string()))
    mask = np.asarray(absent)
    try:
        found = np.asarray(compute.if_else(absent, None, texts).cast(pyarrow.float64()).fill_null(0.0))
    except pyarrow.ArrowInvalid:  # a plus, or no number at all
        found = np.zeros(len(texts))
        for row in np.flatnonzero(~mask).tolist():
            text = texts[row].as_py()
            if not is_number(text):
                raise not_a(row, name, "numbers", text) from None
            found[row] = float(text)
    lost = np.isnan(found)
    return np.where(lost, 0.0, found), mask | lost


def moments(column: Any, form: str, name: str = "") -> tuple[Places, Mask]:
    """(microseconds since 1970, 0 where it is missing; where that is) of a column of dates. Raises CellError."""
    import pyarrow
    from pyarrow import compute, types

    texts = strings(column)
    if texts is not None:
        absent = np.asarray(compute.is_in(texts, value_set=pyarrow.array([*NULLS, None], pyarrow.string())))
        when, right = dates.microseconds(texts, form or dates.ISO)
        if name and not (right | absent).all():
            row = int((~(right | absent)).argmax())
            raise not_a(row, name, "dates", texts[row].as_py())
        return np.where(right, when, 0), absent | ~right
    absent = np.asarray(column.is_null())
    if types.is_time(column.type):
        column = column.cast(pyarrow.time64("us"), safe=False)
    elif types.is_date(column.type) or types.is_timestamp(column.type):
        column = column.cast(pyarrow.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    elif not types.is_null(column.type):
        raise CellError(0, f"column {printable(name)!r} holds {column.type}, not dates", other_kind(name))
    return np.asarray(column.cast(pyarrow.int64()).fill_null(0), np.int64), absent


def categories(column: Any) -> tuple[Places, Any, Mask]:
    """(codes, the texts they stand for, which of these are there); a null has the code past the last."""
    import pyarrow
    from pyarrow import compute, types

    if not types.is_dictionary(column.type):
        column = as_text(column).dictionary_encode()
    words = compute.utf8_trim_whitespace(as_text(column.dictionary))
    lowered = compute.utf8_lower(words)
    truths = compute.is_in(lowered, value_set=pyarrow.array(["true", "false"]))
    words = compute.if_else(truths, lowered, words)  # True, TRUE and true are one value
    known = ~np.asarray(compute.is_in(words, value_set=pyarrow.array([*NULLS, None], pyarrow.string())))
    codes = np.asarray(column.indices.fill_null(len(words)), np.int64)
    return codes, words, known


def labels_in(column: Any, name: str, kind: str) -> npt.NDArray[Any]:
    """The labels of a column, "number" or "text"; one that is missing is NaN, or empty. Raises CellError.

    >>> import pyarrow
    >>> labels_in(pyarrow.array([True, None]), "member", "text").tolist()
    ['true', '']
    """
    from pyarrow import types

    if kind == "number":
        try:
            values, absent = numbers(column, name, "zero")
        except CellError as cell:
            raise CellError(cell.row, cell.message, "mend it, or leave out that row") from None
        return np.where(absent, np.nan, values)
    encoded = column if types.is_dictionary(column.type) else as_text(column).dictionary_encode()
    texts = strings(encoded.dictionary)
    words = [word or "" for word in (as_text(encoded.dictionary) if texts is None else texts).to_pylist()]
    known = np.array([*("" if word in NULLS else word for word in words), ""], dtype=np.str_)
    return np.asarray(known[np.asarray(encoded.indices.fill_null(len(words)))])


def as_text(column: Any) -> Any:
    """Values as they would be written; a whole number without its point, whatever stands beside it."""
    import pyarrow
    from pyarrow import compute, types

    texts = column.cast(pyarrow.string())
    if not types.is_floating(column.type):
        return texts
    wide = column.cast(pyarrow.float64())
    whole = compute.and_(compute.less(compute.abs(wide), WHOLE), compute.equal(compute.trunc(wide), wide))
    whole = whole.fill_null(False)
    return compute.if_else(whole, compute.if_else(whole, wide, 0.0).cast(pyarrow.int64()).cast(pyarrow.string()), texts)


# --- what is wrong ----------------------------------------------------------------------------------------------------


def no_value(row: int, name: str) -> CellError:
    """What to say of a feature that is missing."""
    return CellError(row, f"column {printable(name)!r} has no value", MISSING)


def not_a(row: int, name: str, kind: str, text: str) -> CellError:
    """What to say of a value that breaks its column's kind."""
    message = f"column {printable(name)!r} holds {kind}, but here {printable(text[:40])!r}"
    return CellError(row, message, Phrase("mend it, {}, or {}", Argument("on_error", "skip"), other_kind(name)))


def other_kind(name: str) -> Phrase:
    """What to do with a column that is not what was found."""
    shown = printable(name)
    return Phrase("{} or {}", Argument("categorical", [shown]), Argument("ignore", [shown]))
