"""Before the first row of a run on several machines: how many waves, and what every chunk must know beforehand."""

from __future__ import annotations

from typing import Any

from onepass.errors import DataError
from onepass.files import sha256
from onepass.labels import MORE, MOST
from onepass.passes import Pass
from onepass.scale.executors import Executor
from onepass.scale.inputs import Inputs
from onepass.scale.tasks import Job, start

MOST_WAVES, FEWEST_WAVES, PER_WAVE = 32, 8, 4  # waves, and the chunks that a wave should have; small data has one each


def waves_of(inputs: Inputs) -> int:
    """How many waves these chunks make, where nobody says."""
    chunks = len(inputs.chunks)
    return min(chunks, max(FEWEST_WAVES, min(MOST_WAVES, chunks // PER_WAVE)))


def run_options(chosen: Pass, inputs: Inputs, waves: int) -> dict[str, Any]:
    """What a run over these chunks, in so many waves, is made with, in plain values."""
    cuts = sha256(*(str(getattr(chunk, "span", None)).encode() for chunk in inputs.chunks))[:8]
    return {**chosen.options, "waves": waves, "chunks": f"{len(inputs.chunks)} (cut as {cuts})"}


def agreed(job: Job, inputs: Inputs, executor: Executor) -> Job:
    """The job with what every chunk must know beforehand: the classes, and what radius="auto" comes to."""
    need_radius = job.options["radius"] == "auto"
    met: dict[Any, None] = {}
    for chunk, data in zip(inputs.chunks, inputs.data, strict=True):
        need_labels = job.options["classes"] is None and len(met) < 2
        if not (need_labels or (need_radius and chunk.number == 0)):
            break
        handles = executor.each(f"start-{chunk.number}", start, [(job, chunk, data, need_labels)])
        ((_, found),) = executor.fetch(handles, [str(chunk)])
        executor.drop(handles)
        met |= dict.fromkeys(found.labels)
        job = job if found.radius is None else job._replace(radius=found.radius)
    if job.options["classes"] is None:
        if not met:
            raise DataError("no examples", source=getattr(inputs.chunks[0], "path", None))
        if len(met) < 2:
            raise DataError(f"y: all labels are {next(iter(met))!r}; at least two classes are needed")
        if len(met) > (most := job.options.get("max_classes", MOST)):
            raise DataError(f"y: {len(met)} labels in the first rows, and at most {most} may be met", remedy=MORE)
        job = job._replace(options=job.options | {"classes": sorted(met)})
    return job
