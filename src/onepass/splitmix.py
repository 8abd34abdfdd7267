"""splitmix64: a hash of 64 bits from 64 bits. See steele2014 (G. Steele, D. Lea, C. Flood, *Fast splittable
pseudorandom number generators*, OOPSLA 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass._jit import allocating

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: the step from one state to the next


@allocating  # of an array of words
def finalize(z: Any) -> Any:
    """splitmix64's output function: every bit of z, a word or an array of words, reaches every bit of the result.

    It is one to one. Outside compiled code NumPy warns of the products that wrap, unless told not to.

    >>> hex(finalize(GOLDEN))  # the first output for the seed 0
    '0xe220a8397b1dcdaf'
    """
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
