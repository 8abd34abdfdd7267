"""Rows whose indices are in no order, or stand twice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepass._jit import allocating

KEEP_NONE, KEEP_SUM, KEEP_LAST = 0, 1, 2  # what to do with a feature that stands twice in a row


@allocating
def tidy(indices: Any, values: Any, begin: Any, end: Any, keep: Any) -> Any:
    """The row's new end after sorting it by index and joining duplicates; −1 if `keep` forbids them or a sum overflows.

    Equal indices stay in their order (the key holds the place), so that sums have one value.
    """
    size = end - begin
    keys = np.empty(size, np.uint64)
    for j in range(size):
        keys[j] = (np.uint64(indices[begin + j]) << np.uint64(32)) | np.uint64(j)
    keys.sort()
    old = values[begin:end].copy()
    last = begin - 1
    for key in keys:
        index, value = np.int32(key >> np.uint64(32)), old[key & np.uint64(0xFFFFFFFF)]
        if last >= begin and indices[last] == index:
            if keep == KEEP_NONE:
                return np.int64(-1)
            values[last] = values[last] + value if keep == KEEP_SUM else value
            if not math.isfinite(values[last]):
                return np.int64(-1)
        else:
            last += 1
            indices[last], values[last] = index, value
    return np.int64(last + 1)
