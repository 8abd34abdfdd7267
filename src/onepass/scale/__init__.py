"""Several machines: the same model and the same certificate on Dask.

A stream is cut into chunks before anything is read (constant numbers of bytes, or what a Dask collection is made of).
The chunks in their order are one run with restarts: every hypothesis depends on earlier rows only, so one certificate
covers all rounds as if one machine had read them.

    inputs     what the chunks are                       chunks     how a worker reads one
    summaries  what of a chunk travels, and merging it   tasks      the pure functions that workers run
    executors  who runs tasks: Dask, or this process     clusters   connecting, local workers, versions
    watching   rows that watch earlier waves' models     candidates these models, and what all rows showed of them
    learning   the steps and the waves                   merged     what stands where a pass would
    beginning  what every chunk must know beforehand     waves      a run, wave after wave
    waves_done what they have come to, and its state     progress   what is told while it goes
    wave_certificates  what is certified on the way      wave_sums  vectors that the workers send
    wave_exchange      what goes to the workers          racing     entries that learn from the same chunks
    lloyd      k-means‖ and Lloyd by partial sums

Only this room imports Dask.
"""

from __future__ import annotations

from typing import Any

from onepass._exports import exported

_HOME = {
    "Merged": "merged",
    "Progress": "progress",
    "connect": "clusters",
    "cut": "inputs",
    "fit": "fitting",
    "kmeans": "lloyd",
    "learn": "learning",
    "local_workers": "clusters",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    return exported(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__
