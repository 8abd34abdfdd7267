"""A game of prediction with expert advice, drawn: who was trusted when, and regret against its bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onepass.experts.run import Run
from onepass.report.style import figure

SHOWN = 7  # experts with a line of their own; the eighth colour is for the rest together
POINTS = 2000  # of a curve; more cannot be seen


def draw(run: Run, path: str | Path, names: Sequence[str] | None = None) -> None:
    """Two panels in one file (.png, .svg, .pdf): the weights over time, and the regret under its bound."""
    experts = run.expert_losses.size
    names = names or [f"expert {i}" for i in range(experts)]
    trusted = np.argsort(-run.weights.mean(axis=0), kind="stable")[:SHOWN]
    rest = np.delete(run.weights, trusted, axis=1)
    at = np.unique(np.linspace(0, run.losses.size - 1, POINTS).astype(np.int64))
    rounds = run.start + 1 + at
    with figure(path, rows=2, size=(7.0, 6.4)) as (above, below):
        for i in trusted:
            above.plot(run.times, run.weights[:, i], label=names[i])
        if rest.shape[1]:
            above.plot(run.times, rest.sum(axis=1), "--", label=f"the other {rest.shape[1]}")
        above.set(title=f"{run.rule}: {experts} experts, {run.rounds:,} rounds", ylabel="weight", ylim=(-0.02, 1.02))
        above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
        below.plot(rounds, run.regrets[at], label="regret")
        below.plot(rounds, (run.bounds - run.best_losses)[at], "--", label="its bound")
        below.axhline(0.0, color="black", linewidth=0.8)
        below.set(xlabel="round", ylabel="loss above the best expert's")
        below.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
