"""Decimal text to float64, bit for bit what `float()` reads.

A number is `[+-] digits [. digits] [e [+-] digits]` with a digit somewhere before the exponent. Three ways, in order:

1. mantissa < 2^53 and |exponent| ≤ 22: both are exact floats, so one division or product rounds correctly.
2. up to 19 digits: the Eisel–Lemire product with a 128-bit power of five. See Lemire 2021, *Number parsing at a
   gigabyte per second*, and Mushtak & Lemire 2023, which proves that no case is left over.
3. more digits: the first 19, rounded down and up; if both give the same float it is the answer. Else DOUBTFUL, and the
   caller asks `float()`.

`number` reads any of them, byte after byte; `decimal` reads what most files hold, eight bytes at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import inlined, jit
from onepass.io.words import (
    POINTS,
    ZEROS,
    below,
    below_byte,
    blank,
    equal,
    joined,
    lowest,
    no_digits,
    place,
    right,
    whole,
)

READ, DOUBTFUL = 0, 1  # READ with nothing read is seen from the position, which then has not moved

SMALLEST, LARGEST = -342, 308  # 19 digits times a power of ten outside these is 0 or infinite, whatever the digits
TENS = np.array([10.0**k for k in range(23)])  # the powers of ten that are floats


def _powers_of_five() -> npt.NDArray[np.uint64]:
    """5^q for q = SMALLEST … LARGEST as 128-bit mantissas (high, low) with the top bit set.

    Negative powers are rounded up, the others down: what the proof of the product's error needs.
    """
    table = np.empty((LARGEST - SMALLEST + 1, 2), np.uint64)
    for q in range(SMALLEST, LARGEST + 1):
        if q < 0:
            five = 5**-q
            mantissa = (1 << (five.bit_length() + 127 if q >= -27 else 2 * five.bit_length() + 128)) // five + 1
        else:
            mantissa = 5**q << 128
        mantissa >>= mantissa.bit_length() - 128
        table[q - SMALLEST] = mantissa >> 64, mantissa & (2**64 - 1)
    return table


FIVES = _powers_of_five()


@jit
def _product(a: Any, b: Any) -> Any:
    """The 128 bits of a·b as (high, low)."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + (a0 * b0 >> half)
    carry = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> half) + (carry >> half), a * b


@jit
def _leading_zeros(w: Any) -> Any:
    zeros = np.uint64(0)
    for step in (32, 16, 8, 4, 2, 1):
        shift = np.uint64(step)
        if w >> (np.uint64(64) - shift) == np.uint64(0):
            w <<= shift
            zeros += shift
    return zeros


@jit
def _nearest(w: Any, q: Any) -> Any:
    """The bits of the float nearest to w·10^q (w > 0, ties to even); those of infinity when it is too large.

    w is shifted up to 64 bits and multiplied by the 128-bit 5^q; the second half of the product is needed only when the
    first leaves the 55 leading bits open. See Lemire 2021.
    """
    one = np.uint64(1)
    infinite = np.uint64(0x7FF) << np.uint64(52)
    if q < SMALLEST:
        return np.uint64(0)
    if q > LARGEST:
        return infinite
    zeros = _leading_zeros(w)
    w <<= zeros
    high, low = _product(w, FIVES[q - SMALLEST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _product(w, FIVES[q - SMALLEST, 1])
        low += more
        if more > low:
            high += one
    top = high >> np.uint64(63)
    shift = top + np.uint64(9)  # 64 − 52 − 3: a bit for the leading one, one to round by and one spare
    mantissa = high >> shift
    exponent = np.int64((217706 * q) >> 16) + 63 + np.int64(top) - np.int64(zeros) + 1023  # ⌊q·log2 10⌋ by 217706/2^16
    if exponent <= 0:  # subnormal, or zero
        if exponent <= -63:
            return np.uint64(0)
        mantissa >>= np.uint64(1 - exponent)
        mantissa += mantissa & one
        return mantissa >> one  # a mantissa that reaches 2^52 is the smallest normal float, by the same bits
    if low <= one and -4 <= q <= 23 and mantissa & np.uint64(3) == one and mantissa << shift == high:
        mantissa &= ~one  # exactly half way: to even
    mantissa += mantissa & one
    mantissa >>= one
    if mantissa >= one << np.uint64(53):
        mantissa = one << np.uint64(52)
        exponent += 1
    if exponent >= 0x7FF:
        return infinite
    return (mantissa & ~(one << np.uint64(52))) | (np.uint64(exponent) << np.uint64(52))


@jit
def _first_nineteen(text: Any, p: Any) -> Any:
    """(mantissa, exponent, more) of the number at p: its first 19 significant digits, and whether others follow."""
    mantissa, digits, exponent, point, more = np.uint64(0), np.int64(0), np.int64(0), False, False
    while True:
        c = text[p]
        p += np.uint64(1)
        if c == 46 and not point:
            point = True
            continue
        if c < 48 or c > 57:
            return mantissa, exponent, more
        if digits < 19:
            mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
            digits += mantissa > np.uint64(0)
            exponent -= point
        else:
            more |= c != 48
            exponent += not point


@jit
def _float_of(bits: Any) -> Any:
    return np.uint64(bits).view(np.float64)


@jit
def rounded(text: Any, p: Any, mantissa: Any, exponent: Any, digits: Any, scale: Any) -> Any:
    """(value, status) of a number beyond the first way; `scale` is the exponent as written, `digits` their number."""
    status = READ
    bits = np.uint64(0)
    if digits <= 19:
        more = False
    else:
        mantissa, exponent, more = _first_nineteen(text, p)
        exponent += scale
    if mantissa != np.uint64(0):
        bits = _nearest(mantissa, exponent)
        if more and _nearest(mantissa + np.uint64(1), exponent) != bits:
            status = DOUBTFUL
    return _float_of(bits), status


@jit
def number(text: Any, p: Any) -> Any:
    """(value, position after it, status) of the decimal number at `p`; the position is `p` if none stands there.

    `text` must hold a byte that is no part of a number at or after p: the reader's closing newline.
    """
    one = np.uint64(1)
    start = p
    negative = text[p] == 45
    if negative or text[p] == 43:
        p += one
    first = p
    mantissa = np.uint64(0)
    c = text[p]
    while 48 <= c <= 57:
        mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
        p += one
        c = text[p]
    digits = p - first
    exponent = np.int64(0)
    if c == 46:
        p += one
        point = p
        c = text[p]
        while 48 <= c <= 57:
            mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
            p += one
            c = text[p]
        exponent = -np.int64(p - point)
        digits += p - point
    if digits == np.uint64(0):
        return 0.0, start, READ
    scale = np.int64(0)
    if c == 101 or c == 69:
        p += one
        minus = text[p] == 45
        if minus or text[p] == 43:
            p += one
        begin = p
        c = text[p]
        while 48 <= c <= 57:
            if scale < 100_000_000:  # enough: no block of text holds digits to outweigh it
                scale = scale * 10 + np.int64(c - 48)
            p += one
            c = text[p]
        if p == begin:  # "1e": the number ends before the e
            return 0.0, start, READ
        if minus:
            scale = -scale
        exponent += scale
    status = READ
    if digits <= np.uint64(19) and mantissa < np.uint64(1 << 53) and -22 <= exponent <= 22:
        if exponent < 0:
            value = np.float64(mantissa) / TENS[-exponent]
        else:
            value = np.float64(mantissa) * TENS[exponent]
    else:
        value, status = rounded(text, first, mantissa, exponent, digits, scale)
    if negative:
        value = -value
    return value, p, status


@inlined
def short_feature(first: Any, second: Any) -> Any:
    """(index, its length, bytes of the whole) of the `index:value` that two words begin with, up to a blank.

    The length is 0 where no index stands, and the whole has 16 bytes where no blank is in sight.
    """
    near = blank(first)
    size = place(near) if near != np.uint64(0) else np.uint64(8) + place(blank(second))
    digits = first ^ ZEROS
    length = place(no_digits(digits))
    return joined(right(digits, length)), length, size


@inlined
def short_decimal(w: Any, size: Any) -> Any:
    """(mantissa, digits after the point, whether it is one) of a word's first bytes, so many: `digits [. digits]`."""
    if size == np.uint64(1):  # counts and yes or no
        digit = (w & np.uint64(0xFF)) ^ np.uint64(48)
        return digit, np.uint64(0), digit <= np.uint64(9)
    inside = below_byte(size)
    point = lowest(equal(w, POINTS) & inside)
    with_point = np.uint64(point != np.uint64(0))
    length = size - with_point
    digits = right(_without(w ^ ZEROS, inside, point), length)
    good = (size <= np.uint64(8)) & (length != np.uint64(0)) & (no_digits(digits) == np.uint64(0))
    return joined(digits), with_point * (length - place(point)), good


@jit
def decimal(first: Any, second: Any, third: Any) -> Any:
    """(value, bytes) of the number `digits [. digits]` that three words begin with, if it is plain; else 0 bytes.

    Plain is what most files hold: at most 19 digits that count, and a point among the first eight bytes if there are
    more than eight. What follows the number is for the caller to see.
    """
    size = place(blank(first))
    mantissa, after, good = short_decimal(first, size)
    if good and (size < np.uint64(8) or second & np.uint64(0xFF) <= np.uint64(32)):
        return np.float64(mantissa) / TENS[after], size
    return long_decimal(first, second, third)


@jit
def _without(digits: Any, inside: Any, point: Any) -> Any:
    """The bytes `inside`, without the one that is marked as the point."""
    behind = inside & ~((point << np.uint64(1)) - np.uint64(1))
    return (digits & below(point) & inside) | ((digits & behind) >> np.uint64(8))


@jit
def long_decimal(first: Any, second: Any, third: Any) -> Any:
    """The same for one with a point in the first word and at least eight digits: at most 20 of them."""
    none, last = (0.0, np.uint64(0)), np.uint64(56)
    point = lowest(equal(first, POINTS))
    digits = _without(first ^ ZEROS, ~np.uint64(0), point) | ((second ^ ZEROS) << last)
    if point == np.uint64(0) or no_digits(digits) != np.uint64(0):
        return none
    mantissa, length = whole(digits ^ ZEROS, (second >> np.uint64(8)) | (third << last), third >> np.uint64(8))
    if length - np.uint64(digits & np.uint64(0xFF) == np.uint64(0)) > np.uint64(19):
        return none
    after = length - place(point)
    if mantissa < np.uint64(1 << 53):
        return np.float64(mantissa) / TENS[after], length + np.uint64(1)
    return _float_of(_nearest(mantissa, -np.int64(after))), length + np.uint64(1)
