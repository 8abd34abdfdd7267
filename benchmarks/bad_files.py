"""Ten bad files, and what onepass, scikit-learn, LIBLINEAR and Vowpal Wabbit really do with them.

    python benchmarks/bad_files.py            # needs liblinear-official and vowpalwabbit

Each file is 200 good lines with one fault in or after line 101, in svmlight text (for Vowpal Wabbit the same fault in
its own). Every program runs in a process of its own, with 60 seconds and 8 GB at most. Prints the table that stands in
docs/faults.md. Nothing is asserted: what others do may change.
"""

from __future__ import annotations

import gzip
import json
import re
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

GOOD = [f"{'+1' if i * 7 % 5 < 2 else '-1'} 1:{i % 7 - 3} 2:{i % 5}.5 9:1" for i in range(200)]

FAULTS = {  # what is wrong: the line in place of line 101, or what is done to the whole file
    "nothing is wrong": GOOD[100],
    "a value `nan`": "+1 1:nan 2:1",
    "a value `1e400`": "+1 1:1e400 2:1",
    "a decimal comma: `1:0,5`": "+1 1:0,5 2:1",
    "an index −3": "+1 -3:1 2:1",
    "indices that fall: `7:1 3:1`": "+1 7:1 3:1",
    "an index twice: `3:1 3:1`": "+1 3:1 3:1",
    "an index 10¹⁰": "+1 2:1 10000000000:1",
    "the last line cut: `-1 5:`": "cut",
    "a .gz cut in the middle": "gz",
    "an HTML error page": "page",
}
PAGE = "<!DOCTYPE html>\n<html><body><h1>503 Service Unavailable</h1>\n<p>Try again later.</p></body></html>\n"

SKLEARN = """
import sys, numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # or SGDClassifier refuses even good files
model = SGDClassifier(random_state=0).fit(X, y)
said(X.shape[0], X.shape[1], np.isfinite(model.coef_).all())
"""
LIBLINEAR = """
import sys, numpy as np
from liblinear.liblinearutil import svm_read_problem, train
y, x = svm_read_problem(sys.argv[1])
model = train(y, x, "-q")
w, _ = model.get_decfun()
said(len(y), model.nr_feature, np.isfinite(w).all())
"""
VW = """
import sys, vowpalwabbit, math
vw = vowpalwabbit.Workspace(f"-d {sys.argv[1]} --loss_function logistic --noconstant --no_stdin -b 20")
weights = [vw.get_weight(i) for i in range(20)]
rows = vw.get_weighted_examples()
vw.finish()
said(rows, None, all(map(math.isfinite, weights)))
"""
SAID = """
import json
def said(rows, features, finite):
    print("\\n" + json.dumps({"rows": int(rows), "features": features and int(features), "finite": bool(finite)}))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print("| file | onepass | scikit-learn | LIBLINEAR | Vowpal Wabbit |\n|---|---|---|---|---|")
        for number, (name, fault) in enumerate(FAULTS.items()):
            svm, vw = (write(Path(folder) / f"{number}.{kind}", fault, kind) for kind in ("svm", "vw"))
            cells = [ours(svm), *(peer(code, path) for code, path in ((SKLEARN, svm), (LIBLINEAR, svm), (VW, vw)))]
            print("| " + " | ".join([name, *cells]) + " |", flush=True)


def write(path: Path, fault: str, kind: str) -> Path:
    lines = list(GOOD)
    if " " in fault:
        lines[100] = fault
    text = "\n".join(lines) + "\n"
    if fault == "cut":
        text = text + "-1 5:"
    if kind == "vw":
        text = re.sub(r"^([+-]1) ", r"\1 | ", text, flags=re.MULTILINE)
    if fault == "page":
        text = PAGE
    if fault == "gz":
        path = path.with_name(path.name + ".gz")
        data = gzip.compress((text * 50).encode())
        path.write_bytes(data[: len(data) // 2])
    else:
        path.write_text(text)
    return path


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str] | None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=60, preexec_fn=limit, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return None


def ours(path: Path) -> str:
    done = run([sys.executable, "-m", "onepass.cli", "train", path.name, "-q"], path.parent)
    if done is None:
        return "still running after 60 s"
    if done.returncode == 0:
        return "learns: " + done.stdout.partition("\n")[0]
    return f"exit {done.returncode}: {short(done.stderr.partition(': ')[2])}"


def peer(code: str, path: Path) -> str:
    done = run([sys.executable, "-c", SAID + code, str(path)], path.parent)
    if done is None:
        return "still running after 60 s"
    if done.returncode < 0:
        return f"**crashes** (signal {-done.returncode})"
    if done.returncode:
        return f"refuses: {short(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no word')}"
    told = json.loads(done.stdout.strip().splitlines()[-1])
    wide = f", {told['features']:,} features" if told["features"] else ""
    weights = "" if told["finite"] else ", **weights are nan**"
    warning = next(
        (line for line in (done.stderr + done.stdout).splitlines() if re.search("warn|malform|error", line, re.I)), ""
    )
    word = f"a warning ({short(warning)})" if warning else "no word"
    return f"learns, {word}: {told['rows']:,} rows{wide}{weights}"


def short(text: str) -> str:
    text = re.sub(r"/\S*/", "", " ".join(text.split())).replace("|", "\\|")
    return text if len(text) <= 110 else text[:109] + "…"


if __name__ == "__main__":
    absent = [name for name in ("liblinear", "vowpalwabbit") if find_spec(name) is None]
    if absent:
        print(
            f"without {' and '.join(absent)} there is nothing to compare: pip install liblinear-official vowpalwabbit"
        )
    else:
        main()
