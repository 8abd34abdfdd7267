"""From an empty cache of kernels: seconds to the first word, to the first row learned and to the end; what is compiled.

    python benchmarks/cold_start.py [--rows 1000] [--runs 1] [--kernels]

`onepass train` on a CSV table and on an svmlight file, in a process of its own with an empty NUMBA_CACHE_DIR, then once
more with what that left. The first word is the first on stdout or stderr, the first row the first event of `--jsonl`
that has learned one; `--kernels` names what was compiled, with the seconds that each took.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

COMPILING = """
import atexit, json, os, time
from numba.core import event
class Watch(event.Listener):
    def __init__(self): self.open, self.found = [], []
    def on_start(self, at): self.open.append(time.perf_counter())
    def on_end(self, at):
        took = time.perf_counter() - self.open.pop()
        self.found.append((at.data["dispatcher"].__name__, took, len(self.open)))
watch = Watch()
event.register("numba:compile", watch)
atexit.register(lambda: json.dump(watch.found, open(os.environ["ONEPASS_COMPILED"], "w")))
import sys
sys.argv = ["onepass", *sys.argv[1:]]
from onepass.cli import main
main()
"""


def files(folder, rows):
    """The same drawn examples as a table and as sparse rows."""
    draw = random.Random(0)
    table, sparse = ["age,job,income,y"], []
    for _ in range(rows):
        age, job, income = draw.randrange(18, 80), draw.randrange(5), draw.lognormvariate(10, 0.4)
        good = age + income / 500 + 9 * job + draw.gauss(0, 8) > 110
        table.append(f"{age},{'abcde'[job]},{income:.0f},{'yes' if good else 'no'}")
        sparse.append(f"{1 if good else -1} 1:{age} {2 + job}:1 9:{income:.0f}")
    (folder / "table.csv").write_text("\n".join(table) + "\n")
    (folder / "rows.svm").write_text("\n".join(sparse) + "\n")
    return "table.csv", "rows.svm"


def timed(command, folder, cache, **environment):
    """Seconds to the first word, to the first row learned (None: nobody said), to the end."""
    where = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONUNBUFFERED": "1", **environment}
    start = time.perf_counter()
    run = subprocess.Popen(command, cwd=folder, env=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    words, learned = [], []

    def listen(pipe):
        for line in pipe:
            words.append((time.perf_counter() - start, line.rstrip()))
            if line.startswith("{") and json.loads(line).get("rows"):
                learned.append(time.perf_counter() - start)

    listeners = [threading.Thread(target=listen, args=(pipe,)) for pipe in (run.stdout, run.stderr)]
    for one in listeners:
        one.start()
    for one in listeners:
        one.join()
    assert run.wait() == 0, words
    return min(words, default=None), min(learned, default=None), time.perf_counter() - start


def compiled(name, folder, cache):
    """(name, seconds, depth) of every compilation of a cold run."""
    report = folder / "compiled.json"
    command = [sys.executable, "-c", COMPILING, "train", name, "-q"]
    timed(command, folder, cache, ONEPASS_COMPILED=str(report))
    return json.loads(report.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kernels", action="store_true")
    arguments = parser.parse_args()
    print("file       cache  first word  first row    end  kernels")
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for name in files(folder, arguments.rows):
                cache = folder / f"cache-{name}"
                command = [sys.executable, "-m", "onepass.cli", "train", name, "--jsonl", "--log-every", "0.01"]
                for state in ("empty", "full"):
                    (first, word), row, end = timed(command, folder, cache)
                    kernels = len([*cache.rglob("*.nbc")])
                    print(f"{name:10} {state:5} {first:11.2f} {row:10.2f} {end:6.2f} {kernels:8}   {word[:60]}")
                if arguments.kernels:
                    found = compiled(name, folder, folder / f"again-{name}")
                    outer, count = collections.Counter(), collections.Counter()
                    for kernel, seconds, depth in found:
                        count[kernel] += 1
                        if depth == 0:
                            outer[kernel] += seconds
                    print(f"  {len(found)} compilations, {sum(outer.values()):.2f} s in all")
                    for kernel, seconds in outer.most_common():
                        print(f"  {seconds:6.2f} s  {count[kernel]} ×  {kernel}")


if __name__ == "__main__":
    main()
