"""The sum of all hypotheses that were in use, kept beside a learner whose updates are multiples of rows.

With σ = Σ scale over the rounds so far, an update that adds d to v adds σ·d to u: then Σ_j w_j = σ·v − u, and no w_j is
ever formed. It follows the log, beside the learning, with a v of its own. When the scale has fallen to 2^-10 of what it
was, σ·v is settled (u −= σ·v, σ = 0), or the difference would cancel; before the update where a single one makes it
fall so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass._jit import jit
from onepass.outputs import spread_flat
from onepass.rows import Floats
from onepass.state_checks import need, need_alike, need_fields
from onepass.trace.columns import SETTLE
from onepass.trace.log import SHIFTS, Log

SCALE, SIGMA, SETTLED, SINCE = range(4)  # places in the state


class RunningSum:
    """v and u lie flat, intercepts first; `origin` is where the learner started."""

    def __init__(self, outputs: int, bias: float, origin: Floats | None) -> None:
        self.outputs, self.bias = outputs, bias
        self.v = np.zeros(outputs) if origin is None else origin.reshape(-1).copy()
        self.u = np.zeros(self.v.size)
        self.numbers = np.array([1.0, 0.0, 1.0, 0.0])

    def follow(self, log: Log, first: int, width: int) -> None:
        """Take in the updates from number `first` on; rows have at most so many features."""
        self._widen(width)
        _follow(log, first, self.v, self.u, self.numbers, self.outputs, self.bias)

    def total(self, rounds: int, width: int) -> Floats:
        """Σ of the hypothesis in use over so many rounds, (1 + width, outputs)."""
        self._widen(width)
        scale, sigma, _, since = self.numbers
        total = (sigma + (rounds - since) * scale) * self.v - self.u
        return np.asarray(total[: (1 + width) * self.outputs].reshape(-1, self.outputs))

    def join(self, outputs: int) -> None:
        """More outputs."""
        self.v, self.u = (spread_flat(array, self.outputs, outputs) for array in (self.v, self.u))
        self.outputs = outputs

    def _widen(self, width: int) -> None:
        size = (1 + width) * self.outputs
        if size > self.v.size:
            room = max(size, 2 * self.v.size)
            v, u = np.zeros((2, room))
            v[: self.v.size], u[: self.u.size] = self.v, self.u
            self.v, self.u = v, u

    def state(self) -> dict[str, Any]:
        """What changes, sharing its arrays."""
        return {"v": self.v, "u": self.u, "numbers": self.numbers}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.v, self.u, self.numbers = state["v"], state["u"], state["numbers"]

    def check_state(self, state: Any, rounds: int) -> None:
        """Raise CheckpointError unless a run of so many rounds can have this state."""
        what = "the sum of the hypotheses"
        need_fields(state, self.state(), what)
        for name, array in self.state().items():
            need_alike(state[name], array, what)
            need(bool(np.isfinite(state[name]).all()), what)
        need(state["v"].size == state["u"].size >= self.outputs, what)
        need(state["numbers"].size == 4 and 0 <= state["numbers"][SINCE] <= rounds, what)


@jit
def _place(v: Floats, u: Floats, at: int, d: float, sigma: float) -> None:
    v[at] += d
    u[at] += sigma * d


@jit
def _settle(v: Floats, u: Floats, sigma: float) -> None:
    for f in range(np.uint64(v.size)):
        u[f] -= sigma * v[f]


@jit
def _apply(log: Log, i: int, v: Floats, u: Floats, sigma: float, outputs: int, bias: float) -> None:
    """Update i, as the learner made it."""
    indices, values, first, end = log.indices, log.values, log.indptr[i], log.indptr[i + 1]
    a = log.a[i]
    if outputs == 1:
        a *= log.label[i]
        _place(v, u, 0, a * bias, sigma)
        for j in range(first, end):
            _place(v, u, np.int64(indices[j]) + 1, a * values[j], sigma)
        return
    to, out_of = np.int64(log.label[i]), np.int64(log.rival[i])
    _place(v, u, to, a * bias, sigma)
    _place(v, u, out_of, -a * bias, sigma)
    for j in range(first, end):
        line, d = (np.int64(indices[j]) + 1) * outputs, a * values[j]
        _place(v, u, line + to, d, sigma)
        _place(v, u, line + out_of, -d, sigma)


@jit
def _follow(log: Log, first: int, v: Floats, u: Floats, numbers: Floats, outputs: int, bias: float) -> None:
    scale, sigma, settled, since = numbers[SCALE], numbers[SIGMA], numbers[SETTLED], numbers[SINCE]
    for i in range(first, log.round.size):
        sigma += (log.round[i] - since) * scale
        since = np.float64(log.round[i])
        after, factor = log.scale[i], SHIFTS[log.shift[i]]
        if after * factor < SETTLE * scale:  # beside the row that this update adds, v would be lost to rounding
            _settle(v, u, sigma)
            sigma, settled = 0.0, scale
        _apply(log, i, v, u, sigma, outputs, bias)
        if log.shift[i] or after < SETTLE * settled:
            _settle(v, u, sigma)
            sigma, settled = 0.0, after
        if log.shift[i]:
            for f in range(np.uint64(v.size)):
                v[f] *= factor
        scale = after
    numbers[SCALE], numbers[SIGMA], numbers[SETTLED], numbers[SINCE] = scale, sigma, settled, since
