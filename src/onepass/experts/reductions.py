"""Sums, minima and exponentials over all experts, written so that the compiler vectorises them without fastmath.

Sums and minima fold quarters of the array onto each other: every step is elementwise, and the order depends on the
length alone, so the result is the same bits everywhere. Twice as fast as four partial sums.
"""

from __future__ import annotations

import numpy as np

from onepass._jit import jit


@jit
def fold(x, n):  # type: ignore[no-untyped-def]
    """Σ x[:n]. OUT: x, which needs room for n + 3."""
    while n > 8:
        q = (n + 3) // 4
        for i in range(n, 4 * q):
            x[i] = 0.0
        for i in range(q):
            x[i] = (x[i] + x[i + q]) + (x[i + 2 * q] + x[i + 3 * q])
        n = q
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


@jit
def least(x, scratch):  # type: ignore[no-untyped-def]
    """min x, which has no NaN. OUT: scratch."""
    n = x.size
    for i in range(n):
        scratch[i] = x[i]
    while n > 8:
        h = (n + 1) // 2
        for i in range(n - h):
            scratch[i] = scratch[i] if scratch[i] < scratch[i + h] else scratch[i + h]
        n = h
    low = scratch[0]
    for i in range(1, n):
        low = min(low, scratch[i])
    return low


@jit
def decay(eta, x, low, w):  # type: ignore[no-untyped-def]
    """w = exp(−η(x − low)) for x ≥ low, to 2 units in the last place; below exp(−700) it is 0. OUT: w.

    exp z = 2^k · exp r, k = round(z / ln 2), |r| ≤ ln 2 / 2, exp r by its Taylor series to r^13/13!. The compiler
    vectorises this and not libm's exp, which takes three times as long. k is rounded by adding 1.5·2^52, then stands
    in the low bits, from where it moves into the exponent of 2^k. At an infinite rate w is 1 for leaders, 0 for others.
    """
    if eta == np.inf:
        for i in range(x.size):
            w[i] = 1.0 if x[i] == low else 0.0
        return
    bits = w.view(np.int64)
    for i in range(x.size):
        z = -eta * (x[i] - low)
        w[i] = (z if z > -700.0 else -700.0) * 1.4426950408889634 + 6755399441055744.0
    for i in range(x.size):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(x.size):
        z = -eta * (x[i] - low)
        near = z if z > -700.0 else -700.0
        k = (near * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0
        r = (near - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10  # ln 2 in two parts: k·ln 2 exact
        p = 1.6059043836821613e-10
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 1.984126984126984e-04
        p = p * r + 1.388888888888889e-03
        p = p * r + 8.333333333333333e-03
        p = p * r + 4.1666666666666664e-02
        p = p * r + 1.6666666666666666e-01
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        w[i] = w[i] * p if z >= -700.0 else 0.0
