"""What of a chunk travels: counts and loss sums on the cutoff grid, and which chunks they cover.

Summaries of neighbours merge into one; the order of additions is a fixed tree over the chunks' numbers, so the bits do
not depend on who finished first. A chunk that comes twice is refused, one that is missing is named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from onepass.conversions.choices import price
from onepass.errors import ScaleError
from onepass.guards.drift import ChunkDrift
from onepass.guards.duplicates import Duplicates, merged
from onepass.guards.order import LabelTransitions, joint_order_reason, label_transitions, order_state
from onepass.rows import Array
from onepass.scale.watching import CandidateCounts
from onepass.tables.feature_names import FeatureNames
from onepass.trace import Evidence, SettledCutoff, Survivor, Terms, Trace
from onepass.trace.grid import floor_index
from onepass.trace.tally import BETS, Tally, charge, empty_tally

T = TypeVar("T")


class Summary(NamedTuple):
    """One chunk, or several that follow each other."""

    first_chunk: int
    last_chunk: int
    terms: Terms
    rows: int
    rounds: int
    updates: int
    width: int
    dense: int | None  # features of dense rows, which must agree
    columns: tuple[str, ...] | None  # names of the feature columns, likewise
    bits: int  # significant bits of the cutoffs on offer
    tally: Tally  # up to the last bin in use; the hypothesis still in use has entered it, without a loss
    opening: Survivor  # the first hypothesis, for H_0's extra round
    longest: Survivor | None  # None: not known, since the updates were let go
    labels: LabelTransitions
    skipped: int = 0
    void: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    duplicates: Duplicates | None = None  # how often rows came: 98 kB at most
    watched: CandidateCounts | None = None  # what the rows have shown of earlier waves' models: of one wave only
    names: FeatureNames | None = None  # what hashed features are called
    drift: tuple[ChunkDrift, ...] = ()  # what the drift alarm makes of each chunk's rows

    @property
    def digest(self) -> str:
        """A hash of all numbers in it: the same rows give the same, wherever and however often they are read."""
        told = hashlib.sha256(
            repr((self[:3], self[3:10], self.opening, self.longest, self.skipped, self.drift)).encode()
        )
        watched = () if self.watched is None else self.watched.arrays
        for array in (*self.tally, self.labels.pairs, self.labels.seen, *(self.duplicates or ()), *watched):
            told.update(np.ascontiguousarray(array).tobytes())
        return told.hexdigest()


def summarise(trace: Trace, chunk: int, **told: object) -> Summary:
    """What a chunk's trace says of its rounds, in a few kilobytes, and of its rows."""
    tally = trace.with_living()
    size = int(np.flatnonzero(tally.runs)[-1]) + 1 if tally.runs.any() else 1
    tally = Tally._make(part[:size].copy() for part in tally)
    logs = tally.logs + np.log(tally.product) if trace.terms.loss_bound is not None else np.zeros((1, BETS.size))
    return Summary(
        first_chunk=chunk,
        last_chunk=chunk,
        terms=trace.terms,
        rounds=trace.rounds,
        updates=trace.updates,
        width=len(trace.last) - 1,
        bits=trace.fineness,
        tally=tally._replace(logs=logs, product=np.ones((1, BETS.size))),
        opening=trace.first,
        longest=None if trace.dropped else trace.longest._replace(part=chunk),
        labels=trace.transitions or label_transitions(order_state(trace.terms.classes)),
        void=trace.void,
        assumed=trace.assumed,
        duplicates=trace.duplicates,
        **told,  # type: ignore[arg-type]
    )


def merge(left: Summary, right: Summary) -> Summary:
    """The summary of the chunks of `left` and, right after them, those of `right`."""
    _adjoin(left, right)
    return Summary(
        first_chunk=left.first_chunk,
        last_chunk=right.last_chunk,
        terms=left.terms,
        rows=left.rows + right.rows,
        rounds=left.rounds + right.rounds,
        updates=left.updates + right.updates,
        width=max(left.width, right.width),
        dense=_agreed(left.dense, right.dense, right, "features"),
        columns=_agreed(left.columns, right.columns, right, "columns"),
        bits=min(left.bits, right.bits),
        tally=added(left.tally, right.tally),
        opening=left.opening if left.rounds else right.opening,
        longest=_longer(left.longest, right.longest),
        labels=left.labels.followed_by(right.labels),
        skipped=left.skipped + right.skipped,
        void=tuple(dict.fromkeys(left.void + right.void)),
        assumed=tuple(dict.fromkeys(left.assumed + right.assumed)),
        duplicates=left.duplicates and right.duplicates and merged(left.duplicates, right.duplicates),
        drift=left.drift + right.drift,
        watched=left.watched and right.watched and left.watched.followed_by(right.watched),
        names=left.names and right.names and left.names.followed_by(right.names),
    )


def _longer(left: Survivor | None, right: Survivor | None) -> Survivor | None:
    """The longer survivor, of equals the first; None if one is not known."""
    if left is None or right is None:
        return None
    return right if right.survival > left.survival else left


def _adjoin(left: Summary, right: Summary) -> None:
    after = left.last_chunk + 1
    both = max(left.first_chunk, right.first_chunk)
    if both <= min(left.last_chunk, right.last_chunk):
        raise ScaleError(f"chunk {both} is there twice: its rows would be counted twice")
    if right.first_chunk < after:
        raise ScaleError(f"chunk {left.first_chunk} comes before chunk {right.first_chunk}: not the order agreed")
    if right.first_chunk > after:
        last = right.first_chunk - 1
        missing = f"chunk {after} is" if last == after else f"chunks {after} to {last} are"
        raise ScaleError(f"{missing} missing: no certificate for a stream with a gap")
    if left.terms != right.terms:
        raise ScaleError(f"chunk {right.first_chunk} was learned under other terms: {right.terms}, not {left.terms}")


def _agreed(here: T | None, there: T | None, right: Summary, what: str) -> T | None:
    if here is not None and there is not None and here != there:
        raise ScaleError(f"chunk {right.first_chunk} has other {what} than those before it: {there}, not {here}")
    return there if here is None else here


def added(left: Tally, right: Tally) -> Tally:
    """Two tallies, group by group; the shorter has nothing in the groups that it lacks."""

    def total(a: Array, b: Array) -> Array:
        if a.ndim == 2 and 1 in (len(a), len(b)) and (len(a) == 1) == (len(b) == 1):
            return a + b
        out = np.zeros((max(len(a), len(b)), *a.shape[1:]), dtype=a.dtype)
        out[: len(a)] += a
        out[: len(b)] += b
        return out

    sums = Tally._make(total(a, b) for a, b in zip(left, right, strict=True))
    return sums._replace(product=np.ones((1, BETS.size)))


class Prefix:
    """The longest complete prefix of the chunks, summaries merged in a binary tree that only their numbers decide."""

    def __init__(self, first: int, count: int, before: LabelTransitions | None = None) -> None:
        self.first, self.count, self.done = first, count, 0
        self.alarm: str | None = None
        self._waiting: dict[int, Summary] = {}
        self._levels: list[tuple[int, Summary]] = []  # (chunks, summary), each at least twice as large as the next
        self._labels = before

    def add(self, summary: Summary) -> None:
        """Take the summary of one chunk, in any order."""
        place = summary.first_chunk
        if not self.first <= place < self.first + self.count:
            raise ScaleError(f"chunk {place} is none of chunks {self.first} to {self.first + self.count - 1}")
        if place in self._waiting or place < self.first + self.done:
            raise ScaleError(f"chunk {place} is there twice: its rows would be counted twice")
        self._waiting[place] = summary
        while (following := self._waiting.pop(self.first + self.done, None)) is not None:
            self._append(following)

    def _append(self, summary: Summary) -> None:
        self.done += 1
        self._labels = summary.labels if self._labels is None else self._labels.followed_by(summary.labels)
        if self.alarm is None:
            self.alarm = joint_order_reason(self._labels, f"the end of chunk {summary.last_chunk}")
        size = 1
        while self._levels and self._levels[-1][0] == size:
            summary, size = merge(self._levels.pop()[1], summary), 2 * size
        self._levels.append((size, summary))

    @property
    def labels(self) -> LabelTransitions | None:
        """Of all rows up to the prefix's end."""
        return self._labels

    def summary(self) -> Summary | None:
        """Of the prefix; None while its first chunk is not there."""
        if not self._levels:
            return None
        total = self._levels[0][1]
        for _, following in self._levels[1:]:
            total = merge(total, following)
        return total if self.alarm is None else total._replace(void=(*total.void, self.alarm))

    def whole(self) -> Summary:
        """Of all chunks, or an error that names those that are missing."""
        total = self.summary()
        if self.done < self.count or total is None:
            there = {*self._waiting, *range(self.first, self.first + self.done)}
            missing = [p for p in range(self.first, self.first + self.count) if p not in there]
            shown = ", ".join(map(str, missing[:10])) + (f" and {len(missing) - 10} more" if len(missing) > 10 else "")
            raise ScaleError(f"chunk {shown} did not come back: no certificate for a stream with a gap")
        return total


def evidence_of(summary: Summary) -> Evidence:
    """What certificates are made from."""
    only = summary.first_chunk == summary.last_chunk == 0
    return Evidence(
        terms=summary.terms,
        rounds=summary.rounds,
        updates=summary.updates,
        alive=0,
        tally=summary.tally,
        first=summary.opening,
        void=summary.void,
        assumed=summary.assumed,
        pocket=summary.longest._replace(part=None) if only and summary.longest else summary.longest,
        merged=True,
        fineness=summary.bits,
        duplicates=summary.duplicates,
        transitions=summary.labels,
    )


def rounds_counted(summary: Summary, k: int, opening: bool) -> int:
    """n = ΣB of the cutoff k; `opening`: whether these are the first chunks, with H_0's extra round."""
    part = slice(floor_index(k), None)
    lived = int(summary.tally.rounds[part].sum()) - k * int(summary.tally.runs[part].sum())
    return lived + int(opening and k > 0)


def count(summary: Summary, k: int, opening: bool) -> SettledCutoff:
    """The rounds that the cutoff k counts, and their losses. Only the first wave's k was chosen from that wave."""
    part = floor_index(k)
    line = empty_tally(1, summary.tally.kinds.shape[1])
    for column, whole in zip(line[:-2], summary.tally[:-2], strict=True):
        column[0] = whole[part:].sum(axis=0)
    if summary.terms.loss_bound is not None:
        line.logs[0] = summary.tally.logs[part:].sum(axis=0)
    if opening and k > 0 and summary.opening.survival == 1 and summary.opening.margin is not None:
        charge(line, 0, summary.opening.margin, summary.terms.loss_bound or 0.0)
        if summary.opening.kind >= 0:
            line.kinds[0, summary.opening.kind] += 1
        line.logs[0] += np.log(line.product[0])
        line.product[0] = 1.0
    share = price(part) if opening else 1.0
    return SettledCutoff(k, rounds_counted(summary, k, opening), line, share)


def together(parts: Sequence[SettledCutoff], choices: int) -> SettledCutoff:
    """Rounds of several waves, from one that was chosen among so many. The first part tells what its own k costs."""
    line = parts[0].tally
    for part in parts[1:]:
        line = added(line, part.tally)
    return SettledCutoff(parts[0].k, sum(part.rounds for part in parts), line, parts[0].price / choices)
