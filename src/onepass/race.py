"""The race: several passes fed by one reading of the rows; the one with the best certificate is deployed.

Entries are declared before the first row: encodings of a table (narrower ones see the first features of the widest
one's rows), or learners. Each is certified at δ/c of the c that were declared, so with probability 1 − δ all
certificates hold, and whichever is chosen holds too: by any rule of choosing, and whenever an entry is dropped. What a
dropped entry had of δ stays lost: given to others, certificates would fail more often than δ.

An entry is also dropped, before the row with which its watched models outgrow `max_watch_memory`, unless it is the
last: features and classes met so far decide that, however the stream was cut.

An entry is dropped when another is better beyond doubt: both show a frozen model of the same age the same rows. Of the
rows that only one of the two misjudges, those that only A does multiply a wealth by 1 + λ, the others by 1 − λ (λ mixed
over a few values; rows on which their models differ in age count for neither, see `watching/verdicts`); while A is not
worse that is a supermartingale, so that it reaches x with probability 1/x at most.
A wealth speaks of the models of one stretch, from a power of two rounds to the next: models that learn slowly may be
worse at first, so that nothing is asked before `first` rounds, and every stretch begins anew. Stretch j has the share
1/((j+1)(j+2)) of δ_e = 1 %, shared among the c − 1 rivals: the better of two survives with probability 1 − δ_e.
"""

from __future__ import annotations

import difflib
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np

from onepass._jit import jit
from onepass.cores import cores
from onepass.errors import ConversionError, DataError, LimitError, OnepassError, StoppedError
from onepass.executor import ThreadExecutor
from onepass.intake import CheckedLabels, width_of
from onepass.looks import next_look
from onepass.names import LEARNERS
from onepass.passes import Pass
from onepass.rows import AnyRows, Ints, Rows, part
from onepass.standings import CROWDED, Dropped, Entry, Standings
from onepass.state_checks import is_count, need, need_fields
from onepass.tables.plan import ENCODINGS, TablePlan
from onepass.tables.reading import narrowed
from onepass.validate import accept
from onepass.watching.verdicts import Verdicts

FIRST = 1 << 14  # rounds before anything is asked of two entries
BETS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)  # λ
DROPS = 0.01  # δ_e: how probable it may be that the better of two is dropped
LOOKS = 4  # an octave of rows is looked at 2^LOOKS times
MANY = 512  # rows that are worth a thread
OFF = "off"


class Race(Standings):
    """Passes that learn from the same rows; fed, asked and stored like one. What is not said here is the leader's own.

    delta  of all of them together
    first  rounds before an entry can be dropped; None: none is

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> race = begin(["adaptive", "perceptron"], {"delta": 0.05})
    >>> race.feed(X, np.where(X[:, 0] > 0, "up", "down"))
    >>> race.leader.name, race.certificate().entries, race.certificate().delta
    ('adaptive', 2, 0.05)
    """

    def __init__(self, entries: Sequence[Entry], delta: float, first: int | None = FIRST) -> None:
        super().__init__(entries, delta)
        self.first = first
        self.stop_at = entries[0].run.stop_at
        self.stopped = False
        self.rows = 0
        self.look = None  # the choice may be another after every row
        self._stretch = 0  # the power of two that the counts begin at
        self._alone = np.zeros((len(entries), len(entries)), np.int64)  # [a, b]: rows that a misjudged, and b did not
        self._broken: OnepassError | None = None
        for entry in self.entries:
            entry.run.stop_at = None  # the race stops, for all
            entry.run.observers.verdicts = Verdicts() if self._drops else None

    @property
    def _drops(self) -> bool:
        """Whether mistakes decide, and models of one age are compared."""
        run = self.entries[0].run
        return self.first is not None and run.cost is None and run.target is None and run.loss in (None, "zero_one")

    def _reasons(self, entry: Entry) -> Sequence[str]:
        found: Sequence[str] = entry.run.doubts()  # rows that one of them shows to drift drift for all
        return found

    # --- rows in ------------------------------------------------------------------------------------------------------

    def feed(self, X: Any, y: Any) -> None:
        """Feed all that still run; what happens between two rows happens at rows fixed by their number.

        All rows are checked before the first is learned. Should they be too much for the last entry nevertheless, all
        are put back to where they stood.
        """
        self.stopped = self.stopped and self.stop_at is not None
        if self.stopped:
            raise StoppedError(f"the certificate has reached stop_at={self.stop_at}; set stop_at to None to go on")
        if self._broken is not None:
            raise self._broken
        batch = self._checked(X, y)
        crowded = self._crowded(batch)
        before = self.state() if crowded or self._may_fail(batch) else None
        done = 0
        while done < len(batch.y) and not self.stopped:
            self._leave_out([entry for room, entry in crowded if room == done])
            borders = [done + self._next_border() - self.rows, *(room for room, _ in crowded if room > done)]
            last = min(len(batch.y), *borders)
            error = self._feed_piece(batch, done, last)
            if error is not None:
                self._put_back(before, error, done)
            done = last
            self._between()

    def check(self, X: Any, y: Any) -> None:
        """Raise what `feed` would raise for what these rows hold, and learn nothing: for who feeds them in parts."""
        self._checked(X, y)

    def _checked(self, X: Any, y: Any) -> _Batch:
        """The rows as far as an entry sees them, looked at once for all; DataError by the row of the whole batch."""
        alive = self.alive
        views = [one.features for one in alive if one.features is not None]
        seen = max(views) if len(views) == len(alive) else None
        widest = next(one for one in alive if one.features == seen)
        intake = widest.run.intake
        taken = intake.check(intake.take(X if seen is None else first_features(accept(X), seen), y))
        rows = taken.rows if taken.canonical else taken.piece(0, len(taken.y))
        return _Batch(rows, CheckedLabels.of(taken, intake.labels), seen, taken.width)

    def _crowded(self, batch: _Batch) -> list[tuple[int, Entry]]:
        """(how many of the rows it has room for, entry) of those that will be left out, in this order."""
        alive = self.alive
        if self.first is None or len(alive) == 1:
            return []
        found = [(room, entry) for entry in alive if (room := batch.room(entry)) < len(batch.y)]
        return sorted(found, key=lambda pair: (pair[0], -batch.width(pair[1], pair[0] + 1)))

    def _leave_out(self, crowded: Sequence[Entry]) -> None:
        """Drop entries whose models have no room for the next row; the last one stays, for its error to be told."""
        for entry in crowded:
            if entry.dropped is None and len(self.alive) > 1:
                entry.dropped = Dropped(self.rows, reason=CROWDED)
                entry.run.observers.verdicts, self._led = None, None

    def _may_fail(self, batch: _Batch) -> bool:
        """Whether something that only learning shows may be wrong with these rows: a label that may not join, room."""
        for entry in self.alive:
            run = entry.run
            if batch.y.labels != run.intake.labels or run.scaling.measuring or not run.start.counting:
                return True
            width = batch.most(entry)
            if not run.observers.fits(width, batch.y.labels.count):
                return True
            if run.learner_run.may_refuse(batch.rows, width, run.rounds):
                return True
        return False

    def _put_back(self, before: dict[str, Any] | None, error: OnepassError, done: int) -> NoReturn:
        """Go back to before the batch of which the row after so many was the first of a piece that was refused."""
        if isinstance(error, DataError) and error.row is not None:
            error.row += done
        if before is not None:
            self.restore(before)
        elif done or len({entry.run.rows for entry in self.alive}) > 1:  # nobody knows how to go back
            self._broken = error
        raise error

    def feed_one(self, X: Any, y: Any) -> bool:
        """No row is such a case."""
        return False

    def _next_border(self) -> int:
        """The next row after which entries are compared, or certificates looked at."""
        if self.stop_at is not None:
            return next_look(self.rows)
        return self.rows + (1 << 62) if not self._drops else _next_comparison(self.rows, self.first or 1)

    def _feed_piece(self, batch: _Batch, first: int, last: int) -> OnepassError | None:
        """Let all learn these rows of a batch; what one of them has against them is given back."""
        alive, rows, y = self.alive, part(batch.rows, first, last), batch.y[first:last]
        threads = min(len(alive), cores()) if len(y) >= MANY else 1
        with ThreadExecutor(threads) as executor:
            errors = executor.map(lambda entry: _fed(entry, batch.seen_by(entry, rows), y), alive)
        self._led = None
        wrong = [error for error in errors if error is not None]
        if wrong:
            return wrong[0]
        self.rows = alive[0].run.rows
        if self._drops:
            self._compare(alive)
        return None

    def _compare(self, alive: list[Entry]) -> None:
        """Count the rows that only one of two misjudged, where both did so with models of one age."""
        taken = [entry.run.observers.verdicts.take() for entry in alive if entry.run.observers.verdicts is not None]
        start, rows = taken[0][0], len(taken[0][1])
        wrong, ages = np.zeros((len(self.entries), rows), np.bool_), np.full((len(self.entries), rows), -1)
        for entry, (_, own, age) in zip(alive, taken, strict=True):
            at = self.entries.index(entry)
            wrong[at], ages[at] = own, age
        younger = 1 + np.flatnonzero((np.diff(ages, axis=1) != 0).any(axis=0))  # from these rows on one of them is
        done = 0
        while done < rows:
            stretch = 1 << (start + done).bit_length() - 1
            last = min([rows, 2 * stretch - start, *younger[younger > done][:1].tolist()])
            if stretch != self._stretch:
                self._stretch = stretch
                self._alone[:] = 0
            some, age = wrong[:, done:last].astype(np.int64), ages[:, done]
            self._alone += (age[:, None] == age) * (some @ (1 - some).T)
            done = last

    def _between(self) -> None:
        """Drop entries and stop, at the rows that are meant for it."""
        if self._drops and _next_comparison(self.rows - 1, self.first or 1) == self.rows:
            self._drop()
        if self.stop_at is not None and next_look(self.rows - 1) == self.rows:
            certificate = self.certificate()
            fine = certificate.withheld is None and certificate.risk <= self.stop_at
            self.stopped = fine and not self.leader.run.guards.one_label_only

    def _drop(self) -> None:
        alive = self.alive
        for entry in alive:
            rivals = [other for other in alive if other is not entry]
            found = [(self._evidence(entry, rival), rival) for rival in rivals]
            if not found:
                return
            wealth, rival = max(found, key=lambda pair: pair[0])
            needed = self._needed()
            if wealth >= needed:
                a, b = self.entries.index(entry), self.entries.index(rival)
                own, other = int(self._alone[a, b]), int(self._alone[b, a])
                entry.dropped = Dropped(self.rows, rival.name, own, other, wealth, needed)
                entry.run.observers.verdicts, self._led = None, None

    def _evidence(self, entry: Entry, rival: Entry) -> float:
        a, b = self.entries.index(entry), self.entries.index(rival)
        return log_wealth(int(self._alone[a, b]), int(self._alone[b, a]))

    def _needed(self) -> float:
        """The logarithm of the wealth at which an entry is dropped."""
        if self.first is None or self._stretch < self.first:
            return math.inf
        j = (self._stretch // self.first).bit_length() - 1
        return math.log((len(self.entries) - 1) * (j + 1) * (j + 2) / DROPS)

    @property
    def widest(self) -> str | None:
        """The widest encoding that an entry still learns from; None where entries are learners."""
        return max((entry.encoding for entry in self.alive if entry.encoding), key=ENCODINGS.index, default=None)

    # --- for all of them ----------------------------------------------------------------------------------------------

    def withhold(self, reason: str) -> None:
        """Give no certificate from now on."""
        self._led = None
        for entry in self.entries:
            entry.run.withhold(reason)

    def assume(self, text: str) -> None:
        """Say one more thing in every certificate's list of assumptions."""
        for entry in self.entries:
            entry.run.assume(text)

    @property
    def options(self) -> dict[str, Any]:
        """What all were made with, in plain values, and what tells them apart."""
        first = self.entries[0].run.options
        own: dict[str, Any] = {"delta": self.delta, "stop_at": self.stop_at, "first": self.first}
        own["race"] = [entry.name for entry in self.entries]
        if self.entries[0].encoding is None:
            own["learner"] = ", ".join(repr(entry.run.learner) for entry in self.entries)
        return {**first, **own}

    def without_rows(self) -> Race:
        """The race with passes that are small to store; it shares arrays with this one."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.entries = tuple(replace(entry, run=entry.run.without_rows()) for entry in self.entries)
        twin._led = None
        return twin

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """All that changes while rows are fed."""
        return {
            "rows": self.rows,
            "stopped": self.stopped,
            "stretch": self._stretch,
            "alone": self._alone.copy() if copied else self._alone,
            "dropped": [None if entry.dropped is None else tuple(entry.dropped) for entry in self.entries],
            "entries": [entry.run.state(copied=copied) for entry in self.entries],
        }

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless the state is one that a race with these options can have."""
        need_fields(state, {**self.state(copied=False)}, "other fields than this version has")
        need(is_count(state["rows"]) and is_count(state["stretch"]) and type(state["stopped"]) is bool, "the race")
        alone, size = state["alone"], len(self.entries)
        need(isinstance(alone, np.ndarray) and alone.shape == (size, size) and alone.dtype == np.int64, "the race")
        need(bool((alone >= 0).all()), "the race")
        for name in ("dropped", "entries"):
            need(isinstance(state[name], list) and len(state[name]) == size, name)
        need(any(one is None for one in state["dropped"]), "dropped")
        for entry, dropped, own in zip(self.entries, state["dropped"], state["entries"], strict=True):
            need(dropped is None or (isinstance(dropped, tuple) and len(dropped) == len(Dropped._fields)), "dropped")
            entry.run.check_state(own)
            need(own["rows"] == (state["rows"] if dropped is None else dropped[0]), "rows")

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken, in a race with the same options."""
        self.rows, self.stopped, self._stretch = state["rows"], state["stopped"], state["stretch"]
        self._alone, self._led, self._broken = state["alone"].copy(), None, None
        for entry, dropped, own in zip(self.entries, state["dropped"], state["entries"], strict=True):
            entry.run.restore(own)
            entry.dropped = None if dropped is None else Dropped(*dropped)
            entry.run.observers.verdicts = Verdicts() if self._drops and dropped is None else None


class _Batch(NamedTuple):
    """Rows that were looked at, kernel-ready, as the entry sees them that sees most."""

    rows: AnyRows
    y: CheckedLabels
    features: int | None  # that this entry sees; None: all
    met: int  # features of these rows

    def seen_by(self, entry: Entry, rows: AnyRows) -> AnyRows:
        """Some of the rows as an entry sees them."""
        return rows if entry.features == self.features else first_features(rows, entry.features or 0)

    def most(self, entry: Entry) -> int:
        """As many features as an entry can have met after all rows, without another look."""
        met = self.met if entry.features is None else min(self.met, entry.features)
        return int(max(met, entry.run.width))

    def width(self, entry: Entry, rows: int) -> int:
        """How many features it has met after so many of the rows."""
        return int(max(width_of(self.seen_by(entry, part(self.rows, 0, rows))), entry.run.width))

    def room(self, entry: Entry) -> int:
        """After how many of the rows an entry's watched models would still have room: all, or by halving."""

        def fits(rows: int) -> bool:
            classes: int = self.y.met(rows).count
            return bool(entry.run.observers.fits(self.width(entry, rows), classes))

        if entry.run.observers.fits(self.most(entry), self.y.labels.count) or fits(len(self.y)):
            return len(self.y)
        return bisect_left(range(1, len(self.y)), True, key=lambda rows: not fits(rows))


def _fed(entry: Entry, rows: AnyRows, y: CheckedLabels) -> OnepassError | None:
    """Let an entry learn from these rows, as it sees them; what is wrong with them is given back."""
    try:
        entry.run.feed(rows, y)
    except (DataError, LimitError, ConversionError) as error:
        return error
    return None


# --- who takes part ---------------------------------------------------------------------------------------------------


def entries_named(given: str | Sequence[str]) -> tuple[str, ...]:
    """The entries of a race by name, encodings or learners; none where it is off. ValueError for what is no race.

    >>> entries_named("plain,bins"), entries_named(["adaptive", "pa"]), entries_named("off")
    (('plain', 'bins'), ('adaptive', 'pa'), ())
    """
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else [str(name) for name in given]
    if names in ([OFF], []):
        return ()
    known = [*ENCODINGS, *LEARNERS]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ValueError(f"race: there is no entry {name!r}.{hint} There are {', '.join(known)}")
        if names.count(name) > 1:
            raise ValueError(f"race: {name} takes part twice")
    if len({name in ENCODINGS for name in names}) > 1:
        raise ValueError("race: its entries are encodings or learners, not both")
    if len(names) < 2:
        raise ValueError(f"race: {names[0]} alone is no race; name two entries at least, or {OFF}")
    return tuple(names)


def begin(
    names: Sequence[str], options: Mapping[str, Any], table: TablePlan | None = None, first: int | None = FIRST
) -> Race:
    """The race of these entries, with the options of a `Pass`; encodings are those of the table. Raises ValueError."""
    delta = float(options.get("delta", 0.05))
    _refuse(options)
    if len(names) < 2:
        raise ValueError("race: two entries at least are needed")
    entries = []
    for name in names:
        own = {**options, "delta": delta / len(names)}
        if name in ENCODINGS:
            entries.append(Entry(name, Pass(**own), name, None if table is None else _features(name, table)))
        else:
            entries.append(Entry(name, Pass(**{**own, "learner": name})))
    return Race(entries, delta, first)


def _features(name: str, table: TablePlan) -> int | None:
    """How many features an encoding of a table sees; None: all."""
    if name not in table.encodings:
        raise ValueError(f"race: {name} would be no different here: there is nothing to make {name} of")
    width = table.narrowed(name).width
    return None if width == table.width else width


def _refuse(options: Mapping[str, Any]) -> None:
    """What does not go with several passes at once."""
    if options.get("conversion", "frozen") != "frozen":
        raise ConversionError("race: models that are frozen and watched are compared: choose the conversion frozen")
    if options.get("validation_fraction"):
        raise ConversionError("race: no row is kept out of one: leave out validation_fraction")
    if options.get("on_drift", "withhold") == "restart":
        raise ConversionError("race: all entries count the same rows, and a restart is one's own: leave out on_drift")


# --- numbers ----------------------------------------------------------------------------------------------------------


def log_wealth(own: int, other: int) -> float:
    """The logarithm of the wealth that bets on "errs more": own rows were misjudged by it alone, other by its rival.

    >>> log_wealth(0, 0), log_wealth(60, 20) > math.log(400), log_wealth(20, 60) < 0.0
    (0.0, True, True)
    """
    grown = [own * math.log1p(bet) + other * math.log1p(-bet) for bet in BETS]
    most = max(grown)
    return most + math.log(math.fsum(math.exp(one - most) for one in grown) / len(grown))


def _next_comparison(rows: int, first: int) -> int:
    """The first row after so many at which entries are compared: 16 times in each doubling, from `first` on."""
    if rows < first:
        return first
    step = 1 << max(0, rows.bit_length() - 1 - LOOKS)
    return (rows // step + 1) * step


def first_features(rows: AnyRows, features: int) -> AnyRows:
    """The rows without features beyond the first so many."""
    if not isinstance(rows, Rows):
        return narrowed(rows, features)
    ends = np.zeros(len(rows.indptr), np.int64)
    _ends(rows.indptr, rows.indices, features, ends)
    found = Rows(ends, np.empty(ends[-1], rows.indices.dtype), np.empty(ends[-1], rows.values.dtype))
    _copy(tuple(rows), tuple(found))
    return found


@jit
def _ends(indptr: Ints, indices: Any, features: int, ends: Ints) -> None:
    """Where rows end in which only the first features are left; indices rise."""
    for i in range(ends.size - 1):
        low, high = indptr[i], indptr[i + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < features:
                low = middle + 1
            else:
                high = middle
        ends[i + 1] = ends[i] + low - indptr[i]


@jit
def _copy(rows: Any, found: Any) -> None:
    (begins, indices, values), (ends, kept, data) = rows, found
    for i in range(ends.size - 1):
        j = begins[i]
        for k in range(ends[i], ends[i + 1]):
            kept[k], data[k] = indices[j], values[j]
            j += 1
