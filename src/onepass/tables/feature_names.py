"""What the features of a table are called, as far as they were met: `age`, `job=retired`, `word "excellent"`.

Numbers have names by their place. A hashed place has the name of the value that was met there, and of a second one if
two fall together (of more, those with the least hashes: so names do not depend on how a stream is cut). At most 2^20
are kept, and at most 64 MB of text: from then on no new ones are. Bins are named by the plan, crosses by the values of
the two columns that would stand at their place.
"""

from __future__ import annotations

import bisect
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.errors import ModelError, printable
from onepass.tables.plan import NUMBER, TablePlan, bin_count

MOST = 1 << 20  # names
TEXT = 1 << 26  # bytes of them
LONGEST = 120  # letters of a name
TOGETHER = 2  # names that one place keeps
NAMES = ("name_hashes", "name_ends", "name_text")  # the arrays that hold them
Hashes = npt.NDArray[np.uint32]


class Met(NamedTuple):
    """Values of one column that a batch held: their hashes, and how a feature of each is called."""

    hashes: Hashes
    names: list[str]


class FeatureNames:
    """Names of hashed features, by hash.

    >>> names = FeatureNames(TablePlan((), bits=4))
    >>> names.meet(Met(np.array([3, 19, 3], np.uint32), ["job=retired", "city=Rome", "job=retired"]))
    >>> names.at(3), names.at(4), names.count
    ('job=retired or city=Rome', 'hashed 4', 2)
    """

    def __init__(self, plan: TablePlan) -> None:
        self._plan, self._groups = plan, plan.groups
        self._numbers = [_number_name(plan, place) for place in range(len(plan.numbers))]
        self._pairs: dict[int, CrossNames] = {}
        self._mask = (1 << plan.bits) - 1
        self.known = np.zeros(1 << plan.bits, np.uint32) if plan.hashes else np.zeros(1, np.uint32)  # last hash + 1
        self._kept: dict[int, str] = {}  # hash → name
        self._at: dict[int, list[int]] = {}  # place → hashes
        self._room = TEXT

    @property
    def count(self) -> int:
        """Names of hashed features that are kept."""
        return len(self._kept)

    @property
    def full(self) -> bool:
        """Whether no more names are kept."""
        return len(self._kept) >= MOST or self._room <= 0

    def meet(self, met: Met) -> None:
        """Remember what was met."""
        self._pairs.clear()
        places = met.hashes & np.uint32(self._mask)
        fresh = np.flatnonzero(self.known[places] != met.hashes + np.uint32(1))
        for i in fresh.tolist():
            self._keep(int(met.hashes[i]), met.names[i])
        self.known[places[fresh]] = met.hashes[fresh] + np.uint32(1)

    def _keep(self, hashed: int, name: str) -> None:
        if hashed in self._kept or self.full:
            return
        together = self._at.setdefault(hashed & self._mask, [])
        if len(together) == TOGETHER:
            if hashed > together[-1]:
                return
            del self._kept[together.pop()]
        bisect.insort(together, hashed)
        self._kept[hashed] = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
        self._room -= len(self._kept[hashed].encode(errors="replace")) + 64

    def at(self, place: int) -> str:
        """What the feature at this place of a row is called."""
        if place < len(self._numbers):
            return self._numbers[place]
        if place >= self._groups.crosses:
            return self._cross_name(*divmod(place - self._groups.crosses, self._plan.stretch))
        if place >= self._groups.bins:
            return _bin_name(self._plan, place - self._groups.bins)
        hashed = place - len(self._numbers)
        names = [self._kept[one] for one in self._at.get(hashed, ())]
        return " or ".join(map(printable, names)) or f"hashed {hashed}"

    def _cross_name(self, pair: int, place: int) -> str:
        """What may stand at this place of a pair's stretch, among the values that were met."""
        if pair not in self._pairs:
            first, second = (self._values_of(name) for name in self._plan.crosses[pair])
            self._pairs[pair] = CrossNames(first, second, self._plan.stretch)
        found = self._pairs[pair].at(place)
        both = " × ".join(map(printable, self._plan.crosses[pair]))
        return " or ".join(map(printable, found)) if 0 < len(found) <= TOGETHER else f"{both}, hashed {place}"

    def _values_of(self, name: str) -> Met:
        """The values of a column that can be crossed, as far as they were met: hashes and names."""
        from onepass.tables.bins import bin_name  # compiled code, which only names of crosses need
        from onepass.tables.hashing import bin_hashes

        column = next(one for one in self._plan.used if one.name == name)
        begin, lost = f"{name}=", f"{name} missing"
        kept = {hashed: text for hashed, text in self._kept.items() if text == lost or text.startswith(begin)}
        if column.kind == NUMBER:
            kept = {hashed: text for hashed, text in kept.items() if text == lost}
            count = len(column.coarse) + 1
            names = [bin_name(name, column.coarse, code) if count > 1 else name for code in range(count)]
            kept |= dict(zip(bin_hashes(name, count).tolist(), names, strict=True))
        return Met(np.array(list(kept), np.uint32), list(kept.values()))

    def distinct(self, column: str) -> int:
        """How many values of a column of categories were met."""
        begin = f"{column}="
        return sum(name.startswith(begin) for name in self._kept.values())

    def unmet(self, places: npt.NDArray[Any]) -> int:
        """How many of these places of features are of values that were never met."""
        among = (places >= self._groups.hashed) & (places < self._groups.bins)
        hashed = places[among] - self._groups.hashed
        return 0 if self.full else int(np.count_nonzero(self.known[hashed] == 0))

    def followed_by(self, later: FeatureNames) -> FeatureNames:
        """The names of this part of a stream and of a later one."""
        both = copy.deepcopy(self)
        for met in later.all():
            both.meet(met)
        return both

    def all(self) -> Iterator[Met]:
        """What is kept, in the order of hashes."""
        if self._kept:
            order = sorted(self._kept)
            yield Met(np.array(order, np.uint32), [self._kept[hashed] for hashed in order])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The names as arrays, for a file."""
        order = sorted(self._kept)
        texts = [self._kept[hashed].encode(errors="replace") for hashed in order]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        text = np.frombuffer(b"".join(texts), np.uint8)
        return dict(zip(NAMES, (np.array(order, np.int64), ends, text), strict=True))

    @classmethod
    def from_arrays(cls, plan: TablePlan, arrays: dict[str, npt.NDArray[Any]]) -> FeatureNames:
        """The names that `arrays` gave; ModelError for what cannot be them."""
        hashes, ends, text = (arrays[name] for name in NAMES)
        right = len(ends) == len(hashes) + 1 and len(hashes) <= MOST and ends[0] == 0 and ends[-1] == len(text)
        right = right and bool((np.diff(ends) >= 0).all()) and bool(((hashes >= 0) & (hashes < 1 << 32)).all())
        if not right:
            raise ModelError("its names of features are not what `train` writes")
        content = text.tobytes()
        names = cls(plan)
        pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        names.meet(Met(hashes.astype(np.uint32), [content[a:b].decode("utf-8", "replace") for a, b in pairs]))
        return names


class CrossNames:
    """The crosses of the values of two columns, by their place."""

    def __init__(self, first: Met, second: Met, stretch: int) -> None:
        from onepass.tables.crosses import all_places

        self._first, self._second = first.names, second.names
        few = len(self._first) * len(self._second) <= MOST
        places = np.empty(0, np.int64)
        if few:
            places = all_places(first.hashes.astype(np.int64), second.hashes.astype(np.int64), stretch)
        self._order = np.argsort(places, axis=None, kind="stable")
        self._places = places.ravel()[self._order]

    def at(self, place: int) -> list[str]:
        """What may stand there, three of them at most."""
        begin, end = np.searchsorted(self._places, [place, place + 1])
        cells = (divmod(int(one), len(self._second)) for one in self._order[begin : min(end, begin + TOGETHER + 1)])
        return [f"{self._first[i]} × {self._second[j]}" for i, j in cells]


def _bin_name(plan: TablePlan, place: int) -> str:
    """What a bin of a number is called, or its leading bits."""
    from onepass.tables.bins import bin_name, leading_name

    number = bisect.bisect_right(plan.bin_starts, place) - 1
    column = [column for column in plan.used if column.kind == NUMBER][number]
    code = place - plan.bin_starts[number]
    if code < bin_count(column):
        return bin_name(printable(column.name), column.borders, code)
    return leading_name(printable(column.name), code - bin_count(column), column.neutral)


def _number_name(plan: TablePlan, place: int) -> str:
    return printable(plan.numbers[place].name)
