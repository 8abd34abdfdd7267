"""Kernels compiled by a second process, while the first compiles those that it needs before.

numba compiles one kernel at a time in a process. So where kernels are missing and a second core is there, the program
starts this module as a process of its own, which calls what a pass calls last (guards, watched models, certificates)
on a few rows; what it has compiled lies in the cache on disk when the program comes to it. It says nothing, changes no
result, and ends with the program, however that ends: its stdin is a pipe that nobody writes to, closed then.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from onepass.cli.startup import tune_startup
from onepass.cores import cores

if TYPE_CHECKING:
    import subprocess

DENSE = (".npy", ".npz")  # rows of these files are dense, and other kernels look at them


def helps(paths: Sequence[str], learner: str, conversion: str) -> bool:
    """Whether a second process would compile what a run needs: sparse rows, the usual learner and frozen models."""
    usual = learner == "adaptive" and conversion == "frozen"
    return usual and cores() > 1 and not any(path.lower().endswith(DENSE) for path in paths)


@contextmanager
def compiling(wanted: bool) -> Iterator[None]:
    """The second process for as long as the block runs, if it is wanted; where it cannot be started, none.

    -P: what lies in the folder that the program was called in is no module of ours.
    """
    process = _started() if wanted else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.communicate()


def _started() -> subprocess.Popen[bytes] | None:
    import subprocess

    command, nowhere = [sys.executable, "-P", "-m", "onepass.cli.ahead"], subprocess.DEVNULL
    with suppress(OSError, ValueError, TypeError):  # no interpreter of its own, no more processes, no more memory
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere)
    return None


def _end_with_parent() -> None:
    """End at once where the pipe ends, which no handler and no lock can hold up."""
    with suppress(OSError):
        os.read(0, 1)
    os._exit(0)


def compile_late_kernels() -> None:
    """Call what a pass over sparse rows of two classes calls beside and after learning, in about its order."""
    from onepass.trace.grid import floor_index

    if floor_index.stats.cache_path is None:  # type: ignore[attr-defined]  # what is compiled would be lost
        return
    import numpy as np

    from onepass.guards import Guards
    from onepass.rows import Rows
    from onepass.trace import SumSoFar
    from onepass.trace.watched import FIRST
    from onepass.validate import validate_rows
    from onepass.watching import WatchedModels

    count, y = 64, np.resize([1, -1, -1], 64)
    rows = Rows(np.arange(count + 1), np.zeros(count, np.int32), np.linspace(-1.0, 1.0, count))
    guards, watched = Guards(2, order=True, repeats=True, drift=True), WatchedModels(2, 1.0, 1 << 20)
    known = SumSoFar(np.zeros((2, 1)), np.zeros(1, np.int32))
    guards.reasons()
    validate_rows(rows, 1)
    guards.observe(rows, y)
    for tester, bins in watched.freeze(FIRST, lambda: known).items():
        guards.begin_segment(tester, bins)
    guards.observe_cells(watched.watch(rows, y, FIRST, 1, 0.0), FIRST)
    _enter_and_certify()


def _enter_and_certify() -> None:
    """Enter an update as Adaptive logs it, and choose among two models, the elder and the newer of a pair."""
    from onepass.certificates.pair import best_candidate
    from onepass.trace.grid import BINS
    from onepass.trace.kinds import mistake_kinds
    from onepass.trace.log import no_deltas
    from onepass.trace.tally import empty_tally, enter
    from onepass.trace.watched import nothing_watched

    log = no_deltas().with_room(1, 1)
    for numbers in log:
        numbers[:] = 0
    log.round[0], log.cursor[0] = 1, 1
    enter(empty_tally(BINS, 2), log.cut(), 0, 0.0, mistake_kinds(2).table, 0)
    counts = nothing_watched(2, 2)
    counts.frozen[:], counts.elder[:], counts.rows[:] = (8, 32), (0, 8), 500
    best_candidate(counts, 0.05, (0.5, 0.5))


if __name__ == "__main__":
    tune_startup()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    compile_late_kernels()
    os._exit(0)  # with the other thread in the middle of its reading
