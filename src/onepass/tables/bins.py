"""Numbers that bend: beside its value a number lights the bin that it falls in, and its leading bits.

Borders come from the first rows: quantiles i/32 of the values, and of those that differ from the most frequent one, so
that a column of zeros with a long tail has bins where its values are. The leading three significant bits, with sign and
exponent, need no data and tell values apart that lie beyond the borders.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass.rows import Floats

PARTS = 32  # quantiles of a column
BITS = 3  # significant bits that are a feature of their own
Codes = npt.NDArray[np.int64]


def borders_of(values: Floats, parts: int = PARTS) -> tuple[float, ...]:
    """The borders that the first values of a column give; none where they are all alike.

    >>> borders_of(np.array([0.0] * 90 + list(range(1, 11))), 4)
    (0.0, 1.0, 4.0, 6.0, 8.0)
    """
    values = values[np.isfinite(values)]
    if not values.size:
        return ()
    kinds, counts = np.unique(values, return_counts=True)
    others = values[values != kinds[counts.argmax()]]
    found = set[float]()
    for some in (values, others):
        if some.size:
            found |= {float(np.quantile(some, i / parts, method="higher")) for i in range(parts)}
    return tuple(sorted(found)) if len(found) > 1 else ()


def bins_of(values: Floats, borders: Floats) -> Codes:
    """The bin of each value: 0 below the first border, else the number of borders at or below it."""
    return np.searchsorted(borders, values, side="right").astype(np.int64)


def leading(values: Floats) -> Codes:
    """The sign, exponent and leading three significant bits of each value, as one number; 0 for 0.

    >>> leading(np.array([0.0, 320.0, 383.0, 384.0, -320.0])).tolist()
    [0, 4330, 4330, 4331, -4330]
    """
    fraction, exponent = np.frexp(np.abs(values))
    top = np.floor(fraction * 2**BITS).astype(np.int64) - 2 ** (BITS - 1)
    code = 1 + (exponent.astype(np.int64) + 1073) * 2 ** (BITS - 1) + top  # from 1 on, for all numbers that there are
    return np.where(values == 0.0, 0, np.sign(values).astype(np.int64) * code)


def bin_name(name: str, borders: tuple[float, ...], code: int) -> str:
    """What a bin is called: `age in [35, 41)`."""
    low = f"[{borders[code - 1]:.6g}" if code else "(-∞"
    high = f"{borders[code]:.6g})" if code < len(borders) else "∞)"
    return f"{name} in {low}, {high}"


def leading_name(name: str, value: float) -> str:
    """What a value's leading bits are called, by one of those that have them: `duration ≈ 320–383`."""
    fraction, exponent = np.frexp(abs(value))
    step = 2.0 ** (int(exponent) - BITS)
    low = np.floor(fraction * 2**BITS) * step
    sign = "-" if value < 0 else ""
    return f"{name} ≈ {sign}{low:.6g}–{sign}{low + step:.6g}"
