"""Work that learning need not wait for, on a thread of its own while a long batch is fed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any


class Background:
    """Calls in order: at once while there is no thread, else in batches on the thread.

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
        self._thread: Executor | None = None
        self._pending: list[Callable[[], None]] = []
        self._running: list[Future[None]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {}  # between two calls of `feed` there is nothing under way

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    @property
    def active(self) -> bool:
        """Whether there is a thread."""
        return self._thread is not None

    @contextmanager
    def running(self, threaded: bool) -> Iterator[None]:
        """A thread for the time of the block, if it is wanted; all is done at its end."""
        if not threaded:
            yield
            return
        with ThreadPoolExecutor(1, "onepass-background") as thread:
            self._thread = thread
            try:
                yield
            finally:
                try:
                    self.join()
                finally:
                    self._thread = None

    def submit(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do this: now, or with the next `start`."""
        if self._thread is None:
            work(*arguments)
        else:
            self._pending.append(partial(work, *arguments))

    def start(self) -> None:
        """Let the thread begin with what is pending."""
        if self._thread is not None and self._pending:
            self._running.append(self._thread.submit(_call_all, self._pending))
            self._pending = []

    def join(self) -> None:
        """Wait until all is done; an error is raised here, once."""
        self.start()
        running, self._running = self._running, []
        for work in running:
            work.result()


def _call_all(calls: list[Callable[[], None]]) -> None:
    for call in calls:
        call()
