"""k-means on several machines: k-means‖ seeding and Lloyd's iteration by partial sums.

Rows stay on the workers; centres go out, sums come back, added in a fixed tree over the chunks' numbers, so that the
number of workers cannot be seen in a bit of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.cluster.distance import distances_to_own, distances_to_point, targets
from onepass.cluster.kmeans import assign
from onepass.cluster.means import Means
from onepass.cluster.points import WeightedRows, as_count, as_points, in_type, take
from onepass.cluster.run import check_parameters
from onepass.cluster.seeding import OVERSAMPLING, ROUNDS, seed
from onepass.errors import DataError, ScaleError
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats, Ints, count
from onepass.scale.chunks import Chunk, DataChunk, ReadReport
from onepass.scale.executors import DaskExecutor, Executor, Handle, LocalExecutor, sum_in_tree
from onepass.scale.inputs import LARGEST_CHUNK, Inputs, cut
from onepass.scale.versions import must_match, versions

if TYPE_CHECKING:
    from onepass.cluster.estimator import KMeans

MOST_ROUNDS = 50  # of k-means‖, where its usual few find fewer than k rows

Centres = npt.NDArray[Any]


# --- what workers run -------------------------------------------------------------------------------------------------


class Nearest(NamedTuple):
    """Of every row of a chunk, the nearest candidate so far and D² to it."""

    closest: Floats
    owner: npt.NDArray[np.int32]


class Sums(NamedTuple):
    """What a chunk adds to the next centres."""

    sums: Floats  # (k, width)
    members: Ints
    inertia: float


def load(chunk: Chunk, data: Any, expected: dict[str, str]) -> AnyRows:
    """The rows of a chunk, checked."""
    must_match(expected)
    if isinstance(chunk, DataChunk):
        return as_points(data.to_numpy() if hasattr(data, "to_numpy") else data, str(chunk))
    pieces = [piece.rows for piece in chunk.read(data, ReadReport())]
    if not all(isinstance(piece, Dense) for piece in pieces):
        raise DataError(f"{chunk}: sparse rows have no common width; give a Dask array of sparse blocks")
    return as_points(np.concatenate([piece.values for piece in pieces]), str(chunk))


def shape(rows: AnyRows, width: int | None) -> tuple[int, int, str]:
    """(rows, columns, type) of a chunk."""
    wide = rows.values.shape[1] if isinstance(rows, Dense) else width
    assert wide is not None
    return count(rows), wide, rows.values.dtype.str


def update_nearest(rows: AnyRows, before: Nearest | None, centres: Centres, first: int) -> Nearest:
    """Nearest candidates after some more of them, numbered from `first` on."""
    labels, distances = assign(in_type(rows, centres), centres, 1)
    if before is None:
        return Nearest(distances, labels)
    nearer = distances < before.closest
    closest, owner = before.closest.copy(), before.owner.copy()
    closest[nearer], owner[nearer] = distances[nearer], labels[nearer] + first
    return Nearest(closest, owner)


def potential(nearest: Nearest) -> float:
    """Σ D² of a chunk."""
    return float(np.sum(nearest.closest))


def draw_candidates(rows: AnyRows, nearest: Nearest, scale: float, source: Sequence[int], width: int) -> Centres:
    """Rows kept independently with probability min(1, scale·D²); the chances come from (seed, round, chunk)."""
    chance = np.random.default_rng(list(source)).random(nearest.closest.size)
    return take(rows, np.flatnonzero(chance < scale * nearest.closest), width)


def count_owned(nearest: Nearest, candidates: int) -> Ints:
    """How many rows are nearest to each candidate."""
    return np.bincount(nearest.owner, minlength=candidates)


def partial_sums(rows: AnyRows, centres: Centres) -> Sums:
    """Sums of the rows of each cluster, in row order, and the inertia about these centres."""
    k, width = centres.shape
    ready = in_type(rows, centres)
    labels, distances = assign(ready, centres, 1)
    means = Means(ready, np.ones(labels.size), k, width)
    with ThreadExecutor(1) as one:
        means.follow(labels, one)
    return Sums(means.sums, means.members, float(np.sum(distances)))


def add(parts: list[Any]) -> Any:
    """The sum of parts, from the left, field by field."""
    total = parts[0]
    for other in parts[1:]:
        total = type(total)(*(a + b for a, b in zip(total, other, strict=True)))
    return total


def spread(rows: AnyRows, middle: Floats) -> float:
    """Σ ‖x − m‖²."""
    with ThreadExecutor(1) as one:
        return float(np.sum(distances_to_point(rows, middle, one)))


class Farthest(NamedTuple):
    """The row farthest from its centre, and the cluster that it is in."""

    distance: float
    row: Centres
    cluster: int


def farthest(rows: AnyRows, before: Centres, centres: Centres, new: Centres) -> Farthest:
    """The row farthest from its own centre (labels by `before`) and from all the new ones; the first such row."""
    ready = in_type(rows, centres)
    labels, _ = assign(ready, before, 1)
    with ThreadExecutor(1) as one:
        distances = distances_to_own(ready, targets(centres), labels, one)
    if len(new):
        distances = np.minimum(distances, assign(ready, new, 1)[1])
    far = int(distances.argmax())
    return Farthest(float(distances[far]), take(ready, np.array([far]), centres.shape[1])[0], int(labels[far]))


# --- the run ----------------------------------------------------------------------------------------------------------


def kmeans(
    data: Any,
    n_clusters: int,
    client: Any = None,
    *,
    init: Any = "k-means||",
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 1e-4,
    random_state: int = 0,
    chunk_bytes: int = LARGEST_CHUNK,
    **reading: Any,
) -> KMeans:
    r"""A fitted KMeans of rows that lie on several machines; without a client, of this process, to the same bits.

    Parameters
    ----------
    data : collection, arrays or paths
        A Dask array or data frame, a list of arrays or delayed arrays, or files of tables.
    n_clusters : int
        k.
    client : distributed.Client or None, default None
        Whose workers count. None: this process.
    init : str or array_like, default "k-means||"
        "k-means||", or centres to start from.
    n_init : int, default 1
        How many times it is started; the best is kept.
    max_iter : int, default 300
        Iterations, at most.
    tol : float, default 1e-4
        As in `KMeans`.
    random_state : int, default 0
        Seed of the seeding.
    chunk_bytes : int, default 64 MB
        Cuts files, as in `cut`.
    \*\*reading
        Options of `onepass.io.open_stream`, for files.

    Returns
    -------
    KMeans
        Without `labels_`: `predict` gives them, block by block.

    Raises
    ------
    ValueError
        If an argument cannot be so.
    ScaleError
        If the run cannot be finished.

    Examples
    --------
    >>> parts = [np.array([[0.0, 0.0], [0.0, 2.0]]), np.array([[10.0, 0.0], [10.0, 2.0]])]
    >>> model = kmeans(parts, 2, n_init=3)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[0.0, 1.0], [10.0, 1.0]], 4.0)
    """
    if isinstance(init, str) and init != "k-means||":
        raise ValueError(f"init: 'k-means||' or an array of centres expected on several machines, got {init!r}")
    check_parameters(init, max_iter, tol, delta=0.05)
    as_count(n_clusters, n_clusters)
    if isinstance(n_init, bool) or not isinstance(n_init, (int, np.integer)) or n_init < 1:
        raise ValueError(f"n_init must be a positive integer, not {n_init!r}")
    inputs = _inputs(data, chunk_bytes, reading)
    with DaskExecutor(client) if client is not None else nullcontext(LocalExecutor()) as executor:
        run = _KMeansRun(inputs, executor, int(n_clusters), max_iter, tol)
        best: tuple[float, Centres, int, list[float], Ints] | None = None
        potentials: list[float] = []
        for number in range(int(n_init)):
            if isinstance(init, str):
                centres, found = run.seeded([random_state, number])
                potentials.append(found)
            else:
                centres = run.given(init)
            fit = run.lloyd(centres)
            best = fit if best is None or fit[0] < best[0] else best
            if not isinstance(init, str):
                break
    assert best is not None
    return _estimator(best, potentials, n_clusters, init, n_init, max_iter, tol, random_state)


def _estimator(best: Any, potentials: list[float], n_clusters: int, *asked: Any) -> KMeans:
    from onepass.cluster.estimator import KMeans

    init, n_init, max_iter, tol, random_state = asked
    model = KMeans(n_clusters, init=init, n_init=n_init, max_iter=max_iter, tol=tol, random_state=random_state)
    model.inertia_, model.cluster_centers_, model.n_iter_, model.history_, members = best
    model.potentials_, model.quality_ = potentials, None
    model.n_features_in_ = model.cluster_centers_.shape[1]
    model._stream, model._mass = None, members.astype(np.float64)
    return model


def _inputs(data: Any, chunk_bytes: int, reading: dict[str, Any]) -> Inputs:
    kind = type(data).__module__.split(".")[:2]
    if kind == ["dask", "array"]:
        if data.ndim != 2:
            raise ValueError(f"data: two dimensions expected, got {data.ndim}")
        data = data.rechunk({1: -1}) if data.numblocks[1] > 1 else data
        blocks = list(data.to_delayed()[:, 0])
        return Inputs([DataChunk(p, f"block {p}") for p in range(len(blocks))], blocks, features=int(data.shape[1]))
    if hasattr(data, "npartitions") and hasattr(data, "columns"):
        parts = list(data.to_delayed())
        return Inputs([DataChunk(p, f"partition {p}") for p in range(len(parts))], parts, features=len(data.columns))
    if isinstance(data, (list, tuple)) and data and not isinstance(data[0], str):
        features = getattr(data[0], "shape", (0, None))[1] if hasattr(data[0], "shape") else None
        return Inputs([DataChunk(p, f"part {p}") for p in range(len(data))], list(data), features=features)
    return cut(data, chunk_bytes=chunk_bytes, labelled=False, **reading)


class _KMeansRun:
    """The rows on the workers, and what is asked of them."""

    def __init__(self, inputs: Inputs, executor: Executor, k: int, max_iter: int, tol: float) -> None:
        self.executor, self.k, self.max_iter, self.tol = executor, k, max_iter, tol
        self.names = [str(chunk) for chunk in inputs.chunks]
        self._asked = 0
        here = versions()
        self.rows = self._each(load, [(c, d, here) for c, d in zip(inputs.chunks, inputs.data, strict=True)])
        shapes = self._all(self._each(shape, [(rows, inputs.features) for rows in self.rows]))
        widths, kinds = {width for _, width, _ in shapes}, {kind for _, _, kind in shapes}
        if len(widths) > 1:
            raise DataError(f"chunks have different numbers of columns: {sorted(widths)}")
        self.heights = np.array([n for n, _, _ in shapes])
        self.total, self.width = int(self.heights.sum()), int(widths.pop())
        self.dtype = np.dtype(kinds.pop()) if len(kinds) == 1 else np.dtype(np.float64)
        if k > self.total:
            raise DataError(f"n_clusters={k} is more than the {self.total} rows: lower n_clusters")

    def _each(self, function: Any, arguments: list[tuple[Any, ...]]) -> list[Handle]:
        self._asked += 1
        return self.executor.each(f"{function.__name__}-{self._asked}", function, arguments)

    def _all(self, handles: list[Handle]) -> list[Any]:
        """The results in the chunks' order."""
        found: dict[int, Any] = dict(self.executor.fetch(handles, self.names))
        self.executor.drop(handles)
        if len(found) < len(handles):
            raise ScaleError(f"{self.names[min(set(range(len(handles))) - set(found))]} did not come back")
        return [found[place] for place in range(len(handles))]

    def _sum(self, function: Any, arguments: list[tuple[Any, ...]]) -> Any:
        """Results added in a fixed tree on the workers."""
        leaves = self._each(function, arguments)
        return sum_in_tree(self.executor, f"sum-{self._asked}", add, leaves, f"{self.names[0]} to {self.names[-1]}")

    def given(self, init: Any) -> Centres:
        """Centres from the caller."""
        centres = np.array(init, dtype=self.dtype, order="C")
        if centres.shape != (self.k, self.width) or not np.isfinite(centres).all():
            raise ValueError(f"init: finite centres of shape {(self.k, self.width)} expected, got {centres.shape}")
        return centres

    def seeded(self, source: list[int]) -> tuple[Centres, float]:
        """k-means‖: (centres, Σ D² to the candidates they were drawn from). See bahmani2012, and cluster.seeding."""
        rng = np.random.default_rng(source)
        row = int(rng.integers(self.total))
        chunk = int(np.searchsorted(np.cumsum(self.heights), row, side="right"))
        at = row - int(self.heights[:chunk].sum())
        ((_, first),) = self.executor.fetch(
            self._each(take, [(self.rows[chunk], np.array([at]), self.width)]), [self.names[chunk]]
        )
        candidates = np.asarray(first, dtype=self.dtype)
        nearest: list[Handle] = self._update_nearest([None] * len(self.rows), candidates, 0)
        phi = self._potential(nearest)
        for turn in range(MOST_ROUNDS):
            if phi == 0.0 or (turn >= ROUNDS and len(candidates) >= self.k):
                break
            scale = OVERSAMPLING * self.k / phi
            lines = [
                (rows, near, scale, [*source, turn, p], self.width)
                for p, (rows, near) in enumerate(zip(self.rows, nearest, strict=True))
            ]
            new = np.concatenate(self._all(self._each(draw_candidates, lines))).astype(self.dtype, copy=False)
            if not len(new):
                continue
            after = self._update_nearest(nearest, new, len(candidates))
            candidates = np.concatenate([candidates, new])
            phi = self._potential(after)
            self.executor.drop(nearest)
            nearest = after
        mass = np.sum(self._all(self._each(count_owned, [(near, len(candidates)) for near in nearest])), axis=0)
        self.executor.drop(nearest)
        few = min(self.k, len(candidates))
        chosen = seed(
            WeightedRows(Dense(candidates), self.width, mass.astype(np.float64)),
            few,
            random_state=int(rng.integers(2**31)),
        )
        short = self.k - few
        return np.concatenate([chosen.centres, np.repeat(chosen.centres[:1], short, axis=0)]), phi

    def _update_nearest(self, before: list[Any], centres: Centres, first: int) -> list[Handle]:
        held = self.executor.hold(f"candidates-{self._asked}", centres)
        return self._each(
            update_nearest, [(rows, near, held, first) for rows, near in zip(self.rows, before, strict=True)]
        )

    def _potential(self, nearest: list[Handle]) -> float:
        return float(np.sum(self._all(self._each(potential, [(near,) for near in nearest]))))

    def lloyd(self, centres: Centres) -> tuple[float, Centres, int, list[float], Ints]:
        """(inertia, centres, iterations, inertia of each iteration's labels about the centres before it, members)."""
        history: list[float] = []
        variance, iteration = 0.0, 0
        for iteration in range(1, self.max_iter + 1):
            sums = self._parts(centres)
            if iteration == 1:
                middle = sums.sums.sum(axis=0) / self.total
                lines = [(rows, middle) for rows in self.rows]
                variance = float(np.sum(self._all(self._each(spread, lines)))) / (self.total * self.width)
            history.append(sums.inertia)
            before, centres = centres, self._restarted(centres, _means(sums, centres), sums)
            shift = float(np.sum((centres.astype(np.float64) - before) ** 2))
            if shift <= self.tol * variance:
                break
        last = self._parts(centres)
        return last.inertia, centres, iteration, history, last.members

    def _parts(self, centres: Centres) -> Sums:
        held = self.executor.hold(f"centres-{self._asked}", centres)
        found = self._sum(partial_sums, [(rows, held) for rows in self.rows])
        self.executor.drop([held])
        assert isinstance(found, Sums)
        return found

    def _restarted(self, before: Centres, centres: Centres, found: Sums) -> Centres:
        """Each empty cluster, in order, starts again at the row farthest from its nearest centre, which leaves its own.

        As `cluster.kmeans` does it."""
        new = np.zeros((0, self.width), dtype=centres.dtype)
        moved, sums, members = centres.copy(), found.sums.copy(), found.members.copy()
        for c in np.flatnonzero(found.members == 0):
            each: list[Farthest] = self._all(self._each(farthest, [(rows, before, centres, new) for rows in self.rows]))
            far = max(each, key=lambda one: one.distance)
            if far.distance == 0.0:
                break
            moved[c] = far.row
            sums[far.cluster] -= far.row.astype(np.float64)
            members[far.cluster] -= 1
            if members[far.cluster]:
                moved[far.cluster] = sums[far.cluster] / members[far.cluster]
            new = np.concatenate([new, far.row[None]])
        return moved


def _means(sums: Sums, before: Centres) -> Centres:
    """The means; an empty cluster keeps the centre it had."""
    full = (sums.members > 0)[:, None]
    return np.where(full, sums.sums / np.maximum(sums.members, 1)[:, None], before).astype(before.dtype)
