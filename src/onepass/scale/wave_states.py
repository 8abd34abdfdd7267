"""What a run on several machines has come to at the end of a wave, in values that a checkpoint can hold, and back.

Whatever a file says, it is looked at before it is used: kinds, shapes, and that counts are counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.guards.drift import ChunkDrift
from onepass.guards.duplicates import check_duplicates
from onepass.guards.order import LabelTransitions, order_state
from onepass.learners import Learner, Setting
from onepass.regimes import Regime
from onepass.runs.carrying import SUMS, Carried
from onepass.scale.summaries import Summary
from onepass.scale.tasks import WaveStart
from onepass.state_checks import is_count, need, need_all_alike, need_fields
from onepass.tables.feature_names import NAMES, FeatureNames
from onepass.tables.plan import TablePlan
from onepass.trace import SettledCutoff, Survivor, Terms
from onepass.trace.tally import empty_tally

WHAT = "the waves done"
COUNTS = ("first_chunk", "last_chunk", "rows", "rounds", "updates", "width", "bits", "skipped")


def plain_terms(terms: Terms) -> tuple[Any, ...]:
    """Without the learner, which the options name."""
    return (tuple(terms.setting), *terms[2:])


def terms_from(state: Any, learner: Learner, classes: int) -> Terms:
    """What `plain_terms` made, of a run of this learner with so many classes."""
    need(isinstance(state, tuple) and len(state) == len(Terms._fields) - 1, WHAT)
    need(isinstance(state[0], tuple) and len(state[0]) == len(Setting._fields), WHAT)
    terms = Terms(learner, Setting(*state[0]), *state[1:])
    need(terms.classes == classes and isinstance(terms.labels, tuple) and len(terms.labels) == classes, WHAT)
    return terms


def plain_summary(summary: Summary | None) -> dict[str, Any] | None:
    """All of it but the terms, which all summaries of a run share."""
    if summary is None:
        return None
    plain = summary._asdict()
    del plain["terms"], plain["watched"]
    plain["labels"] = tuple(summary.labels)
    plain["drift"] = tuple(tuple(one) for one in summary.drift)
    plain["names"] = None if summary.names is None else tuple(summary.names.arrays().values())
    return plain


def summary_from(state: Any, terms: Terms, table: TablePlan | None) -> Summary | None:
    """What `plain_summary` made."""
    if state is None:
        return None
    need_fields(state, set(Summary._fields) - {"terms", "watched"}, WHAT)
    need(all(is_count(state[name]) for name in COUNTS) and state["rounds"] <= state["rows"], WHAT)
    for name in ("void", "assumed"):
        need(isinstance(state[name], tuple) and all(isinstance(text, str) for text in state[name]), WHAT)
    need(state["dense"] is None or is_count(state["dense"]), WHAT)
    need(state["columns"] is None or isinstance(state["columns"], tuple), WHAT)
    need_tally(state["tally"])
    need(isinstance(state["opening"], Survivor) and isinstance(state["longest"], Survivor | None), WHAT)
    if state["duplicates"] is not None:
        check_duplicates(state["duplicates"])
    names = state["names"]
    if names is not None:
        need(table is not None and isinstance(names, tuple) and len(names) == len(NAMES), WHAT)
        need([getattr(array, "dtype", None) for array in names] == [np.int64, np.int64, np.uint8], WHAT)
    made = {
        "terms": terms,
        "labels": _labels(state["labels"], terms.classes),
        "drift": _drift(state["drift"]),
        "names": None
        if names is None or table is None
        else FeatureNames.from_arrays(table, dict(zip(NAMES, names, strict=True))),
    }
    return Summary(**(state | made))


def _labels(state: Any, classes: int) -> LabelTransitions:
    need(isinstance(state, tuple) and len(state) == len(LabelTransitions._fields), WHAT)
    found, pattern = LabelTransitions(*state), order_state(classes)
    for counts, like in ((found.pairs, pattern.pairs), (found.seen, pattern.seen)):
        need(isinstance(counts, np.ndarray) and counts.dtype == like.dtype and counts.shape == like.shape, WHAT)
        need(bool((counts >= 0).all()), WHAT)
    need(all(type(one) is int and -1 <= one < len(found.seen) for one in (found.first, found.last)), WHAT)
    return found


def _drift(state: Any) -> tuple[ChunkDrift, ...]:
    need(isinstance(state, tuple) and all(isinstance(one, tuple) and len(one) == 4 for one in state), WHAT)
    found = tuple(ChunkDrift(*one) for one in state)
    need(all(is_count(one.chunk) and is_count(one.tested) for one in found), WHAT)
    need(all(type(log) is float and np.isfinite(log) for one in found for log in one[2:]), WHAT)
    return found


def need_tally(tally: Any) -> None:
    """Lines that go together, of whole numbers that count."""
    need_all_alike(tally, empty_tally(1), WHAT)
    lines = len(tally.runs)
    need(all(len(part) == lines for part in tally[:-2]) and all(part.shape[1:] for part in tally[-2:]), WHAT)
    need(all(bool((part >= 0).all()) for part in tally[:-2]) and bool(np.isfinite(tally.logs).all()), WHAT)


def plain_settled(settled: list[SettledCutoff]) -> tuple[Any, ...]:
    return tuple(tuple(one) for one in settled)


def settled_from(state: Any) -> list[SettledCutoff]:
    """What `plain_settled` made."""
    need(isinstance(state, tuple) and all(isinstance(one, tuple) and len(one) == 4 for one in state), WHAT)
    found = [SettledCutoff(*one) for one in state]
    for one in found:
        need(is_count(one.k) and is_count(one.rounds) and type(one.price) is float and 0.0 < one.price <= 1.0, WHAT)
        need_tally(one.tally)
    return found


def plain_start(start: WaveStart | None) -> tuple[Any, ...] | None:
    if start is None:
        return None
    return (tuple(start.origin) if isinstance(start.origin, Carried) else (start.origin,)), start.elapsed


def start_from(state: Any, outputs: int, carries: bool) -> WaveStart | None:
    """What `plain_start` made; `carries`: whether a run of the learner starts from more than weights."""
    if state is None:
        return None
    need(isinstance(state, tuple) and len(state) == 2 and is_count(state[1]), WHAT)
    arrays, widths = state[0], [outputs, SUMS][: 1 + carries]
    need(isinstance(arrays, tuple) and len(arrays) == len(widths), WHAT)
    for array, width in zip(arrays, widths, strict=True):
        need_vector(array, width)
    return WaveStart(Carried(*arrays) if carries else arrays[0], state[1])


def need_vector(array: Any, width: int) -> None:
    """Finite numbers, (1 + features, width)."""
    fine = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.ndim == 2 and len(array) > 0
    need(fine and array.shape[1] == width and bool(np.isfinite(array).all()), WHAT)


def regimes_from(state: Any, rows: int) -> tuple[Regime, ...]:
    """Regimes that have ended, of so many rows."""
    need(
        isinstance(state, tuple) and all(isinstance(one, tuple) and len(one) == len(Regime._fields) for one in state),
        WHAT,
    )
    found, end = tuple(Regime(*one) for one in state), 0
    for one in found:
        need(all(is_count(number) for number in (one.first, one.last, one.mistakes, one.since)), WHAT)
        need(one.first == end + 1 and one.first <= one.last <= rows, WHAT)
        need(type(one.evidence) is float and one.evidence >= 1.0 and one.score in ("signed", "unsigned"), WHAT)
        end = one.last
    return found
