"""Projections: float32 images of the rows in which a distance is never longer than between the rows, but for rounding.

Where the images of x and c are already farther apart than x and its own centre, D(x, c) need not be computed. A narrow
row's image is the row itself; a wide one's is its orthogonal projection onto a few directions, the leading ones of a
sample (any others would be as correct, and rule out less). Images are kept transposed, BLOCK rows side by side, so that
one centre is measured against all of them with full vector registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.cluster.distance import slack
from onepass.cluster.spans import BLOCK
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats

DIRECTIONS = 64  # MNIST: 12 % of the distances are left to compute, with 32 a quarter, with 128 still 7
WIDE = 2 * DIRECTIONS  # columns from which a projection pays
SAMPLE = 1024
Tiles = npt.NDArray[np.float32]


class Projections(NamedTuple):
    """tiles[b, :, l] is the image of row b·BLOCK + l; without tiles there are no images."""

    tiles: Tiles
    doubt: float  # by how much a distance between two images may be too long
    relative: float  # by what factor its computed square
    absolute: float

    def of(self, rows: npt.NDArray[np.int64]) -> Tiles:
        """The images of these rows, one to a line."""
        return np.ascontiguousarray(self.tiles[rows // BLOCK, :, rows % BLOCK]) if self.tiles.size else self.tiles[0]

    def reach(self, closest: Floats) -> Tiles:
        """The squared distance between images from which on a centre cannot be nearer than √closest."""
        widened = (np.sqrt(closest) + self.doubt) ** 2 * (1 + self.relative) + self.absolute
        return np.asarray(widened, dtype=np.float32)


def project(rows: AnyRows, executor: ThreadExecutor) -> Projections:
    """The images of dense rows; of sparse ones, and of values too large for float32, none."""
    none = Projections(np.empty((1, 0, BLOCK), dtype=np.float32), 0.0, 0.0, 0.0)
    if not isinstance(rows, Dense):
        return none
    X = rows.values
    n, width = X.shape
    sample = X[np.linspace(0, n - 1, min(SAMPLE, n)).astype(np.int64)].astype(np.float64)
    origin = sample.mean(axis=0)
    directions = _leading(sample - origin) if width >= WIDE and n >= SAMPLE else np.empty((width, 0))
    columns = directions.shape[1] or width
    blocks = -(-n // BLOCK)
    tiles = np.zeros((blocks, -(-columns // 4) * 4, BLOCK), dtype=np.float32)
    centre = origin.astype(X.dtype)
    towards = directions.astype(X.dtype)

    def project_block(block: int) -> float:
        """Projects the block's rows; the greatest length among its rows as seen from the origin."""
        part = X[block * BLOCK : (block + 1) * BLOCK] - centre
        with np.errstate(over="ignore"):
            tiles[block, :columns, : len(part)] = (part @ towards if directions.size else part).T
        return float(np.sqrt(np.einsum("if,if->i", part, part, dtype=np.float64).max()))

    longest = max(executor.map(project_block, range(blocks)))
    if longest > 1e15:
        return none
    # A projection rounds in every product and in its directions; a copy rounds once.
    room = (
        slack(np.float32, width).relative * np.sqrt(DIRECTIONS) if directions.size else float(np.finfo(np.float32).eps)
    )
    error = slack(np.float32, columns)
    return Projections(tiles, 2.0 * room * longest, 2 * error.relative + 1e-6, error.absolute)


def _leading(sample: Floats) -> Floats:
    """Orthonormal directions near the leading ones of the sample, by two steps of subspace iteration."""
    directions = np.random.default_rng(0).normal(size=(sample.shape[1], DIRECTIONS))
    for _ in range(2):
        directions, _ = np.linalg.qr(sample.T @ (sample @ directions))
    return directions


@jit
def squared_distances(tile, y, acc) -> Any:  # type: ignore[no-untyped-def]
    """acc[l] = ‖x_l − y‖² for the BLOCK images of a tile; four columns in a sweep."""
    for l in range(BLOCK):
        acc[l] = 0
    for f in range(np.uint64(0), np.uint64(tile.shape[0]), np.uint64(4)):
        f1, f2, f3 = f + np.uint64(1), f + np.uint64(2), f + np.uint64(3)
        y0, y1, y2, y3 = y[f], y[f1], y[f2], y[f3]
        for l in range(BLOCK):
            t0, t1, t2, t3 = tile[f, l] - y0, tile[f1, l] - y1, tile[f2, l] - y2, tile[f3, l] - y3
            acc[l] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
