"""What a user says about a table's columns, and what its first file settles for the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from onepass.errors import Argument, Phrase
from onepass.io.options import between, one_of
from onepass.tables.feature_names import FeatureNames
from onepass.tables.finding import Declared
from onepass.tables.plan import NUMBER, TablePlan

LISTS = ("categorical", "ignore", "numeric", "text", "date")


@dataclass(frozen=True)
class TableOptions:
    """What a user says about a table's columns.

    target: the label's column, by name or place (−1 is the last). kinds: "numbers", every column is one unless told
    otherwise, or "found", by a look at the first rows. categorical, numeric, text, date, ignore: columns to hash, to
    take for numbers, texts or dates, to leave out. missing: "error" (of numbers), "zero", or "indicator" (of what is
    found): a feature of its own. text_column: learn from the words of this column alone. bits: places for categories
    and words, 2^bits. labelled: False needs no target; None takes no column for one unless `target` names it. plan: of
    an earlier table, to read this one alike. named: whether to remember what features are called. bins: whether numbers
    give their bin and leading bits besides. cross: pairs of columns whose values together are a feature, "job*age" or
    "all" of them. wide: bins and crosses besides, as far as a table has them, for a race.
    """

    target: str | int | None = None
    categorical: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    missing: str | None = None
    text_column: str | int | None = None
    bits: int = 18
    labelled: bool | None = True
    kinds: str = "numbers"
    plan: TablePlan | None = None
    named: bool = False
    bins: bool = False
    cross: tuple[str, ...] | str = ()
    wide: bool = False
    settled: Settled = field(default_factory=lambda: Settled(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.missing is not None:
            one_of("missing", self.missing, ("error", "zero", "indicator"))
        one_of("kinds", self.kinds, ("numbers", "found"))
        between("bits", self.bits, 1, 30)
        for name in LISTS:
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a list of columns, not one string")
        given = (self.cross,) if isinstance(self.cross, str) else tuple(self.cross)
        pairs = tuple(pair if isinstance(pair, str) else "*".join(map(str, pair)) for pair in given)
        object.__setattr__(self, "cross", pairs)
        if isinstance(self.plan, dict):
            object.__setattr__(self, "plan", TablePlan.from_dict(self.plan))

    @property
    def declared(self) -> Declared:
        """The same for `find_plan`."""
        named = {name: tuple(getattr(self, name)) for name in LISTS}
        missing = self.missing or ("error" if self.kinds == "numbers" else "indicator")
        return Declared(
            self.target,
            **named,
            text_column=self.text_column,
            missing=missing,
            bits=self.bits,
            labelled=self.labelled,
            bins=self.bins,
            cross=tuple(self.cross),
            wide=self.wide,
        )

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns that are features, once the first file is open."""
        plan = self.table
        return None if plan is None else tuple(column.name for column in plan.used)

    @property
    def table(self) -> TablePlan | None:
        """What the columns are, once the first file is open."""
        return self.plan or self.settled.plan

    def narrow(self, encoding: str) -> None:
        """Make no features beyond those of this encoding from now on: they are the first ones of wider rows."""
        self.settled.encoding = encoding

    @property
    def decided(self) -> dict[str, Any]:
        """What the first file settled, as options."""
        plan = self.table
        if plan is None:
            return {}
        headless = self.settled.header is False
        width = len(plan.columns) + (plan.target is not None) if headless else None
        settled = {"header": self.settled.header, "target": plan.target, "width": width}
        return {option: value for option, value in settled.items() if value is not None}

    def remarks(self, flags: int) -> list[str]:
        """What to tell the user after the last row."""
        plan = self.table
        if plan is None or all(column.kind == NUMBER for column in plan.used):
            return []
        return [Phrase("words and categories are hashed into 2^{} places ({})", plan.bits, Argument("bits"))]


@dataclass
class Settled:
    """What the first file of a stream settled for the others."""

    plan: TablePlan | None = None
    header: bool | None = None  # whether a row of the file names the columns, where that is a question
    mark: str | None = None  # what separates fields, where that is a question
    dense: bool = False  # whether rows are numbers, one in each column
    encoding: str | None = None  # the widest that is still wanted of the plan's; None: all of it
    names: FeatureNames | None = None
    met_before: tuple[Any, ...] = ()  # names as an earlier run left them, as arrays
    examples: dict[str, list[str]] = field(default_factory=dict)  # some values of each column's first rows
    unused: list[str] = field(default_factory=list)  # columns of later files, or of all, that the plan does not know
