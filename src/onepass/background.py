"""Work that learning need not wait for, on a thread of its own while a batch is fed."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from onepass.cores import cores


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads of this process, started when they are wanted; one that was forked off has none of its parent's."""
    return ThreadPoolExecutor(max(1, cores()), "onepass-background")


class _Chain:
    """Batches of calls, one after the other, on whatever thread is free."""

    def __init__(self) -> None:
        self.pending: list[Callable[[], None]] = []  # what the next batch will be
        self._waiting: deque[list[Callable[[], None]]] = deque()
        self._lock = threading.Lock()  # of what follows
        self._worker: Future[None] | None = None
        self._error: BaseException | None = None

    def start(self) -> None:
        """Let a thread begin with what is pending."""
        if not self.pending:
            return
        calls, self.pending = self.pending, []
        with self._lock:
            self._waiting.append(calls)
            if self._worker is None:
                self._worker = _pool(os.getpid()).submit(self._work)

    def wait(self) -> BaseException | None:
        """Wait until all that was started is done; the error that ended it."""
        while (worker := self._worker) is not None:
            wait([worker])
        error, self._error = self._error, None
        return error

    def _work(self) -> None:
        """Call what waits, until nothing does; after an error what waits is not called any more."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._worker = None
                    return
                calls = self._waiting.popleft()
            try:
                for call in calls:
                    call()
            except BaseException as error:
                with self._lock:
                    self._waiting.clear()
                    self._worker, self._error = None, error
                return


class Background:
    """Calls in order: at once while there is no thread, else in batches on one.

    >>> done = []
    >>> background = Background()
    >>> background.submit(done.append, 1)
    >>> with background.running(True):
    ...     background.submit(done.append, 2)
    ...     background.start()
    >>> done
    [1, 2]
    """

    def __init__(self) -> None:
        self.active = False  # whether there are threads
        self._in_order, self._apart = _Chain(), _Chain()

    def __getstate__(self) -> dict[str, Any]:
        return {}  # between two calls of `feed` there is nothing under way

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    @contextmanager
    def running(self, threaded: bool) -> Iterator[None]:
        """Threads for the time of the block, if they are wanted; all is done at its end."""
        if not threaded:
            yield
            return
        self.active = True
        try:
            yield
        finally:
            try:
                self.join()
            finally:
                self.active = False

    def submit(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do this: now, or with the next `start`, after what was submitted before."""
        self._submit(self._in_order, work, *arguments)

    def submit_apart(self, work: Callable[..., None], *arguments: Any) -> None:
        """The same in a row of its own: for what has nothing to do with the rest."""
        self._submit(self._apart, work, *arguments)

    def _submit(self, chain: _Chain, work: Callable[..., None], *arguments: Any) -> None:
        if self.active:
            chain.pending.append(partial(work, *arguments))
        else:
            work(*arguments)

    def start(self) -> None:
        """Let the threads begin with what is pending."""
        self._in_order.start()
        self._apart.start()

    def join(self) -> None:
        """Wait until all is done; an error is raised here, once."""
        self.start()
        errors = [error for chain in (self._in_order, self._apart) if (error := chain.wait()) is not None]
        if errors:
            raise errors[0]
