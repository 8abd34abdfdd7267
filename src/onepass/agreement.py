"""What the options of a pass come to with the labels that it has met: what rules, runs and certificates go by."""

from __future__ import annotations

import math

from onepass.conversions import conversion_named
from onepass.labels import Labels
from onepass.learners import Setting
from onepass.options import Options
from onepass.outputs import outputs_of
from onepass.runs import Frame
from onepass.trace import Terms
from onepass.trace.kinds import mistake_kinds


def setting_of(options: Options, labels: Labels, radius: float | None) -> Setting:
    """What a learner's rule follows from; None: rows are not scaled, or not yet."""
    if radius is None:
        return Setting(options.horizon, None, options.n_features)
    fan = 1.0 if outputs_of(labels.count) == 1 else 2.0
    return Setting(options.horizon, math.sqrt(fan * (radius * radius + options.bias)), options.n_features)


def frame_of(options: Options, labels: Labels, elapsed: int) -> Frame:
    """What a run must know that begins after so many rounds."""
    needs_log = options.cutoffs == "all" or conversion_named(options.conversion).from_log
    return Frame(
        outputs_of(labels.count),
        options.bias,
        options.n_features,
        options.widest,
        options.max_trace_memory,
        elapsed,
        needs_log,
        bool(options.watch),
        mistake_kinds(labels.count, options.costs(labels)).table,
    )


def terms_of(options: Options, labels: Labels, setting: Setting, loss_bound: float | None) -> Terms:
    """What certificates go by; the bound is that of the hinge loss, where it has one."""
    return Terms(
        options.learner,
        setting,
        labels.count,
        options.bias,
        loss_bound,
        options.horizon,
        options.cutoffs,
        labels.classes,
        options.expected_rows,
        options.positive,
        options.cost,
        None if options.target is None else (options.target.kind, options.target.limit),
    )
