"""Where k-means starts: k rows drawn by D² sampling, and three other ways.

    first centre ∝ w;   every next one ∝ w·D²,   D² = min over the centres so far of ‖x − c‖²

See wang-lecture10, Algorithm 4 (D. Arthur, S. Vassilvitskii, 2007): E φ ≤ 8(ln k + 2)·φ_OPT. The draws are those of the
definition, but most distances are never computed: if the new centre lies at least twice as far from x's centre as x
does, x stays (E. Raff, *Exact acceleration of k-means++ and k-means‖*, IJCAI 2021). Dense rows
are ruled out by their projections (see `projection`) instead, which is cheaper still and rules out more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import allocating, jit
from onepass.cluster.distance import Targets, distances_to_point, seek, squared_distance, targets
from onepass.cluster.kmeans import assign
from onepass.cluster.local_search import LocalSearch
from onepass.cluster.means import masses
from onepass.cluster.points import Labels, WeightedRows, as_count, as_points, as_weights, take
from onepass.cluster.projection import Tiles, project, squared_distances
from onepass.cluster.spans import BLOCK, split_rows
from onepass.errors import DataError
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats, Ints, Rows, count

Seed = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None
ROUNDS = 5  # of k-means‖, each drawing about OVERSAMPLING·k rows
OVERSAMPLING = 2
SWAPS = 3  # tries for each centre: with one, birch1's hundred clusters were found in 1 run of 10, with three in 9
AHEAD = 8  # rows that are on their way from memory while one is measured
STAY = 4.0 * (1.0 + 1e-6)  # D(c, c') ≥ 4·D(x, c') rules c out for x, with room for rounding


class Seeding(NamedTuple):
    """Centres to start from, the rows they are, and φ = Σ w·D² with respect to them.

    Attributes
    ----------
    centres : array
        (clusters, features).
    indices : array of int
        The rows they are.
    potential : float
        φ.
    drawn : float
        φ before any swap was made, which is what the theorem on plain D² sampling speaks of.

    Examples
    --------
    >>> Seeding(np.array([[0.0], [4.0]]), np.array([0, 2]), potential=1.0, drawn=1.0).indices.tolist()
    [0, 2]
    """

    centres: npt.NDArray[Any]
    indices: Ints
    potential: float
    drawn: float


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Seed = None,
    n_local_trials: int | None = None,
) -> tuple[npt.NDArray[Any], Ints]:
    """k rows of X to start k-means from, and their places in X, as scikit-learn's function of this name gives them.

    `draw_seeds` has other ways to draw, and says the potential.

    Parameters
    ----------
    X : array_like or CSR
        Rows.
    n_clusters : int
        How many to draw.
    sample_weight : array_like or None, default None
        One for each row. None: all 1.
    x_squared_norms : array_like or None, default None
        Looked at for its length only: distances are taken directly, not through norms.
    random_state : int, RandomState or None, default None
        Seed.
    n_local_trials : int or None, default None
        Rows drawn each step, of which the best is kept. None is 1, plain D² sampling, whose guarantee E φ ≤ 8(ln k +
        2)·φ_OPT more trials do not inherit. Differs: scikit-learn's None is 2 + ⌊ln k⌋.

    Returns
    -------
    (array, array)
        The rows drawn, and their places in X.

    Examples
    --------
    >>> centers, indices = kmeans_plusplus([[0.0], [0.0], [8.0], [8.0]], 2, random_state=0)
    >>> sorted(centers.ravel().tolist())
    [0.0, 8.0]
    """
    if x_squared_norms is not None and (length := np.shape(x_squared_norms)[:1]) != np.shape(X)[:1]:
        counts = f"The length of x_squared_norms {length} should be equal to the length of n_samples"
        raise DataError(f"{counts}, {np.shape(X)[:1]}: give one for each row of X, or none")
    greedy = n_local_trials not in (None, 1)
    method = "greedy-k-means++" if greedy else "k-means++"
    trials = n_local_trials if greedy else None
    found = draw_seeds(
        X, n_clusters, sample_weight=sample_weight, method=method, n_local_trials=trials, random_state=random_state
    )
    return found.centres, found.indices


def draw_seeds(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    method: str = "k-means++",
    n_local_trials: int | None = None,
    random_state: Seed = None,
    threads: int | None = None,
) -> Seeding:
    """k rows of X to start k-means from, with their potential.

    With fewer distinct rows than clusters, drawing stops when Σ w·D² = 0 and the remaining centres repeat the first.

    Parameters
    ----------
    X : array_like or CSR
        Rows.
    n_clusters : int
        How many to draw.
    sample_weight : array_like or None, default None
        One for each row. None: all 1.
    method : str, default "k-means++"
        * "k-means++": plain D² sampling, the one with the guarantee E φ ≤ 8(ln k + 2)·φ_OPT
        * "greedy-k-means++": each step draws `n_local_trials` rows and keeps the best: often better, but **without**
          that guarantee
        * "local-search++": plain sampling, then 3k swaps are tried: slower, better, and the guarantee stays
        * "k-means||": a few passes over the rows instead of k, then plain sampling among what they found
        * "random": rows drawn without replacement, ∝ weight
    n_local_trials : int or None, default None
        Rows drawn each step of "greedy-k-means++". None: 2 + ⌊ln k⌋.
    random_state : int, RandomState or None, default None
        Seed.
    threads : int or None, default None
        None: all cores; the result is the same for any number.

    Returns
    -------
    Seeding
        The centres, their places in X, and their potential.

    Examples
    --------
    >>> draw_seeds([[0.0], [0.0], [8.0], [8.0]], 2, random_state=0).potential
    0.0
    """
    rows = as_points(X)
    points = WeightedRows(rows, np.shape(X)[1], as_weights(sample_weight, count(rows)))
    k = as_count(n_clusters, count(rows))
    return seed(points, k, method=method, n_local_trials=n_local_trials, random_state=random_state, threads=threads)


def seed(
    points: WeightedRows,
    k: int,
    *,
    method: str = "k-means++",
    n_local_trials: int | None = None,
    random_state: Seed = None,
    threads: int | None = None,
) -> Seeding:
    """`draw_seeds` for rows that have been checked."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    trials = n_local_trials
    if trials is not None and (method != "greedy-k-means++" or not isinstance(trials, (int, np.integer)) or trials < 1):
        raise ValueError("n_local_trials is a positive number of draws a step, for method='greedy-k-means++' only")
    if trials is None:
        trials = 2 + int(np.log(k)) if method == "greedy-k-means++" else 1
    with ThreadExecutor(threads) as executor:
        sampler = D2Sampler(points, _generator(random_state), executor)
        indices = METHODS[method](sampler, k, int(trials))
    short = k - indices.size
    indices = np.concatenate([indices, np.repeat(indices[:1], short)])
    drawn = sampler.potential if sampler.drawn is None else sampler.drawn
    return Seeding(sampler.take(indices), indices, sampler.potential, drawn)


def _generator(random_state: Seed) -> np.random.Generator:
    """A generator from a seed; a RandomState, which scikit-learn hands around, gives it one number."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(np.iinfo(np.int32).max))
    return np.random.default_rng(random_state)


class Pruning(NamedTuple):
    """What decides, without D, that a row stays with its owner when new centres come."""

    name: int  # of the new centre: how many there are so far
    gaps: Floats  # D(new centre, old centre), for rows without projections
    doubt: float  # how much such a D may be off
    tiles: Tiles  # see `Projections`
    projected: Tiles  # projections of the new centres
    blur: float  # the three numbers of Projections.reach
    grow: float
    floor: float


class D2Sampler:
    """D² of every row to the centres so far, and draws in proportion to it."""

    def __init__(self, points: WeightedRows, rng: np.random.Generator, executor: ThreadExecutor):
        rows, width, weights = self.rows, self.width, self.weights = points
        self.rng, self.executor = rng, executor
        self.doubt, self.projections = _doubt(rows, width, executor), project(rows, executor)
        self.spans = split_rows(weights.size, width, executor.threads)
        self.drawn: float | None = None  # the potential before swaps, where swaps are made
        self.start()

    def start(self) -> None:
        """No centre yet: the first draw is ∝ weight."""
        self.owner = np.zeros(self.weights.size, dtype=np.int32)
        self.set_distances(np.ones(self.weights.size))

    def set_distances(self, closest: Floats) -> None:
        """Sets D² of every row."""
        self.closest, self.reach = closest, self.projections.reach(closest)
        odds = self.weights * closest
        self.sums = np.array([odds[b : b + BLOCK].sum() for b in range(0, odds.size, BLOCK)])

    @property
    def potential(self) -> float:
        """Σ w·D²."""
        return float(np.sum(self.sums))

    def draw(self, count: int) -> Ints:
        """Rows drawn independently, ∝ w·D²."""
        ends = np.cumsum(self.sums)
        return np.array([self._row_at(u * ends[-1], ends) for u in self.rng.random(count)], dtype=np.int64)

    def take(self, indices: Ints) -> npt.NDArray[Any]:
        """These rows as a dense matrix."""
        return take(self.rows, indices, self.width)

    def _row_at(self, target: float, ends: Floats) -> int:
        """The first row at which the running sum of w·D², taken block by block, exceeds the target."""
        block = int(np.searchsorted(ends, target, side="right"))
        if block == ends.size:  # only rounding leads past the end
            block = int(np.flatnonzero(self.sums)[-1])
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        inside = np.cumsum(self.weights[part] * self.closest[part])
        row = int(np.searchsorted(inside, target - (ends[block - 1] if block else 0.0), side="right"))
        if row == inside.size:
            row = int(np.flatnonzero(np.diff(inside, prepend=0.0))[-1])
        return block * BLOCK + row

    def add_centre(self, centres: Targets, count: int, new: Targets, row: Ints) -> None:
        """Lets rows that are nearer to this row than to any of the `count` centres so far change over to it."""
        if count == 0:
            self.closest[:], self.reach[:] = np.inf, np.inf
        rule, best = self._rule(centres, count, new, row), (self.closest, self.owner, self.reach)
        self.executor.map(
            lambda span: _add_centre(self.rows, new, rule, self.weights, best, span, self.sums), self.spans
        )

    def gains(self, centres: Targets, count: int, tried: Targets, drawn: Ints) -> Floats:
        """By how much each of the drawn rows would lower the potential as the next centre."""
        rule, best = self._rule(centres, count, tried, drawn), (self.closest, self.owner, self.reach)
        gains = np.zeros((self.sums.size, drawn.size))
        spans = split_rows(self.weights.size, tried.values.size, self.executor.threads)
        self.executor.map(lambda span: _gains(self.rows, tried, rule, self.weights, best, span, gains), spans)
        return np.asarray(gains.sum(axis=0))

    def _rule(self, centres: Targets, count: int, new: Targets, rows: Ints) -> Pruning:
        gaps = np.zeros((rows.size, max(count, 1)))
        if not self.projections.tiles.size:
            _between(Dense(new.values), centres, count, gaps)
        tiles, blur, relative, floor = self.projections
        return Pruning(count, gaps, self.doubt, tiles, self.projections.of(rows), blur, 1 + relative, floor)


def d2_sampling(sampler: D2Sampler, k: int, candidates: int) -> Ints:
    """Plain D² sampling, or the best of several candidates each step: the row that lowers the potential most."""
    centres = Targets(np.zeros((k, sampler.width), dtype=sampler.rows.values.dtype), np.zeros(k))
    indices: list[int] = []
    for c in range(k):
        if c > 0 and sampler.potential == 0:
            break
        drawn = sampler.draw(candidates if c else 1)
        tried = targets(sampler.take(drawn))
        best = int(np.argmax(sampler.gains(centres, c, tried, drawn))) if drawn.size > 1 else 0
        new = Targets(tried.values[best : best + 1], tried.norms[best : best + 1])
        sampler.add_centre(centres, c, new, drawn[best : best + 1])
        centres.values[c], centres.norms[c] = new.values[0], new.norms[0]
        indices.append(int(drawn[best]))
    return np.array(indices, dtype=np.int64)


def _local_search(sampler: D2Sampler, k: int, candidates: int) -> Ints:
    """Plain D² sampling, then SWAPS·k draws more, each of which may take the place of a centre. See `local_search`."""
    indices = d2_sampling(sampler, k, 1)
    sampler.drawn = sampler.potential
    if indices.size < 2 or sampler.potential == 0:
        return indices
    search = LocalSearch(sampler.rows, sampler.weights, targets(sampler.take(indices)), sampler.executor)
    for _ in range(SWAPS * k):
        sampler.set_distances(search.two.first)
        if sampler.potential == 0:
            break
        drawn = sampler.draw(1)
        tried = targets(sampler.take(drawn))
        out, potential = search.best(tried)
        if potential < sampler.potential:
            search.swap(out, tried)
            indices[out] = drawn[0]
    sampler.set_distances(search.two.first)
    return indices


def _random(sampler: D2Sampler, k: int, candidates: int) -> Ints:
    """k rows without replacement, ∝ weight."""
    weights = sampler.weights
    if np.count_nonzero(weights) < k:
        raise DataError(
            f"n_clusters={k} is more than the {np.count_nonzero(weights)} rows of positive weight: lower it"
        )
    indices = sampler.rng.choice(weights.size, size=k, replace=False, p=weights / weights.sum())
    _assign_to(sampler, indices)
    return np.asarray(indices, dtype=np.int64)


def _parallel(sampler: D2Sampler, k: int, candidates: int) -> Ints:
    """Rows kept independently with probability min(1, 2k·w·D²/φ) in each round; among them, weighted D² sampling.

    See bahmani2012 (B. Bahmani et al., *Scalable k-means++*, VLDB 2012). Differs: where the rounds find fewer than k
    rows, plain sampling takes over.
    """
    chosen = sampler.draw(1)
    owner = _assign_to(sampler, chosen)
    for _ in range(ROUNDS):
        odds = sampler.weights * sampler.closest
        if not odds.any():
            break
        kept = np.flatnonzero(sampler.rng.random(odds.size) * odds.sum() < OVERSAMPLING * k * odds)
        if kept.size == 0:
            continue
        labels, distances = assign(sampler.rows, sampler.take(kept), sampler.executor.threads)
        nearer = distances < sampler.closest
        owner[nearer] = labels[nearer] + chosen.size
        sampler.closest[nearer] = distances[nearer]
        chosen = np.concatenate([chosen, kept])
    if chosen.size < k:
        sampler.start()
        return d2_sampling(sampler, k, 1)
    mass = masses(owner, sampler.weights, chosen.size)
    candidate_rows = WeightedRows(Dense(sampler.take(chosen)), sampler.width, mass)
    among = D2Sampler(candidate_rows, sampler.rng, sampler.executor)
    indices = chosen[d2_sampling(among, k, 1)]
    _assign_to(sampler, indices)
    return np.asarray(indices, dtype=np.int64)


METHODS: dict[str, Callable[[D2Sampler, int, int], Ints]] = {
    "k-means++": d2_sampling,
    "greedy-k-means++": d2_sampling,
    "local-search++": _local_search,
    "k-means||": _parallel,
    "random": _random,
}


def _assign_to(sampler: D2Sampler, indices: Ints) -> Labels:
    """Sets D² to the distances from these rows; each row's nearest among them."""
    labels, closest = assign(sampler.rows, sampler.take(indices), sampler.executor.threads)
    sampler.set_distances(closest)
    return labels


def _doubt(rows: AnyRows, width: int, executor: ThreadExecutor) -> float:
    """How much a computed D may be off in absolute terms: only sparse rows cancel."""
    if not isinstance(rows, Rows):
        return 0.0
    origin = np.zeros(width, dtype=rows.values.dtype)
    longest = float(distances_to_point(rows, origin, executor).max())
    return 16 * (width + 8) * float(np.finfo(np.float64).eps) * 4 * longest


@jit
def _between(rows, centres, c, gaps) -> Any:  # type: ignore[no-untyped-def]
    """gaps[j, a] = D(tried row j, centre a) for the centres a < c."""
    for j in range(np.uint64(gaps.shape[0])):
        for a in range(np.uint64(c)):
            gaps[j, a] = squared_distance(rows, j, centres, a)


@jit
def _candidates(rule, j, best, first, last, scratch) -> Any:  # type: ignore[no-untyped-def]
    """Lists the rows first..last − 1 that the j-th new centre may be nearer to than their owner is; how many.

    By the projections where there are any, else by the owner's distance from the new centre. Every row is written to
    the list, and only those that stay are moved past, so that no branch is left to guess. What stands behind the last
    of them is a row too, if not one of them: it may be sought.
    """
    closest, owner, reach = best
    found, acc = scratch
    count = np.uint64(0)
    if rule.tiles.shape[1] > 0:
        squared_distances(rule.tiles[first // BLOCK], rule.projected[j], acc)
        for l in range(np.uint64(last - first)):
            i = np.uint64(first) + l
            found[count] = i
            count += np.uint64(acc[l] < reach[i])
    else:
        for l in range(np.uint64(last - first)):
            i = np.uint64(first) + l
            found[count] = i
            count += np.uint64(rule.gaps[j, np.uint64(owner[i])] < closest[i] * STAY + rule.doubt)
    return count


@allocating
def _add_centre(rows, new, rule, weights, best, span, sums) -> Any:  # type: ignore[no-untyped-def]
    """D² and its owner after one new centre, and Σ w·D² of each of the span's blocks."""
    closest, owner, reach = best
    scratch = np.zeros(BLOCK + AHEAD, dtype=np.int64), np.empty(BLOCK, dtype=np.float32)
    for first in range(span.first, span.last, BLOCK):
        last = min(first + BLOCK, span.last)
        changed = False
        for at in range(_candidates(rule, np.uint64(0), best, first, last, scratch)):
            i = np.uint64(scratch[0][at])
            seek(rows, np.uint64(scratch[0][at + np.uint64(AHEAD)]))
            distance = squared_distance(rows, i, new, np.uint64(0))
            if distance < closest[i]:
                closest[i] = distance
                owner[i] = rule.name
                reach[i] = (np.sqrt(distance) + rule.blur) ** 2 * rule.grow + rule.floor
                changed = True
        if changed:
            total = 0.0
            for row in range(np.uint64(first), np.uint64(last)):
                total += weights[row] * closest[row]
            sums[first // BLOCK] = total


@allocating
def _gains(rows, tried, rule, weights, best, span, gains) -> Any:  # type: ignore[no-untyped-def]
    """gains[b, j] = Σ w·(D² − D(x, tried row j))₊ over the rows of block b."""
    closest = best[0]
    scratch = np.zeros(BLOCK + AHEAD, dtype=np.int64), np.empty(BLOCK, dtype=np.float32)
    for first in range(span.first, span.last, BLOCK):
        last = min(first + BLOCK, span.last)
        for j in range(np.uint64(tried.norms.size)):
            gain = 0.0
            for at in range(_candidates(rule, j, best, first, last, scratch)):
                i = np.uint64(scratch[0][at])
                seek(rows, np.uint64(scratch[0][at + np.uint64(AHEAD)]))
                gain += weights[i] * max(closest[i] - squared_distance(rows, i, tried, j), 0.0)
            gains[first // BLOCK, j] = gain
