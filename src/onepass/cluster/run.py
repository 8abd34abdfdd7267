"""k-means from beginning to end: seed, iterate, keep the best, say how good it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.cluster.kmeans import Callback, LloydFit, lloyd
from onepass.cluster.optimum import Quality, quality
from onepass.cluster.points import Labels, WeightedRows, as_count, as_points, as_weights
from onepass.cluster.seeding import METHODS, seed
from onepass.rows import count

PROVED = ("k-means++", "local-search++")  # seedings with E φ ≤ 8(ln k + 2)·φ_OPT


class Result(NamedTuple):
    """The best of the runs, the potential of every seeding, and the statement of quality (where PROVED)."""

    centres: npt.NDArray[Any]
    labels: Labels
    inertia: float
    iterations: int
    history: list[float]
    potentials: list[float]
    quality: Quality | None


Log = Callable[[str], None]  # takes a line of text


def kmeans(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    init: Any = "k-means++",
    n_init: int | str = "auto",
    max_iter: int = 300,
    tol: float = 1e-4,
    delta: float = 0.05,
    threads: int | None = None,
    callback: Callback | None = None,
    log: Log | None = None,
    random_state: int | np.random.SeedSequence = 0,
) -> Result:
    """Clusters the rows of X; the parameters are those of `KMeans`; `log` is told where each seeding began and ended.

    >>> kmeans([[0.0], [2.0], [10.0], [12.0]], 2, n_init=3).inertia
    4.0
    """
    rows = as_points(X)
    weights = as_weights(sample_weight, count(rows))
    k, width = as_count(n_clusters, count(rows)), int(np.shape(X)[1])
    check_parameters(init, max_iter, tol, delta)
    sequence = (
        random_state if isinstance(random_state, np.random.SeedSequence) else np.random.SeedSequence(random_state)
    )
    potentials: list[float] = []
    drawn: list[float] = []
    best: LloydFit | None = None
    for own in sequence.spawn(seeding_count(init, n_init)):
        if isinstance(init, str):
            seeding = seed(WeightedRows(rows, width, weights), k, method=init, random_state=own, threads=threads)
            start = seeding.centres
            potentials.append(seeding.potential)
            drawn.append(seeding.drawn)
        else:
            start = as_centres(called(init, X, k, int(own.generate_state(1)[0])), k, width, rows.values.dtype)
        if log is not None:
            log("Initialization complete")
        fit = lloyd(rows, start, weights, max_iter=max_iter, tol=tol, threads=threads, callback=callback)
        if log is not None:
            log(fit.ended)
        if best is None or fit.inertia < best.inertia:
            best = fit
    assert best is not None
    proved = isinstance(init, str) and init in PROVED
    return Result(*best[:5], potentials, quality(best.inertia, drawn, k, delta) if proved else None)


def check_parameters(init: Any, max_iter: Any, tol: Any, delta: Any) -> None:
    """Raises ValueError, naming the parameter, before anything is computed."""
    if not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise ValueError(f"max_iter must be a positive integer, not {max_iter!r}")
    if not tol >= 0:
        raise ValueError(f"tol must not be negative, but is {tol!r}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, not {delta!r}")
    if isinstance(init, str) and init not in METHODS:
        raise ValueError(f"init must be one of {', '.join(METHODS)}, an array or a callable, not {init!r}")


def seeding_count(init: Any, n_init: Any) -> int:
    """How many seedings: "auto" is 1, but 10 where they are left to chance; given centres need only one."""
    if n_init != "auto" and (not isinstance(n_init, (int, np.integer)) or n_init < 1):
        raise ValueError(f"n_init must be 'auto' or a positive integer, not {n_init!r}")
    if not isinstance(init, str) and not callable(init):
        return 1
    by_chance = callable(init) or init == "random"
    return (10 if by_chance else 1) if n_init == "auto" else int(n_init)


def called(init: Any, X: Any, k: int, number: int) -> Any:
    """The centres that a callable makes with a RandomState of its own, as scikit-learn calls it; others as they are."""
    return init(X, k, random_state=np.random.RandomState(number)) if callable(init) else init


def as_centres(init: Any, k: int, width: int, dtype: Any) -> npt.NDArray[Any]:
    """A copy of the centres that were given, in this type, if there are k of this width."""
    centres = np.array(init, dtype=dtype, order="C")
    for at, expected, what in ((0, k, "clusters"), (1, width, "features of the data")):
        if centres.ndim != 2 or centres.shape[at] != expected:
            shape = f"The shape of the initial centers {centres.shape} does not match the number of {what}"
            raise ValueError(f"{shape}, {expected}: init must be an array of n_clusters rows and the columns of X")
    if not np.isfinite(centres).all():
        raise ValueError("init holds NaN or infinity")
    return centres
