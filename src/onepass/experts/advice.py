"""What experts say, checked once and laid out as the kernels want it. Nothing is learned from advice that fails here.

An expert is asleep in a round where its advice is NaN or where the mask `awake` is False.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.errors import DataError
from onepass.rows import Floats
from onepass.structure import refuse_masked

ASLEEP = np.uint8(2)  # the vote of an expert that does not vote
CELLS = 1 << 20  # advice is checked this many values at a time


class Advice(NamedTuple):
    """Row t is what the experts say in round t: uint8 votes 0, 1, ASLEEP, or float64 forecasts with NaN for asleep."""

    values: npt.NDArray[Any]
    asleep: npt.NDArray[np.bool_]  # per round: does anyone sleep?


class Rounds(NamedTuple):
    """Rounds to play: checked advice, and what came true."""

    advice: npt.NDArray[Any]
    asleep: npt.NDArray[np.bool_]
    outcomes: npt.NDArray[Any]


def check_votes(advice: npt.ArrayLike, awake: npt.ArrayLike | None = None) -> Advice:
    """Advice of 0 and 1, as votes.

    >>> check_votes([[0, 1], [1, float("nan")]]).values
    array([[0, 1],
           [1, 2]], dtype=uint8)
    """
    matrix, mask = _matrix(advice), _mask(awake, np.shape(advice))
    if matrix.dtype == np.bool_ and mask is None:
        return Advice(np.ascontiguousarray(matrix).view(np.uint8), np.zeros(len(matrix), np.bool_))
    if matrix.dtype == np.uint8 and mask is None and matrix.max() <= 1:
        return Advice(np.ascontiguousarray(matrix), np.zeros(len(matrix), np.bool_))
    codes = np.empty(matrix.shape, np.uint8)
    for block in _blocks(matrix):
        values = matrix[block]
        ones, sleeping = values == 1, _sleeping(values, mask, block)
        _refuse(~(ones | (values == 0) | sleeping), matrix, block, "0 or 1, or NaN for an expert that sleeps")
        codes[block] = np.where(sleeping, ASLEEP, ones)
    return Advice(codes, _someone(codes == ASLEEP))


def check_forecasts(advice: npt.ArrayLike, awake: npt.ArrayLike | None = None) -> Advice:
    """Advice in [0, 1], as float64.

    >>> check_forecasts([[0.25, 1.0]], awake=[[True, False]]).values
    array([[0.25,  nan]])
    """
    matrix, mask = _matrix(advice), _mask(awake, np.shape(advice))
    checked = np.ascontiguousarray(matrix, np.float64)
    if mask is not None:
        checked = np.where(mask, checked, np.nan)
    asleep = np.zeros(len(checked), np.bool_)
    for block in _blocks(checked):
        values = checked[block]
        sleeping = np.isnan(values)
        _refuse(~(((values >= 0.0) & (values <= 1.0)) | sleeping), matrix, block, "in [0, 1], or NaN for asleep")
        asleep[block] = _someone(sleeping, block.start)
    return Advice(checked, asleep)


def check_outcomes(values: npt.ArrayLike, rounds: int, *, binary: bool) -> npt.NDArray[Any]:
    """What came true, one value a round: uint8 of 0 and 1 if `binary`, else float64 in [0, 1]."""
    refuse_masked(values, "outcomes")
    truth = np.asarray(values)
    if truth.shape != (rounds,):
        raise DataError(f"outcomes: shape {truth.shape} does not fit {rounds} rounds of advice; give one value a round")
    if truth.dtype.kind not in "biuf":
        raise DataError(f"outcomes: numbers are needed, not {truth.dtype}")
    good = (truth == 0) | (truth == 1) if binary else (truth >= 0) & (truth <= 1)
    if not good.all():
        t = int(np.argmin(good))
        raise DataError(f"outcomes: round {t} has {truth[t]}; each must be {'0 or 1' if binary else 'in [0, 1]'}")
    return truth.astype(np.uint8 if binary else np.float64)


def as_forecasts(codes: npt.NDArray[np.uint8]) -> Floats:
    """Votes as forecasts: 0.0, 1.0, and NaN for asleep."""
    return np.array([0.0, 1.0, np.nan])[codes]


def _matrix(advice: npt.ArrayLike) -> npt.NDArray[Any]:
    refuse_masked(advice, "advice")
    matrix = np.asarray(advice)
    if matrix.ndim != 2 or matrix.size == 0:
        raise DataError(f"advice: shape {matrix.shape} must be (rounds, experts) with at least one of each")
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"advice: numbers are needed, not {matrix.dtype}")
    return matrix


def _mask(awake: npt.ArrayLike | None, shape: tuple[int, ...]) -> npt.NDArray[np.bool_] | None:
    if awake is None:
        return None
    mask = np.asarray(awake)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise DataError(f"awake: {mask.dtype} of shape {mask.shape} must be bool of advice's shape {shape}")
    return mask


def _blocks(matrix: npt.NDArray[Any]) -> Iterator[slice]:
    step = max(1, CELLS // matrix.shape[1])
    return (slice(first, min(first + step, len(matrix))) for first in range(0, len(matrix), step))


def _sleeping(values: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None, block: slice) -> npt.NDArray[np.bool_]:
    nan: npt.NDArray[np.bool_] = np.isnan(values)
    return nan if mask is None else nan | ~mask[block]


def _refuse(bad: npt.NDArray[np.bool_], matrix: npt.NDArray[Any], block: slice, wanted: str) -> None:
    if bad.any():
        t, i = np.unravel_index(int(np.argmax(bad)), bad.shape)
        value = matrix[block][t, i]
        raise DataError(f"advice: round {block.start + int(t)}, expert {int(i)} says {value}; it must be {wanted}")


def _someone(sleeping: npt.NDArray[np.bool_], first: int = 0) -> npt.NDArray[np.bool_]:
    """Per round, whether anyone sleeps; an error if everyone does."""
    deserted = sleeping.all(axis=1)
    if deserted.any():
        t = first + int(np.argmax(deserted))
        raise DataError(f"advice: in round {t} every expert is asleep; drop the round or wake one expert")
    return np.logical_or.reduce(sleeping, axis=1)  # type: ignore[no-any-return]
