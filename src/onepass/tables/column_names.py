"""Columns by name or place, as users name them: one that is not there is an error with what may have been meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from onepass.errors import Argument, DataError, Phrase, printable
from onepass.tables.plan import listed


def each(wanted: Sequence[str | int], names: Sequence[str]) -> list[str | int]:
    """Columns that were named one by one, or several with commas between them.

    >>> each(["a,b", "c,d"], ["a", "b", "c,d"])
    ['a', 'b', 'c,d']
    """
    found = list[str | int]()
    for one in wanted:
        parted = isinstance(one, str) and "," in one and one not in names
        found += [part.strip() for part in str(one).split(",")] if parted else [one]
    return found


def find(wanted: str | int, names: Sequence[str]) -> int | None:
    """The column of this name, else at this place."""
    if wanted in names:
        return list(names).index(str(wanted))
    trimmed = str(wanted).strip()
    if trimmed in names:
        return list(names).index(trimmed)
    if not re.fullmatch("-?[0-9]{1,9}", str(wanted)):
        return None
    number = int(wanted)
    return number % len(names) if -len(names) <= number < len(names) else None


def find_place(option: str, wanted: str | int, names: Sequence[str], path: str) -> int:
    """The place of a column that an option names; DataError, with what may have been meant, if there is none."""
    found = find(wanted, names)
    if found is not None:
        return found
    near = difflib.get_close_matches(str(wanted), names, n=1)
    hint = f"; did you mean {printable(near[0])!r}?" if near else "."
    raise DataError(
        f"there is no column {printable(str(wanted))!r}{hint} Columns: {listed(names)}", source=path, argument=option
    )


def refuse_bad_names(names: Sequence[str], path: str) -> None:
    """Raise for columns that cannot be told apart."""
    other = Phrase(", or {}", Argument("header", False)) if path else Phrase("")  # a frame has no header to speak of
    met = set[str]()
    for place, name in enumerate(names):
        if not name.strip():
            remedy = Phrase("name it{}", other)
            raise DataError(f"column {place} has no name", source=path, remedy=remedy)
        if name in met:
            remedy = Phrase("rename one{}", other)
            raise DataError(f"two columns are named {printable(name)!r}", source=path, remedy=remedy)
        met.add(name)
