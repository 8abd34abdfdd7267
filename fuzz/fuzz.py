"""Fuzz every reader and the model loader with atheris (pip install atheris), guided by coverage.

    python fuzz/fuzz.py svmlight --seconds 3600      # one target; a finding is saved and ends the run
    python fuzz/fuzz.py all --seconds 3600 --jobs 2  # all targets, a table at the end

What must hold for any bytes: the reader gives finite rows or raises one of the errors of `onepass.errors`; it gives the
same wherever the text is cut; kernel and definition agree to the bit; numbers are what `float()` says; memory stays
flat. Kernels are compiled with bounds checks; coverage comes from the Python definition that they are held to.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT_MB = 1500  # of memory, the interpreter, numba and pyarrow included


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", help="one of the names in fuzz/targets.py, several joined by commas, or all")
    parser.add_argument("--seconds", type=int, default=60, help="wall clock for each target")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--folder", type=Path, default=HERE.parent / ".cache" / "fuzz", help="corpora, findings, logs")
    arguments = parser.parse_args()
    sys.path.insert(0, str(HERE))
    import targets

    names = list(targets.TARGETS) if arguments.target == "all" else arguments.target.split(",")
    if unknown := [name for name in names if name not in targets.TARGETS]:
        parser.error(f"{unknown[0]}: not one of {', '.join(targets.TARGETS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    waiting, running = list(names), []
    print(f"{'target':10} {'executions':>12} {'wall s':>8} {'cpu s':>8} {'peak MB':>8}  found", flush=True)
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            running.append(start(waiting.pop(0), arguments.folder, arguments.seconds))
        running = [run for run in running if not finished(run)]
        time.sleep(0.5)


def start(name: str, folder: Path, seconds: int) -> tuple[str, subprocess.Popen[bytes], Path, float]:
    corpus = folder / f"{name}.corpus"
    corpus.mkdir(exist_ok=True)
    log = folder / f"{name}.log"
    command = [sys.executable, str(HERE / "targets.py"), name, str(corpus), f"-max_total_time={seconds}"]
    command += [
        f"-artifact_prefix={folder}/{name}.found.",
        f"-rss_limit_mb={LIMIT_MB}",
        "-timeout=900",
        "-report_slow_units=900",
    ]
    command += ["-print_final_stats=1", "-max_len=4096", "-close_fd_mask=0"]
    # Kernels with bounds checks have a cache of their own, which is not shared with anybody's unchecked ones.
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder / "kernels")}
    with log.open("wb") as out:
        return name, subprocess.Popen(command, stdout=out, stderr=out, env=environment), log, time.monotonic()


def finished(run: tuple[str, subprocess.Popen[bytes], Path, float]) -> bool:
    name, process, log, began = run
    pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if not pid:
        return False
    process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    counts = re.findall(r"(?:number_of_executed_units: |^#)(\d+)", text, re.MULTILINE)
    found = re.findall(r"Test unit written to (\S+)", text)
    cpu, wall = usage.ru_utime + usage.ru_stime, time.monotonic() - began
    verdict = found[-1] if found else "nothing" if process.returncode == 0 else f"exit {process.returncode}, see {log}"
    executions = int(counts[-1]) if counts else 0
    print(f"{name:10} {executions:12,} {wall:8.0f} {cpu:8.0f} {usage.ru_maxrss / 1024:8.0f}  {verdict}", flush=True)
    return True


if __name__ == "__main__":
    main()
