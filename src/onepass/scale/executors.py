"""Who runs the tasks: the workers of a Dask cluster, or this process.

Both take the same pure tasks. Results come back as they are done; a result that is not fetched stays where it was made.
"""

from __future__ import annotations

import threading
import time
import uuid
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError as FutureCancelledError
from typing import Any, Protocol, TypeVar

from onepass.errors import OnepassError, ScaleError
from onepass.scale.tasks import TOPIC, hold
from onepass.scale.versions import refuse_differences, versions

Handle = Any  # of a result that is, or will be, somewhere
CANCELLED = (CancelledError, FutureCancelledError)  # the first is no kind of the second, and Dask uses both
TICK = 0.02  # seconds between looks at what has come back
FAN = 8  # results added by one task of a tree
T = TypeVar("T")


class Executor(Protocol):
    """Runs pure tasks."""

    name: str

    def each(self, kind: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """One task for each line of arguments, which may hold handles; their results stay where they are made."""
        ...

    def fetch(self, handles: Sequence[Handle], names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """(place, result) as they are done; `names` say in errors what a task was about."""
        ...

    def hold(self, kind: str, value: Any) -> Handle:
        """A value that any task may be given, put where a lost worker cannot take it away."""
        ...

    def drop(self, handles: Sequence[Handle]) -> None:
        """Nobody will ask for these results any more."""
        ...

    def again(self) -> int:
        """How many chunks were begun more than once, each time counted."""
        ...

    def lost(self) -> int:
        """How many workers were lost."""
        ...

    def size(self) -> int:
        """How many tasks run at a time."""
        ...


class LocalExecutor:
    """This process: task after task, when their results are asked for."""

    def __init__(self) -> None:
        self.name = "here"

    def each(self, kind: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Handle]:
        return [_Lazy(function, line) for line in arguments]

    def fetch(self, handles: Sequence[Handle], names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        for place, handle in enumerate(handles):
            yield place, handle.result()

    def hold(self, kind: str, value: Any) -> Handle:
        return _Lazy(hold, (value,))

    def drop(self, handles: Sequence[Handle]) -> None:
        for handle in handles:
            handle.forget()

    def again(self) -> int:
        return 0

    def lost(self) -> int:
        return 0

    def size(self) -> int:
        return 1


class _Lazy:
    """A task of this process, run when it is first asked for."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._function, self._arguments = function, arguments
        self._done = False
        self._result: Any = None

    def result(self) -> Any:
        if not self._done:
            self._result, self._done = self._function(*(_resolved(argument) for argument in self._arguments)), True
            self._arguments = ()
        return self._result

    def forget(self) -> None:
        self._result, self._arguments = None, ()


def _resolved(argument: Any) -> Any:
    if isinstance(argument, _Lazy):
        return argument.result()
    if isinstance(argument, (list, tuple)) and not hasattr(argument, "_fields"):
        return type(argument)(_resolved(item) for item in argument)
    if hasattr(argument, "dask") and hasattr(argument, "compute"):  # a delayed call
        return argument.compute(scheduler="synchronous")
    return argument


class DaskExecutor:
    """The workers of a Dask cluster, through a client that the caller owns.

    patience  seconds without any worker before the run is given up
    """

    def __init__(self, client: Any, patience: float = 60.0) -> None:
        self.client, self.patience = client, patience
        self.name = f"onepass-{uuid.uuid4().hex[:12]}"
        self._begun: Counter[int] = Counter()
        self._lost = 0
        self._lock = threading.Lock()
        self._last_look = 0.0  # when the cluster was last looked at, and when it last had a worker
        self._last_seen = 0.0

    def __enter__(self) -> DaskExecutor:
        self.client.subscribe_topic(TOPIC, self._observe_start)
        self.client.subscribe_topic("all", self._observe_workers)
        self._wait_for_workers()
        found = self.client.run(versions, on_error="return")  # a worker that dies just now is told of elsewhere
        refuse_differences({"client": versions(), **{at: known for at, known in found.items() if type(known) is dict}})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if self.client.status == "running":
            for topic in (TOPIC, "all"):
                self.client.unsubscribe_topic(topic)
        elif isinstance(error, Exception) and not isinstance(error, OnepassError):
            raise _scheduler_lost("") from error  # whatever Dask says of it, and wherever

    def each(self, kind: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Handle]:
        from dask import delayed, is_dask_collection

        keys = [f"{self.name}-{kind}-{place}" for place in range(len(arguments))]
        if any(is_dask_collection(piece) for line in arguments for argument in line for piece in _pieces(argument)):
            call = delayed(function, pure=True)
            graph = [call(*line, dask_key_name=key) for line, key in zip(arguments, keys, strict=True)]
            return list(self.client.compute(graph, optimize_graph=False))
        return list(self.client.map(function, *zip(*arguments, strict=True), key=keys, pure=True))

    def fetch(self, handles: Sequence[Handle], names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        from distributed import as_completed

        places = {handle.key: place for place, handle in enumerate(handles)}
        coming = as_completed(handles, loop=self.client.loop, with_results=True, raise_errors=False)
        left = set(places.values())
        self._last_look = self._last_seen = time.monotonic()
        while left:
            batch = coming.next_batch(block=False)
            for future, result in batch:
                place = places[future.key]
                if future.status == "error" or isinstance(result, BaseException):
                    raise self._failure(result, names[place])
                left.discard(place)
                yield place, result
            if not batch:
                if time.monotonic() - self._last_look > 1.0:
                    self._watch({place: handles[place] for place in sorted(left)}, names)
                time.sleep(TICK)

    def hold(self, kind: str, value: Any) -> Handle:
        import warnings

        with warnings.catch_warnings():  # Dask warns of large values in a graph: here they are meant to be there
            warnings.simplefilter("ignore", UserWarning)
            return self.client.submit(hold, value, key=f"{self.name}-{kind}", pure=True)

    def drop(self, handles: Sequence[Handle]) -> None:
        for handle in handles:
            handle.release()

    def again(self) -> int:
        with self._lock:
            return sum(self._begun.values()) - len(self._begun)

    def lost(self) -> int:
        return self._lost

    def size(self) -> int:
        return max(1, int(sum(self.client.nthreads().values())))

    # --- what the cluster tells ---------------------------------------------------------------------------------------

    def _observe_start(self, event: tuple[float, dict[str, Any]]) -> None:
        if event[1].get("job") == self.name:
            with self._lock:
                self._begun[event[1]["chunk"]] += 1

    def _observe_workers(self, event: tuple[float, dict[str, Any]]) -> None:
        if event[1].get("action") == "remove-worker" and not event[1].get("expected", False):
            self._lost += 1

    def _wait_for_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError:
            raise ScaleError(f"the scheduler has had no worker for {self.patience:.0f} s: start some") from None

    def _watch(self, left: dict[int, Any], names: Sequence[str]) -> None:
        """Give up, and say what is missing, when it cannot come any more: no scheduler, no worker, or an error on
        the way."""
        self._last_look = now = time.monotonic()
        missing = _some([names[place] for place in left])
        if self.client.status != "running":
            raise _scheduler_lost(missing)
        if self.client.scheduler_info()["workers"]:
            self._last_seen = now
        elif now - self._last_seen > self.patience:
            raise ScaleError(f"no worker has been there for {self.patience:.0f} s; not done: {missing}")
        for place, handle in left.items():
            if handle.status == "error":
                raise self._failure(handle.exception(timeout=10), names[place])

    def _failure(self, result: Any, name: str) -> Exception:
        from distributed.scheduler import KilledWorker

        error = result[1] if isinstance(result, tuple) else result
        if isinstance(error, OnepassError):
            return error
        if isinstance(error, KilledWorker):
            return ScaleError(
                f"{name}: each of the {error.allowed_failures + 1} workers that began it died (out of memory? "
                "a crash? see the workers' logs); no other chunk is to blame"
            )
        if isinstance(error, CANCELLED):
            if self.client.status != "running":
                return _scheduler_lost(name)
            return ScaleError(f"{name}: the scheduler has dropped it; was it stopped, or the task cancelled?")
        failure = ScaleError(f"{name}: {type(error).__name__}: {error}")
        failure.__cause__ = error if isinstance(error, BaseException) else None
        return failure


def sum_in_tree(executor: Executor, kind: str, add: Callable[..., Any], leaves: list[Handle], name: str) -> Any:
    """The results added where they are, in a fixed tree; only the sum is fetched, and all of them are dropped."""
    made = list(leaves)

    def added(group: list[Handle]) -> Handle:
        (one,) = executor.each(f"{kind}-{len(made)}", add, [(group,)])
        made.append(one)
        return one

    ((_, total),) = executor.fetch([tree(leaves, added)], [name])
    executor.drop(made)
    return total


def tree(items: Sequence[T], add: Callable[[list[T]], T]) -> T:
    """All items added, FAN neighbours at a time: the order of additions depends on their number alone.

    >>> tree(list("abcdefghijkl"), lambda group: "(" + "".join(group) + ")")
    '((abcdefgh)(ijkl))'
    """
    level = list(items)
    while len(level) > 1:
        groups = [level[at : at + FAN] for at in range(0, len(level), FAN)]
        level = [add(group) if len(group) > 1 else group[0] for group in groups]
    return level[0]


def _scheduler_lost(missing: str) -> ScaleError:
    chunks = f"; not done: {missing}" if missing else ""
    return ScaleError(
        f"the connection to the scheduler is lost{chunks}. Nothing was written. To go on, start the scheduler and its "
        "workers again and run the same once more: it begins with the first chunk and comes to the same bits"
    )


def _pieces(argument: Any) -> tuple[Any, ...]:
    return tuple(argument) if isinstance(argument, (list, tuple)) else (argument,)


def _some(names: list[str]) -> str:
    return "; ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
