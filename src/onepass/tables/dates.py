"""Dates and times as text: which way a column writes them, and the microseconds since 1970 that they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

ISO = "iso"
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y")
_CLOCKS = ("", " %H:%M", " %H:%M:%S")
TIMES = ("%H:%M:%S", "%H:%M")  # of the day, without one
FORMS = (*(day + clock for day in _DAYS for clock in _CLOCKS), *TIMES)
DAY = 86_400_000_000  # microseconds


def microseconds(texts: Any, form: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """(microseconds since 1970, whether it is a date written so) of an Arrow array of trimmed strings; null is none.

    >>> import pyarrow
    >>> found, right = microseconds(pyarrow.array(["2024-02-29", "2024-02-30", "1970-01-01 01:00:00Z"]), "iso")
    >>> found[right].tolist(), right.tolist()
    ([1709164800000000, 3600000000], [True, False, True])
    """
    import pyarrow
    from pyarrow import compute

    if form == ISO:
        return _iso(texts)
    parsed = compute.strptime(texts, format=form, unit="us", error_is_null=True)
    right = np.asarray(parsed.is_valid())
    found = np.asarray(parsed.cast(pyarrow.int64()).fill_null(0), np.int64)
    return (found % DAY if form in TIMES else found), right


def _iso(texts: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """2024-02-29, with or without a time, fractions of a second, and a zone: parsed at once, or one by one."""
    import pyarrow
    from pyarrow import compute

    shaped = compute.match_substring_regex(
        texts, r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?\s?(Z|[+-]\d\d:?\d\d)?)?$"
    )
    right = np.array(shaped.fill_null(False))
    plain = compute.if_else(pyarrow.array(right), texts, None)
    zoned = compute.match_substring_regex(plain, r"(Z|[+-]\d\d:?\d\d)$").fill_null(False)
    try:
        if not compute.any(zoned).as_py():
            return np.asarray(plain.cast(pyarrow.timestamp("us")).cast(pyarrow.int64()).fill_null(0), np.int64), right
    except pyarrow.ArrowInvalid:
        pass  # one of them is no day of the calendar, or has too many digits
    found = np.zeros(len(right), np.int64)
    for row in np.flatnonzero(right).tolist():
        moment = _moment(texts[row].as_py())
        found[row], right[row] = (0, False) if moment is None else (moment, True)
    return found, right


def _moment(text: str) -> int | None:
    from datetime import UTC, datetime, timedelta

    try:
        when = datetime.fromisoformat(text.replace(",", ".").replace(" Z", "Z"))
    except ValueError:
        return None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def form_of(texts: Any, share: float) -> str | None:
    """How a column writes dates, if at least this share of its texts is one; a month before a day where both may be."""
    for form in (ISO, *FORMS):
        if np.mean(microseconds(texts, form)[1]) >= share:
            return form
    return None
