"""Results in order, whoever does the tasks; errors in their place; no more tasks ahead than there is room for."""

import gc
import random
import threading
import time
import weakref

import pytest

from onepass.io.prefetch import Prefetcher, Task

WAYS = [(0, 1, False), (0, 4, True), (1, 1, False), (1, 6, False), (3, 5, False), (1, 3, True), (2, 9, True)]


def ways(test):
    return pytest.mark.parametrize(("threads", "room", "beside"), WAYS)(test)


def slow(number, fails=()):
    time.sleep(random.Random(number).choice([0, 0, 0, 0.001, 0.004]))
    if number in fails:
        raise ValueError(f"task {number}")
    return number * number


def tasks(n, fails=(), breaks=None):
    for number in range(n):
        if number == breaks:
            raise OSError(f"dealing {number}")
        yield Task(number, lambda number=number: slow(number, fails))


def taken(ahead):
    found = []
    try:
        for pair in ahead:
            found.append(pair)
    except (ValueError, OSError) as error:
        found.append(str(error))
    finally:
        assert ahead.close()
    return found


@ways
def test_results_come_in_order(threads, room, beside):
    found = taken(Prefetcher(tasks(200), threads, room, beside=beside))
    assert found == [(number, number * number) for number in range(200)]


@ways
def test_an_error_is_raised_where_its_result_would_have_come(threads, room, beside):
    before = [(number, number * number) for number in range(37)]
    assert taken(Prefetcher(tasks(60, fails=(37, 39)), threads, room, beside=beside)) == [*before, "task 37"]
    assert taken(Prefetcher(tasks(60, breaks=37), threads, room, beside=beside)) == [*before, "dealing 37"]
    assert taken(Prefetcher(tasks(60, fails=(37,), breaks=38), threads, room, beside=beside)) == [*before, "task 37"]


@ways
@pytest.mark.parametrize("where", ["task", "dealing"])
def test_what_ends_a_thread_ends_the_taking(threads, room, beside, where):
    def leave():
        raise SystemExit(7)

    def dealt():
        yield from tasks(5)
        yield Task(5, leave if where == "task" else lambda: 5)
        leave()

    ahead = Prefetcher(dealt(), threads, room, beside=beside)
    with pytest.raises(SystemExit, match="7"):
        list(ahead)
    assert ahead.close()


@ways
def test_no_more_is_dealt_than_there_is_room_for(threads, room, beside):
    dealt, most = [0], 0

    def counted():
        for task in tasks(60):
            dealt[0] += 1
            yield task

    ahead = Prefetcher(counted(), threads, room, beside=beside)
    for number, _ in ahead:
        time.sleep(0.001)
        most = max(most, dealt[0] - number)
    assert ahead.close()
    assert min(room, 2) <= most <= room + 1  # and the one that was just taken


def test_the_taker_does_what_stands_behind_a_task_that_takes_long():
    held, who = threading.Event(), {}

    def run(number):
        if number == 0:
            assert held.wait(10)
        elif number == 3:
            held.set()
        who[number] = threading.current_thread()

    def dealt():
        for number in range(4):
            yield Task(number, lambda number=number: run(number))
            while number == 0 and ahead._pool._work_queue.qsize():
                time.sleep(0.001)  # until the pool's only thread is at it

    ahead = Prefetcher(dealt(), 1, 4, beside=False)
    assert [number for number, _ in ahead] == [0, 1, 2, 3]
    assert ahead.close()
    assert who[0] is not threading.current_thread()
    assert all(who[number] is threading.current_thread() for number in (1, 2, 3))


def test_a_dealer_that_has_dealt_enough_does_tasks():
    who = {}
    all_done = threading.Event()

    def run(number):
        who[number] = threading.current_thread()
        if len(who) == 4:
            all_done.set()

    ahead = Prefetcher((Task(number, lambda number=number: run(number)) for number in range(5)), 0, 4, beside=True)
    results = iter(ahead)
    next(results)
    assert all_done.wait(10)  # though nobody takes
    assert ahead.close()
    assert sum(thread is threading.current_thread() for thread in who.values()) <= 1


@ways
def test_closed_early_nothing_goes_on(threads, room, beside):
    ahead = Prefetcher(tasks(10_000), threads, room, beside=beside)
    assert next(iter(ahead)) == (0, 0)
    assert ahead.close()
    assert not any(thread.name.startswith(("onepass-read", "onepass-parse")) for thread in threading.enumerate())


def test_a_dealer_that_waits_forever_is_left_behind():
    never = threading.Event()

    def stuck():
        yield Task(0, lambda: 0)
        never.wait()
        yield Task(1, lambda: 1)

    ahead = Prefetcher(stuck(), 1, 3, beside=True)
    assert next(iter(ahead)) == (0, 0)
    assert not ahead.close(0.05)
    never.set()
    assert ahead.close()


@ways
@pytest.mark.parametrize("faults", [{"fails": (3, 4, 5)}, {"breaks": 3}], ids=["task", "dealing"])
def test_an_error_keeps_nothing_alive(threads, room, beside, faults):
    """Blocks are large, and the collector of cycles does not know that."""
    gc.collect()
    gc.disable()
    try:
        ahead = Prefetcher(tasks(9, **faults), threads, room, beside=beside)
        assert isinstance(taken(ahead)[-1], str)
        left = weakref.ref(ahead)
        del ahead
        deadline = time.monotonic() + 5
        while left() is not None and time.monotonic() < deadline:
            time.sleep(0.001)  # a thread may still be on its way out
        assert left() is None
    finally:
        gc.enable()
