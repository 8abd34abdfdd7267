"""Claims about drift: alarms that are as rare as proved, and what is found how soon, beside river's detectors.

    python benchmarks/drift.py --elec2 path/to/elec.csv.xz --peers path/to/environment/bin/python
    python benchmarks/drift.py --streams 200 --seeds 10 --shuffles 10        # a quick look
    python benchmarks/drift.py --only monitor

The peers' environment has `river` and `mapie` (pip install river mapie); without it only onepass is measured. River's
detectors get the mistakes of the same learner on the same rows, with their own default settings, and ring when
`drift_detected` is true for the first time. The level of onepass is 1/100 here (M reaches 200), a test parameter; what
withholds a certificate is 1/10,000 (M reaches 20,000).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from elec2 import read
from one_pass import dense_rows
from onepass import Monitor, Pass

HERE = Path(__file__).parent
KINDS = ("separable", "noisy", "imbalanced", "several", "heavy tails")
TEST, ALARM = 200.0, 20_000.0


def iid(kind: str, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Independent draws."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, size=(rows, 4)) if kind == "heavy tails" else rng.normal(size=(rows, 4))
    if kind == "several":
        return X, np.argmax(X[:, :3] + 0.5 * rng.normal(size=(rows, 3)), axis=1)
    noise = {"separable": 0.0, "noisy": 2.0, "imbalanced": 0.3, "heavy tails": 1.0}[kind]
    score = X[:, 0] - 0.5 * X[:, 1] + noise * rng.normal(size=rows)
    return X, np.where(score > (1.8 if kind == "imbalanced" else 0.0), 1, -1)


def changing(kind: str, seed: int, rows: int, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that change after row `at`: the concept at once, the concept slowly, or the inputs alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    late = np.arange(rows) >= at
    angle = np.zeros(rows)
    if kind == "abrupt":
        angle = np.where(late, math.pi / 2, 0.0)
    elif kind == "slow":
        angle = np.clip((np.arange(rows) - at) / (rows - at), 0.0, 1.0) * math.pi / 2
    else:
        X[late] += np.array([1.0, 0.0, 0.0, 0.0])
    score = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    return X, np.where(score + 0.5 * rng.normal(size=rows) > 0, 1, -1)


def watched(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Pass, np.ndarray]:
    """A pass of the Perceptron, which changes at its mistakes alone, and these mistakes as 0 and 1."""
    run = Pass("perceptron", classes=np.unique(y), seed=seed, order_alarm=False, repeat_alarm=False, on_drift="ignore")
    run.feed(X, y)
    errors = np.zeros(len(y), dtype=np.int8)
    log = run.trace().log
    assert log is not None
    errors[log.round[: log.updates] - 1] = 1
    return run, errors


def first_reach(X: np.ndarray, y: np.ndarray, seed: int, level: float) -> int:
    """The row at which M reaches a level, looked at every 16 rows; 0: never."""
    run = Pass("perceptron", classes=np.unique(y), seed=seed, order_alarm=False, repeat_alarm=False, on_drift="ignore")
    for at in range(0, len(y), 16):
        run.feed(X[at : at + 16], y[at : at + 16])
        if run.guards.drifted.evidence >= level:
            return run.rounds
    return 0


def peers(python: str | None, streams: list[np.ndarray]) -> dict[str, list[int]]:
    """When river's detectors ring on each of the streams."""
    if python is None:
        return {}
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, *streams)
        file.flush()
        call = [python, str(HERE / "drift_peers.py"), file.name]
        done = subprocess.run(call, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    return json.loads(done.stdout.strip().splitlines()[-1])


def limit(n: int, p: float = 0.01) -> float:
    """The share that n streams at level p stay below in 99 of 100 cases."""
    return p + 2.33 * math.sqrt(p * (1 - p) / n)


def false_alarms(streams: int, rows: int, python: str | None) -> None:
    """How often something rings where nothing changes."""
    each = streams // len(KINDS)
    print(f"\nfalse alarms: {each * len(KINDS):,} i.i.d. streams of {rows:,} rows; at level 1 % of {each} streams at")
    print(f"most {limit(each):.1%} may ring by chance, of all {limit(each * len(KINDS)):.2%}; any look counts")
    rang, total = {}, {}
    for kind in KINDS:
        mistakes, found = [], []
        for seed in range(each):
            X, y = iid(kind, 7_000_000 + seed, rows)
            run, errors = watched(X, y, seed)
            found.append(run.guards.drifted.evidence)
            mistakes.append(errors)
        rang[kind] = {"onepass": float(np.mean(np.array(found) >= TEST))}
        rang[kind] |= {name: float(np.mean(np.array(at) > 0)) for name, at in peers(python, mistakes).items()}
        print(f"  {kind:12}", *(f"{name} {share:6.2%} " for name, share in rang[kind].items()), flush=True)
    for name in rang[KINDS[0]]:
        total[name] = float(np.mean([rang[kind][name] for kind in KINDS]))
    print("  all         ", *(f"{name} {share:6.2%} " for name, share in total.items()))


def detection(seeds: int, python: str | None, rows: int = 10_000, at: int = 5_000) -> None:
    """How soon a change is found."""
    print(f"\ndetection: a change after row {at:,} of {rows:,}, {seeds} streams:")
    print("  share found after it, median rows until then, share that rang before it")
    for kind in ("abrupt", "slow", "inputs"):
        mistakes, alarms = [], {"onepass 1/100": [], "onepass 1/10,000": []}
        for seed in range(seeds):
            X, y = changing(kind, 8_000_000 + seed, rows, at)
            _, errors = watched(X, y, seed)
            mistakes.append(errors)
            alarms["onepass 1/100"].append(first_reach(X, y, seed, TEST))
            alarms["onepass 1/10,000"].append(first_reach(X, y, seed, ALARM))
        for name, rows_ in (alarms | peers(python, mistakes)).items():
            found = np.array(rows_)
            after = found[found > at] - at
            delay = f"{int(np.median(after)):>6,}" if after.size else "     –"
            print(f"  {kind:7} {name:17} {after.size / seeds:6.0%} {delay} {np.mean((found > 0) & (found <= at)):6.0%}")


def electricity(path: str, shuffles: int, python: str | None) -> None:
    """The alarm on elec2 in time order, and on the same rows shuffled."""
    X, y = read(path)
    run, errors = watched(X, y, 0)
    found = run.guards.drifted
    print(f"\nelec2, {len(y):,} rows in time order: alarm at row {found.alarm:,} ({found.score} scores,", end=" ")
    print(f"growing from row {found.since:,} on), evidence {found.evidence:.3g} : 1")
    print("  first alarm of river's:", {name: at[0] for name, at in peers(python, [errors]).items()})
    evidence, mistakes = [], []
    for seed in range(shuffles):
        order = np.random.default_rng(seed).permutation(len(y))
        run, errors = watched(X[order], y[order], seed)
        evidence.append(run.guards.drifted.evidence)
        mistakes.append(errors)
    rang, tested = sum(e >= ALARM for e in evidence), sum(e >= TEST for e in evidence)
    print(
        f"  shuffled {shuffles} times: {rang} alarms, {tested} at level 1/100, largest {max(evidence):.3g} : 1;",
        end=" ",
    )
    print({name: f"{np.mean(np.array(at) > 0):.0%}" for name, at in peers(python, mistakes).items()})


def resident() -> float:
    """MB of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def monitored(rows: int, python: str | None) -> None:
    """A model watched row by row: speed, and memory that stays."""
    X, y = iid("noisy", 0, 20_000)
    run = Pass()
    run.feed(X, y)
    monitor = Monitor(run.model())
    X, y = iid("noisy", 1, rows)
    monitor.observe(X[:1], y[:1])
    before, start = resident(), time.perf_counter()
    for i in range(1, rows):
        monitor.observe(X[i : i + 1], y[i : i + 1])
    spent = time.perf_counter() - start
    more = resident() - before
    print(f"\nmonitor: {rows:,} rows one by one: {rows / spent:,.0f} rows/s, {more:.1f} MB more at the end; {monitor}")
    start = time.perf_counter()
    again = Monitor(run.model())
    again.observe(X, y)
    speed, same = rows / (time.perf_counter() - start), again.result() == monitor.result()
    print(f"  in one batch {speed:,.0f} rows/s, same result: {same}")
    if python is not None:
        call = [python, str(HERE / "drift_peers.py"), "--mapie", "1000"]
        done = subprocess.run(call, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
        seconds = float(json.loads(done.stdout.strip().splitlines()[-1]))
        print(f"  MAPIE's RiskMonitoring, 1,000 rows one by one: {seconds:.1f} s, {1000 / seconds:,.1f} rows/s")


def cost(seconds: float) -> None:
    """What testing adds to a pass on one core, in processor time: the best of as many runs as there is time for."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print()
    for columns in (40, 5):
        X, y = dense_rows(16_384, columns)
        spent, end = {False: [], True: []}, time.monotonic() + seconds
        while time.monotonic() < end:
            for tested, times in spent.items():
                run = Pass(classes=[-1, 1])
                run.guards.watches_drift = tested
                start = time.process_time()
                run.feed(X, y)
                times.append(time.process_time() - start)
        off, on = (min(times) / len(y) * 1e9 for times in spent.values())
        print(
            f"cost, {columns} dense columns: {off:.0f} → {on:.0f} ns a row, {on / off - 1:+.1%} (best of {len(times)})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elec2", help="elec2 as CSV, plain or .xz")
    parser.add_argument("--peers", help="the Python of an environment with river and mapie")
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=2000, help="of each i.i.d. stream")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--shuffles", type=int, default=100)
    parser.add_argument("--watched", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["false", "detection", "elec2", "monitor", "cost"])
    args = parser.parse_args()
    wanted = [args.only] if args.only else ["false", "detection", "elec2", "monitor"]
    if "false" in wanted:
        false_alarms(args.streams, args.rows, args.peers)
    if "detection" in wanted:
        detection(args.seeds, args.peers)
    if "elec2" in wanted and args.elec2:
        electricity(args.elec2, args.shuffles, args.peers)
    if "cost" in wanted:
        cost(20.0)
    if "monitor" in wanted:
        monitored(args.watched, args.peers)


if __name__ == "__main__":
    main()
