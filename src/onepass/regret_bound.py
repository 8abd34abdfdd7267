"""Regret: how much better one fixed hypothesis would have done on all rounds. See dekel2008, eq. 1.

    (1/m) Σ ℓ(h_{i−1}; x_i, y_i)  −  min_{‖u‖ ≤ 1} (1/m) Σ ℓ(u; x_i, y_i)

The minimum over the unit ball is a convex problem for which SciPy has no solver that takes sparse rows. Here it is
smoothed (Nesterov 2005: the larger of 0 and 1 − y⟨u, x⟩ becomes a soft maximum of width μ) and solved by accelerated
projected gradients with ever smaller μ. The soft maximum's weights are feasible for the dual problem

    max_p (1/m) Σ_i Σ_{r≠y} p_ir − ‖(1/m) Σ_i Σ_r p_ir·direction_ir‖,

so every answer comes with a gap that proves how far from the minimum it can be.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onepass.errors import ConversionError, DataError
from onepass.rows import AnyRows, Array, Dense, Floats, Ints, count, squared_norms
from onepass.trace import Trace


class Regret(NamedTuple):
    """Average hinge loss of the pass less that of the comparator; the true regret lies in [value, value + gap].

    Attributes
    ----------
    value : float
        The regret.
    loss : float
        Of the pass.
    comparator_loss : float
        Of the comparator.
    gap : float
        By how much the comparator may miss the best one; 0 for a comparator that was given.
    bound : float or None
        What the theorem allows, where there is one.
    comparator : array of float
        (1 + features, outputs), intercept first.

    Examples
    --------
    >>> found = Regret(0.1, 0.3, 0.2, 0.001, 0.4, np.zeros((4, 1)))
    >>> found.value + found.gap <= found.bound
    True
    """

    value: float
    loss: float  # of the pass
    comparator_loss: float
    gap: float  # by how much the comparator may miss the best one; 0 for a comparator that was given
    bound: float | None  # what the theorem allows, where there is one
    comparator: Floats  # (1 + features, outputs), intercept first


def regret(
    trace: Trace, rows: AnyRows, y: Ints, comparator: Array | None = None, *, tolerance: float = 1e-3, steps: int = 4000
) -> Regret:
    """The regret of a pass over these rows against `comparator`, or against the best one in the unit ball.

    Parameters
    ----------
    trace : Trace
        Of a margin-based Perceptron, with its hypotheses.
    rows : AnyRows
        All rows of the pass as it saw them (scaled onto the radius).
    y : array of int
        Their labels as −1 and +1, or class numbers.
    comparator : Array or None, default None
        Weights to compare with. None: the best in the unit ball.
    tolerance : float, default 1e-3
        Stop when the gap is at most this times the loss.
    steps : int, default 4000
        Or after so many steps.

    Returns
    -------
    Regret
        Regret, its bound, and how far the comparator may be from the best.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Pass
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> run = Pass("margin", radius=3.0, classes=[0, 1], horizon=400)
    >>> run.feed(X, X[:, 0] > 0)
    >>> found = run.regret(X, X[:, 0] > 0)
    >>> bool(found.value <= found.bound)
    True
    """
    if trace.terms.learner.drives != "hinge":
        raise ConversionError(
            "regret is measured in hinge loss, which this learner does not record; use MarginPerceptron"
        )
    if count(rows) != trace.rounds or len(y) != trace.rounds:
        raise DataError(f"rows: {count(rows)} rows and {len(y)} labels, but the pass had {trace.rounds} rounds")
    if trace.rounds == 0:
        raise ConversionError("no row has been learned yet")
    X = _matrix(rows, len(trace.last) - 1, trace.terms.bias)
    loss = float(trace.tally.hinge.sum()) / trace.rounds
    norms = np.empty(trace.rounds)
    squared_norms(rows, norms)
    fan = 1.0 if trace.terms.outputs == 1 else 2.0
    reach = trace.terms.setting.reach or math.sqrt(fan * (norms.max() + trace.terms.bias))
    begun = trace.hypotheses.origin is not None or trace.elapsed or trace.merged  # the theorems start at 0
    bound = trace.terms.learner.regret_bound(trace.rounds, trace.terms.setting, reach) if not begun else None
    if comparator is not None:
        u = np.asarray(comparator, dtype=np.float64).reshape(trace.last.shape)
        best = float(_losses(X, y, u)[0].mean())
        return Regret(loss - best, loss, best, 0.0, bound, u)
    u, best, gap = _best(X, y, trace.last, fan, tolerance, steps)
    return Regret(loss - best, loss, best, gap, bound, u)


def _matrix(rows: AnyRows, width: int, bias: float) -> Any:
    """The rows as one sparse matrix with the constant feature in front."""
    import scipy.sparse

    n = count(rows)
    if isinstance(rows, Dense):
        X = scipy.sparse.csr_array(np.asarray(rows.values, dtype=np.float64))
        X.resize((n, width))
    else:
        X = scipy.sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(n, width))
    return scipy.sparse.hstack([np.full((n, 1), bias), X]).tocsr()


def _losses(X: Any, y: Ints, u: Floats) -> tuple[Floats, Floats]:
    """(hinge loss per row, z): z_ir = [r ≠ y] + s_r − s_y, for two classes the columns 0 and 1 − y·s."""
    s = X @ u
    if u.shape[1] == 1:
        z = np.column_stack([np.zeros(len(y)), 1.0 - y * s[:, 0]])
    else:
        z = 1.0 + s - s[np.arange(len(y)), y][:, None]
        z[np.arange(len(y)), y] = 0.0
    return z.max(axis=1), z


def _pull(X: Any, y: Ints, p: Floats, outputs: int) -> Floats:
    """(1/m) Σ_i Σ_r p_ir·direction_ir: where the weighted losses pull u."""
    if outputs == 1:
        return np.asarray(X.T @ (p[:, 1] * y)[:, None]) / len(y)
    toward = -p
    toward[np.arange(len(y)), y] += p.sum(axis=1)
    return np.asarray(X.T @ toward) / len(y)


def _best(X: Any, y: Ints, start: Floats, fan: float, tolerance: float, steps: int) -> tuple[Floats, float, float]:
    """(u, its average loss, gap): the best fixed hypothesis in the unit ball."""
    u = start / max(1.0, float(np.linalg.norm(start)))
    curvature = fan * _largest_eigenvalue(X)
    best_u, primal, dual = u, float(_losses(X, y, u)[0].mean()), -math.inf
    mu, done = 1.0, 0
    while done < steps and primal - dual > tolerance * max(primal, tolerance):
        ahead, momentum = u, 1.0
        for _ in range(100):
            losses, z = _losses(X, y, ahead)
            p = np.exp((z - losses[:, None]) / mu)
            p /= p.sum(axis=1, keepdims=True)
            pull = _pull(X, y, p, u.shape[1])
            other = p[:, 1] if u.shape[1] == 1 else p.sum(axis=1) - p[np.arange(len(y)), y]
            dual = max(dual, float(other.mean()) - float(np.linalg.norm(pull)))
            step = ahead + pull * (4.0 * mu / curvature)
            step /= max(1.0, float(np.linalg.norm(step)))
            after = 0.5 + math.sqrt(0.25 + momentum * momentum)
            ahead, u, momentum = step + (momentum - 1.0) / after * (step - u), step, after
            value = float(_losses(X, y, u)[0].mean())
            if value < primal:
                best_u, primal = u, value
            done += 1
        mu = max(mu / 2.0, 1e-6)
    return best_u, primal, max(0.0, primal - dual)


def _largest_eigenvalue(X: Any) -> float:
    """Of X'X/m, by the power method; a little more, since it comes from below. (A wrong one costs steps, not truth.)"""
    v = np.ones(X.shape[1]) / math.sqrt(X.shape[1])
    value = 0.0
    for _ in range(30):
        v = X.T @ (X @ v) / X.shape[0]
        value = float(np.linalg.norm(v))
        v = v / max(value, 1e-300)
    return 1.1 * value + 1e-300
