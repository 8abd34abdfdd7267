"""Conversions: from the sequence of hypotheses to one model. This is the table of them."""

from __future__ import annotations

from onepass.conversions.average import Average
from onepass.conversions.candidates import Penalised, Validation
from onepass.conversions.choices import Choice, Choices, Conversion
from onepass.conversions.cutoff import Cutoff
from onepass.conversions.single import Last, Longest
from onepass.conversions.suffix import Suffix

__all__ = ["CONVERSIONS", "Choice", "Choices", "Conversion", "conversion_named"]

CONVERSIONS: dict[str, Conversion] = {
    one.name: one for one in (Cutoff(), Average(), Last(), Longest(), Suffix(), Penalised(), Validation())
}


def conversion_named(name: str) -> Conversion:
    """The conversion of this name."""
    if name not in CONVERSIONS:
        raise ValueError(f"conversion: one of {', '.join(CONVERSIONS)} expected, got {name!r}")
    return CONVERSIONS[name]
