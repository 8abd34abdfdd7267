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
        self.active = False  # whether there is a thread
        self._pending: list[Callable[[], None]] = []
        self._waiting: deque[list[Callable[[], None]]] = deque()
        self._lock = threading.Lock()  # of what follows
        self._worker: Future[None] | None = None
        self._error: BaseException | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}  # between two calls of `feed` there is nothing under way

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    @contextmanager
    def running(self, threaded: bool) -> Iterator[None]:
        """A thread for the time of the block, if it is wanted; all is done at its end."""
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
        """Do this: now, or with the next `start`."""
        if self.active:
            self._pending.append(partial(work, *arguments))
        else:
            work(*arguments)

    def start(self) -> None:
        """Let the thread begin with what is pending."""
        if not self._pending:
            return
        calls, self._pending = self._pending, []
        with self._lock:
            self._waiting.append(calls)
            if self._worker is None:
                self._worker = _pool(os.getpid()).submit(self._work)

    def join(self) -> None:
        """Wait until all is done; an error is raised here, once."""
        self.start()
        while (worker := self._worker) is not None:
            wait([worker])
        error, self._error = self._error, None
        if error is not None:
            raise error

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
