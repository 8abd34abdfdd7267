"""What a page shows of a pass beyond its certificate, as plain values: no drawing here, and nothing that JSON lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onepass.certificates import Certificate, betting, certified_loss, dekel2008, dekel2008_a
from onepass.certificates.certify import counted_loss, largest_loss
from onepass.conversions import CONVERSIONS
from onepass.errors import ConversionError
from onepass.history import Point
from onepass.passes import Pass
from onepass.report.deployed import baseline, of_candidate
from onepass.trace import Evidence
from onepass.trace.grid import point

MOST_CUTOFFS = 64  # points of the curve over k
NO_CUTOFFS: dict[str, list[Any]] = {name: [] for name in ("k", "counted", "loss", "betting", "dekel2008")}


def of_pass(run: Any, points: Sequence[Point], certificate: Certificate | None = None) -> dict[str, Any]:
    """History, bound against k, survival times, every conversion and the deployed model of a pass.

    `certificate`: the one that the page speaks of; None: the pass's own.

    >>> run = Pass()
    >>> run.feed([[1.0], [-1.0], [2.0], [-2.0]], [1, 0, 1, 0])
    >>> found = of_pass(run, [])
    >>> sorted(found)
    ['baseline', 'conversions', 'cutoffs', 'deployed', 'history', 'martingale', 'survival', 'watched']
    >>> found["survival"]
    {'up_to': [1, 2], 'hypotheses': [2, 1], 'rounds': [2, 2]}
    """
    trace = run.trace()
    own = run.certificate()
    history = {name: [getattr(at, name) for at in points] for name in Point._fields if name != "drift"}
    tested = [at for at in points if at.drift is not None]
    martingale = {"rows": [at.rows for at in tested], "evidence": [at.drift for at in tested]}
    if own.loss == "cost":  # nobody counts what the hypotheses on the way would have cost
        history["loss"] = [at.mistakes / at.rounds for at in points]
    return {
        "watched": {name: getattr(own, name) for name in ("conversion", "delta", "bound", "loss")},
        "history": history,
        "martingale": martingale,
        "cutoffs": cutoffs(trace, run.delta * run.delta_share, run.loss) if _is_able(run, "cutoff") else NO_CUTOFFS,
        "survival": survival(trace),
        "conversions": conversions(run),
        "baseline": baseline(run),
        "deployed": of_candidate(run, certificate or own),
    }


def cutoffs(trace: Evidence, delta: float, loss: str | None = None) -> dict[str, list[Any]]:
    """For every cutoff k: the average loss of the rounds it counts, and what each theorem makes of it.

    All lines of one column hold together with probability 1 − δ: choosing among them is paid for.
    """
    loss = certified_loss(trace, "cutoff", loss)
    C = largest_loss(trace, loss)
    (block,) = CONVERSIONS["cutoff"].choices(trace, counted_loss(trace, loss))
    shown = np.flatnonzero(block.rounds > 0)
    if shown.size > MOST_CUTOFFS:
        places = np.geomspace(1, shown.size, MOST_CUTOFFS).astype(np.int64) - 1
        shown = shown[np.unique(places)]
    a = dekel2008_a(trace.rounds, trace.terms.horizon, delta, family=True)
    rounds, losses = block.rounds[shown], block.losses[shown]
    bets = [betting(int(block.rounds[i]), block.bets[i], float(delta * block.price[i])) for i in shown]
    return {
        "k": block.value[shown].tolist(),
        "counted": rounds.tolist(),
        "loss": (C * losses / rounds).tolist(),
        "betting": (C * np.array(bets)).tolist(),
        "dekel2008": (C * dekel2008(rounds, losses, a)).tolist(),
    }


def survival(trace: Evidence) -> dict[str, list[int]]:
    """How many hypotheses lived for 1, 2, 3–4, 5–8, … rounds, and how many rounds were theirs.

    From the tally, which compaction keeps; the hypothesis still in use is counted with the rounds it has.
    """
    tally = trace.with_living()
    runs, rounds = tally.runs, tally.rounds
    busy = np.flatnonzero(runs)
    longest = point(int(busy[-1]) + 1) if busy.size else 1
    ends = [1 << e for e in range((longest - 1).bit_length() + 1)]
    octave = [point(i).bit_length() for i in range(int(busy[-1]) + 1 if busy.size else 0)]
    hypotheses, lived = np.zeros((2, len(ends)), dtype=np.int64)
    np.add.at(hypotheses, octave, runs[: len(octave)])
    np.add.at(lived, octave, rounds[: len(octave)])
    return {"up_to": ends, "hypotheses": hypotheses.tolist(), "rounds": lived.tolist()}


def conversions(run: Pass) -> list[dict[str, Any]]:
    """Every conversion that this pass can give, certified at δ divided by their number, so that all hold together."""
    able = [name for name in CONVERSIONS if _is_able(run, name)]
    return [certified(run, name, run.delta / len(able)) for name in able]


def _is_able(run: Pass, conversion: str) -> bool:
    trace = run.trace()
    try:
        loss = certified_loss(trace, conversion, run.loss)
        next(CONVERSIONS[conversion].choices(trace, counted_loss(trace, loss)))
    except ConversionError:
        return False
    return not (CONVERSIONS[conversion].betting_only and run.bound == "dekel2008")


def certified(run: Pass, conversion: str, delta: float) -> dict[str, Any]:
    """The certificate of a conversion as plain values."""
    certificate = run.certificate(conversion, delta=delta)
    return {"informative": certificate.informative, **certificate.as_dict()}
