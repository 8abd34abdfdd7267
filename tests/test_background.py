"""Threads beside the learner: order, errors, Ctrl-C, forks, and passes that are as they were where rows are refused."""

import multiprocessing
import signal
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse

from onepass import DataError, LimitError, Pass
from onepass.background import Background
from test_learners import same_state


def numbers(rows, features=2, seed=0):
    X = np.random.default_rng(seed).normal(size=(rows, features))
    return X, (X[:, 0] > 0).astype(int)


def sparse_rows(rows, features, seed=0, filled=20):
    """Rows of a few of so many features each."""
    rng = np.random.default_rng(seed)
    places = (np.repeat(np.arange(rows), filled), rng.integers(0, features, rows * filled))
    X = scipy.sparse.csr_array((rng.normal(size=rows * filled), places), shape=(rows, features))
    X.sum_duplicates()
    return X, rng.integers(0, 2, rows)


def test_calls_are_in_order_and_those_apart_have_an_order_of_their_own():
    background, seen, apart = Background(), [], []
    with background.running(True):
        for k in range(200):
            background.submit(seen.append, k)
            background.submit_apart(apart.append, k)
            if k % 7 == 0:
                background.start()
    assert seen == apart == list(range(200))


def test_an_error_ends_what_follows_and_is_raised_once():
    background, seen = Background(), []

    def fail():
        raise ValueError("on the way")

    def call_all():
        with background.running(True):
            for work in (lambda: seen.append(1), fail, lambda: seen.append(2)):
                background.submit(work)
                background.start()

    with pytest.raises(ValueError, match="on the way"):
        call_all()
    assert seen == [1]
    with background.running(True):
        background.submit(seen.append, 3)
    assert seen == [1, 3]


def test_what_is_left_for_an_error_is_not_begun_and_what_was_begun_is_waited_for():
    background, seen, begun = Background(), [], threading.Event()

    def slow():
        begun.set()
        time.sleep(0.05)
        seen.append("slow")

    def leave():
        with background.running(True):
            background.submit(slow)
            background.start()
            begun.wait()
            background.submit(seen.append, "late")
            background.start()
            raise KeyError

    with pytest.raises(KeyError):
        leave()
    assert seen == ["slow"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such timer on this system")
def test_after_ctrl_c_no_thread_works_on_the_pass():
    X, y = numbers(200_000)
    Pass().feed(X, y)
    start = time.perf_counter()
    Pass().feed(X, y)
    whole, rng = time.perf_counter() - start, np.random.default_rng(0)

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    interrupted = 0
    try:
        for _ in range(25):
            run = Pass()
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.2, 0.95) * whole)
                run.feed(X, y)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
                state = run.state()
                time.sleep(0.02)
                assert same_state(state, run.state())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 5
    Pass().feed(X, y)


def test_many_passes_are_fed_from_many_threads():
    X, y = numbers(30_000, 4)
    alone = Pass()
    alone.feed(X, y)
    found = []

    def learn():
        run = Pass()
        run.feed(X, y)
        found.append(same_state(run.state(), alone.state()))

    threads = [threading.Thread(target=learn) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [True] * 12


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_fork_has_threads_of_its_own():
    X, y = numbers(40_000)
    run = Pass()
    run.feed(X, y)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.apply_async(fed_again, (X, y)).get(60) == run.certificate().risk


def fed_again(X, y):
    run = Pass()
    run.feed(X, y)
    return run.certificate().risk


@pytest.mark.parametrize("learner", ["adaptive", "perceptron"])
@pytest.mark.parametrize("first", [0, 300])
@pytest.mark.parametrize("rows", [2000, 5000, 80_000])
def test_where_models_outgrow_their_room_on_a_thread_the_pass_is_as_it_was(learner, first, rows):
    run = Pass(learner, max_watch_memory=16_000)
    if first:
        run.feed(*sparse_rows(first, 500))
    before = run.state()
    with pytest.raises(LimitError, match="max_watch_memory"):
        run.feed(*sparse_rows(rows, 2000, seed=1))
    assert (run.rows, run.rounds) == (first, first)
    assert same_state(run.state(), before)


@pytest.mark.parametrize("features", [5, 100])
@pytest.mark.parametrize("first", [0, 400])
def test_where_no_radius_can_be_found_the_pass_is_as_it_was(features, first):
    labels = np.random.default_rng(1).integers(0, 2, 2400)
    run = Pass(radius="auto")
    if first:
        run.feed(np.zeros((first, features)), labels[:first])
    before = run.state()
    X = np.zeros((2000, features))
    X[1500:] = 1.0
    with pytest.raises(DataError):
        run.feed(X, labels[400:])
    assert same_state(run.state(), before)
