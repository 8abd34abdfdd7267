"""Monitor: rows that a deployed model meets, with labels or without, held against what was certified of it."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from onepass.certificates.betting import betting
from onepass.errors import DataError, ModelError
from onepass.guards.drift import new_jumper, ranks_among
from onepass.models import LinearModel, places
from onepass.monitoring.claims import Claim, certificate_of, claims_of, costs_of
from onepass.monitoring.kernels import BETS, MOST_POINTS, Capital, ClaimLimits, Watch, watch_rows
from onepass.monitoring.labelled_tables import labels_like, rows_and_labels
from onepass.monitoring.result import ClaimResult, MonitorResult, ScoresResult
from onepass.rows import Array, Dense, Floats, Ints, Rows, count
from onepass.tables.frames import is_table
from onepass.trace.tally import BETS as BOUND_BETS
from onepass.validate import accept
from onepass.watching.cells import EVEN_BINS

OUTWARD = 1.0 - 2.0**-50  # what a product may gain by rounding it loses here
NO_LABEL = np.array([-1])
INNER = np.flatnonzero(np.diff(EVEN_BINS))  # the borders of a histogram that stand between the bins of ranks
MOST_TABLES = 2  # classes up to which every pair of label and prediction is looked up


class Monitor:
    """A model in use: `observe` its rows, in batches or one by one, and ask for `result` at any time.

    Half of `delta` is for the risk, the other half is shared by the certified rates and the scores. Rows with labels
    must not be chosen by their labels or by whether the prediction was right.

    Parameters
    ----------
    model : LinearModel
        With its certificate, as `Pass.model` gives it or `LinearModel.load` reads it.
    delta : float, default 0.01
        A false alarm, although all that was certified is true, comes with at most this probability, however long the
        model is watched.
    risk : float or None, default None
        What the risk should be at most, in place of what was certified.
    seed : int, default 0
        Breaks ties among scores.

    Raises
    ------
    ModelError
        If the model has weights that are no numbers.
    ValueError
        If an argument cannot be so.

    Examples
    --------
    >>> from onepass import Pass
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 3))
    >>> run = Pass()
    >>> run.feed(X, np.where(X[:, 0] > 0, "up", "down"))
    >>> monitor = Monitor(run.model())
    >>> new = rng.normal(size=(1000, 3))
    >>> monitor.observe(new, np.where(new[:, 0] > 0, "up", "down"))
    ()
    >>> monitor.observe(new, np.where(new[:, 0] > 0, "down", "up"))[0]  # the world has turned round
    'the risk'
    """

    def __init__(self, model: LinearModel, *, delta: float = 0.01, risk: float | None = None, seed: int = 0) -> None:
        if not 0.0 < delta < 1.0:
            raise ValueError(f"delta: a number between 0 and 1 expected, got {delta!r}")
        if len(model.classes) < 2:
            raise ModelError("a model of one class is never wrong about it: there is nothing to watch")
        if not np.isfinite(model.weights).all():
            raise ModelError("its weights are no finite numbers, and so would be its scores")
        certificate = certificate_of(model.about)
        if risk is not None and not 0.0 < risk < (1.0 if certificate is None else certificate.loss_bound):
            raise ValueError(f"risk: a number above 0 and below the largest loss expected, got {risk!r}")
        self.model, self.delta, self.seed = model, float(delta), int(seed)
        self.risk = None if risk is None else float(risk)
        self.certificate = certificate
        self.claims = claims_of(certificate, model.classes, risk)
        self._limits = self._stated()
        self._codes = {label: place for place, label in enumerate(model.classes)}
        self._seed = np.uint64(self.seed % (1 << 64))
        self._watch = self._begun()

    def __repr__(self) -> str:
        return f"<Monitor: {self.rows:,} rows, {int(self._watch.rows[1]):,} with labels, {len(self.alarms)} alarms>"

    # --- what is tested -----------------------------------------------------------------------------------------------

    def _shares(self) -> tuple[Floats, float]:
        """(of each claim, of the scores): the part of δ that it may use."""
        tested = np.array([claim.bound is not None for claim in self.claims])
        others = int(tested[1:].sum()) + (self.model.scores is not None)
        main = 0.0 if not tested[0] else 0.5 if others else 1.0
        each = (1.0 - main) / others if others else 0.0
        shares = np.where(tested, each, 0.0)
        shares[0] = main
        return shares, each

    def _stated(self) -> ClaimLimits:
        classes = self.model.classes
        limits = np.array([claim.limit for claim in self.claims])
        shares, _ = self._shares()
        with np.errstate(divide="ignore"):
            alarm = np.where(shares > 0.0, 1.0 / (self.delta * shares), np.inf)
        fair = OUTWARD / (1.0 - BETS * (1.0 - limits[:, None]))
        of_class = np.full(len(classes) + (len(classes) > MOST_TABLES), -1)  # the last one: of other labels
        tables, costs = np.zeros((1, 1, 1)), costs_of(self.model.about, classes)
        if len(classes) <= MOST_TABLES:
            tables = np.array([claim.table(classes, costs) for claim in self.claims])
        else:
            if costs is not None:
                tables = self.claims[0].table(classes, costs)[None]
            for j, claim in enumerate(self.claims):
                if claim.name == "miss" and claim.label is not None:
                    of_class[classes.index(claim.label)] = j
        return ClaimLimits(fair, alarm, tables, of_class)

    def _begun(self) -> Watch:
        k = len(self.claims)
        counts = [np.zeros(k, dtype=np.int64) for _ in range(4)]
        capital = Capital(
            held=np.zeros((k, BETS.size)),
            counted=counts[0],
            total=np.zeros(k),
            growth=np.ones(k),
            grows_from=counts[1],
            peak=np.ones(k),
            rang=counts[2],
            since=counts[3],
        )
        rows, borders, alarm = np.zeros(6, dtype=np.int64), np.zeros(INNER.size), math.inf
        ranks = ranks_among(np.zeros((1, INNER.size + 1), dtype=np.int64))
        if (seen := self.model.scores) is not None:
            ranks, borders = ranks_of(seen.counts), seen.borders[INNER].copy()
            rows[2] = int(ranks[0, 0])
            alarm = 1.0 / (self.delta * self._shares()[1] * seen.price)
        return Watch(capital, ranks, borders, new_jumper(1), np.array([1.0, alarm]), rows, np.zeros((MOST_POINTS, 4)))

    # --- rows ---------------------------------------------------------------------------------------------------------

    def observe(self, X: Any, y: Any = None, *, other_labels: bool = False) -> tuple[str, ...]:
        """Watch these rows, in their order; y are their labels, if they have any. All that has rung comes back.

        A label that is unknown yet is NaN (or "" among texts). One that is none of the model's classes is an error, or
        with `other_labels` a row that is misjudged. Rows and labels are checked before the first is counted.

        A model that learned from a table takes tables: columns are found by name, and without y the labels are those of
        the table's own column, where it has the one that the model learned to predict.
        """
        model, argument = self.model, None if y is None else "y"
        if model.table is not None and is_table(X):
            X, y = rows_and_labels(X, model) if y is None else (model.rows_of(X), labels_like(y, model.table))
        codes = None if y is None else self._coded(y, other_labels, argument)
        if isinstance(X, np.ndarray) and X.ndim == 2 and len(X) == 1 and (codes is None or codes.size == 1):
            self._count(model.decision(X), NO_LABEL if codes is None else codes)  # nothing else need be looked at
            return self.alarms
        X = X if hasattr(X, "shape") or isinstance(X, Rows | Dense) else np.asarray(X)
        rows = count(accept(X))
        if codes is None:
            codes = np.full(rows, -1)
        if codes.size != rows:
            raise DataError(f"{codes.size:,} labels for {rows:,} rows", argument="y")
        for where, scores in model.decisions(X):  # all rows are looked at before the first comes
            self._count(scores, codes[where])
        return self.alarms

    def _count(self, scores: Floats, codes: Ints) -> None:
        chosen = places(scores, len(self.model.classes), self.model.cut)
        with np.errstate(over="ignore"):  # hashes wrap, of which uncompiled code would warn
            watch_rows(self._limits, self._watch, codes, chosen, _ranked(scores), self._seed)

    def _coded(self, y: Any, other_labels: bool, argument: str | None) -> Ints:
        """The places of the labels among the classes, behind them that of others; −1: not known yet."""
        given = np.asarray(y)
        if given.ndim != 1:
            raise DataError(f"one label a row expected, got an array of shape {given.shape}", argument="y")
        codes = np.array([self._codes.get(label, -1) for label in given.tolist()], dtype=np.int64)
        for i in np.flatnonzero(codes < 0).tolist():
            label = given[i : i + 1].tolist()[0]
            if not (label is None or label == "" or (isinstance(label, float) and math.isnan(label))):
                if other_labels:
                    codes[i] = len(self._codes)
                    continue
                names = ", ".join(map(str, self.model.classes[:10]))
                raise DataError(f"label {label!r} is not one of the model's classes {names}", argument=argument, row=i)
        return codes

    # --- what has come of it ------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Rows watched."""
        return int(self._watch.rows[0])

    @property
    def alarms(self) -> tuple[str, ...]:
        """What has rung, in words; nothing ever takes an alarm back."""
        if not self._watch.capital.rang.any() and not self._watch.rows[4]:
            return ()
        return self.result().alarms

    @property
    def path(self) -> Floats:
        """(looks, 4): row, log10 M of the risk, the largest of the rates', of the scores'; some 64 looks an octave."""
        return self._watch.points[: int(self._watch.rows[3])].copy()

    def result(self) -> MonitorResult:
        """What there is to say now."""
        watch, capital = self._watch, self._watch.capital
        claims = [self._claim_result(j, claim) for j, claim in enumerate(self.claims)]
        scores = None
        if (seen := self.model.scores) is not None:
            rang, since = int(watch.rows[4]), int(watch.rows[5])
            scores = ScoresResult(int(seen.counts.sum()), float(watch.score[0]), float(watch.score[1]), rang, since)
        assert capital.counted.size == len(claims)
        return MonitorResult(
            rows=self.rows,
            labelled=int(watch.rows[1]),
            delta=self.delta,
            risk=claims[0],
            rates=tuple(claims[1:]),
            scores=scores,
        )

    def _claim_result(self, j: int, claim: Claim) -> ClaimResult:
        capital = self._watch.capital
        n, total = int(capital.counted[j]), float(capital.total[j])
        ends = (
            claim.rate(1.0 - mean_bound(n, n - total, self.delta / 2)),
            claim.rate(mean_bound(n, total, self.delta / 2)),
        )
        return ClaimResult(
            claim=claim,
            counted=n,
            observed=claim.rate(total / n) if n else None,
            lower=min(ends),
            upper=max(ends),
            evidence=float(capital.peak[j]) if claim.bound is not None else 1.0,
            alarm_at=float(self._limits.alarm[j]),
            alarm=int(capital.rang[j]),
            since=int(capital.since[j]),
        )

    # --- its state ----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write down where it stands, atomically: a few hundred kilobytes at most, however many rows it has seen."""
        from onepass.monitoring.files import write

        write(path, self, self._watch)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: LinearModel) -> Monitor:
        """Go on from where `save` was called; a file that is damaged or of another model is refused (ModelError)."""
        from onepass.monitoring.files import read

        said, arrays = read(path, model)
        monitor = cls(model, delta=said["delta"], risk=said["risk"], seed=said["seed"])
        monitor.restore(arrays)
        return monitor

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take over arrays that a state file holds, checked against what this monitor can have."""
        from onepass.monitoring.files import checked

        self._watch = checked(arrays, self._watch)


def mean_bound(n: int, total: float, delta: float) -> float:
    """An upper bound on the average mean of n values in [0, 1] that add up to this, at all times at once."""
    return betting(n, total * np.log1p(-BOUND_BETS), delta)


def ranks_of(counts: Ints) -> Ints:
    """The bag with which ranks begin: what the histogram has counted."""
    return ranks_among(np.add.reduceat(counts, [0, *(INNER + 1)])[None])


def _ranked(scores: Floats) -> Floats:
    """What is ranked: of two classes the score, of several the lead of the best over the second."""
    if scores.ndim == 1:
        return np.ascontiguousarray(scores)
    top = np.partition(scores, -2, axis=1)
    return np.ascontiguousarray(top[:, -1] - top[:, -2])
