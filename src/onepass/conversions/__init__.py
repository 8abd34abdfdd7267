"""Conversions: from the sequence of hypotheses to one model."""

from __future__ import annotations

import importlib

from onepass import names
from onepass.conversions.choices import Choice, Choices, Conversion

__all__ = ["CONVERSIONS", "Choice", "Choices", "Conversion", "conversion_named"]

CONVERSIONS: dict[str, Conversion] = {
    name: getattr(importlib.import_module(f"onepass.conversions.{module}"), kind)()
    for name, (module, kind) in names.CONVERSIONS.items()
}


def conversion_named(name: str) -> Conversion:
    """The conversion of this name.

    Parameters
    ----------
    name : str
        "frozen", "cutoff", "average", …

    Returns
    -------
    Conversion
        The conversion.

    Raises
    ------
    ValueError
        If none has this name.

    Examples
    --------
    >>> conversion_named("cutoff").ensemble
    True
    """
    if name not in CONVERSIONS:
        raise ValueError(f"conversion: one of {', '.join(CONVERSIONS)} expected, got {name!r}")
    return CONVERSIONS[name]
