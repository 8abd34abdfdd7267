"""Lloyd's iteration, exactly, without looking at most of the distances.

    repeat:  every row goes to its nearest centre;  every centre goes to the mean of its rows

See wang-lecture10, Algorithm 3. The labels are those of the plain loop over D (see `distance`), for any shape, any
shortcut and any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.cluster.bounds import no_bounds, screen, steps
from onepass.cluster.distance import (
    distances_to_own,
    distances_to_point,
    every_distance,
    slack,
    squared_distance,
    targets,
)
from onepass.cluster.exponion import ExponionSearch
from onepass.cluster.gemm import GemmSearch
from onepass.cluster.means import Means
from onepass.cluster.points import Labels, take
from onepass.cluster.spans import Span, split_rows
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats, count

NARROW = 32  # columns up to which the exponion beats a matrix product
CROWD = 4096  # centres up to which all distances between centres are worth their memory

Callback = Callable[[int, float, float], None]  # iteration, inertia, squared shift of the centres


class LloydFit(NamedTuple):
    """What Lloyd's iteration came to."""

    centres: npt.NDArray[Any]
    labels: Labels
    inertia: float
    iterations: int
    history: list[float]  # inertia of each iteration's labels about their means
    ended: str  # why it stopped, in a sentence


class Assignment:
    """Nearest centres of the rows, kept up while the centres move."""

    def __init__(self, rows: AnyRows, centres: npt.NDArray[Any], executor: ThreadExecutor):
        k, width = centres.shape
        self.rows, self.executor = rows, executor
        self.state = no_bounds(count(rows), rows.values.dtype)
        self.centres = targets(centres)
        self.slack = slack(rows.values.dtype, width)
        if isinstance(rows, Dense) and width <= NARROW and k <= CROWD:
            self.search: ExponionSearch | GemmSearch = ExponionSearch(rows)
        else:
            origin = centres.mean(axis=0, dtype=np.float64).astype(centres.dtype)
            self.search = GemmSearch(rows, width, origin, executor)
        # a row costs as much as all centres: at worst D decides it among them all
        self.spans = split_rows(count(rows), centres.size, executor.threads)
        self.todo = np.empty(count(rows), dtype=np.int64)

    def follow(self, centres: npt.NDArray[Any]) -> Labels:
        """The labels for these centres. (The array is written anew at the next call.)"""
        after = targets(centres)
        drift = self.search.prepare(steps(self.centres, after), after, self.executor)
        self.centres = after

        def over(span: Span) -> None:
            todo = self.todo[span.first : span.last]
            count = screen(self.rows, after, drift, self.slack, self.state, span, todo)
            self.search.resolve(after, self.state, todo[:count])

        self.executor.map(over, self.spans)
        return self.state.labels

    def distances(self) -> Floats:
        """D of every row to its own centre."""
        return distances_to_own(self.rows, self.centres, self.state.labels, self.executor)


def assign(rows: AnyRows, centres: npt.NDArray[Any], threads: int | None = None) -> tuple[Labels, Floats]:
    """The nearest centre of every row and the squared distance to it.

    >>> from onepass.cluster.points import as_points
    >>> labels, distances = assign(as_points([[0.0], [3.0], [10.0]]), np.array([[0.0], [9.0]]))
    >>> labels, distances
    (array([0, 0, 1], dtype=int32), array([0., 9., 1.]))
    """
    with ThreadExecutor(threads) as executor, one_blas_thread(rows):
        assignment = Assignment(rows, centres, executor)
        return assignment.follow(centres), assignment.distances()


def all_distances(rows: AnyRows, centres: npt.NDArray[Any], threads: int | None = None) -> npt.NDArray[Any]:
    """d(x, c) of every row to every centre, in the type of the centres.

    >>> from onepass.cluster.points import as_points
    >>> all_distances(as_points([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]]))
    array([[5., 4.]])
    """
    out = np.empty((count(rows), centres.shape[0]), dtype=centres.dtype)
    against = targets(centres)
    with ThreadExecutor(threads) as executor:
        spans = split_rows(count(rows), centres.size, executor.threads)
        executor.map(lambda span: every_distance(rows, against, span, out), spans)
    return out


def lloyd(
    rows: AnyRows,
    centres: npt.NDArray[Any],
    weights: Floats,
    *,
    max_iter: int = 300,
    tol: float = 0.0,
    threads: int | None = None,
    callback: Callback | None = None,
) -> LloydFit:
    """From these centres until no label changes, the centres' squared shift is at most tol·variance, or max_iter.

    A cluster that loses its last row starts again at the row farthest from its own centre (see `_restart`).

    >>> from onepass.cluster.points import as_points
    >>> fit = lloyd(as_points([[0.0], [2.0], [10.0], [14.0]]), np.array([[0.0], [2.0]]), np.ones(4))
    >>> fit.centres.ravel(), fit.inertia, fit.iterations
    (array([ 1., 12.]), 10.0, 3)
    """
    k, width = centres.shape
    with ThreadExecutor(threads) as executor, one_blas_thread(rows):
        means = Means(rows, weights, k, width)
        assignment = Assignment(rows, centres, executor)
        history: list[float] = []
        middle, spread = np.zeros(width), 0.0
        iteration, ended = 0, f"Stopped after max_iter={max_iter} iterations: labels still change."
        for iteration in range(1, max_iter + 1):
            moved = means.follow(assignment.follow(centres), executor)
            before, centres = centres, means.centres(centres)
            if iteration == 1:
                middle, spread = _spread(means, executor)
            history.append(max(spread - _between(means, middle), 0.0))
            centres = _restart(means, centres, executor)
            shift = float(np.sum((centres.astype(np.float64) - before) ** 2))
            if callback is not None:
                callback(iteration, history[-1], shift)
            if moved == 0:
                ended = f"Converged at iteration {iteration}: strict convergence, no label changed."
                break
            if shift <= (least := tol * spread / (means.mass.sum() * width)):
                ended = f"Converged at iteration {iteration}: center shift {shift:.6g} is within tolerance {least:.6g}."
                break
        means.follow(assignment.state.labels, executor, afresh=True)
        if means.members.all():
            centres = means.centres(centres)
        labels = assignment.follow(centres)
        inertia = float(np.sum(weights * assignment.distances()))
        return LloydFit(centres, labels.copy(), inertia, iteration, history, ended)


def one_blas_thread(rows: AnyRows) -> AbstractContextManager[Any]:
    """Each of our threads multiplies its own panels; a BLAS that also took all cores would only get in the way."""
    if not isinstance(rows, Dense) or rows.values.shape[1] <= NARROW:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")  # type: ignore[no-any-return]


def _spread(means: Means, executor: ThreadExecutor) -> tuple[Floats, float]:
    """The weighted mean m of all rows, and Σ w ‖x − m‖²."""
    middle = means.sums.sum(axis=0) / means.mass.sum()
    distances = distances_to_point(means.rows, middle, executor)
    return middle, float(np.sum(means.weights * distances))


def _between(means: Means, middle: Floats) -> float:
    """Σ_c mass_c ‖mean_c − m‖²: what the clusters explain; the rest of the spread is inertia."""
    offset = means.sums / np.where(means.members > 0, means.mass, 1)[:, None] - middle
    return float(np.sum(means.mass * np.einsum("cf,cf->c", offset, offset)))


def _restart(means: Means, centres: npt.NDArray[Any], executor: ThreadExecutor) -> npt.NDArray[Any]:
    """Each empty cluster, in order, starts again at the row farthest from its nearest centre (the first such row).

    The row leaves the cluster that it was in, whose centre becomes the mean of the others: the inertia can only fall.
    Rows of weight 0 are not chosen; where all distances are 0 (fewer distinct rows than clusters) it stays.
    """
    empty = np.flatnonzero(means.members == 0)
    if empty.size == 0:
        return centres
    rows, labels = means.rows, means.labels
    distances = distances_to_own(rows, targets(centres), labels, executor)
    spans = split_rows(labels.size, centres.shape[1], executor.threads)
    distances[means.weights == 0] = 0
    centres = centres.copy()
    sums, mass, members = means.sums.copy(), means.mass.copy(), means.members.copy()
    for c in empty:
        far = int(distances.argmax())
        if distances[far] == 0:
            break
        centres[c] = take(rows, np.array([far]), centres.shape[1])[0]
        left, weight = labels[far], means.weights[far]
        sums[left] -= weight * centres[c].astype(np.float64)
        mass[left] -= weight
        members[left] -= 1
        executor.map(partial(_nearer, rows, targets(centres[c : c + 1]), distances), spans)
    shrunk = (members < means.members) & (members > 0)  # one that lost its last row keeps its mean
    centres[shrunk] = sums[shrunk] / mass[shrunk, None]
    return centres


@jit
def _nearer(rows, centre, distances, span) -> Any:  # type: ignore[no-untyped-def]
    for i in range(np.uint64(span.first), np.uint64(span.last)):
        distances[i] = min(distances[i], squared_distance(rows, i, centre, np.uint64(0)))
