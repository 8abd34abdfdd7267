"""What the commands make of watched models: rates, targets, costs, probabilities, and the number of rows expected."""

import gzip
import json
import re

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from scipy.sparse import csr_array

from onepass import LinearModel, OnePassClassifier, Pass
from onepass.cli.expected import expected_rows
from onepass.cli.inputs import Reading
from onepass.conversions.pricing import candidate_price
from onepass.errors import ConversionError
from onepass.io import dump_svmlight, open_stream, row_counts
from onepass.trace.grid import floor_index, point
from test_cli import onepass, process

ROWS = 12_000


def drawn(rows, seed):
    """Few positives (3 %), told from the rest by two of six features."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.03
    x = rng.normal(size=(rows, 6))
    x[y, :2] += 2.5
    return np.round(x, 3), y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    for name, rows, seed in (("rare", ROWS, 0), ("fresh", 20_000, 1)):
        x, y = drawn(rows, seed)
        lines = [
            ",".join([*map(repr, row), "yes" if label else "no"]) for row, label in zip(x.tolist(), y, strict=True)
        ]
        (folder / f"{name}.csv").write_text("a,b,c,d,e,f,class\n" + "\n".join(lines) + "\n")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(900, 3))
    dump_svmlight(folder / "three.svm", x, x.argmax(axis=1))
    dump_svmlight(folder / "two.svm", x, np.where(x[:, 0] > 0, 1, -1))
    return folder


def trained(folder, *options):
    """(what --json says of a training on rare.csv, its model)."""
    done = onepass(folder, "train", "rare.csv", *options, "-o", "m", "--force", "--json", "-q")
    return json.loads(done.stdout), LinearModel.load(folder / "m")


# --- how many rows ----------------------------------------------------------------------------------------------------


def test_the_number_of_rows_is_known_where_files_tell_it(folder):
    x, y = drawn(3000, 5)
    table = pyarrow.table({"a": x[:, 0], "class": y.astype(float)})
    pyarrow.parquet.write_table(table, folder / "n.parquet", row_group_size=700)
    with pyarrow.ipc.new_file(str(folder / "n.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=1000)
    with pyarrow.ipc.new_stream(str(folder / "n.arrows"), table.schema) as file:
        file.write_table(table)
    np.save(folder / "n.npy", x)
    np.savez(folder / "n.npz", X=x, y=y.astype(float))
    (folder / "rare.csv.gz").write_bytes(gzip.compress((folder / "rare.csv").read_bytes(), 1))
    (folder / "tiny.svm").write_text("1 1:1\n-1 1:2")
    (folder / "empty.svm").write_text("")

    def told(*names, **reading):
        return expected_rows(tuple(str(folder / name) for name in names), Reading(**reading))

    assert [told(f"n.{kind}") for kind in ("parquet", "arrow", "npy", "npz")] == [3000] * 4
    assert told("tiny.svm") == 2
    assert told("n.npy", "n.parquet", "tiny.svm") == 6002
    assert abs(told("rare.csv") - ROWS) < 0.02 * ROWS
    for unknown in ("rare.csv.gz", "n.arrows", "empty.svm", "nowhere.svm"):
        assert told(unknown) is None, unknown
    assert told("n.npy", "rare.csv.gz") is None
    assert told("rare.csv", compression="gz") is None
    assert expected_rows(("-",), Reading()) is None


def test_a_guess_depends_on_no_row_that_an_early_candidate_is_paid_for(folder, monkeypatch):
    monkeypatch.setattr(row_counts, "SMALL", 1000)
    rows = expected_rows((str(folder / "rare.csv"),), Reading())
    assert abs(rows - ROWS) < 0.02 * ROWS
    (folder / "few.svm").write_text("1 1:1\n-1 1:2\n" * 500)
    assert expected_rows((str(folder / "few.svm"),), Reading()) == row_counts.FEWEST
    early = [point(i) for i in range(floor_index(8), floor_index(2 * row_counts.LINES))]  # or their elders are
    assert max(early) < 2 * row_counts.LINES
    for s in early:
        assert len({candidate_price(s, m) for m in range(row_counts.FEWEST, 40 * row_counts.FEWEST, 331)}) == 1


def test_the_number_is_declared_told_and_kept(folder):
    result, model = trained(folder)
    assert abs(result["expected_rows"] - ROWS) < 0.02 * ROWS
    assert model.about["options"]["expected_rows"] == result["expected_rows"]
    said = onepass(folder, "train", "rare.csv", "-v").stderr
    assert f"expecting about {result['expected_rows']:,} rows" in said
    assert "expecting" not in onepass(folder, "train", "rare.csv", "-v", "--conversion", "average").stderr
    assert trained(folder, "--expected-rows", "777")[0]["expected_rows"] == 777
    piped = process(folder, "train", "-", "--json", "-q", input=(folder / "rare.csv").read_text())
    assert json.loads(piped.stdout)["expected_rows"] is None
    assert json.loads(piped.stdout)["certificate"]["risk"] > result["certificate"]["risk"]  # what knowing it is worth


# --- rates ------------------------------------------------------------------------------------------------------------


def test_rates_stand_in_a_table_below_the_certificate(folder):
    text = onepass(folder, "train", "rare.csv", "--race", "off").stdout
    rates = trained(folder, "--race", "off")[0]["certificate"]["rates"]
    assert rates["positive"] == "yes"
    lines = text.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("rate ")))
    for line, rate in zip(lines[start + 1 :], rates["rates"], strict=False):
        of = f" of {rate['label']}" if rate["label"] else ""
        words = {"miss": "miss rate", "false alarm": "false-alarm rate"}.get(rate["name"], rate["name"])
        found = re.fullmatch(rf"{re.escape(words + of)} +([≤≥]) ([\d.]+) +([\d.]+) +([\d,]+)", line)
        assert found, line
        bound = float(found[2])
        assert bound >= rate["bound"] if rate["at_most"] else bound <= rate["bound"]
        assert abs(bound - rate["bound"]) <= 1.0e-4
        assert int(found[4].replace(",", "")) == rate["counted"]
    assert (
        lines[start + 7]
        == "With probability 95 % all of them hold together (δ shared out among 5; balanced error follows)."
    )
    assert "miss rate of no" in onepass(folder, "train", "rare.csv", "--positive", "no").stdout


def test_rates_of_several_classes_and_of_members(folder):
    text = onepass(folder, "train", "three.svm", "--classes", "0,1,2").stdout
    assert [f"miss rate of {label} " in text for label in range(3)] == [True] * 3
    text = onepass(folder, "train", "three.svm", "--classes", "0,1,2", "--conversion", "average").stdout
    assert "miss rate" not in text


def test_what_compare_says_of_frozen_models_is_the_passs_own(folder):
    told = ("--learner", "adaptive", "--expected-rows", "900", "--validation-fraction", "0.1")
    lines = json.loads(onepass(folder, "compare", "two.svm", *told, "--json", "-q").stdout)["conversions"]
    frozen = next(line for line in lines if line["conversion"] == "frozen")
    run = Pass(watch=True, conversion="cutoff", validation_fraction=0.1, expected_rows=900)
    from onepass.io import open_stream

    with open_stream(folder / "two.svm") as stream:
        for rows, labels, _ in stream:
            run.feed(rows, labels)
    assert frozen["risk"] == run.certificate("frozen", delta=0.05 / 7).risk


# --- targets ----------------------------------------------------------------------------------------------------------


def test_a_certified_false_alarm_rate_is_kept_by_the_model_that_predicts(folder):
    result, model = trained(folder, "--max-false-alarm", "0.01")
    kept = result["certificate"]["threshold"]
    assert kept["reached"]
    assert kept["target"] == {"kind": "false alarm", "limit": 0.01, "declared": True}
    assert result["certificate"]["rates"] is None
    said = onepass(folder, "train", "rare.csv", "--max-false-alarm", "0.01").stdout
    assert "With probability 95 % at most 1 % of the rows of class 'no' are called 'yes'" in said
    done = onepass(folder, "predict", "m", "fresh.csv")
    x, y = drawn(20_000, 1)
    predicted = np.array(done.stdout.split()) == "yes"
    np.testing.assert_array_equal(predicted, model.decision(x) > model.cut)
    assert (predicted != (model.decision(x) > 0.0)).any()  # the threshold does something
    assert predicted[~y].mean() <= 0.01
    scored = onepass(folder, "predict", "m", "fresh.csv", "--scores").stdout.splitlines()
    assert [line.split()[0] == "yes" for line in scored] == predicted.tolist()


def test_a_target_out_of_reach_is_said_with_the_nearest(folder):
    said = onepass(folder, "train", "two.svm", "--max-false-alarm", "0.0001").stdout
    assert "Not reached: a false-alarm rate of at most 0.01 % cannot be certified" in said


def test_inspect_shows_threshold_rates_and_calibration(folder):
    trained(folder, "--max-miss", "0.3")
    text = onepass(folder, "inspect", "m").stdout
    assert '"kind": "miss"' in text
    assert re.search(r"\ncut +-?[\d.e-]+\n", text)
    assert re.search(r"\ncalibration +from \d+ rows that came after", text)
    trained(folder)
    text = onepass(folder, "inspect", "m").stdout
    assert re.search(r'\n +"false alarm" +"yes" +0\.\d+', text)
    assert "all hold together with probability 1 - 0.05" in text
    trained(folder, "--conversion", "average")
    assert "the model gives no probabilities" in onepass(folder, "inspect", "m").stdout


def test_verify_finds_a_threshold_that_was_moved(folder):
    _, model = trained(folder, "--max-false-alarm", "0.02")
    assert "weights: the same" in onepass(folder, "verify", "m", "rare.csv").stdout
    curve = model.calibration
    moved = LinearModel(model.weights, model.classes, model.bias, model.radius, model.about, 0.0, None)
    assert curve is not None
    moved.save(folder / "moved")
    assert "weights: NOT the same" in onepass(folder, "verify", "moved", "rare.csv", code=4).stdout


# --- costs ------------------------------------------------------------------------------------------------------------


def test_costs_are_certified(folder):
    costs = ("--cost", "yes,no=5", "--cost", "no,yes=1")
    result, model = trained(folder, *costs, "--report", "cost.html")
    certificate = result["certificate"]
    assert (certificate["loss"], certificate["loss_bound"]) == ("cost", 5.0)
    assert model.about["options"]["cost"] == [
        ["no", "no", 0.0],
        ["no", "yes", 1.0],
        ["yes", "no", 5.0],
        ["yes", "yes", 0.0],
    ]
    assert result["details"]["options"]["cost"] == [["yes", "no", 5.0], ["no", "yes", 1.0]]
    misses = {rate["name"]: rate for rate in certificate["rates"]["rates"]}
    seen = 5 * misses["miss"]["observed"] * misses["miss"]["counted"]
    seen += misses["false alarm"]["observed"] * misses["false alarm"]["counted"]
    assert certificate["empirical"] == pytest.approx(seen / certificate["counted"])
    shown = onepass(folder, "train", "rare.csv", *costs, "--show-code").stdout
    assert "cost={('yes', 'no'): 5.0, ('no', 'yes'): 1.0}" in shown
    assert "certificate: the same" in onepass(folder, "verify", "m", "rare.csv").stdout


def test_costs_of_three_classes_are_certified(folder):
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    costs = [word for a, b in pairs for word in ("--cost", f"{a},{b}={1 + 2 * a}")]
    said = ("train", "three.svm", *costs, "--json", "-q", "-o")
    certificate = json.loads(onepass(folder, *said, "m3", "--force", "--report", "m3.html").stdout)["certificate"]
    assert (certificate["loss"], certificate["loss_bound"], certificate["covers"]) == ("cost", 5.0, "model")
    assert certificate["empirical"] < certificate["risk"] < 5.0
    assert "the mean cost is at most" in (folder / "m3.html").read_text()
    assert "certificate: the same" in onepass(folder, "verify", "m3", "three.svm").stdout
    short = onepass(folder, "train", "three.svm", *costs[2:-2], "-o", "none", code=2).stderr
    assert "--cost: (0, 1), (2, 1) are missing" in " ".join(short.split())


WRONG = {
    ("--cost", "yes,no=5"): "(no, yes) is missing",
    ("--cost", "yes,no=5", "--cost", "no,yes=-1"): "a finite number from 0 on expected",
    ("--cost", "yes,no=5", "--cost", "no,yes=inf"): "a finite number from 0 on expected",
    ("--cost", "yes,no=5", "--cost", "yes,no=6"): "given twice",
    ("--cost", "yes=5"): "LABEL,PREDICTION=NUMBER expected",
    ("--cost", "yes,no"): "LABEL,PREDICTION=NUMBER expected",
    ("--cost", "yes,no=5", "--cost", "no,yes=1", "--max-miss", "0.1"): "declare one of them",
    ("--cost", "yes,no=5", "--cost", "no,yes=1", "--conversion", "last"): "choose the conversion frozen",
    ("--max-false-alarm", "0"): "--max-false-alarm: above 0 and below 1 expected",
    ("--min-precision", "1"): "--min-precision: above 0 and below 1 expected",
    (
        "--max-false-alarm",
        "0.1",
        "--max-miss",
        "0.1",
    ): "--max-false-alarm and --max-miss: one threshold keeps one target",
    ("--max-miss", "0.1", "--conversion", "cutoff"): "choose the conversion frozen",
    ("--max-miss", "0.1", "--classes", "a,b,c"): "a threshold cuts the scores of two classes",
    ("--positive", "b", "--classes", "a,b,c"): "--positive: one of two classes is meant",
    ("--positive", "maybe"): "--positive: 'maybe' is not one of the classes",
    ("--bound", "dekel2008"): "add --conversion cutoff",
    ("--expected-rows", "0"): "--expected-rows",
}


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_what_cannot_be_meant_is_refused_with_the_reason(folder, options):
    said = onepass(folder, "train", "rare.csv", *options, "-o", "none", code=2).stderr
    assert WRONG[options] in " ".join(said.split())
    assert not (folder / "none").exists()


def test_too_little_room_for_watched_models_is_said(folder):
    said = onepass(folder, "train", "two.svm", "--max-watch-memory", "40B", code=1).stderr
    assert "--max-watch-memory: 3 features × 2 watched models need 48 bytes, 40 are allowed" in said
    assert "set --max-watch-memory 48" in said


def test_models_saved_from_python_are_verified(folder):
    """Labels are numbered as they came, or as they were declared: the file tells which."""
    with open_stream(folder / "two.svm") as stream:
        ((rows, labels, _),) = stream
    X = csr_array((rows.values, rows.indices, rows.indptr))
    runs = [Pass("perceptron"), Pass("perceptron", classes=[1.0, -1.0]), Pass("perceptron", classes=[-1.0, 1.0])]
    for run in runs:
        run.feed(rows, labels)
    clf = OnePassClassifier("perceptron", shuffle=False).fit(X, labels)
    for model in (*(run.model() for run in runs), clf):
        model.save(folder / "python")
        said = onepass(folder, "verify", "python", "two.svm").stdout
        assert "data: not named in the file; weights: the same; certificate: the same" in said


# --- probabilities ----------------------------------------------------------------------------------------------------


def test_probabilities_in_every_format_are_the_models_own(folder):
    _, model = trained(folder)
    x, _ = drawn(20_000, 1)
    expected, labels = model.predict_proba(x), model.predict(x).tolist()
    assert [model.classes[i] for i in expected.argmax(axis=1)] == labels
    for kind in ("csv", "jsonl", "parquet"):
        onepass(folder, "predict", "m", "fresh.csv", "--proba", "-o", f"p.{kind}", "--force", "-q")
    lines = (folder / "p.csv").read_text().splitlines()
    assert lines[0] == "label,proba_no,proba_yes"
    told = [line.split(",") for line in lines[1:]]
    assert [line[0] for line in told] == labels
    np.testing.assert_allclose(np.array([line[1:] for line in told], dtype=float), expected, rtol=1e-12)
    expected = np.array([line[1:] for line in told], dtype=float)  # rows of a table are sparse: sums in another order
    objects = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert objects[7] == {"label": labels[7], "proba_no": expected[7, 0], "proba_yes": expected[7, 1]}
    table = pyarrow.parquet.read_table(folder / "p.parquet")
    assert table["proba_yes"].to_pylist() == expected[:, 1].tolist()
    first = onepass(folder, "predict", "m", "fresh.csv", "--proba", "--scores").stdout.splitlines()[0].split()
    np.testing.assert_allclose([float(number) for number in first[1:]], [model.decision(x[:1])[0], *expected[0]])


def test_probabilities_of_several_classes(folder):
    onepass(folder, "train", "three.svm", "--classes", "0,1,2", "-o", "three", "--force", "-q")
    onepass(folder, "predict", "three", "three.svm", "--proba", "-o", "three.csv", "--force", "-q")
    table = np.genfromtxt(folder / "three.csv", delimiter=",", names=True)
    assert table.dtype.names == ("label", "proba_0", "proba_1", "proba_2")
    given = np.stack([table[f"proba_{label}"] for label in range(3)], axis=1)
    np.testing.assert_allclose(given.sum(axis=1), 1.0)
    np.testing.assert_array_equal(given.argmax(axis=1), table["label"])


def test_models_without_probabilities_say_why(folder):
    _, model = trained(folder, "--conversion", "average")
    said = onepass(folder, "predict", "m", "fresh.csv", "--proba", "-o", "none.csv", code=2).stderr
    assert "train with --conversion frozen" in " ".join(said.split())
    assert not (folder / "none.csv").exists()
    with pytest.raises(ConversionError):
        model.predict_proba(np.zeros((1, 6)))
    (folder / "few.svm").write_text("1 1:1\n-1 2:1\n" * 3)
    assert "Not yet informative" in onepass(folder, "train", "few.svm", "-o", "few", "--force").stdout
    assert "on more than 8 rows" in " ".join(
        onepass(folder, "predict", "few", "few.svm", "--proba", code=2).stderr.split()
    )


# --- several machines -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_draw_a_page_too(folder):
    done = onepass(folder, "train", "rare.csv", "--workers", "2", "--report", "workers.html", "--json", "-q")
    result = json.loads(done.stdout)
    assert result["report"] == "workers.html"
    page = (folder / "workers.html").read_text()
    assert "Workers learn side by side" in page
    assert "miss rate of" in page
    (folder / "run.json").write_text(done.stdout)
    onepass(folder, "report", "run.json", "-o", "again.html")
    assert "Workers learn side by side" in (folder / "again.html").read_text()
