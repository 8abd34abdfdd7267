"""What a run on several machines tells while it goes, and who keeps what it has come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from onepass.certificates import Certificate

if TYPE_CHECKING:
    from onepass.scale.racing import WaveRace
    from onepass.scale.waves import WaveRun


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes
    ----------
    done : int
        Chunks learned, of `chunks`.
    chunks : int
        All of them.
    wave : int
        From 1.
    step : int
        1: learning; 2: vectors of the first wave.
    bytes : int
        Of the chunks done.
    rows : int
        Of the longest complete prefix, of which the certificate speaks.
    mistakes : int
        In it.
    again : int
        Chunks begun once more.
    lost : int
        Workers lost.
    certificate : callable
        Gives the certificate of that prefix, or None.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.scale import cut, learn
    >>> X = np.random.default_rng(0).normal(size=(4000, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> told = []
    >>> chunks = cut([(X[at : at + 1000], y[at : at + 1000]) for at in range(0, 4000, 1000)])
    >>> merged = learn(chunks, waves=2, watch=told.append)
    >>> told[-1].done, told[-1].chunks, told[-1].wave, told[-1].rows
    (4, 4, 2, 4000)
    """

    done: int  # chunks learned, of `chunks`
    chunks: int
    wave: int  # from 1
    step: int  # 1: learning; 2: vectors of the first wave
    bytes: int  # of the chunks done
    rows: int  # of the longest complete prefix, of which the certificate speaks
    mistakes: int
    again: int  # chunks begun once more
    lost: int  # workers lost
    certificate: Callable[[], Certificate | None]  # of that prefix


Watch = Callable[[Progress], None]


class Checkpoints(Protocol):
    """Keeps what a run has come to."""

    def restore(self, run: WaveRun | WaveRace) -> None:
        """Bring a new run to where it was saved, if it was."""
        ...

    def save(self, run: WaveRun | WaveRace) -> None:
        """A wave is done, and another will begin."""
        ...
