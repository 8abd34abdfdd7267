"""Text eight bytes at a time: words of 64 bits, the first byte lowest.

A loop over digits asks at every byte whether the number goes on, and the processor guesses wrong once a number. Here
eight bytes are asked at once, by arithmetic that has nothing to guess. *Marks* are words with the top bit of some bytes
set; since carries run upwards, the lowest mark is exact, and those above it may be false. See Lemire 2021.

Only two functions take the text: numba counts references to an array in every function that is handed one, which takes
longer than reading a number does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass._jit import jit, trailing_zeros

PAD = 24  # bytes that must follow a text: three words are read from any of its bytes on

NONE, ONE = np.uint64(0), np.uint64(1)
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
BLANKS = np.uint64(0x2121212121212121)  # the first byte above the space, everywhere
POINTS, ZEROS = np.uint64(0x2E2E2E2E2E2E2E2E), np.uint64(0x3030303030303030)
BEYOND_NINE = np.uint64(0x7676767676767676)  # carries a byte above 9 into its top bit

POWERS = np.array([10**k for k in range(9)], np.uint64)


@jit
def word(text: Any, p: Any) -> Any:
    """The eight bytes at p (the compiler makes one load of them)."""
    w = np.uint64(text[p])
    w |= np.uint64(text[p + np.uint64(1)]) << np.uint64(8)
    w |= np.uint64(text[p + np.uint64(2)]) << np.uint64(16)
    w |= np.uint64(text[p + np.uint64(3)]) << np.uint64(24)
    w |= np.uint64(text[p + np.uint64(4)]) << np.uint64(32)
    w |= np.uint64(text[p + np.uint64(5)]) << np.uint64(40)
    w |= np.uint64(text[p + np.uint64(6)]) << np.uint64(48)
    w |= np.uint64(text[p + np.uint64(7)]) << np.uint64(56)
    return w


@jit
def three_words(text: Any, p: Any) -> Any:
    """The 24 bytes at p."""
    return word(text, p), word(text, p + np.uint64(8)), word(text, p + np.uint64(16))


@jit
def equal(w: Any, pattern: Any) -> Any:
    """Marks on the bytes that are the pattern's."""
    w ^= pattern
    return (w - ONES) & ~w & TOPS


@jit
def blank(w: Any) -> Any:
    """Marks on spaces and control characters."""
    return (w - BLANKS) & ~w & TOPS


@jit
def no_digits(digits: Any) -> Any:
    """Marks on bytes above 9."""
    return ((digits + BEYOND_NINE) | digits) & TOPS


@jit
def lowest(marks: Any) -> Any:
    """The lowest mark alone; 0 if there is none."""
    return marks & (~marks + ONE)


@jit
def below(mark: Any) -> Any:
    """All bits of the bytes below a single mark; all bits if there is none."""
    return (mark >> np.uint64(7)) - ONE


@jit
def below_byte(size: Any) -> Any:
    """All bits of the first bytes, 1 to 8."""
    return ~NONE >> ((~(size << np.uint64(3)) + ONE) & np.uint64(63))


@jit
def place(mark: Any) -> Any:
    """The byte that the lowest mark is on; 8 if there is none."""
    return trailing_zeros(mark) >> np.uint64(3)


@jit
def right(digits: Any, length: Any) -> Any:
    """The first bytes, 1 to 8, moved to the end: what stood behind them falls off, zeros come before."""
    return digits << ((~(length << np.uint64(3)) + ONE) & np.uint64(63))


@jit
def joined(digits: Any) -> Any:
    """The number that eight digits (bytes 0 to 9) make: pairs, fours, eight."""
    pairs = ((digits * np.uint64(1 + (10 << 8))) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    fours = ((pairs * np.uint64(1 + (100 << 16))) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(1 + (10_000 << 32))) >> np.uint64(32)


@jit
def first_digits(w: Any) -> Any:
    """(the number they make, how many) of the digits that a word begins with."""
    digits = w ^ ZEROS
    length = place(no_digits(digits))
    return joined(right(digits, length)) if length != NONE else NONE, length


@jit
def whole(first: Any, second: Any, third: Any) -> Any:
    """(number modulo 2^64, how many digits) of the digits that three words begin with."""
    number, length = first_digits(first)
    if length == np.uint64(8):
        more, size = first_digits(second)
        number, length = number * POWERS[size] + more, length + size
        if size == np.uint64(8):
            more, size = first_digits(third)
            number, length = number * POWERS[size] + more, length + size
    return number, length
