"""Names to numbers by Vowpal Wabbit's rules: MurmurHash3 (x86, 32 bits), and numbers that stand for themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import jit


@jit
def murmur3(text: Any, start: Any, stop: Any, seed: Any) -> Any:
    """MurmurHash3_x86_32 of text[start:stop], in the low half of a uint64. See Appleby 2011 (public domain)."""
    low, four, eight = np.uint64(0xFFFFFFFF), np.uint64(4), np.uint64(8)
    h, p = seed & low, start
    while p + four <= stop:
        h = _stirred(h, _four(text, p))
        p += four
    k, q = np.uint64(0), stop
    if p > start and p < stop:  # the last four bytes without those that are done
        k = _four(text, stop - four) >> eight * (four + p - stop)
        q = p
    while q > p:
        q -= np.uint64(1)
        k = k << eight | np.uint64(text[q])
    return _finished(h ^ _scrambled(k) ^ (stop - start))  # no byte left: k = 0, and 0 is scrambled to 0


@jit
def murmur3_short(text: Any, size: Any, seed: Any) -> Any:
    """The same of at most eight bytes, given as a word, the first byte lowest, with zeros behind them."""
    low, four, eight = np.uint64(0xFFFFFFFF), np.uint64(4), np.uint64(8)
    h, k = seed & low, text & low
    if size >= four:
        h = _stirred(h, k)
        k = text >> np.uint64(32)
    if size == eight:
        h = _stirred(h, k)
        k = np.uint64(0)
    return _finished(h ^ _scrambled(k) ^ size)


@jit
def murmur3_pair(first: Any, second: Any) -> Any:
    """murmur3 of the eight bytes of two 32-bit numbers, the low ones first, with seed 0."""
    h = _stirred(_stirred(np.uint64(0), np.uint64(first)), np.uint64(second))
    return _finished(h ^ np.uint64(8))


@jit
def _four(text: Any, p: Any) -> Any:
    """The four bytes at p (the compiler makes one load of them)."""
    k = np.uint64(text[p]) | np.uint64(text[p + np.uint64(1)]) << np.uint64(8)
    return k | np.uint64(text[p + np.uint64(2)]) << np.uint64(16) | np.uint64(text[p + np.uint64(3)]) << np.uint64(24)


@jit
def _scrambled(k: Any) -> Any:
    low = np.uint64(0xFFFFFFFF)
    k = (k * np.uint64(0xCC9E2D51)) & low
    k = (k << np.uint64(15) | k >> np.uint64(17)) & low
    return (k * np.uint64(0x1B873593)) & low


@jit
def _stirred(h: Any, k: Any) -> Any:
    """The hash after four more bytes."""
    low = np.uint64(0xFFFFFFFF)
    h ^= _scrambled(k)
    h = (h << np.uint64(13) | h >> np.uint64(19)) & low
    return (h * np.uint64(5) + np.uint64(0xE6546B64)) & low


@jit
def _finished(h: Any) -> Any:
    """The hash after its last byte and its length."""
    low = np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(16)
    h = (h * np.uint64(0x85EBCA6B)) & low
    h ^= h >> np.uint64(13)
    h = (h * np.uint64(0xC2B2AE35)) & low
    return h ^ h >> np.uint64(16)


@jit
def name_hash(text: Any, start: Any, stop: Any, seed: Any) -> Any:
    """A name's hash, seeded by its namespace's: digits alone are their number plus the seed, the rest is murmur3."""
    whole = np.uint64(0)
    for p in range(start, stop):
        c = text[p]
        if c < 48 or c > 57:
            return murmur3(text, start, stop, seed)
        whole = whole * np.uint64(10) + np.uint64(c - 48)
    return whole + seed


def hashed(name: bytes, seed: int = 0) -> int:
    """`name_hash` of a whole name.

    >>> hashed(b"price"), hashed(b"2024"), hashed(b"2024", seed=hashed(b"year")) - hashed(b"year")
    (3888873998, 2024, 2024)
    """
    text = np.frombuffer(bytearray(name), np.uint8)
    with np.errstate(over="ignore"):
        return int(name_hash(text, np.uint64(0), np.uint64(text.size), np.uint64(seed)))


def murmur3_of(name: bytes) -> int:
    """MurmurHash3_x86_32 with seed 0, digits or not.

    >>> murmur3_of(b"2024") == hashed(b"2024")
    False
    """
    found = np.empty(1, np.uint32)
    with np.errstate(over="ignore"):
        _hash_all(np.frombuffer(bytearray(name), np.uint8), np.array([0, len(name)]), np.uint64(0), found)
    return int(found[0])


def hash_of(name: str, value: str) -> int:
    """The hash of a column's value."""
    return int(hashes_of([value], murmur3_of(name.encode(errors="replace")))[0])


def hashes_of(values: Any, seed: int) -> npt.NDArray[np.uint32]:
    """The hashes of texts: a list, or an Arrow array of strings."""
    import pyarrow

    texts = (
        pyarrow.array(values, pyarrow.large_string())
        if isinstance(values, list)
        else values.cast(pyarrow.large_string())
    )
    _, offsets, data = texts.fill_null("").buffers()
    ends = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    found = np.empty(len(texts), np.uint32)
    with np.errstate(over="ignore"):
        _hash_all(text.copy(), ends.copy(), np.uint64(seed), found)
    return found


def bin_hashes(name: str, count: int) -> npt.NDArray[np.int64]:
    """The hashes of the wide bins by which a number is crossed."""
    seed = murmur3_of(f"{name} bin".encode(errors="replace"))
    return hashes_of([str(code) for code in range(count)], seed).astype(np.int64)


@jit
def _hash_all(text: Any, ends: Any, seed: Any, found: Any) -> None:
    for i in range(found.size):
        found[i] = murmur3(text, np.uint64(ends[i]), np.uint64(ends[i + 1]), seed)
