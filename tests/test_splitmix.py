"""splitmix64 against its definition in whole numbers."""

import numpy as np

from onepass.splitmix import GOLDEN, finalize

MASK = (1 << 64) - 1


def defined(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def test_words_and_arrays_are_hashed_as_defined():
    words = [0, 1, MASK, int(GOLDEN), *np.random.default_rng(0).integers(0, 1 << 63, 100).tolist()]
    with np.errstate(over="ignore"):
        assert [int(finalize(np.uint64(word))) for word in words] == [defined(word) for word in words]
        assert finalize(np.array(words, dtype=np.uint64)).tolist() == [defined(word) for word in words]


def test_different_words_have_different_hashes():
    with np.errstate(over="ignore"):
        assert np.unique(finalize(np.arange(1 << 16, dtype=np.uint64))).size == 1 << 16
