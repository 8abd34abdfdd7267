"""Threads for work that lets go of the interpreter's lock.

Kernels treat rows one by one, or sum over blocks that never move, and every item has its own place in the results: so
the number of threads cannot be seen in them. An item should be short: Ctrl-C waits for those under way, and no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from onepass.cores import cores

Item = TypeVar("Item")
Result = TypeVar("Result")


class ThreadExecutor:
    """So many threads, the caller's own among them; gone when its block ends.

    threads  how many; None for one for each core that this process may use

    >>> with ThreadExecutor(2) as executor:
    ...     executor.map(len, ["a", "bc"])
    [1, 2]
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = cores() if threads is None else int(threads)
        if self.threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._pool = ThreadPoolExecutor(self.threads - 1, "onepass") if self.threads > 1 else None

    def __enter__(self) -> ThreadExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(
        self, function: Callable[[Item], Result], items: Iterable[Item], tick: Callable[[int], None] | None = None
    ) -> list[Result]:
        """The function's results in the order of the items.

        Every thread takes the next item until none is left, or one of them fails. For each item done this thread calls
        `tick` with the number done, though seldom at once: it has work of its own.
        """
        given = list(items)
        results: dict[int, Result] = {}
        queue = iter(range(len(given)))
        told = 0

        def tell() -> None:
            nonlocal told
            while tick is not None and told < len(results):
                told += 1
                tick(told)

        def work(after: Callable[[], None] = lambda: None) -> None:
            try:
                for at in queue:
                    results[at] = function(given[at])
                    after()
            except BaseException:  # Ctrl-C above all: the others must not go on with what nobody wants any more
                for _ in queue:
                    pass
                raise

        helpers = []
        if self._pool is not None:
            helpers = [self._pool.submit(work) for _ in range(min(self.threads, len(given)) - 1)]
        work(tell)
        for helper in helpers:
            helper.result()
        tell()
        return [results[at] for at in range(len(given))]
