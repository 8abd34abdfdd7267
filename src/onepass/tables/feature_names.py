"""What the features of a table are called, as far as they were met: `age`, `job=retired`, `word "excellent"`.

Numbers have names by their place. A hashed place has the name of the value that was met there, and of a second one if
two fall together (of more, those with the least hashes: so names do not depend on how a stream is cut). At most 2^20
are kept, and at most 64 MB of text: from then on no new ones are.
"""

from __future__ import annotations

import bisect
import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.errors import ModelError, printable
from onepass.tables.plan import TablePlan

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
        self._numbers = [_number_name(plan, place) for place in range(len(plan.numbers))]
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
        hashed = place - len(self._numbers)
        names = [self._kept[one] for one in self._at.get(hashed, ())]
        return " or ".join(map(printable, names)) or f"hashed {hashed}"

    def distinct(self, column: str) -> int:
        """How many values of a column of categories were met."""
        begin = f"{column}="
        return sum(name.startswith(begin) for name in self._kept.values())

    def unmet(self, places: npt.NDArray[Any]) -> int:
        """How many of these places of features are of values that were never met."""
        hashed = places[places >= len(self._numbers)] - len(self._numbers)
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


def _number_name(plan: TablePlan, place: int) -> str:
    return printable(plan.numbers[place].name)
