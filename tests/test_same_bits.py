"""Weights, counts, choice and risk of many runs, as SHA-256: what a change of the walls must not change by a bit.

Data are dyadic, every option is named, and a risk counts to nine digits (NumPy's logarithm differs in its last bits
from processor to processor). `python tests/test_same_bits.py` writes the record anew; do that only when a result is
meant to change, and delete the lines of what has gone.
"""

import hashlib
import json
import pathlib
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from onepass import CutoffAverager
from onepass.cli.group import program
from onepass.errors import ConversionError
from onepass.learners import MarginPerceptron, ShiftedPerceptron
from onepass.models import LinearModel
from onepass.passes import Pass
from onepass.scale import cut, learn
from strategies import csr, dyadic

RECORD = pathlib.Path(__file__).parent / "same_bits.json"
OPTIONS = {
    "conversion": "cutoff",
    "cutoffs": "grid",
    "bound": "betting",
    "delta": 0.05,
    "loss": None,
    "radius": None,
    "horizon": None,
    "fit_intercept": True,
    "n_features": None,
    "max_features": 1 << 20,
    "max_trace_memory": 1 << 22,
    "watch": False,
    "validation_fraction": 0.25,
    "stop_at": None,
    "order_alarm": True,
    "repeat_alarm": True,
    "seed": 3,
}
CONVERSIONS = ("cutoff", "average", "last", "longest", "suffix", "validation")
ROWS, FEATURES = 600, 7
FORMATS = ("svm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow", "npz")


def data(classes, layout="dense", unequal=False):
    """Rows and labels; `unequal`: −1 three times as often as +1, as the shifted rule needs it."""
    X, y = dyadic(17, ROWS, FEATURES, classes, noise=0.15)
    if unequal:
        y = np.where(X[:, 0] > 0, y, -1)
    if layout == "sparse":
        return csr(X), y
    return (X.astype(np.float32) if layout == "float32" else X), y


def answer(weights, run, certificate):
    """All that came out, as one hash."""
    told = hashlib.sha256(np.ascontiguousarray(weights, dtype="<f8").tobytes())
    numbers = (run.rows, run.rounds, run.mistakes, certificate.counted, certificate.choice.value, certificate.covers)
    told.update(repr((*numbers, f"{certificate.risk:.9g}", certificate.withheld is None)).encode())
    return told.hexdigest()[:24]


def answers(run):
    """Of every conversion that the run can give."""
    found = {}
    for conversion in CONVERSIONS:
        try:
            certificate = run.certificate(conversion)
            found[conversion] = answer(run.model(certificate).weights, run, certificate)
        except ConversionError:
            found[conversion] = "refused"
    return found


def passed(learner, classes, layout, pieces=1, resumed=False, **options):
    X, y = data(classes, layout, isinstance(learner, ShiftedPerceptron))
    run = Pass(learner, classes=[-1, 1] if classes == 2 else range(classes), **OPTIONS | options)
    for part in np.array_split(np.arange(ROWS), pieces):
        if resumed:
            state, run = run.state(), Pass(learner, classes=run.classes, **OPTIONS | options)
            run.restore(state)
        if not run.stopped:
            run.feed(X[part[0] : part[-1] + 1], y[part[0] : part[-1] + 1])
    return answers(run)


def watched(learner, classes, layout, pieces=1, resumed=False, **options):
    """The watched model that is deployed, and its certificate."""
    X, y = data(classes, layout)
    more = OPTIONS | {"conversion": "frozen", "watch": None, "validation_fraction": 0.0} | options
    run = Pass(learner, classes=[-1, 1] if classes == 2 else range(classes), **more)
    for part in np.array_split(np.arange(ROWS), pieces):
        if resumed:
            state, run = run.state(), Pass(learner, classes=run.classes, **more)
            run.restore(state)
        run.feed(X[part[0] : part[-1] + 1], y[part[0] : part[-1] + 1])
    certificate = run.certificate()
    return {"frozen": answer(run.model(certificate).weights, run, certificate)}


def merged(learner, waves, **options):
    X, y = data(2)
    chunks = cut([(X[at : at + 75], y[at : at + 75]) for at in range(0, ROWS, 75)])
    run = learn(chunks, learner=learner, classes=[-1, 1], waves=waves, **options)
    certificate = run.certificate()
    return {run.conversion: answer(run.model().weights, run, certificate)}


def averaged():
    X, y = data(2)
    averager, w = CutoffAverager(loss_bound=1.0, delta=0.05, convex=False), np.zeros(FEATURES)
    for x, label in zip(X, y, strict=True):
        wrong = float(label * (x @ w) <= 0.0)
        averager.observe(w, wrong)
        w = w + label * x if wrong else w
    model, certificate = averager.result()
    told = hashlib.sha256(np.asarray(model).tobytes())
    told.update(repr((certificate.counted, certificate.choice.value, f"{certificate.risk:.9g}")).encode())
    return {"cutoff": told.hexdigest()[:24]}


def write(folder, form):
    """The rows in a file of this format; the label is in front, or in the column `y`."""
    X, y = data(2)
    path = folder / f"data.{form}"
    names = [f"f{i}" for i in range(FEATURES)]
    if form in ("svm", "vw"):
        with open(path, "w") as file:
            for x, label in zip(X, y, strict=True):
                mark = " | " if form == "vw" else " "
                shift = 0 if form == "vw" else 1
                file.write(f"{label}{mark}" + " ".join(f"{i + shift}:{v}" for i, v in enumerate(x) if v) + "\n")
    elif form in ("csv", "tsv"):
        mark = "," if form == "csv" else "\t"
        lines = [mark.join([*names, "y"])]
        lines += [mark.join([*map(str, x), str(label)]) for x, label in zip(X, y, strict=True)]
        path.write_text("\n".join(lines) + "\n")
    elif form == "jsonl":
        texts = (" ".join(name for name, v in zip(names, x, strict=True) if v > 0) for x in X)
        rows = ({"text": text, "y": int(label)} for text, label in zip(texts, y, strict=True))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "npz":
        np.savez(path, X=X, y=y)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({**dict(zip(names, X.T, strict=True)), "y": y})
        if form == "parquet":
            pq.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
    return path


def trained(folder, form, *more):
    """By the command line, from a file."""
    path, model = write(folder, form), folder / "model.safetensors"
    words = ["train", str(path), "-o", str(model), "--force", "--learner", "perceptron", "--conversion", "cutoff"]
    words += ["--cutoffs", "grid", "--bound", "betting", "--delta", "0.05", "--seed", "0", "--json", "-q"]
    words += ["--target", "y"] if form in ("csv", "tsv", "jsonl", "parquet", "arrow") else []
    words += ["--text-column", "text"] if form == "jsonl" else []
    if form in ("csv", "tsv", "parquet", "arrow"):  # declared, so that all rows count
        words += ["--numeric", ",".join(f"f{j}" for j in range(FEATURES))]
    done = CliRunner().invoke(program, [*words, *more])
    assert done.exit_code == 0, (form, done.output, done.stderr, done.exception)
    result = json.loads(done.stdout)
    told = hashlib.sha256(LinearModel.load(model).weights.tobytes())
    certificate = result["certificate"]
    numbers = [result[name] for name in ("rows", "rounds", "mistakes")]
    told.update(
        repr((numbers, certificate["counted"], certificate["choice"]["value"], f"{certificate['risk']:.9g}")).encode()
    )
    return {"cutoff": told.hexdigest()[:24]}


def runs(folder):
    """Name → what makes its answers."""
    table = {}
    for name in ("perceptron", "margin", "margin-sphere", "pa", "pa2", "normalized"):
        more = {"radius": 2.0} if name.startswith("margin") else {"n_features": FEATURES}
        for classes in (2, 3):
            for layout in ("dense", "sparse", "float32"):
                table[f"{name}, {classes} classes, {layout}"] = lambda a=(name, classes, layout), o=more: passed(
                    *a, **o
                )
            for memory in (4000, 1500):
                key = f"{name}, {classes} classes, compacted at {memory}"
                o = {**more, "max_trace_memory": memory}
                table[key] = lambda a=(name, classes, "sparse", 5), o=o: passed(*a, **o)
        table[f"{name}, resumed"] = lambda a=(name, 2, "sparse", 4, True), o=more: passed(*a, **o)
    shifted = {"n_features": FEATURES, "radius": None}
    for layout in ("dense", "sparse"):
        a = (ShiftedPerceptron(warmup=3.0), 2, layout)
        table[f"shifted, {layout}"] = lambda a=a: passed(*a, **shifted)
    table["shifted, resumed"] = lambda: passed(ShiftedPerceptron(warmup=3.0), 2, "sparse", 5, True, **shifted)
    apart = {
        "every cutoff": {"cutoffs": "all"},
        "no intercept": {"fit_intercept": False},
        "stopped": {"stop_at": 0.4, "validation_fraction": 0.0},
        "dekel2008, horizon": {"bound": "dekel2008", "horizon": 600, "radius": 2.0, "validation_fraction": 0.0},
        "dekel2008": {"bound": "dekel2008", "radius": 2.0, "validation_fraction": 0.0},
        "0-1 loss": {"loss": "zero_one", "radius": 2.0},
        "no alarms": {"order_alarm": False, "repeat_alarm": False},
    }
    for name, options in apart.items():
        learner = "margin" if "radius" in options else "perceptron"
        table[name] = lambda a=(learner, 2, "sparse", 3), o=options: passed(*a, **o)
    table["own rate"] = lambda: passed(MarginPerceptron(schedule=lambda t: 1.0 / (1.0 + t)), 2, "dense", 3, radius=2.0)
    fixed = {"delta": 0.05, "bound": "betting", "loss": None, "cutoffs": "grid", "fit_intercept": True, "seed": 0}
    for name in ("perceptron", "margin", "pa"):
        more = {"radius": 2.0 if name == "margin" else None, "horizon": None}
        for conversion in ("cutoff", "average", "longest"):
            for waves in (1, 3):
                o = {**fixed, **more, "conversion": conversion}
                table[f"workers: {name}, {conversion}, {waves} waves"] = lambda a=(name, waves), o=o: merged(*a, **o)
    for name in ("perceptron", "margin", "pa", "adaptive"):
        more = {"radius": 2.0 if name == "margin" else None, "expected_rows": 600}
        for classes in (2, 3):
            for layout in ("dense", "sparse", "float32"):
                key, a = f"watched: {name}, {classes} classes, {layout}", (name, classes, layout, 7)
                table[key] = lambda a=a, o=more: watched(*a, **o)
        table[f"watched: {name}, resumed"] = lambda a=(name, 2, "sparse", 4, True), o=more: watched(*a, **o)
    table["averager"] = averaged
    for form in FORMATS:
        table[f"file: {form}"] = lambda form=form: trained(folder, form)
    return table


KNOWN = json.loads(RECORD.read_text()) if RECORD.exists() else {}


@pytest.mark.parametrize("name", list(KNOWN))
def test_every_bit_is_as_it_was(tmp_path, name):
    assert runs(tmp_path)[name]() == KNOWN[name]


def test_the_same_rows_have_the_same_answer():
    """The record is one of something: files of the same rows agree, whatever their format, and learners do not."""
    assert set(runs(None)) == set(KNOWN)
    assert len({KNOWN[f"file: {form}"]["cutoff"] for form in FORMATS if form != "jsonl"}) == 1
    assert len({KNOWN[f"{name}, 2 classes, dense"]["cutoff"] for name in ("perceptron", "margin", "pa", "pa2")}) == 4


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        found = {name: make() for name, make in runs(pathlib.Path(folder)).items()}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")
    print(len(found), "runs,", sum(len(part) for part in found.values()), "answers", file=sys.stderr)
