"""The Trace: what a pass leaves behind, its evidence and its hypotheses together."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from onepass.rows import Floats, Ints
from onepass.trace.columns import Columns, empty_columns
from onepass.trace.evidence import Evidence
from onepass.trace.hypotheses import Hypotheses
from onepass.trace.log import Log


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace(Evidence):
    """Evidence, from which certificates are made, with the hypotheses, from which models are.

    Attributes
    ----------
    terms : Terms
        What was declared before the first row.
    rounds : int
        Rows learned from.
    updates : int
        Hypotheses that have ended.
    alive : int
        Rounds that the living hypothesis has been in use.
    tally : Tally
        Of the finished hypotheses, on the bins of the cutoff grid.
    first : Survivor
        The default hypothesis.
    ended : Updates or None, default None
        Every finished hypothesis by itself, while the log is kept.
    pocket : Survivor or None, default None
        The longest survivor, where it is not to be found in `ended`.
    candidates : CandidateLosses or None, default None
        Of the conversion `validation`.
    watched : WatchedEvidence or None, default None
        What is known of watched models.
    void : tuple of str, default ()
        Reasons why no certificate may be given.
    assumed : tuple of str, default ()
        What certificates must say beyond their own assumptions.
    merged : bool, default False
        Whether several runs left this.
    fineness : int, default 3
        Significant bits of the cutoffs that may be chosen.
    dropped : bool, default False
        Whether the log was let go, since the declared conversion does not need it.
    settled : SettledCutoff or None, default None
        The rounds that a cutoff counts, where it was chosen wave by wave.
    transitions : LabelTransitions or None, default None
        Of the labels in the order fed, where the order alarm was on.
    streams : tuple of int, default ()
        A hash of the rows fed, for each part merged, where the repeat alarm was on.
    duplicates : Duplicates or None, default None
        How often rows came, where that was counted.
    drift : DriftEvidence or None, default None
        That the rows drift; None: not tested, since no model was watched.
    hypotheses : Hypotheses
        The log of the updates, or the columns it became.
    elapsed : int, default 0
        Rounds before the first, which a falling learning rate has seen.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Pass
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> run = Pass("margin", conversion="average", radius=3.0, classes=[0, 1], horizon=400)
    >>> run.feed(X, X[:, 0] > 0)
    >>> trace = run.trace()
    >>> trace.rounds, int(trace.survival.sum()), trace.survival.size == trace.updates + 1
    (400, 400, True)
    """

    hypotheses: Hypotheses
    elapsed: int = 0  # rounds before the first, which a falling learning rate has seen

    @property
    def last(self) -> Floats:
        """The living hypothesis, (1 + features, outputs), intercept first."""
        return self.hypotheses.last

    @property
    def survival(self) -> Ints:
        """Rounds that each member was in use."""
        if self.dropped:
            self.need_updates("the survival of every hypothesis")
        return self.hypotheses.survival

    @property
    def log(self) -> Log | None:
        """The updates, while they are kept."""
        return self.hypotheses.log

    @property
    def columns(self) -> Columns | None:
        """What they became when they outgrew their room."""
        return self.hypotheses.columns

    def evidence(self) -> Evidence:
        """The evidence alone, without what later rows would overwrite: each hypothesis by itself."""
        parts = {part.name: getattr(self, part.name) for part in fields(Evidence)}
        pocket = self.pocket if self.pocket is not None or self.dropped else self.longest
        return Evidence(**{**parts, "ended": None, "pocket": pocket})

    def compact(self) -> Trace:
        """The same trace with its log folded into columns."""
        log = self.log
        if self.dropped:
            self.need_updates("this")
        if log is None:
            return self
        width = len(self.last) - 1
        columns = empty_columns(width, self.terms.outputs, 1 << 62, self.hypotheses.origin)
        columns = columns.add(log, self.terms.bias, width)
        hypotheses = replace(self.hypotheses, log=None, columns=columns)
        pocket = columns.longest(self.updates, self.alive)
        return replace(self, ended=None, pocket=pocket, fineness=columns.bits, hypotheses=hypotheses)


def combine(trace: Trace, q: Ints) -> Floats:
    """Σ_j q_j·w_j / Σ_j q_j: one weight vector, intercept first, from integer weights q.

    Parameters
    ----------
    trace : Trace
        With its hypotheses w_j.
    q : array of int
        The weight of each member, not negative.

    Returns
    -------
    array of float
        (1 + features, outputs).

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Pass
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> run = Pass("margin", conversion="average", radius=3.0, classes=[0, 1], horizon=400)
    >>> run.feed(X, X[:, 0] > 0)
    >>> average = combine(run.trace(), run.trace().survival)
    >>> bool((average == run.model().weights).all())
    True
    """
    return trace.hypotheses.combine(q)
