"""Weights of two classes are one vector w; of several, one vector each. How one becomes the other when a class joins.

Two classes are −w/2 and +w/2 among several, which changes no margin and is exact; a class that joins starts at 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

NEVER = -(2.0**1000)  # the intercept of a class that a model does not know: no score is below it


def outputs_of(classes: int) -> int:
    """How many vectors so many classes have.

    >>> outputs_of(2), outputs_of(3)
    (1, 3)
    """
    return 1 if classes <= 2 else classes


def spread(weights: npt.NDArray[Any], outputs: int) -> npt.NDArray[Any]:
    """Weights (features, outputs) with more outputs; what comes after the second axis is carried along.

    >>> spread(np.array([[3.0], [-1.0]]), 3)
    array([[-1.5,  1.5,  0. ],
           [ 0.5, -0.5,  0. ]])
    >>> spread(np.array([[1.0, 2.0, -3.0]]), 4)
    array([[ 1.,  2., -3.,  0.]])
    """
    wider = np.zeros((len(weights), outputs, *weights.shape[2:]))
    if weights.shape[1] == 1:
        wider[:, 0], wider[:, 1] = 0.0 - 0.5 * weights[:, 0], 0.5 * weights[:, 0]  # no −0: columns to come have none
    else:
        wider[:, : weights.shape[1]] = weights
    return wider


def spread_if(weights: npt.NDArray[Any], outputs: int) -> npt.NDArray[Any]:
    """The same, or the weights themselves where they have as many outputs."""
    return weights if weights.shape[1] == outputs else spread(weights, outputs)


def spread_flat(weights: npt.NDArray[Any], before: int, outputs: int) -> npt.NDArray[Any]:
    """The same of weights laid flat, (feature · outputs + output, …)."""
    wider = spread(weights.reshape(-1, before, *weights.shape[1:]), outputs)
    return wider.reshape(-1, *weights.shape[1:])
