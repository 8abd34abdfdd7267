"""Cutoff averaging for any conservative learner and any hypothesis that adds and scales."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from onepass.certificates import Certificate, certify, check
from onepass.errors import ConversionError, DataError
from onepass.learners import Perceptron, Setting
from onepass.trace import Survivor, Terms, Trace
from onepass.trace.grid import BINS, floor_index, point
from onepass.trace.tally import charge, empty_tally

BELOW_ONE = np.nextafter(1.0, 0.0)  # no positive loss is rounded away


class CutoffAverager:
    """Watch a learner of your own; get its cutoff average and the certificate.

    Hypotheses may be arrays, tuples, lists and dicts of arrays (mapped over), or any object with `+` and `*` by a
    number. Losses lie in [0, loss_bound]. With `convex=True` (the loss is convex in the hypothesis) the certificate
    speaks of the average itself, else of the members that it was made of.

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
        self._then: Any = None  # a copy of it, as it was when it made its loss, if it did

    def observe(self, hypothesis: Any, loss: float, rounds: int = 1) -> None:
        """The hypothesis in use and the loss it made on this round's example; call it before the update.

        Several `rounds` at once: it was in use on all of them, and made this loss on the last and none before.

        Give a new object if the hypothesis changed, the same object if it survived. A run ends with a positive loss, or
        when another object comes.
        """
        loss = float(loss)
        if rounds < 1:
            raise ValueError(f"rounds: at least 1 expected, got {rounds!r}")
        if not 0.0 <= loss <= self.loss_bound:
            raise DataError(
                f"loss: round {self.rounds + rounds} has {loss}, outside [0, {self.loss_bound}] (loss_bound)"
            )
        if hypothesis is self._now and self._then is not None and not _same(hypothesis, self._then):
            raise DataError(
                "hypothesis: changed in place after a loss; what went before it is gone. "
                "Make the update return a new object: w = w + x, not w += x"
            )
        if self.rounds == 0:
            self._default = _scaled(hypothesis, 1.0)
        elif hypothesis is not self._now and self.rounds > self._since:
            self._end_run(0.0)
        self._now, self._then = hypothesis, copy.deepcopy(hypothesis) if loss > 0.0 else None
        self.rounds += rounds
        if loss > 0.0:
            self._end_run(loss)

    def _end_run(self, loss: float) -> None:
        survival = self.rounds - self._since
        group = floor_index(survival - 1)
        self._tally.runs[group] += 1
        self._tally.rounds[group] += survival
        margin = min(1.0 - loss / self.loss_bound, BELOW_ONE) if loss > 0.0 else 1.0
        charge(self._tally, group, margin, 1.0)
        low = floor_index(survival)
        part = (survival - point(low)) / (point(low + 1) - point(low))
        for index, share in ((low, 1.0 - part), (low + 1, part)):
            if share:
                added = _scaled(self._now, share)
                self._columns[index] = _plus(self._columns[index], added) if index in self._columns else added
        if self._first is None:
            self._first = Survivor(0, survival, margin)
        self._since, self._runs = self.rounds, self._runs + 1

    def certificate(self) -> Certificate:
        """The certificate so far; it holds at every round at once."""
        trace = Trace(
            terms=Terms(
                Perceptron(), Setting(), loss_bound=1.0
            ),  # losses in units of their bound: a small one would be lost beside 1
            rounds=self.rounds,
            updates=self._runs,
            last=np.zeros((1, 1)),
            alive=self.rounds - self._since,
            tally=self._tally,
            first=self._first or Survivor(0, self.rounds, None),
            log=None,
            columns=None,
        )
        found = certify(trace, "cutoff", delta=self.delta, bound=self.bound, loss="hinge")
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
        certificate = self.certificate()
        k = certificate.k or 0
        parts = [(self._columns[i], point(i) - k) for i in sorted(self._columns) if point(i) > k]
        survival = self.rounds - self._since
        if survival > k:
            parts.append((self._now, survival - k))
        if k > 0:
            parts.append((self._default, 1))
        total = reduce(_plus, (_scaled(part, weight) for part, weight in parts))
        return _scaled(total, 1.0 / certificate.counted), certificate


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
