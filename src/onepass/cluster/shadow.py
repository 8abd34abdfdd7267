"""Shadows of wide rows: an orthogonal projection onto a few directions never lengthens a distance.

So ‖x − c‖² ≥ ‖shadow(x) − shadow(c)‖², and where that already reaches the D² of x, the wide distance need not be
computed. The directions are the leading ones of a sample of the rows, by two steps of subspace iteration; any others
would be as correct, and rule out less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass.cluster.crew import Crew, Span
from onepass.cluster.distance import slack
from onepass.rows import AnyRows, Dense

DIRECTIONS = 32
WIDE = 4 * DIRECTIONS  # columns from which shadows pay
SAMPLE = 1024


class Shadows(NamedTuple):
    """The shadow of each row (no columns: none was cast), and by how much a distance between two may be too long."""

    rows: Dense
    doubt: float


def cast(rows: AnyRows, crew: Crew) -> Shadows:
    """The shadows of wide dense rows; of others, none."""
    n = rows.values.shape[0]
    if not isinstance(rows, Dense) or rows.values.shape[1] < WIDE or n < SAMPLE:
        return Shadows(Dense(np.empty((1, 0), dtype=np.float32)), 0.0)
    X = rows.values
    sample = X[np.linspace(0, n - 1, SAMPLE).astype(np.int64)].astype(np.float64)
    origin = sample.mean(axis=0)
    sample -= origin
    directions = np.random.default_rng(0).normal(size=(X.shape[1], DIRECTIONS))
    for _ in range(2):
        directions, _ = np.linalg.qr(sample.T @ (sample @ directions))
    shadows = np.empty((n, DIRECTIONS), dtype=np.float32)

    def project(span: Span) -> float:
        """Casts the span's shadows; the greatest squared length of its rows."""
        part = X[span.first : span.last]
        shadows[span.first : span.last] = part @ directions.astype(X.dtype)
        return float(np.einsum("if,if->i", part, part).max())

    longest = np.sqrt(max(crew.each(project, crew.spans(n, X.shape[1])))) * (1 + 1e-3)
    room = slack(np.float32, X.shape[1]).relative + 1e-6  # products and directions, both rounded
    return Shadows(Dense(shadows), float(2 * np.sqrt(DIRECTIONS) * room * longest))
