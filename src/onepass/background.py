"""Work that learning need not wait for, on threads of its own while a batch is fed."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from queue import SimpleQueue
from typing import Any

from onepass.cores import cores

Calls = list[Callable[[], None]]


@cache
def _queue_of(process: int) -> SimpleQueue[Callable[[], None]]:
    """What the threads of this process take their work from; one that was forked off has none of its parent's threads.

    No executor: Ctrl-C while work is handed to one can leave it locked for good, and to put something here is one step.
    """
    queue: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def work() -> None:
        while True:
            queue.get()()

    for _ in range(max(1, cores())):
        threading.Thread(target=work, name="onepass-background", daemon=True).start()
    return queue


class _Chain:
    """Batches of calls, one after the other, on whatever thread is free."""

    def __init__(self) -> None:
        self.pending: Calls = []  # what the next batch will be
        self._waiting: deque[Calls] = deque()
        self._lock = threading.Lock()  # of all that follows
        self._idle = threading.Event()  # nothing waits, and no call is under way
        self._idle.set()
        self._working = False
        self._error: BaseException | None = None

    def start(self, queue: SimpleQueue[Callable[[], None]]) -> None:
        """Let a thread begin with what is pending."""
        if not self.pending:
            return
        calls, self.pending = self.pending, []
        with self._lock:
            if self._error is None:  # after an error nothing more is called
                self._idle.clear()
                self._waiting.append(calls)
        queue.put(self._work)

    def wait(self) -> BaseException | None:
        """Wait until all that was started is done; the error that ended it."""
        self._idle.wait()
        error, self._error = self._error, None
        return error

    def forget(self) -> None:
        """What waits is not called."""
        self.pending = []
        with self._lock:
            self._waiting.clear()
            if not self._working:
                self._idle.set()

    def _work(self) -> None:
        """Call what waits, until nothing does, unless another thread is at it."""
        with self._lock:
            if self._working:
                return
            self._working = True
        while True:
            with self._lock:
                if not self._waiting:
                    self._working = False
                    self._idle.set()
                    return
                calls = self._waiting.popleft()
            try:
                for call in calls:
                    call()
            except BaseException as error:
                with self._lock:
                    self._waiting.clear()
                    self._error = error


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
        self._in_order, self._apart = self._chains = _Chain(), _Chain()

    def __getstate__(self) -> dict[str, Any]:
        return {}  # between two calls of `feed` there is nothing under way

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]

    @contextmanager
    def running(self, threaded: bool) -> Iterator[None]:
        """Threads for the time of the block, if they are wanted; all is done at its end, or none is at it any more."""
        if not threaded:
            yield
            return
        _queue_of(os.getpid())
        self.active = True
        try:
            yield
            self.join()
        except BaseException:
            self.abandon()
            raise
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
        if self.active:
            for chain in self._chains:
                chain.start(_queue_of(os.getpid()))

    def join(self) -> None:
        """Wait until all is done; an error is raised here, once."""
        self.start()
        errors = [error for chain in self._chains if (error := chain.wait()) is not None]
        if errors:
            raise errors[0]

    def abandon(self) -> None:
        """What was not begun is not done, and what went wrong is not told: before all is put back.

        A call under way is waited for, however often Ctrl-C comes meanwhile: what it works on is about to change.
        """
        interrupted: KeyboardInterrupt | None = None
        while True:
            try:
                for chain in self._chains:
                    chain.forget()
                for chain in self._chains:
                    chain.wait()
                break
            except KeyboardInterrupt as signal:
                interrupted = signal
        if interrupted is not None:
            raise interrupted
