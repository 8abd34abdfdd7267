"""Learning on several machines: the two steps and the waves.

Step 1: every chunk is learned by itself; its summary travels, its log stays on the worker. The summaries are merged and
the cutoff k is chosen. Step 2: every chunk gives one vector Σ_j (n_j − k)₊·w_j; they are added in a fixed tree and
divided once.

With several waves each wave starts from the average of the last one's final hypotheses, and a falling learning rate
goes on where they had come to. (Starting from what the last wave would deploy, itself an average over its rounds, or
with the rate begun anew, loses much of what was learned.) A wave's k is chosen from the wave before it, which is
predictable and costs nothing; only the first wave's own choice is priced. Later waves need no second step and keep no
log. Early waves know less than the last: so the cutoff counts from the wave on that gives the best certificate, each of
the w waves at δ/w.

Of `frozen` no chunk sends a vector: a candidate is made of where waves start, and the rows of later waves watch it (see
`candidates`). One chunk is a plain pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from onepass.errors import ConversionError
from onepass.learners import named
from onepass.passes import Pass
from onepass.race import entries_named
from onepass.scale.beginning import waves_of
from onepass.scale.executors import DaskExecutor, LocalExecutor
from onepass.scale.inputs import Inputs
from onepass.scale.merged import Merged
from onepass.scale.progress import Checkpoints, Watch
from onepass.scale.racing import MergedRace, WaveRace, begin
from onepass.scale.tasks import refuse
from onepass.scale.waves import WaveRun
from onepass.tables.plan import ENCODINGS


def learn(
    inputs: Inputs,
    client: Any = None,
    *,
    waves: int | None = None,
    watch: Watch | None = None,
    patience: float = 60.0,
    checkpoints: Checkpoints | None = None,
    race: str | Sequence[str] | None = None,
    **options: Any,
) -> Merged | MergedRace:
    r"""Learn from the chunks on the workers of a Dask client; without one, here, chunk after chunk, to the same bits.

    `stop_at` and, with on_drift="restart", the drift alarm are looked at when a wave ends.

    Parameters
    ----------
    inputs : Inputs
        The chunks, from `cut`.
    client : distributed.Client or None, default None
        Whose workers learn. None: this process.
    waves : int or None, default None
        How many times the chunks' models are merged on the way. None: 32, fewer where a wave would have fewer than four
        chunks, but at least eight as long as there are chunks.
    watch : callable or None, default None
        Is told, by a Progress, of every chunk that is done.
    patience : float, default 60.0
        A cluster that has had no worker for so many seconds is given up.
    checkpoints : Checkpoints or None, default None
        Are asked where to go on from, and to save the run after each wave.
    race : str, list of str or None, default None
        Entries that learn from the same chunks, each read once, of which the best certified is deployed: learners, or
        encodings of a table that `cut` has found, as a list or with commas between. None or "off": none.
    \*\*options
        Those of `onepass.Pass`.

    Returns
    -------
    Merged or MergedRace
        It has `model()`, `certificate()` and `trace()` as a pass does; of a race they are the leader's.

    Raises
    ------
    ScaleError
        If the run cannot be finished; the message names the chunk.
    ConversionError
        If several machines cannot give this conversion, or not with this learner.
    ValueError, TypeError
        If an option cannot be so.

    Examples
    --------
    >>> from onepass.scale import cut, learn
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> chunks = cut([(X[at : at + 1000], y[at : at + 1000]) for at in range(0, 4000, 1000)])
    >>> merged = learn(chunks, waves=2)
    >>> merged.rounds, merged.model().predict([[3.0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0]]).tolist()
    (4000, ['up', 'down'])
    """
    chosen = Pass(**options)  # says at once what is wrong with the options
    refuse(chosen.conversion, chosen.cutoffs, options)
    names = () if race is None else entries_named(race)
    for learner in map(named, {*names} - {*ENCODINGS} or [options.get("learner")]):
        if not learner.keeps_rows:
            raise ConversionError(f"{type(learner).__name__}: its traces cannot be merged; run it in one pass")
    waves = waves_of(inputs) if waves is None else waves
    if isinstance(waves, bool) or not isinstance(waves, (int, np.integer)) or waves < 1:
        raise ValueError(f"waves: a positive whole number expected, got {waves!r}")
    if waves > len(inputs.chunks):
        raise ValueError(f"waves: {waves} waves of {len(inputs.chunks)} chunks; make waves fewer or chunks smaller")
    with DaskExecutor(client, patience) if client is not None else nullcontext(LocalExecutor()) as executor:
        run: WaveRun | WaveRace
        if names:
            run = begin(names, inputs, executor, options, watch, int(waves))
        else:
            run = WaveRun(inputs, executor, chosen, options, watch, int(waves))
        if checkpoints is not None:
            checkpoints.restore(run)
        return run.learn(checkpoints)
