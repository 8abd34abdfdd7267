"""Tables to rows: which column is the target, a number, a category or a text, and what to do where a value is missing.

Numbers alone give dense rows, one feature a column. Categories are hashed: `name=value` lights one of 2^bits places
after the numbers, so that no list of values must be known before the pass. A text column gives a bag of words and
nothing else.
"""

from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.errors import Argument, DataError, Phrase, printable
from onepass.io.chunk import Labels
from onepass.io.hashing import murmur3_of
from onepass.io.lines import KEEP_SUM, LineError, tidy
from onepass.io.options import between, one_of
from onepass.io.text import bag_of_words
from onepass.rows import AnyRows, Dense, Floats, Rows

NUMBER, TEXT, EMPTY = "number", "text", "only nulls"  # kinds of columns; any other word is a type that cannot be read
USUAL_TARGETS = ("target", "label", "class", "y")


class Name(str):
    """A column's name and nothing else: a number, too, is no place here."""

    __slots__ = ()


class ColumnPlan(NamedTuple):
    """What each column is, by place."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    target: int | None
    numbers: tuple[int, ...]
    categories: tuple[int, ...]
    text: int | None
    header: bool | None = None  # whether a row of the file names the columns, where that is a question

    @property
    def used(self) -> list[int]:
        """The columns to read."""
        wanted = {*self.numbers, *self.categories, self.target, self.text} - {None}
        return [place for place in range(len(self.names)) if place in wanted]

    def __str__(self) -> str:
        pairs = zip(self.names[:20], self.kinds, strict=False)
        return printable(", ".join(f"{name} {kind}" for name, kind in pairs)) + (", …" if len(self.names) > 20 else "")


@dataclass(frozen=True)
class TableOptions:
    """What a user says about a table's columns.

    target: the label's column, by name or place (−1 is the last). categorical, ignore: columns to hash, to leave out.
    missing: "error", "zero", or "indicator" (0, and a further column that is 1 where a value is missing). text_column:
    learn from the words of this column alone. bits: places for categories and words, 2^bits. labelled: False needs no
    target; None takes no column for one unless `target` names it.
    """

    target: str | int | None = None
    categorical: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    missing: str = "error"
    text_column: str | int | None = None
    bits: int = 18
    labelled: bool | None = True
    _plans: list[ColumnPlan] = field(default_factory=list, init=False, repr=False)  # the first file's, for the others

    def __post_init__(self) -> None:
        one_of("missing", self.missing, ("error", "zero", "indicator"))
        between("bits", self.bits, 1, 30)
        for name in ("categorical", "ignore"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of columns, not one string")

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns that are features, once the first file is open."""
        if not self._plans:
            return None
        plan = self._plans[0]
        return tuple(plan.names[place] for place in plan.used if place != plan.target)

    @property
    def decided(self) -> dict[str, Any]:
        """What the first file settled, as options."""
        if not self._plans:
            return {}
        plan = self._plans[0]
        settled = {
            "header": plan.header,
            "target": None if plan.target is None else plan.names[plan.target],
            "width": len(plan.names) if plan.header is False else None,
        }
        return {option: value for option, value in settled.items() if value is not None}

    def settle(self, plan: ColumnPlan, path: str) -> ColumnPlan:
        """The plan for this file: the first file's, if the columns are the same. Raises DataError if not."""
        if not self._plans:
            self._plans.append(plan)
        first = self._plans[0]
        if (plan.names, plan.kinds) != (first.names, first.kinds):
            raise DataError(f"other columns than in the first file: {plan} here, {first} there", source=path)
        return first

    def remarks(self, flags: int) -> list[str]:
        """What to tell the user after the last row."""
        hashed = self.categorical or self.text_column is not None
        note = Phrase("words and categories are hashed into 2^{} places ({})", self.bits, Argument("bits"))
        return [note] if hashed else []


class CellError(Exception):
    """A value that cannot be learned from, by its row in the batch."""

    def __init__(self, row: int, fault: LineError) -> None:
        super().__init__(fault.message)
        self.row, self.fault = row, fault


def make_plan(options: TableOptions, names: list[str], kinds: list[str], path: str) -> ColumnPlan:
    """Decide what each column is. Raises DataError that lists the columns where a choice does not fit them."""
    _refuse_bad_names(names, path)
    ignored = [_place("ignore", name, names, path) for name in options.ignore]
    target = target_place(options, names, path)
    categories = [_place("categorical", name, names, path) for name in options.categorical]
    text = None if options.text_column is None else _place("text_column", options.text_column, names, path)
    roles = {"categorical": categories, "ignore": ignored}
    roles |= {"target": [] if target is None else [target], "text_column": [] if text is None else [text]}
    for one, other in itertools.combinations(roles, 2):
        for place in {*roles[one]} & {*roles[other]}:
            shown = printable(names[place])
            message = Phrase("column {!r} cannot be both {} and {}", shown, Argument(one), Argument(other))
            raise DataError(message, source=path, remedy="choose one")
    label = None if target is None or (kinds[target] == EMPTY and not options.labelled) else target
    if text is not None:
        if kinds[text] != TEXT:
            message = Phrase("{} {!r} holds {}, not text", Argument("text_column"), names[text], kinds[text])
            raise DataError(message, source=path)
        return ColumnPlan(tuple(names), tuple(kinds), label, (), (), text)
    numbers = [place for place in range(len(names)) if place != target and place not in {*ignored, *categories}]
    for place in numbers:
        if kinds[place] != NUMBER:
            shown = printable(names[place])
            remedy = hash_or_ignore(shown) if kinds[place] == TEXT else Argument("ignore", [shown])
            raise DataError(f"column {shown!r} holds {kinds[place]}, not numbers", source=path, remedy=remedy)
    for place in [*categories, *([] if label is None else [label])]:
        if kinds[place] not in (NUMBER, TEXT):
            raise DataError(f"column {names[place]!r} holds {kinds[place]}, which cannot be read", source=path)
    return ColumnPlan(tuple(names), tuple(kinds), label, tuple(numbers), tuple(categories), None)


def hash_or_ignore(name: str) -> Phrase:
    """What to do with a column that does not hold numbers."""
    return Phrase("{} or {}", Argument("categorical", [name]), Argument("ignore", [name]))


def text_places(options: TableOptions, names: list[str], path: str) -> list[int]:
    """The columns whose values are words by the user's choice, even if they look like numbers."""
    return [_place("categorical", name, names, path) for name in options.categorical] + (
        [] if options.text_column is None else [_place("text_column", options.text_column, names, path)]
    )


def _refuse_bad_names(names: list[str], path: str) -> None:
    met = set[str]()
    for place, name in enumerate(names):
        if not name.strip():
            raise DataError(
                f"column {place} has no name", source=path, remedy=Phrase("name it, or {}", Argument("header", False))
            )
        if name in met:
            raise DataError(
                f"two columns are named {name!r}",
                source=path,
                remedy=Phrase("rename one, or {}", Argument("header", False)),
            )
        met.add(name)


def target_place(options: TableOptions, names: list[str], path: str) -> int | None:
    """The label's column; None where there need be none."""
    if options.target is not None:
        if options.labelled is False:
            return _find(options.target, names)
        return _place("target", options.target, names, path)
    if options.labelled is None:
        return None
    usual = [place for place, name in enumerate(names) if name.strip().lower() in USUAL_TARGETS]
    if len(usual) == 1:
        return usual[0]
    if options.labelled:
        message = f"which column is the label? Columns: {_listed(names)}"
        raise DataError(message, source=path, remedy=Argument("target", like="NAME"))
    return None


def _find(wanted: str | int, names: list[str]) -> int | None:
    """The column of this name, else at this place."""
    if wanted in names:
        return names.index(str(wanted))
    if isinstance(wanted, Name) or not re.fullmatch("-?[0-9]{1,9}", str(wanted)):
        return None
    number = int(wanted)
    return number % len(names) if -len(names) <= number < len(names) else None


def _place(option: str, wanted: str | int, names: list[str], path: str) -> int:
    found = _find(wanted, names)
    if found is not None:
        return found
    near = difflib.get_close_matches(str(wanted), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise DataError(f"there is no column {wanted!r}{hint} Columns: {_listed(names)}", source=path, argument=option)


def _listed(names: list[str]) -> str:
    return printable(", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else ""))


def examples(columns: dict[int, Any], plan: ColumnPlan, options: TableOptions) -> tuple[AnyRows, Labels | None]:
    """Rows and labels of a batch, from its Arrow columns by place. Raises CellError."""
    labels = (
        None if plan.target is None else _labels(columns[plan.target], plan.names[plan.target], bool(options.labelled))
    )
    if plan.text is not None:
        return bag_of_words(columns[plan.text], options.bits), labels
    size = len(next(iter(columns.values()))) if columns else 0
    width = len(plan.numbers)
    values = np.zeros((size, 2 * width if options.missing == "indicator" else width))
    for j, place in enumerate(plan.numbers):
        values[:, j], absent = _floats(columns[place], plan.names[place], options.missing)
        if options.missing == "indicator":
            values[:, width + j] = absent
    if not plan.categories:
        return Dense(values), labels
    places = np.empty((size, len(plan.categories)), np.int64)
    for j, place in enumerate(plan.categories):
        places[:, j] = _hashes(columns[place], plan.names[place], options)
    return _sparse(values, places), labels


def _floats(column: Any, name: str, missing: str) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The column's numbers with 0 where they are missing, and where that is."""
    absent = np.asarray(column.is_null(nan_is_null=True))
    if absent.any() and missing == "error":
        raise CellError(int(absent.argmax()), no_value(name))
    values = np.asarray(column.fill_null(0.0) if column.null_count else column, np.float64)
    values = np.where(absent, 0.0, values)
    if not np.isfinite(values).all():
        row = int((~np.isfinite(values)).argmax())
        raise CellError(row, LineError(f"column {printable(name)!r} holds {values[row]}, which is not a finite number"))
    return values, absent


def _labels(column: Any, name: str, needed: bool) -> Labels:
    """The labels; one that is missing, where none is needed, is nan among numbers and empty among words."""
    import pyarrow

    labels: Labels
    if pyarrow.types.is_floating(column.type):
        values, absent = _floats(column, name, "zero")
        labels = np.where(absent, np.nan, values)
    else:
        labels = np.array(column.fill_null("").to_pylist(), dtype=np.str_)
        absent = labels == ""
    if needed and absent.any():
        raise CellError(int(absent.argmax()), no_label(name))
    return labels


def no_value(name: str, column: int | None = None) -> LineError:
    """What to say of a feature that is missing."""
    remedy = Phrase("{} or {}", Argument("missing", "zero"), Argument("missing", "indicator"))
    return LineError(f"column {printable(name)!r} has no value", column, remedy)


def no_label(name: str, column: int | None = None) -> LineError:
    """What to say of a row without a label."""
    return LineError(f"column {printable(name)!r} has no value", column, "leave out rows without a label")


def _hashes(column: Any, name: str, options: TableOptions) -> npt.NDArray[np.int64]:
    """Each value's place among the 2^bits; −1 where it is missing and that is to be nothing."""
    import pyarrow

    encoded = column.cast(pyarrow.string()).dictionary_encode()
    words = encoded.dictionary.to_pylist()
    mask = (1 << options.bits) - 1
    places = np.array([murmur3_of(f"{name}={word}".encode()) & mask for word in words] + [-1], np.int64)
    codes = np.asarray(encoded.indices.fill_null(len(words)))
    absent = (codes == len(words)) | np.isin(codes, [code for code, word in enumerate(words) if word == ""])
    if absent.any() and options.missing == "error":
        raise CellError(int(absent.argmax()), no_value(name))
    nothing = murmur3_of(f"{name}=".encode()) & mask if options.missing == "indicator" else -1
    return np.where(absent, nothing, places[codes])


def _sparse(values: Floats, places: npt.NDArray[np.int64]) -> Rows:
    size, room = len(values), values.size + places.size
    rows = Rows(np.zeros(size + 1, np.int64), np.empty(room, np.int32), np.empty(room))
    used = int(_join(values, places, rows))
    return Rows(rows.indptr, rows.indices[:used].copy(), rows.values[:used].copy())


@jit
def _join(values: Any, places: Any, rows: Any) -> Any:
    """Non-zero numbers first, then a 1 at each category's place, sorted; two categories in one place add."""
    k = 0
    for i in range(len(values)):
        first = k
        for j in range(values.shape[1]):
            if values[i, j] != 0.0:
                rows.indices[k], rows.values[k] = j, values[i, j]
                k += 1
        for j in range(places.shape[1]):
            if places[i, j] >= 0:
                rows.indices[k], rows.values[k] = values.shape[1] + places[i, j], 1.0
                k += 1
        k = tidy(rows.indices, rows.values, first, k, KEEP_SUM)
        rows.indptr[i + 1] = k
    return k
