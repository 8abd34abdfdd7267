"""Eight floats at once: compiled, each operation gives the bits that NumPy gives."""

import numpy as np
import pytest

from onepass import _vectors as vectors
from onepass._jit import allocating

OPERATIONS = {
    "sum": lambda a, b, c, d: a + b,
    "difference": lambda a, b, c, d: a - b,
    "product": lambda a, b, c, d: a * b,
    "quotient": lambda a, b, c, d: vectors.quotients(a, b),
    "sizes": lambda a, b, c, d: vectors.size_of(a),
    "roots": lambda a, b, c, d: vectors.roots(vectors.size_of(a)),
    "every": lambda a, b, c, d: vectors.every(0.3),
    "choice": lambda a, b, c, d: vectors.where_less(a, b, c, d),
}
LINES = 50


@pytest.fixture
def values():
    """Floats of many sizes, with zeros of both signs and what is no number."""
    rng = np.random.default_rng(0)
    found = rng.normal(size=8 * LINES) * 10.0 ** rng.uniform(-300, 300, 8 * LINES)
    found[:40] = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.5, -1.5], 40)
    return rng.permutation(found)


def same(one, other):
    """Equal to the bit, zeros' signs included; what is no number is that in both."""
    one, other = np.asarray(one), np.asarray(other)
    fine = ~np.isnan(one)
    np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
    np.testing.assert_array_equal(one[fine].view(np.uint64), other[fine].view(np.uint64))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_the_bits_of_numpy(name, kind, values):
    operation = OPERATIONS[name]
    compiled = allocating(operation)

    def applied(array, out):
        a, b = vectors.load(array, np.uint64(3)), vectors.load(array, np.uint64(20))
        c, d = vectors.load(array, np.uint64(40)), vectors.load(array, np.uint64(61))
        vectors.store(out, np.uint64(1), compiled(a, b, c, d))

    with np.errstate(all="ignore"):
        array = values.astype(kind)
        plain, fast = np.zeros(10), np.zeros(10)
        vectors.store(plain, np.uint64(1), operation(*(vectors.load(array, at) for at in (3, 20, 40, 61))))
        allocating(applied)(array, fast)
    same(plain, fast)


def test_sums_and_flags_are_those_of_numpy(values):
    def found(array, at):
        eight = vectors.load(array, at)
        return vectors.sum_of(eight), vectors.flags(eight)

    fast = allocating(found)
    for at in range(0, len(values) - 8, 3):
        with np.errstate(all="ignore"):
            (total, bits), (fast_total, fast_bits) = found(values, at), fast(values, np.uint64(at))
        same([total], [fast_total])
        assert bits == fast_bits == sum(1 << k for k, x in enumerate(values[at : at + 8]) if x != 0.0)


def test_lines_are_turned_and_turned_back(values):
    chosen = np.random.default_rng(1).permutation(LINES)[:20].astype(np.int32)

    def moved(lines, chosen, into, first):
        turned = vectors.load_turned(lines, chosen, first)
        vectors.store_turned(into, chosen, first, turned)
        vectors.store(into, np.uint64(0), turned[5])
        return vectors.sum_of(vectors.load_chosen(lines, chosen, first))

    fast = allocating(moved)
    chosen = chosen[chosen > 0]  # the first line is for one of the turned ones
    for first in (0, 4, 9):
        plain, compiled = np.zeros((2, values.size))
        sums = moved(values, chosen, plain, first), fast(values, chosen, compiled, np.uint64(first))
        same([sums[0]], [sums[1]])
        same(plain, compiled)
        eight = chosen[first : first + 8]
        same(plain.reshape(-1, 8)[eight], values.reshape(-1, 8)[eight])
        same(plain[:8], values.reshape(-1, 8)[eight, 5])
