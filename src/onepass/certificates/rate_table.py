"""The rates of a model for a terminal: a short table, and in one line what holds together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onepass.certificates.rounding import probability_text, round_down, round_up
from onepass.errors import label_text
from onepass.text_table import text_table

if TYPE_CHECKING:
    from onepass.certificates.rates import Rate, Rates

SHOWN = 8  # rates of several classes; --json has all
NAMES = {"miss": "miss rate", "false alarm": "false-alarm rate"}


def lines(rates: Rates) -> list[str]:
    """What `train` and `inspect` print of them."""
    shown, left_out = _shown(rates.rates)
    table = [("rate", "certified", "observed", "rows"), *map(_cells, shown)]
    said = [*text_table([[str(cell) for cell in row] for row in table], "<>").splitlines()]
    if left_out:
        said.append(f"({left_out:,} more classes, whose bounds are smaller: --json has all)")
    free = [_name(rate) for rate in rates.rates if rate.free]
    follows = f" (δ shared out among {rates.parts}; {free[0]} follows)" if free else ""
    whose = " of the ensemble's members, on average" if rates.covers == "members" else ""
    said.append(f"With probability {probability_text(rates.delta)} all of them hold together{whose}{follows}.")
    return said


def _shown(rates: Sequence[Rate]) -> tuple[list[Rate], int]:
    """(those with the largest bounds, how many are left out); what follows from others stays."""
    paid = [rate for rate in rates if not rate.free]
    if len(paid) <= SHOWN:
        return list(rates), 0
    worst = sorted(paid, key=lambda rate: -rate.bound)[:SHOWN]
    return [*worst, *(rate for rate in rates if rate.free)], len(paid) - SHOWN


def _name(rate: Rate) -> str:
    if rate.name == "joint miss":
        return f"misjudged rows of {label_text(rate.label)}"
    name = NAMES.get(rate.name, rate.name)
    return name if rate.label is None else f"{name} of {label_text(rate.label)}"


def _cells(rate: Rate) -> tuple[str, str, str, str]:
    bound = f"≤ {round_up(rate.bound)}" if rate.at_most else f"≥ {round_down(rate.bound)}"
    observed = "–" if math.isnan(rate.observed) else f"{rate.observed:.4f}"
    return _name(rate), bound if rate.informative else "nothing yet", observed, f"{rate.counted:,}"
