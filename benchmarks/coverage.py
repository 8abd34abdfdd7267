"""How often certificates of watched models are false, where everything is done to make them so.

    python benchmarks/coverage.py [--runs 2000] [--rows 128] [--copies 1] [--worlds "risk 0" …] [--confusions noise …]

Candidates whose risks are known are frozen along the grid and watched as a pass does it. A run counts as false if, at
any of the looks, any candidate's bound lies on the wrong side of the truth: the worst stopping and the worst choice.
The risk and the cost have a δ each, the rates together have one. Where one row in a hundred is positive a run has 4,096
rows, else 128. Of three classes the mean cost is tried, where candidates take one for another with known
probabilities ("confusions"). With --copies 2 every row is counted twice, and certificates are false several times as
often; with 4, far more often than δ allows.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from onepass.certificates import candidate_price
from onepass.certificates.losses import Losses, judged, of_class, of_costs, positives, zero_one
from onepass.certificates.pair import excess, wealth
from onepass.costs import costs_in
from onepass.rows import Ints
from onepass.trace.grid import floor_index, point
from onepass.trace.watched import FIRST, Watched, nothing_watched

STEPS, WATCHED = 4, 8  # the elder is four grid points older; the newest eight are watched
COST = costs_in(np.array([[0.0, 1.0], [5.0, 0.0]]))
RATES = ("miss", "false alarm", "precision of yes", "precision of no", "F1")
KINDS = ("risk", "cost", *RATES)


class World(NamedTuple):
    """Where rows come from, and how often the candidate that was frozen after round s errs."""

    positives: float  # P(y = 1)
    errors: Callable[[int], tuple[float, float]]  # s → (false alarm, miss)
    shared: float  # how often two candidates' errors on a row come from the same draw
    rows: int = 128  # of a run


WORLDS = {
    "risk 0": World(0.5, lambda _: (0.0, 0.0), 0.5),
    "risk 1/2": World(0.5, lambda _: (0.5, 0.5), 0.0),
    "1 % positives": World(0.01, lambda _: (0.01, 0.4), 0.7, rows=4096),
    "elder = younger": World(0.3, lambda _: (0.1, 0.2), 1.0),
    "labels are noise": World(0.3, lambda _: (0.3, 0.7), 0.7),
    "elder much worse": World(0.5, lambda s: (0.4, 0.4) if s < 64 else (0.05, 0.05), 0.5),
}
LOSSES: dict[str, Callable[[Watched, int], Losses]] = {
    "risk": zero_one,
    "cost": lambda watched, slot: of_costs(watched, slot, COST),
    "miss": lambda watched, slot: of_class(watched, slot, 1),
    "false alarm": lambda watched, slot: of_class(watched, slot, 0),
    "precision of yes": lambda watched, slot: judged(watched, slot, 1),
    "precision of no": lambda watched, slot: judged(watched, slot, 0),
    "F1": lambda watched, slot: positives(watched, slot, 1),
}


def truths(world: World, s: int) -> dict[str, float]:
    """The mean of each loss of the candidate that was frozen after round s."""
    alarm, miss = world.errors(s)
    yes, no = world.positives, 1.0 - world.positives
    TP, FN, FP, TN = yes * (1 - miss), yes * miss, no * alarm, no * (1 - alarm)
    return {
        "risk": FN + FP,
        "cost": (FP * 1.0 + FN * 5.0) / 5.0,
        "miss": miss,
        "false alarm": alarm,
        "precision of yes": FP / (TP + FP) if TP + FP else 1.0,
        "precision of no": FN / (TN + FN) if TN + FN else 1.0,
        "F1": (FN + FP) / (TP + FN + FP),
    }


def grid(rows: int) -> list[int]:
    """The rounds after which candidates are frozen; the looks are there too, and after the last row."""
    return [point(i) for i in range(int(floor_index(FIRST)), int(floor_index(rows - 1)) + 1)]


def draw(world: World, rows: int, copies: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """(classes (rows), errors (rows, candidates)); every row stands there `copies` times."""
    frozen, fresh = grid(rows), -(-rows // copies)
    y = (rng.random(fresh) < world.positives).astype(np.int64)
    chance = np.array([world.errors(s) for s in frozen])[:, y].T
    own, common = rng.random((fresh, len(frozen))), rng.random((fresh, 1))
    luck = np.where(rng.random((fresh, len(frozen))) < world.shared, common, own)
    wrong = (luck < chance).astype(np.int64)
    return np.repeat(y, copies)[:rows], np.repeat(wrong, copies, axis=0)[:rows]


class Counts(NamedTuple):
    """Counts up to each look, from which those between two are differences."""

    own: Ints  # (looks, candidates, classes, 2)
    pair: Ints  # (looks, candidates, classes, 2, 2)


def count(y: Ints, wrong: Ints, looks: list[int]) -> Counts:
    cells = np.eye(4, dtype=np.int64)[2 * y[:, None] + wrong]
    elder = np.zeros_like(wrong)
    elder[:, STEPS:] = wrong[:, :-STEPS]
    both = np.eye(8, dtype=np.int64)[4 * y[:, None] + 2 * elder + wrong]
    at = np.array(looks) - 1
    shape = len(looks), wrong.shape[1], 2, 2
    return Counts(cells.cumsum(axis=0)[at].reshape(shape), both.cumsum(axis=0)[at].reshape(*shape, 2))


def watch(y: Ints, wrong: Ints) -> Iterator[tuple[Watched, list[int]]]:
    """At each look: the counts of all candidates, and which of them are being watched."""
    frozen = grid(y.size)
    looks = [*frozen, y.size] if frozen[-1] < y.size else frozen
    own, pair = count(y, wrong, looks)
    watched = nothing_watched(len(frozen), 2)
    for j in range(len(frozen)):
        if j > STEPS:  # of the elder's own pair where there is one, else of the candidate before
            other = j - STEPS if j >= 2 * STEPS else j - 1
            watched.plan[j] = pair[j, other] - pair[other, other]
        if j >= STEPS:
            i = j - STEPS
            watched.elder[j], watched.elder_plan[j] = frozen[i], watched.plan[i]
            alone = own[j, i] - own[i, i]
            watched.elder_rows[j], watched.elder_mistakes[j] = alone.sum(axis=1), alone[:, 1]
    for look in range(1, len(looks)):
        slots = [j for j in range(len(frozen)) if j < look <= j + WATCHED]
        for j in slots:
            watched.frozen[j] = frozen[j]
            met = own[look, j] - own[j, j]
            watched.rows[j], watched.mistakes[j] = met.sum(axis=1), met[:, 1]
            if j >= STEPS:
                watched.pair[j] = pair[min(look, j + STEPS), j] - pair[j, j]
        yield watched, slots


def falsified(world: World, y: Ints, wrong: Ints, delta: float, kinds: tuple[str, ...] = KINDS) -> set[str]:
    """Which certificates were false, ever, for any candidate."""
    frozen = grid(y.size)
    true = [truths(world, s) for s in frozen]
    price = [candidate_price(s, y.size) for s in frozen]
    found: set[str] = set()
    for watched, slots in watch(y, wrong):
        for kind in kinds:
            share = len(RATES) if kind in RATES else 1
            for slot in slots:
                if kind in found:
                    break
                mixture = wealth(LOSSES[kind](watched, slot), delta * price[slot] / share)
                if excess(mixture, true[slot][kind]) > 0.0:
                    found.add(kind)
    return found


def false_shares(
    world: World, delta: float, runs: int, rows: int, copies: int = 1, kinds: tuple[str, ...] = KINDS
) -> dict[str, float]:
    """In which share of the runs each certificate was false, and any of the rates ("together")."""
    times = dict.fromkeys((*kinds, "together"), 0)
    for run in range(runs):
        y, wrong = draw(world, rows, copies, np.random.default_rng([run, rows]))
        found = falsified(world, y, wrong, delta, kinds)
        for kind in found:
            times[kind] += 1
        times["together"] += any(kind in RATES for kind in found)
    return {kind: number / runs for kind, number in times.items()}


# --- costs of several classes -----------------------------------------------------------------------------------------


class Confusion(NamedTuple):
    """Three classes, and what the candidate that was frozen after round s takes each for."""

    shares: tuple[float, float, float]
    predicted: Callable[[int], list[list[float]]]  # s → P(ŷ | y)
    shared: float  # how often two candidates' predictions of a row come from the same draw


COSTS = costs_in(np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 20.0, 0.0]]))
EVEN = [[1 / 3] * 3] * 3
CONFUSIONS = {
    "always right": Confusion((0.5, 0.3, 0.2), lambda _: np.eye(3).tolist(), 0.5),
    "noise": Confusion((0.4, 0.3, 0.3), lambda _: EVEN, 0.0),
    "rare and dear": Confusion((0.6, 0.3, 0.1), lambda _: [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.2, 0.1, 0.7]], 0.7),
    "elder = younger": Confusion((0.4, 0.3, 0.3), lambda _: [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 1.0),
    "elder much worse": Confusion((0.4, 0.3, 0.3), lambda s: EVEN if s < 64 else np.eye(3).tolist(), 0.5),
}


def draw_levels(world: Confusion, rows: int, copies: int, rng: np.random.Generator) -> Ints:
    """What every row costs of every candidate, (rows, candidates), as levels; a row stands there `copies` times."""
    frozen, fresh = grid(rows), -(-rows // copies)
    y = rng.choice(3, size=fresh, p=world.shares)
    own, common = rng.random((fresh, len(frozen))), rng.random((fresh, 1))
    luck = np.where(rng.random((fresh, len(frozen))) < world.shared, common, own)
    reached = np.cumsum([world.predicted(s) for s in frozen], axis=2)[:, y].transpose(1, 0, 2)  # (rows, candidates, 3)
    said = np.minimum((luck[:, :, None] >= reached).sum(axis=2), 2)
    return np.repeat(COSTS.level[y[:, None], said], copies, axis=0)[:rows]


def watch_costs(levels: Ints) -> Iterator[tuple[Watched, list[int]]]:
    """As `watch`, of costs alone."""
    rows, n = len(levels), COSTS.values.size
    frozen = grid(rows)
    looks = [*frozen, rows] if frozen[-1] < rows else frozen
    elder = np.zeros_like(levels)
    elder[:, STEPS:] = levels[:, :-STEPS]
    at = np.array(looks) - 1
    own = np.eye(n, dtype=np.int64)[levels].cumsum(axis=0)[at]
    pair = np.eye(n * n, dtype=np.int64)[n * elder + levels].cumsum(axis=0)[at].reshape(len(looks), -1, n, n)
    watched = nothing_watched(len(frozen), 3, n)
    for j in range(STEPS, len(frozen)):
        i = j - STEPS
        other = i if j >= 2 * STEPS else j - 1
        if j > STEPS:
            watched.cost_plan[j] = pair[j, other] - pair[other, other]
        watched.elder[j], watched.elder_cost_plan[j] = frozen[i], watched.cost_plan[i]
        watched.elder_costs[j] = own[j, i] - own[i, i]
    for look in range(1, len(looks)):
        slots = [j for j in range(len(frozen)) if j < look <= j + WATCHED]
        for j in slots:
            watched.frozen[j], watched.costs[j] = frozen[j], own[look, j] - own[j, j]
            if j >= STEPS:
                watched.cost_pair[j] = pair[min(look, j + STEPS), j] - pair[j, j]
        yield watched, slots


def false_costs(world: Confusion, delta: float, runs: int, rows: int, copies: int = 1) -> float:
    """In which share of the runs the certified cost was false, ever, for any candidate."""
    times, frozen = 0, grid(rows)
    true = [float((np.array(world.shares) @ (np.array(world.predicted(s)) * COSTS.in_units)).sum()) for s in frozen]
    price = [candidate_price(s, rows) for s in frozen]
    for run in range(runs):
        levels = draw_levels(world, rows, copies, np.random.default_rng([run, rows, 3]))
        times += any(
            excess(wealth(of_costs(watched, slot, COSTS), delta * price[slot]), true[slot]) > 0.0
            for watched, slots in watch_costs(levels)
            for slot in slots
        )
    return times / runs


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--rows", type=int, default=None)
    options.add_argument("--copies", type=int, default=1)
    options.add_argument("--deltas", type=float, nargs="+", default=[0.05, 0.3])
    options.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    options.add_argument("--confusions", nargs="*", default=list(CONFUSIONS), choices=list(CONFUSIONS))
    args = options.parse_args()
    print(f"{'':18}{'δ':>6}" + "".join(f"{kind:>18}" for kind in (*KINDS, "together")))
    for name in args.worlds:
        for delta in args.deltas:
            begin = time.perf_counter()
            rows = args.rows or WORLDS[name].rows
            shares = false_shares(WORLDS[name], delta, args.runs, rows, args.copies)
            line = "".join(f"{share:18.4f}" for share in shares.values())
            print(f"{name:18}{delta:6g}{line}   {rows} rows, {time.perf_counter() - begin:.0f} s", flush=True)
    print(f"\n{'three classes':18}{'δ':>6}{'mean cost':>18}")
    for name, delta in itertools.product(args.confusions, args.deltas):
        share = false_costs(CONFUSIONS[name], delta, args.runs, args.rows or 128, args.copies)
        print(f"{name:18}{delta:6g}{share:18.4f}", flush=True)


if __name__ == "__main__":
    main()
