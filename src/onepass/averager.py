"""Cutoff averaging for any conservative learner and any hypothesis that adds and scales."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from onepass.certificates import Certificate, certify, check
from onepass.errors import ConversionError, DataError
from onepass.learners import Perceptron, Setting
from onepass.looks import next_look
from onepass.rows import must_be_finite
from onepass.trace import Evidence, Survivor, Terms
from onepass.trace.grid import BINS, floor_index, point, upper_share
from onepass.trace.tally import charge, empty_tally

ROUNDING = 1e-9  # by how much, relatively, a loss may lie above its bound
BELOW_ONE = np.nextafter(1.0, 0.0)  # no positive loss is rounded away


class CutoffAverager:
    """Watch a learner of your own; get its cutoff average and the certificate.

    Hypotheses may be arrays, tuples, lists and dicts of arrays (mapped over), or any object with `+` and `*` by a
    number. With `convex=True` the certificate speaks of the average itself, else of the members that it was made of.

    A hypothesis must not change while it is in use. Arrays, sparse matrices and containers of them are looked at, at
    rounds fixed by their number and whenever a run ends; other objects only in the round after a loss.

    Parameters
    ----------
    loss_bound : float, default 1.0
        Losses lie between 0 and this.
    delta : float, default 0.05
        The certificate fails with at most this probability.
    convex : bool, default False
        Whether the loss is convex in the hypothesis: then the certificate speaks of the average itself.
    bound : str, default "betting"
        "betting" or "dekel2008".

    Raises
    ------
    ValueError
        If an argument cannot be so.

    Examples
    --------
    A learner over two arrays in a dict:

    >>> rng = np.random.default_rng(1)
    >>> averager = CutoffAverager(delta=0.05)
    >>> h = {"w": np.zeros(3), "b": np.zeros(1)}
    >>> for x in rng.normal(size=(500, 3)):
    ...     y = 1.0 if x[0] > 0.1 else -1.0
    ...     mistake = float(y * (x @ h["w"] + h["b"][0]) <= 0)
    ...     averager.observe(h, mistake)
    ...     if mistake:
    ...         h = {"w": h["w"] + y * x, "b": h["b"] + y}
    >>> model, certificate = averager.result()
    >>> sorted(model), bool(model["w"][0] > 0), certificate.covers
    (['b', 'w'], True, 'members')

    A kernel perceptron, whose hypothesis is a weight per support point:

    >>> class Expansion:
    ...     def __init__(self, terms=()):
    ...         self.terms = dict(terms)
    ...     def __add__(self, other):
    ...         keys = self.terms | other.terms
    ...         return Expansion({k: self.terms.get(k, 0) + other.terms.get(k, 0) for k in keys})
    ...     def __mul__(self, number):
    ...         return Expansion({k: a * number for k, a in self.terms.items()})
    ...     def __call__(self, x):
    ...         return sum(a * (1 + x * z) ** 2 for z, a in self.terms.items())
    >>> averager, h = CutoffAverager(), Expansion()
    >>> for x in rng.uniform(-1, 1, size=400).tolist():
    ...     y = 1 if abs(x) > 0.5 else -1
    ...     averager.observe(h, y * h(x) <= 0)
    ...     if y * h(x) <= 0:
    ...         h = h + Expansion({x: y})
    >>> model, certificate = averager.result()
    >>> model(0.95) > 0 > model(0.0), certificate.rounds
    (True, 400)
    """

    def __init__(
        self, loss_bound: float = 1.0, delta: float = 0.05, convex: bool = False, bound: str = "betting"
    ) -> None:
        if not 0.0 < loss_bound < float("inf"):
            raise ValueError(f"loss_bound: a positive number expected, got {loss_bound!r}")
        check("cutoff", delta, bound)
        self.loss_bound, self.delta, self.convex, self.bound = float(loss_bound), delta, convex, bound
        self.rounds = 0
        self._tally = empty_tally(BINS)
        self._columns: dict[int, Any] = {}  # grid index → Σ share·hypothesis
        self._default: Any = None
        self._first: Survivor | None = None
        self._runs, self._since = 0, 0  # runs that have ended, and the round of the last end
        self._now: Any = None  # the hypothesis in use
        self._held: tuple[Any, ...] | None = None  # a copy of what it held when it came, if it is made of arrays
        self._then: Any = None  # else a copy of it, as it was when it made its loss, if it did

    def observe(self, hypothesis: Any, loss: float, rounds: int = 1) -> None:
        """The hypothesis in use and the loss it made on this round's example; call it before the update.

        Several `rounds` at once: it was in use on all of them, and made this loss on the last and none before.

        Give a new object if the hypothesis changed, the same object if it survived. A run ends with a positive loss, or
        when another object comes. One that changed in place is refused where that is seen.
        """
        loss = self._within_bound(float(loss), self.rounds + rounds)
        if rounds < 1:
            raise ValueError(f"rounds: at least 1 expected, got {rounds!r}")
        new, running = hypothesis is not self._now or self.rounds == 0, self.rounds > self._since
        if new and running:
            self._must_be_unchanged()
            self._end_run(0.0)
        elif not new and (not running or loss > 0.0 or next_look(self.rounds) <= self.rounds + rounds):
            self._must_be_unchanged()
        if self.rounds == 0:
            self._default = _scaled(hypothesis, 1.0)
        if new:
            self._now, self._held = hypothesis, _content(hypothesis)
        self._then = copy.deepcopy(hypothesis) if loss > 0.0 and self._held is None else None
        self.rounds += rounds
        if loss > 0.0:
            self._end_run(loss)

    def _within_bound(self, loss: float, t: int) -> float:
        """The loss of round t; one above the bound by rounding is the bound, as in a pass."""
        if not 0.0 <= loss <= self.loss_bound * (1.0 + ROUNDING):
            raise DataError(f"loss: round {t} has {loss}, outside [0, {self.loss_bound}] (loss_bound)")
        return min(loss, self.loss_bound)

    def _must_be_unchanged(self) -> None:
        """The hypothesis in use is added to the average when its run ends: as it was then, and all the time before."""
        if self._held is not None:
            parts = list(_parts(self._now))
            same = len(parts) == len(self._held) and all(map(_equal, parts, self._held))
        else:
            same = self._then is None or _same(self._now, self._then)
        if not same:
            raise DataError(
                "hypothesis: changed in place while it was in use; what it was before is gone. "
                "Make the update return a new object: w = w + x, not w += x"
            )

    def _end_run(self, loss: float) -> None:
        survival = self.rounds - self._since
        group = floor_index(survival - 1)
        self._tally.runs[group] += 1
        self._tally.rounds[group] += survival
        margin = min(1.0 - loss / self.loss_bound, BELOW_ONE) if loss > 0.0 else 1.0
        charge(self._tally, group, margin, 1.0)
        low = floor_index(survival)
        part = upper_share(survival, point(low), point(low + 1))
        for index, share in ((low, 1.0 - part), (low + 1, part)):
            if share:
                added = _scaled(self._now, share)
                self._columns[index] = _plus(self._columns[index], added) if index in self._columns else added
        if self._first is None:
            self._first = Survivor(0, survival, margin)
        self._since, self._runs = self.rounds, self._runs + 1

    def certificate(self) -> Certificate:
        """The certificate so far; it holds at every round at once."""
        _must_be_finite([self._now, *self._columns.values()])  # sums of past hypotheses: a NaN stays in them
        terms = Terms(Perceptron(), Setting(), loss_bound=1.0)  # in units of the bound: a small one would be lost by 1
        evidence = Evidence(
            terms=terms,
            rounds=self.rounds,
            updates=self._runs,
            alive=self.rounds - self._since,
            tally=self._tally,
            first=self._first or Survivor(0, self.rounds, None),
        )
        found = certify(evidence, "cutoff", delta=self.delta, bound=self.bound, loss="hinge")
        covers = "model" if self.convex else "members"
        bound = self.loss_bound
        risk, empirical = found.risk * bound, found.empirical * bound
        return replace(
            found,
            risk=risk,
            empirical=empirical,
            loss_bound=bound,
            loss="given",
            covers=covers,
            assumptions=found.assumptions[:2],
        )

    def result(self) -> tuple[Any, Certificate]:
        """(the cutoff average, its certificate)."""
        if not self.rounds:
            raise ConversionError("no round has been observed yet")
        if self.rounds > self._since:
            self._must_be_unchanged()
        certificate = self.certificate()
        k = certificate.choice.value or 0
        parts = [(self._columns[i], point(i) - k) for i in sorted(self._columns) if point(i) > k]
        survival = self.rounds - self._since
        if survival > k:
            parts.append((self._now, survival - k))
        if k > 0:
            parts.append((self._default, 1))
        total = reduce(_plus, (_scaled(part, weight) for part, weight in parts))
        average = _scaled(total, 1.0 / certificate.counted)
        _must_be_finite(average)
        return average, certificate


def _mapped(function: Callable[..., Any], *hypotheses: Any) -> Any:
    """The function applied to the hypotheses, or, where they are containers, to their parts one by one."""
    first = hypotheses[0]
    if isinstance(first, dict):
        return {key: _mapped(function, *(h[key] for h in hypotheses)) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_make"):
        return first._make(_mapped(function, *parts) for parts in zip(*hypotheses, strict=True))
    if isinstance(first, (tuple, list)):
        return type(first)(_mapped(function, *parts) for parts in zip(*hypotheses, strict=True))
    return function(*hypotheses)


def _plus(one: Any, other: Any) -> Any:
    return _mapped(lambda a, b: a + b, one, other)


def _scaled(hypothesis: Any, number: float) -> Any:
    return _mapped(lambda a: a * number, hypothesis)


def _parts(hypothesis: Any) -> Iterator[Any]:
    """What a hypothesis is made of, containers taken apart; of a sparse matrix its stored values and their places."""
    if isinstance(hypothesis, dict):
        yield tuple(map(repr, hypothesis))
        for value in hypothesis.values():
            yield from _parts(value)
    elif isinstance(hypothesis, tuple | list):
        yield len(hypothesis)
        for value in hypothesis:
            yield from _parts(value)
    elif "scipy.sparse" in sys.modules and sys.modules["scipy.sparse"].issparse(hypothesis):
        stored = hypothesis.tocoo(copy=True)
        stored.sum_duplicates()  # which sorts too
        stored.eliminate_zeros()  # two ways to store the same are the same
        yield from (stored.shape, stored.data, *stored.coords)
    else:
        yield hypothesis


def _must_be_finite(hypothesis: Any) -> None:
    """Raise DataError if an array, a sparse matrix or a number in it is not finite."""
    for part in _parts(hypothesis):
        if isinstance(part, np.ndarray | np.generic | float) and np.asarray(part).dtype.kind in "fc":
            must_be_finite(part)


def _content(hypothesis: Any) -> tuple[Any, ...] | None:
    """A copy of what arrays, sparse matrices and plain values hold; None if there is anything else in it.

    A copy and no hash: it is exact, and thirty times faster to make and to compare.
    """
    found: list[Any] = []
    for part in _parts(hypothesis):
        if isinstance(part, np.ndarray) and not part.dtype.hasobject:
            found.append(part.copy())
        elif part is None or isinstance(part, bool | int | float | complex | str | bytes | tuple | np.generic):
            found.append(part)
        else:
            return None
    return tuple(found)


def _equal(one: Any, other: Any) -> bool:
    """Whether two parts hold the same bits or the same numbers: NaN is NaN here."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other) or (one.shape == other.shape and one.tobytes() == other.tobytes())
    return type(one) is type(other) and repr(one) == repr(other)


def _same(one: Any, other: Any) -> bool:
    """Whether two hypotheses contain the same."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if hasattr(one, "__dict__"):
        return _same(vars(one), vars(other))
    return bool(one == other)
