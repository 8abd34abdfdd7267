"""Threads: results in order, one tick an item, errors and Ctrl-C that stop the rest."""

import threading
import time

import pytest

from onepass.executor import ThreadExecutor


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_results_are_in_order_and_every_item_ticks_once(threads):
    seen = []
    with ThreadExecutor(threads) as executor:
        assert executor.map(lambda item: item * item, range(50), seen.append) == [i * i for i in range(50)]
        assert executor.map(str, []) == []
    assert seen == list(range(1, 51))


def test_an_error_in_any_thread_stops_the_others_and_is_raised():
    started = []

    def work(item):
        started.append(item)
        if threading.current_thread() is not threading.main_thread():
            raise LookupError(item)
        time.sleep(0.01)

    with ThreadExecutor(2) as executor, pytest.raises(LookupError):
        executor.map(work, range(1000))
    assert len(started) < 500


def test_an_interrupt_in_one_thread_stops_the_others():
    done, started = [], threading.Event()

    def work(item):
        if threading.current_thread() is threading.main_thread():
            started.wait(10)
            raise KeyboardInterrupt
        started.set()
        time.sleep(0.01)
        done.append(item)

    with ThreadExecutor(2) as executor, pytest.raises(KeyboardInterrupt):
        executor.map(work, range(1000))
    assert 0 < len(done) < 500


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        ThreadExecutor(0)
