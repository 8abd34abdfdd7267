"""Learners at work: `linear` (a head, a log, columns), `shifted` (lazy sums), behind one face, `LearnerRun`."""

from __future__ import annotations

from onepass.background import Background
from onepass.learners import Learner
from onepass.rows import Floats
from onepass.runs.adaptive import AdaptiveRun
from onepass.runs.carrying import Carried
from onepass.runs.linear import LinearRun
from onepass.runs.run import RENEW, Frame, LearnerRun, UnsoundError
from onepass.runs.shifted import ShiftedRun

__all__ = ["RENEW", "Carried", "Frame", "LearnerRun", "LinearRun", "ShiftedRun", "UnsoundError", "begin"]


def begin(learner: Learner, frame: Frame, background: Background, origin: Floats | Carried | None) -> LearnerRun:
    """The learner, ready for its first row."""
    if learner.deltas:
        assert origin is None or isinstance(origin, Carried)
        return AdaptiveRun(learner, frame, background, origin)
    assert not isinstance(origin, Carried)
    if learner.keeps_rows:
        return LinearRun(learner, frame, background, origin)
    return ShiftedRun(learner, frame, background)
