"""Claim: `onepass train FILE`, with no option, errs no more than the best of its entries by 0.2 points, and less than
Vowpal Wabbit and batch logistic regression on the same raw columns.

    python benchmarks/raw_tables.py FOLDER_OR_CSV...            # .csv, .csv.xz, .csv.gz
    python benchmarks/raw_tables.py table.csv --target label --splits 2

Every table is split 80 to 20 at random, five times; each learner reads the training rows once, in the same order (the
two of scikit-learn have them in memory), and all have their default settings. Of onepass: the race, which is what no
option gives, and each of its entries alone. Beside Vowpal Wabbit (also with all pairs of features, `-q ::`) stand
scikit-learn's averaged SGD and batch logistic regression behind a StandardScaler and a OneHotEncoder, and gradient
boosting (HistGradientBoosting; LightGBM where it is installed), which reads the rows many times. Printed are the test
errors, the certified risk of the model that is tested, in how many splits it lay below the test error by more than
chance allows, seconds (loading and parsing included), and for onepass the most memory.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import math
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

SPLITS = 5
ENTRIES = {
    "race": (),
    "plain": ("--race", "off"),
    "bins": ("--bins",),
    "crosses": ("--bins", "--cross", "all"),
}
OPENERS = {".xz": lzma.open, ".gz": gzip.open}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--target", help="the label's column, where it cannot be guessed")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    figures = {}
    for path in [
        file for table in given.tables for file in (sorted(table.glob("*.csv*")) if table.is_dir() else [table])
    ]:
        figures[path.name] = measured(path, given.target, given.splits)
        report(path.name, figures[path.name])
    if given.json is not None:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


def measured(path: Path, target: str | None, splits: int) -> dict[str, Any]:
    """Error and seconds of every learner, one entry a split."""
    header, rows = read(path)
    place = header.index(target) if target is not None else target_of(header)
    found: dict[str, Any] = {"rows": len(rows), "columns": len(header) - 1, "runs": []}
    for seed in range(splits):
        order = np.random.default_rng(1000 + seed).permutation(len(rows))
        cut = len(rows) * 4 // 5
        learn, test = ([rows[i] for i in part] for part in (order[:cut], order[cut:]))
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), header, learn, test)
            run = {name: of_onepass(Path(folder), target, more) for name, more in ENTRIES.items()}
            if find_spec("vowpalwabbit") is not None:
                run["vw"] = of_vw(header, learn, test, place)
                run["vw -q ::"] = of_vw(header, learn, test, place, "-q ::")
            run |= of_scikit(header, learn, test, place)
        labels = [row[place] for row in learn]
        most = max(set(labels), key=labels.count)
        run["most frequent"] = {"error": float(np.mean([row[place] != most for row in test])), "seconds": 0.0}
        found["runs"].append(run)
    found["test_rows"] = len(rows) - len(rows) * 4 // 5
    return found


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    with OPENERS.get(path.suffix, open)(path, "rt", newline="") as file:
        text = file.read()
    mark = csv.Sniffer().sniff(text[:4096], ",;\t|").delimiter
    header, *rows = csv.reader(text.splitlines(), delimiter=mark)
    return [name.strip() for name in header], [[cell.strip() for cell in row] for row in rows if row]


def target_of(header: list[str]) -> int:
    usual = [i for i, name in enumerate(header) if name.lower() in ("target", "label", "class", "y")]
    return usual[0] if len(usual) == 1 else len(header) - 1


def write(folder: Path, header: list[str], learn: Any, test: Any) -> None:
    for name, rows in (("learn.csv", learn), ("test.csv", test)):
        with open(folder / name, "w", newline="") as file:
            csv.writer(file).writerows([header, *rows])


def of_onepass(folder: Path, target: str | None, entry: tuple[str, ...]) -> dict[str, Any]:
    """The command, on files, in processes of its own; kernels are in the cache after the first."""
    more = [*entry, *([] if target is None else ["--target", target]), "--force"]
    start = time.perf_counter()
    said, words = command("train", folder / "learn.csv", *more, "-o", folder / "model", "--json")
    seconds = time.perf_counter() - start
    predicted, _ = command(
        "predict", folder / "model", folder / "test.csv", "-o", folder / "labels.csv", "--force", "--json", "-q"
    )
    risk = said["certificate"]["risk"]
    memory = re.findall(r"([\d,]+) MB at most", words)
    return {
        "error": predicted["wrong"] / predicted["labelled"],
        "certified": math.nan if risk is None else risk,
        "seconds": seconds,
        "memory": float(memory[-1].replace(",", "")) if memory else math.nan,
        "deployed": said.get("race", {}).get("deployed", ""),
    }


def command(*words: object) -> tuple[dict[str, Any], str]:
    """(what it found, what it said beside)."""
    done = subprocess.run([sys.executable, "-m", "onepass.cli", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout), done.stderr


def of_vw(header: list[str], learn: Any, test: Any, place: int, more: str = "") -> dict[str, float]:
    """Numbers as name:value, all else as name=value; one against all where there are more than two classes."""
    from vowpalwabbit import Workspace

    classes = sorted({row[place] for row in learn})
    two = len(classes) == 2
    how = "--loss_function logistic" if two else f"--oaa {len(classes)} --loss_function logistic"

    def line(row: list[str]) -> str:
        at = classes.index(row[place]) if row[place] in classes else 0
        label = (2 * at - 1) if two else at + 1
        words = [_word(name, cell) for i, (name, cell) in enumerate(zip(header, row, strict=True)) if i != place]
        return f"{label} | {' '.join(words)}"

    start = time.perf_counter()
    machine = Workspace(f"{how} {more} -b 18 --quiet")
    for row in learn:
        machine.learn(line(row))
    seconds = time.perf_counter() - start
    wrong = 0
    for row in test:
        said = machine.predict(line(row))
        wrong += (classes[int(said > 0)] if two else classes[int(said) - 1]) != row[place]
    return {"error": wrong / len(test), "seconds": seconds}


def _word(name: str, cell: str) -> str:
    plain = name.replace(" ", "_").replace(":", "_").replace("|", "_")
    try:
        return f"{plain}:{float(cell):g}"
    except ValueError:
        return f"{plain}={cell}".replace(" ", "_").replace(":", "_").replace("|", "_")


def of_scikit(header: list[str], learn: Any, test: Any, place: int) -> dict[str, dict[str, float]]:
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frames = [pd.DataFrame([row[:place] + row[place + 1 :] for row in rows]) for rows in (learn, test)]
    for name in frames[0].columns:
        number = pd.to_numeric(frames[0][name], errors="coerce")
        if number.notna().mean() > 0.9:
            for frame in frames:
                frame[name] = pd.to_numeric(frame[name], errors="coerce")
    labels = [np.array([row[place] for row in rows]) for rows in (learn, test)]
    found = of_boosting(frames, labels)
    for title, model in (
        ("sgd", SGDClassifier(average=True, random_state=0)),
        ("logistic", LogisticRegression(max_iter=1000)),
    ):
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        encoder = make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        )
        start = time.perf_counter()
        pipeline = make_pipeline(encoder, model).fit(frames[0], labels[0])
        seconds = time.perf_counter() - start
        found[title] = {"error": float(np.mean(pipeline.predict(frames[1]) != labels[1])), "seconds": seconds}
    return found


def of_boosting(frames: list[Any], labels: list[Any]) -> dict[str, dict[str, float]]:
    """Gradient boosting, with categories as such."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    typed = []
    for frame in frames:
        text = frame.select_dtypes(exclude="number").columns
        typed.append(frame.assign(**{str(name): frame[name].astype("category") for name in text}).drop(columns=text))
    for name in typed[0].select_dtypes("category"):
        kinds = typed[0][name].cat.categories[:255]  # more than that it does not take
        for frame in typed:
            frame[name] = frame[name].cat.set_categories(kinds)
    for frame in typed:
        frame.columns = [f"c{name}" for name in frame.columns]
    models = {"boosting": HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)}
    if find_spec("lightgbm") is not None:
        from lightgbm import LGBMClassifier

        models["lightgbm"] = LGBMClassifier(verbose=-1, random_state=0)
    found = {}
    for title, model in models.items():
        start = time.perf_counter()
        model.fit(typed[0], labels[0])
        seconds = time.perf_counter() - start
        found[title] = {"error": float(np.mean(model.predict(typed[1]) != labels[1])), "seconds": seconds}
    return found


def report(name: str, found: dict[str, Any]) -> None:
    runs = found["runs"]
    print(f"\n{name}: {found['rows']:,} rows, {found['columns']} columns, {len(runs)} splits")
    for title in runs[0]:
        errors = [run[title]["error"] for run in runs]
        seconds = np.median([run[title]["seconds"] for run in runs])
        line = f"  {title:14s} error {100 * np.mean(errors):6.2f} %   {seconds:6.2f} s"
        if "certified" in runs[0][title]:
            certified = [run[title]["certified"] for run in runs]
            chance = 2.6 * math.sqrt(0.25 / found["test_rows"])
            below = sum(error > risk + chance for error, risk in zip(errors, certified, strict=True))
            line += f"   certified {100 * np.mean(certified):6.2f} %, below the test error in {below} splits"
            line += f"   {np.median([run[title]['memory'] for run in runs]):.0f} MB"
            deployed = [run[title]["deployed"] for run in runs if run[title]["deployed"]]
            line += f"   deployed {', '.join(deployed)}" if deployed else ""
        print(line, flush=True)


if __name__ == "__main__":
    main()
