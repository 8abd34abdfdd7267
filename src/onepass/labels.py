"""Labels as users write them, and the numbers that kernels see."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.errors import Argument, DataError, Phrase
from onepass.rows import Array, Ints

Label = int | float | str | bool
DECLARE = Phrase("declare all classes in `{}`", Argument("classes"))  # where a label may not join
MORE = Phrase("{} that allows it, or a target with fewer values", Argument("max_classes"))
MOST = 50  # labels that may be met without being declared
FIRST = 1000  # rows that are looked at first for labels not met before


def sortable(label: Label) -> tuple[bool, Any]:
    """A key that sorts labels: numbers, then text."""
    return isinstance(label, str), label


@dataclass(frozen=True)
class Labels:
    """The classes of a pass: declared before the first row, or those met, in their order, at most so many.

    >>> labels, y = Labels().encode(["ham", "spam", "ham"], 3)
    >>> labels.classes, y
    (('ham', 'spam'), array([-1,  1, -1]))
    >>> later, y = labels.encode(["spam", "eggs"], 2)
    >>> later.classes, y, later.joining(labels, y)
    (('ham', 'spam', 'eggs'), array([1, 2]), [1])
    """

    classes: tuple[Label, ...] = ()
    declared: bool = False
    most: int = MOST

    @classmethod
    def of(cls, classes: Any, most: int = MOST) -> Labels:
        """Declared classes: at least two, all different; None: those that will be met, at most so many."""
        if classes is None:
            return cls(most=most)
        given = _array(classes).reshape(-1)
        if (fault := _first_fault(given)) is not None:
            raise DataError(f"classes: place {fault[0]}: {fault[1]}")
        names = tuple(map(_plain, given))
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"classes: at least two different labels expected, got {list(names)}")
        return cls(names, True)

    @property
    def count(self) -> int:
        """How many classes a pass must reckon with."""
        return max(2, len(self.classes))

    def encode(self, y: Any, rows: int) -> tuple[Labels, Ints]:
        """(labels as known after y, y as −1 and +1 for two classes, as 0, 1, … for several)."""
        if _plain_numbers(y, rows):
            labels, codes = self._met(y), np.empty(rows, np.int64)
            if (pair := _pair(labels.classes, y.dtype)) is not None and _signs(y, *pair, codes):
                return labels, codes  # one look, no copies
        given = _labels(y, rows)
        labels = self._met(given)
        _same_kind(labels.classes, given)
        codes, fine = labels._places(given)
        while not (labels.declared or np.all(fine)) and len(labels.classes) < labels.most:
            new = _plain(given[int(np.argmin(fine))])
            labels = replace(labels, classes=(*labels.classes, new))
            codes, fine = labels._places(given)
        if not np.all(fine):
            raise labels._unknown(given, int(np.argmin(fine)))
        return labels, np.asarray(2 * codes - 1 if len(labels.classes) <= 2 else codes, dtype=np.int64)

    def joining(self, before: Labels, y: Ints) -> list[int]:
        """The rows of a batch, coded in these labels, with which a third class and every later one joins."""
        return [int(np.argmax(y == code)) for code in range(before.count, len(self.classes))]

    def _places(self, given: Array) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """(the place of every label among the classes, whether it is one of them)."""
        if len(self.classes) <= 2:
            met = [given == label for label in self.classes]
            codes = np.asarray(met[1] if len(met) == 2 else np.zeros(len(given)), dtype=np.int64)
            return codes, reduce(np.logical_or, met, np.zeros(len(given), dtype=bool))
        order = np.argsort(np.array(self.classes))
        known = np.array(self.classes)[order]
        at = np.minimum(np.searchsorted(known, given), len(known) - 1)
        return order[at], known[at] == given

    def _unknown(self, given: Array, row: int) -> DataError:
        label = _plain(given[row])
        if self.declared:
            names = ", ".join(map(str, self.classes[:20])) + ", …" * (len(self.classes) > 20)
            return DataError(f"label {label!r} is not one of the known classes {names}", argument="y", row=row)
        message = f"label {label!r} is number {len(self.classes) + 1}, and at most {self.most} classes may be met"
        return DataError(message, argument="y", row=row, remedy=MORE)

    def _met(self, given: Array) -> Labels:
        """The labels as known after these, of the first two that are met; mostly the first rows show both."""
        classes = list(self.classes)
        for part in (given[:FIRST], given[FIRST:]):
            while len(classes) < 2 and not self.declared:
                new = np.ones(len(part), dtype=bool)
                for label in classes:
                    new &= part != label
                if not new.any():
                    break
                classes.append(_plain(part[int(np.argmax(new))]))
        return replace(self, classes=tuple(classes))


@jit
def _signs(y, first, second, codes):  # type: ignore[no-untyped-def]
    """Whether every label is one of the two, whose signs are then written down."""
    known = True
    for i in range(y.size):
        codes[i] = 1 if y[i] == second else -1
        known &= (y[i] == second) | (y[i] == first)
    return known


def _plain_numbers(y: Any, rows: int) -> bool:
    if not (type(y) is np.ndarray and y.dtype in (np.float64, np.int64) and y.shape == (rows,)):
        return False
    return bool(y.flags.c_contiguous and y.flags.writeable)


def _pair(classes: tuple[Label, ...], dtype: np.dtype[Any]) -> list[Any] | None:
    """Two classes as numbers of this type, if that is what they are."""
    if len(classes) != 2 or any(isinstance(label, str) or not abs(label) < 2.0**53 for label in classes):
        return None
    pair = [dtype.type(label) for label in classes]
    return pair if all(number == label for number, label in zip(pair, classes, strict=True)) else None


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _labels(y: Any, rows: int) -> Array:
    given = _array(y)
    if given.ndim != 1:
        raise DataError(f"y: one label per row expected, got shape {given.shape}")
    if len(given) != rows:
        raise DataError(f"y: {len(given)} labels for {rows} rows")
    if (fault := _first_fault(given)) is not None:
        raise DataError(fault[1], argument="y", row=fault[0])
    return given


def _array(labels: Any) -> Array:
    """The labels as they are: NumPy writes the numbers in a list as text if there is text among them."""
    given = np.asarray(labels)
    if given.dtype.kind == "U" and isinstance(labels, (list, tuple)) and {*map(type, labels)} != {str}:
        given = np.array(labels, dtype=object)
    return given


def _first_fault(given: Array) -> tuple[int, str] | None:
    """(place, what is wrong) of the first label that is not a finite number among numbers or text among text."""
    if given.dtype.kind not in "biufUSO":
        return 0, f"numbers or strings expected as labels, got dtype {given.dtype}"
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        at = int(np.argmax(~np.isfinite(given)))
        return at, f"label {given[at]} is not a finite number"
    if given.dtype.kind in "SO" and {*map(type, given)} not in ({str}, {int}):  # which needs no second look
        for i, label in enumerate(map(_plain, given)):
            if fault := _fault(label, text=isinstance(given[0], str)):
                return i, f"label {label!r} {fault}"
    return None


def _fault(label: Any, text: bool) -> str | None:
    """What is wrong with a label among text, or among numbers."""
    if isinstance(label, bytes):
        return "is bytes: decode them all first, [label.decode() for label in y]"
    if not isinstance(label, Label):
        return "is neither a number nor text"
    if isinstance(label, float) and not math.isfinite(label):
        return "is not a finite number"
    if isinstance(label, str) != text:
        return "is a number, but those before it are text" if text else "is text, but those before it are numbers"
    return None


def _same_kind(classes: tuple[Label, ...], given: Array) -> None:
    if classes and len(given) and isinstance(classes[0], str) != isinstance(given[0], str):
        kinds = ("text", "numbers") if isinstance(classes[0], str) else ("numbers", "text")
        raise DataError(f"y: the classes are {kinds[0]}, but these labels are {kinds[1]}")
