"""Threads for kernels that let go of the interpreter's lock.

A job is cut into spans of rows. Kernels treat rows one by one, or sum over BLOCKs that never move, so neither the cut
nor the number of threads can be seen in a result. A span is small enough that Ctrl-C is answered at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from onepass.cores import cores

BLOCK = 1024  # rows whose numbers are always added together first
WORK = 2e8  # elementary steps in one kernel call: about a tenth of a second


class Span(NamedTuple):
    """Rows first..last − 1."""

    first: int
    last: int


class Crew(NamedTuple):
    """So many threads, and `each`, which runs a function over items and returns the results in their order."""

    threads: int
    each: Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]

    def spans(self, n: int, cost: float) -> list[Span]:
        """Rows 0..n − 1 in whole blocks: two spans for each thread, more if a row's cost asks for it."""
        blocks = -(-n // BLOCK)
        pieces = max(2 * self.threads if self.threads > 1 else 1, int(n * cost / WORK) + 1)
        size = -(-blocks // min(pieces, blocks)) * BLOCK
        return [Span(first, min(first + size, n)) for first in range(0, n, size)]


@contextmanager
def crew(threads: int | None) -> Iterator[Crew]:
    """`threads` of them (None: one for each core this process may use), gone when the block ends.

    >>> with crew(2) as workers:
    ...     workers.each(len, ["a", "bc"])
    [1, 2]
    """
    count = cores() if threads is None else int(threads)
    if count < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    if count == 1:
        yield Crew(1, lambda function, items: [function(item) for item in items])
        return
    pool = ThreadPoolExecutor(count - 1, thread_name_prefix="onepass-cluster")

    def each(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Every thread, this one too, takes the next item until none is left, or one of them fails."""
        given = list(items)
        results: list[Any] = [None] * len(given)
        queue = iter(range(len(given)))

        def work() -> None:
            try:
                for at in queue:
                    results[at] = function(given[at])
            except BaseException:  # Ctrl-C above all: the others must not go on with what nobody wants any more
                for _ in queue:
                    pass
                raise

        helpers = [pool.submit(work) for _ in range(min(count, len(given)) - 1)]
        work()
        for helper in helpers:
            helper.result()
        return results

    try:
        yield Crew(count, each)
    finally:
        pool.shutdown(cancel_futures=True)
