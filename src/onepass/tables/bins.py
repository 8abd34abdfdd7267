"""Numbers that bend: beside its value a number lights the bin that it falls in, and its leading bits.

Borders come from the first rows: quantiles i/32 of the values, and of those that differ from the most frequent one, so
that a column of zeros with a long tail has bins where its values are. The leading three significant bits, with sign and
exponent, need no data and tell values apart that lie beyond the borders. Every bin and every such token has a place of
its own: exponents are taken modulo 32, so that only values 2^32 times as large as others share theirs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass.rows import Floats
from onepass.tables.plan import LEADING

PARTS = 32  # quantiles of a column
BITS = 3  # significant bits that are a feature of their own
STEPS = 2 ** (BITS - 1)  # of them between two powers of two
EXPONENTS = (LEADING - 1) // (2 * STEPS)  # that are told apart
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
    """The sign, exponent (modulo 32) and leading three significant bits of each value, as one number; 0 for 0.

    >>> leading(np.array([0.0, 320.0, 383.0, 384.0, -320.0])).tolist()
    [0, 38, 38, 39, 166]
    """
    fraction, exponent = np.frexp(np.abs(values))
    top = np.floor(fraction * 2**BITS).astype(np.int64) - STEPS
    code = 1 + STEPS * (exponent.astype(np.int64) % EXPONENTS + EXPONENTS * (values < 0.0)) + top
    return np.where(values == 0.0, 0, code)


def bin_name(name: str, borders: tuple[float, ...], code: int) -> str:
    """What a bin is called: `age in [35, 41)`."""
    low = f"[{borders[code - 1]:.6g}" if code else "(-∞"
    high = f"{borders[code]:.6g})" if code < len(borders) else "∞)"
    return f"{name} in {low}, {high}"


def leading_name(name: str, code: int, typical: float) -> str:
    """What a code of `leading` is called, near a typical value of the column: `duration ≈ 320–384`.

    >>> leading_name("duration", 38, 180.0), leading_name("x", 166, 2.0), leading_name("x", 0, 1.0)
    ('duration ≈ 320–384', 'x ≈ -320–-384', 'x = 0')
    """
    if code == 0:
        return f"{name} = 0"
    rest, top = divmod(code - 1, STEPS)
    negative, folded = divmod(rest, EXPONENTS)
    near = int(np.frexp(abs(typical))[1])
    exponent = near + (folded - near + EXPONENTS // 2) % EXPONENTS - EXPONENTS // 2
    step = 2.0 ** (exponent - BITS)
    low, sign = (STEPS + top) * step, "-" * negative
    return f"{name} ≈ {sign}{low:.6g}–{sign}{low + step:.6g}"
