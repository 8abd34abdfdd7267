"""`onepass warmup`: compile every kernel now, so that nothing waits later (in a container image, say)."""

from __future__ import annotations

import time

import click

from onepass.cli import terminal
from onepass.cli.learning import LEARNERS


@click.command("warmup")
@terminal.options
def command(as_json: bool, quiet: bool) -> None:
    """Fill the cache of compiled kernels: every learner, two and several classes, sparse and dense rows.

    \b
    Examples:
      onepass warmup
      NUMBA_CACHE_DIR=/opt/cache onepass warmup -q
    """
    import numpy as np
    import scipy.sparse

    from onepass.passes import Pass

    start = time.perf_counter()
    X = np.random.default_rng(0).normal(size=(40, 3))
    jobs = [(name, classes, sparse) for name in LEARNERS for classes in (2, 3) for sparse in (True, False)]
    with terminal.progress("compiling kernels (once)", len(jobs), quiet) as tick:
        for done, (name, classes, sparse) in enumerate(jobs):
            run = Pass(name, classes=range(classes), radius=1.0, penalised="average", max_trace_memory=1500)
            run.feed(scipy.sparse.csr_array(X) if sparse else X, np.arange(40) % classes)
            kept = Pass(name, classes=range(classes))
            kept.feed(scipy.sparse.csr_array(X) if sparse else X, np.arange(40) % classes)
            for each in (run, kept):
                each.model().predict(X)
            tick(done + 1)
    seconds = time.perf_counter() - start
    if as_json:
        terminal.print_json({"command": "warmup", "seconds": seconds, "kernels": len(jobs)})
    else:
        click.echo(f"{len(jobs)} combinations are compiled ({seconds:.1f} s)")
