"""Tasks done ahead of whoever takes their results, which come in order.

A pool of threads does them, and the taker does not wait for a result that is not there yet: it does one of the tasks
behind it. Where dealing out tasks is work itself (something to decompress), one more thread deals, and does tasks when
enough are dealt. So there can be as many threads as cores, all of them at work, and none waits for one that had to make
way. Tasks that are dealt and not taken are bounded, so memory is; an error anywhere is raised where its result would
have come.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, NamedTuple, TypeVar

Place = TypeVar("Place")
Result = TypeVar("Result")


class Task(NamedTuple, Generic[Place, Result]):
    """Something to do, in any thread, and what its result will stand for."""

    place: Place
    run: Callable[[], Result]


class _Dealt(NamedTuple, Generic[Place, Result]):
    task: Task[Place, Result]
    future: Future[Result]


class Prefetcher(Generic[Place, Result]):
    """The results of tasks, in order, once; to be closed.

    threads: at work beside the taker. room: tasks that may be dealt and not taken. beside: a thread of its own deals.
    """

    def __init__(self, tasks: Iterator[Task[Place, Result]], threads: int, room: int, *, beside: bool) -> None:
        self.room = room
        self._tasks = tasks
        self._pool = ThreadPoolExecutor(threads, "onepass-parse") if threads else None
        self._dealt = deque[_Dealt[Place, Result]]()
        self._ended = self._closed = False  # nothing more will be dealt; or done
        self._error: BaseException | None = None  # of dealing
        self._changed = threading.Condition()  # what is dealt, or whether it has ended
        # A daemon: a dealer that waits for stdin must not keep the program from ending.
        self._dealer = threading.Thread(target=self._deal_all, name="onepass-read", daemon=True) if beside else None

    def __iter__(self) -> Iterator[tuple[Place, Result]]:
        if self._dealer is not None:
            self._dealer.start()
        while self._find():
            self._finish_first()
            yield self._take()  # of which nothing is kept here: the caller lets go of a block before the next is there
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # errors refer to this frame

    def close(self, patience: float | None = None) -> bool:
        """Stop; whether all threads have ended, the dealer within so many seconds."""
        with self._changed:
            self._ended = self._closed = True
            self._changed.notify()
        if self._dealer is not None and self._dealer.ident is not None:
            self._dealer.join(patience)
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._dealt.clear()
        return self._dealer is None or not self._dealer.is_alive()

    def _find(self) -> bool:
        """See to it that a task is dealt, if there is one left."""
        if self._dealer is None:
            while not self._ended and len(self._dealt) < self.room:
                self._deal()
        else:
            with self._changed:
                self._changed.wait_for(lambda: self._dealt or self._ended)
        return bool(self._dealt)

    def _finish_first(self) -> None:
        """Until the first result is there, do what nobody has begun; wait for it if there is no such task."""
        while not self._dealt[0].future.done():
            if not self._do_one():
                wait([self._dealt[0].future])

    def _take(self) -> tuple[Place, Result]:
        with self._changed:
            first = self._dealt.popleft()
            self._changed.notify()
        try:
            return first.task.place, first.future.result()
        finally:
            del first  # which may hold an error, which refers to this frame

    def _deal_all(self) -> None:
        """The dealer's thread."""
        try:
            while not self._ended:
                if len(self._dealt) < self.room:
                    self._deal()
                elif not self._do_one():
                    with self._changed:
                        self._changed.wait_for(lambda: self._ended or len(self._dealt) < self.room)
            while not self._closed and self._do_one():
                pass
        except BaseException as error:  # the taker must hear of it, or it would wait for ever
            with self._changed:
                self._error, self._ended = error, True
                self._changed.notify()

    def _deal(self) -> None:
        """One task more."""
        task = None
        try:
            task = next(self._tasks, None)
        except Exception as error:
            self._error = error
        with self._changed:
            if task is None:
                self._ended = True
            elif not self._ended:
                future = Future[Result]() if self._pool is None else self._pool.submit(task.run)
                self._dealt.append(_Dealt(task, future))
            self._changed.notify()

    def _do_one(self) -> bool:
        """Do the first task that nobody has begun, in this thread; False if there is none."""
        with self._changed:
            found = next((i for i, dealt in enumerate(self._dealt) if dealt.future.cancel()), None)
            if found is None:
                return False
            task, future = self._dealt[found].task, Future[Result]()
            future.set_running_or_notify_cancel()
            self._dealt[found] = _Dealt(task, future)
        try:
            future.set_result(task.run())
        except BaseException as error:
            future.set_exception(error)
            del future  # an error refers to this frame
            if not isinstance(error, Exception):
                raise
        return True
