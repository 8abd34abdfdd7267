"""Tables whose columns are found: kinds, rows, names, in every format to the same bits."""

import csv
import itertools
import json
import math
import re

import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import oracles_tables as oracle
from onepass.errors import DataError, ModelError
from onepass.io import open_stream
from onepass.learners import MarginPerceptron
from onepass.models import LinearModel
from onepass.passes import Pass
from onepass.tables.bins import borders_of
from onepass.tables.dates import microseconds
from onepass.tables.feature_names import FeatureNames, Met
from onepass.tables.finding import Declared, find_plan
from onepass.tables.plan import TablePlan
from onepass.tables.reading import narrowed
from onepass.training import settled_by, train
from test_cli import onepass

WORDS = ["good", "bad", "fine", "awful", "great", "slow", "quick", "room", "food", "price"]


def drawn(rows=700, seed=0):
    """A table with a column of each kind, as text; `name` and `n` are identifiers."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(rows):
        x, text = rng.normal(), " ".join(rng.choice(WORDS, 5))
        score = 2 * x + sum(word in ("good", "fine", "great", "quick") for word in text.split()) - 2
        when = np.datetime64("2024-03-01T00:30") + np.timedelta64(int(rng.integers(100_000)), "m")
        found.append(
            {
                "n": str(i + 7),
                "name": f"u{rng.integers(10**12)}",
                "x": "" if rng.random() < 0.1 else f"{x:.4f}",
                "city": rng.choice(["Rome", " Oslo", "Lima ", "?"]),
                "flag": rng.choice(["True", "False"]),
                "said": text,
                "when": str(when).replace("T", " "),
                "code": f"0{rng.integers(9)}",
                "always": "7",
                "nothing": "NA",
                "label": "yes" if score + rng.normal() > 0 else "no",
            }
        )
    return found


ROWS = drawn()
KINDS = {"x": "number", "city": "category", "flag": "category", "said": "words", "when": "date", "code": "category"}


def write(path, rows=ROWS):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    write(folder / "t.csv")
    frame = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    typed = dict(frame)
    typed["n"] = [int(value) for value in frame["n"]]
    typed["x"] = [float(value) if value else None for value in frame["x"]]
    typed["flag"] = [value == "True" for value in frame["flag"]]
    typed["always"] = [7.0] * len(ROWS)
    table = pa.table(typed)
    table = table.set_column(table.column_names.index("nothing"), "nothing", pa.nulls(len(ROWS)))
    when = pa.array(np.array(frame["when"], "datetime64[us]"))
    table = table.set_column(table.column_names.index("when"), "when", when)
    table = table.set_column(table.column_names.index("city"), "city", table["city"].dictionary_encode())
    parquet.write_table(table, folder / "t.parquet", row_group_size=100)
    feather.write_feather(table, folder / "t.arrow", compression="uncompressed")
    lines = [{**row, "x": float(row["x"]) if row["x"] else None, "flag": row["flag"] == "True"} for row in ROWS]
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    (folder / "t.tsv").write_text(
        "\n".join("\t".join(row.values()) for row in [{name: name for name in frame}, *ROWS]) + "\n"
    )
    return folder


FILES = ("t.csv", "t.tsv", "t.parquet", "t.arrow", "t.jsonl")


def read(path, **options):
    with open_stream(path, kinds="found", named=True, **options) as stream:
        chunks = list(stream)
    rows = [
        dict(zip(chunk.rows.indices[a:b].tolist(), chunk.rows.values[a:b].tolist(), strict=True))
        for chunk in chunks
        for a, b in zip(chunk.rows.indptr[:-1], chunk.rows.indptr[1:], strict=True)
    ]
    return rows, np.concatenate([chunk.labels for chunk in chunks]), stream


@pytest.mark.parametrize("bits", [18, 4])
@pytest.mark.parametrize("name", FILES)
def test_rows_of_every_format_are_those_of_the_description(folder, name, bits):
    rows, labels, stream = read(folder / name, bits=bits)
    plan = stream.table
    assert {column.name: column.kind for column in plan.used if not column.constant} == KINDS
    first = [row["x"] for row in ROWS[:256] if row["x"]]
    neutral = {"x": float(np.median([float(text) for text in first]))}
    neutral["when"] = next(column.neutral for column in plan.used if column.name == "when")
    used = {column.name: column.kind for column in plan.used}
    expected = [oracle.row(row, used, neutral | {"always": 0.0}, bits) for row in ROWS]
    assert [column.name for column in plan.numbers] == ["x", "when", "always"]
    for found, wanted in zip(rows, expected, strict=True):
        wanted.pop(2, None)
        assert found == pytest.approx(wanted, rel=1e-12)
    assert labels.tolist() == [row["label"] for row in ROWS]
    assert sum(bool(column.constant) for column in plan.used) == 1  # it has a place, and no value


def test_left_out_is_what_tells_nothing(folder):
    _, _, stream = read(folder / "t.csv")
    left = {column.name: column.reason for column in stream.table.columns if column.kind == "left out"}
    assert left == {
        "n": "counts the rows",
        "name": "differs in nearly every row",
        "nothing": "nothing but missing values",
    }
    assert [column.constant for column in stream.table.columns if column.name == "always"] == ["7.0"]


@pytest.mark.parametrize("name", FILES)
def test_models_of_every_format_have_the_same_bits(folder, name):
    models = []
    for file in ("t.csv", name):
        onepass(folder, "train", file, "--expected-rows", "700", "-o", "m", "--force", "-q")
        models.append(LinearModel.load(folder / "m"))
    assert models[0].weights.tobytes() == models[1].weights.tobytes()
    assert [str(met) for met in models[0].names.all()] == [str(met) for met in models[1].names.all()]
    certificates = [model.about["certificate"] for model in models]
    assert certificates[0] == certificates[1]
    assert certificates[0]["counted"] < 700 - 256


@pytest.mark.parametrize("block_size", [200, 3000])
def test_cutting_changes_nothing(folder, block_size):
    whole, parts = read(folder / "t.csv"), read(folder / "t.csv", block_size=block_size)
    assert whole[0] == parts[0]
    assert str([*whole[2].feature_names.all()]) == str([*parts[2].feature_names.all()])


def column(values, **more):
    """What a column of these values is, beside a label."""
    label = pa.array([str(i % 2) for i in range(len(values))])
    other = pa.array([i % 3 for i in range(len(values))])
    plan = find_plan(["c", "other", "y"], [pa.array(values), other, label], Declared(**more), "t")
    return plan.columns[0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "-3e4", "+4"] * 9, "number"),
        (["1"] * 99 + ["x"], "number"),
        (["1"] * 9 + ["x"], "category"),
        (["01", "02", "10"] * 9, "category"),
        ([True, False, None] * 9, "category"),
        (["a", "b"] * 9, "category"),
        ([f"id{i}" for i in range(99)], "left out"),
        (list(range(5, 105)), "left out"),
        (list(range(5, 205, 2)), "number"),
        ([None] * 30, "left out"),
        ([f"{i} words stand here" for i in range(40)], "words"),
        (["the same four words"] * 20 + ["other words and more"] * 20, "category"),
        (["2024-02-29", "2023-01-31"] * 9, "date"),
        (["2024-02-29T10:00:00Z", "2023-01-31T11:30:00+02:00"] * 9, "date"),
        (["29.02.2024", "31.01.2023"] * 9, "date"),
        (["02/29/2024", "01/31/2023"] * 9, "date"),
        (["10:30", "23:59"] * 9, "date"),
        ([[1], [2]] * 9, "left out"),
        ([b"x", b"y"] * 9, "left out"),
    ],
)
def test_kinds(values, kind):
    assert column(values).kind == kind


def test_a_kind_is_what_the_user_says():
    assert column(["1", "2"] * 30, categorical=("c",)).kind == "category"
    assert column([f"id{i}" for i in range(99)], text=("c",)).kind == "words"
    assert column(["a b c d", "e f g h"] * 9, numeric=("c",)).kind == "number"
    assert column(["2024-01-01"] * 9, date=("c",)).kind == "date"
    with pytest.raises(DataError, match="'c' holds no dates, but a"):
        column(["a"] * 9, date=("c",))
    with pytest.raises(DataError, match="'c' cannot be both categorical and ignore"):
        column(["a"] * 9, categorical=("c",), ignore=("c",))
    names = ["a", "b", "c,d", "y"]
    arrays = [pa.array(["1", "2"] * 9)] * 4
    plan = find_plan(names, arrays, Declared(categorical=("a,b", "c,d")), "t")
    assert [column.kind for column in plan.columns] == ["category"] * 3
    assert plan.looked_at == 0  # all is declared, nothing was found
    assert find_plan(names, arrays, Declared(categorical=("a,b",)), "t").looked_at == 256
    days = pa.array(["2024-01-01", "2024-01-02"] * 9)
    dated = find_plan(["d", "y"], [days, arrays[0]], Declared(date=("d",)), "t")
    assert dated.looked_at == 256  # how they are written is found all the same


def test_classes_that_are_met_cost_no_rows():
    label = pa.array(["a", "b", "c"] * 9)
    plan = find_plan(["x", "y"], [pa.array(["1", "2", "3"] * 9), label], Declared(numeric=("x",)), "t")
    assert plan.looked_at == 0
    assert settled_by(plan, {"classes": None})["uncounted_rows"] == 0
    assert settled_by(plan, {"classes": ["a", "b", "c"]})["uncounted_rows"] == 0


def test_the_label_is_guessed_where_it_can_be():
    yes = pa.array(["no", "yes"] * 9)
    many = pa.array([f"v{i}" for i in range(18)])
    assert find_plan(["a", "Class "], [yes, yes], Declared(), "t").target == "Class"
    assert find_plan(["a", "income"], [yes, yes], Declared(), "t").target == "income"
    with pytest.raises(DataError, match="which column is the label"):
        find_plan(["a", "income"], [yes, many], Declared(), "t")
    with pytest.raises(DataError, match="which column is the label"):
        find_plan(["y", "class"], [yes, yes], Declared(), "t")
    assert find_plan(["a", "income"], [yes, many], Declared(labelled=False), "t").target is None
    with pytest.raises(DataError, match="no column to learn from"):
        find_plan(["id", "y"], [pa.array(range(50)), pa.array(["a", "b"] * 25)], Declared(), "t")


def test_dates_that_are_none():
    found, right = microseconds(pa.array(["2024-02-30", "2023-02-28", "x", None, "2024-01-01 25:00"]), "iso")
    assert right.tolist() == [False, True, False, False, False]
    assert found[1] == np.datetime64("2023-02-28", "us").astype(int)


def test_a_cell_that_breaks_its_columns_kind_is_told_with_line_and_remedy(folder):
    rows = [dict(row) for row in drawn(600, 1)]
    rows[500]["x"], rows[550]["when"] = "seven", "yesterday"
    write(folder / "bad.csv", rows)
    with pytest.raises(DataError, match=r"line 502.*column 'x' holds numbers, but here 'seven'.*categorical=\['x'\]"):
        read(folder / "bad.csv")
    rows, _, stream = read(folder / "bad.csv", on_error="skip")
    assert (len(rows), stream.skipped) == (598, 2)
    assert "column 'when' holds dates, but here 'yesterday'" in stream.faults[1].args[0]


def test_two_values_in_one_place_are_both_named():
    names = FeatureNames(TablePlan((), bits=3))
    names.meet(Met(np.array([1, 9, 17, 1], np.uint32), ["a=x", "b=y", "c=z", "a=x"]))
    assert names.at(1) == "a=x or b=y"
    assert names.at(2) == "hashed 2"
    again = FeatureNames.from_arrays(TablePlan((), bits=3), names.arrays())
    assert [again.at(i) for i in range(8)] == [names.at(i) for i in range(8)]
    assert again.unmet(np.array([1, 2, 3])) == 2
    arrays = names.arrays()
    for name, wrong in (("name_ends", arrays["name_ends"][::-1]), ("name_hashes", arrays["name_hashes"] - 5)):
        with pytest.raises(ModelError, match="names of features"):
            FeatureNames.from_arrays(TablePlan((), bits=3), arrays | {name: wrong})


def test_a_plan_survives_its_file_and_forgeries_are_refused(folder):
    _, _, stream = read(folder / "t.csv")
    said = json.loads(json.dumps(stream.table.as_dict()))
    assert TablePlan.from_dict(said) == stream.table
    for field, wrong in (
        ("bits", 99),
        ("columns", [{}]),
        ("missing", "maybe"),
        ("label", 3),
        ("target", 3),
        ("looked_at", -1),
        ("labels", [[]]),
        ("columns", said["columns"] * 2),
    ):
        with pytest.raises(ModelError, match=f"table.{field}|table.columns"):
            TablePlan.from_dict(said | {field: wrong})


# --- bins ------------------------------------------------------------------------------------------------------------


def bent(row, before, plan):
    """A row of the plain encoding with the bins and leading bits of x, the one number that changes."""
    first = len(plan.numbers) + 2**18
    if not row["x"]:
        return before
    borders = next(column.borders for column in plan.columns if column.name == "x")
    return before | {
        first + oracle.bin(borders, row["x"]): 1.0,
        first + len(borders) + 1 + oracle.leading(row["x"]): 1.0,
    }


def test_numbers_give_their_bin_and_their_leading_bits(folder):
    plain, _, _ = read(folder / "t.csv")
    rows, _, stream = read(folder / "t.csv", bins=True)
    plan = stream.table
    first = [float(row["x"]) for row in ROWS[:256] if row["x"]]
    borders = next(column.borders for column in plan.columns if column.name == "x")
    assert borders == tuple(oracle.borders(first))
    assert rows == [bent(row, before, plan) for row, before in zip(ROWS, plain, strict=True)]
    assert TablePlan.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
    behind = sorted({place for row in rows for place in row if place >= plan.groups.bins})
    named = [stream.feature_names.at(place) for place in behind]
    assert any(name.startswith("x in [") for name in named)
    assert any(name.startswith("x ≈ ") for name in named)
    assert len(set(named)) == len(named)
    whole, parts = read(folder / "t.csv", bins=True), read(folder / "t.csv", bins=True, block_size=200)
    assert whole[0] == parts[0]


# --- crosses ----------------------------------------------------------------------------------------------------------

PAIRS = [*itertools.combinations(["x", "city", "flag", "code"], 2)]


@pytest.mark.parametrize("name", FILES)
def test_crosses_of_every_format_are_those_of_the_description(folder, name):
    before, _, _ = read(folder / name, bins=True)
    rows, _, stream = read(folder / name, bins=True, cross=("all",))
    plan = stream.table
    assert list(plan.crosses) == PAIRS
    limits = oracle.borders([float(row["x"]) for row in ROWS[:256] if row["x"]], 8)
    assert list(next(column.coarse for column in plan.columns if column.name == "x")) == limits
    stretch = 2**18 // len(PAIRS)
    for row, own, narrow in zip(ROWS, rows, before, strict=True):
        told = {column: oracle.crossed(column, row[column].strip(), KINDS[column], limits) for column in KINDS}
        places = [oracle.cross(told[a], told[b], stretch) + p * stretch for p, (a, b) in enumerate(PAIRS)]
        assert own == narrow | {plan.groups.crosses + place: 1.0 for place in places}
    assert TablePlan.from_dict(json.loads(json.dumps(plan.as_dict()))) == plan
    assert plan.narrowed("bins").groups.end == plan.groups.crosses
    assert plan.narrowed("plain") == read(folder / name)[2].table


def test_crosses_are_named_by_the_values_that_meet(folder):
    rows, _, stream = read(folder / "t.csv", cross=("x*city", "flag*code"))
    named = {stream.feature_names.at(place) for row in rows for place in row if place >= stream.table.groups.crosses}
    told = {f"flag={row['flag'].lower()} × code={row['code']}" for row in ROWS}
    assert told <= named
    assert any(name.startswith("x in [") and name.endswith(" × city=Rome") for name in named)
    assert "x missing × city=Oslo" in named


@pytest.mark.parametrize(
    ("cross", "message"),
    [
        (("city*city",), "crossed with itself"),
        (("city*town",), "no column 'town'"),
        (("city",), "names no two columns"),
        (("city*said",), "cannot be crossed: it is words"),
        (("city*label",), "cannot be crossed: it is the label"),
    ],
)
def test_crosses_that_cannot_be(folder, cross, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read(folder / "t.csv", cross=cross)


def test_too_many_crosses_are_refused_before_the_first_row():
    table = pa.table({f"c{i}": np.arange(40.0) ** 2 for i in range(66)} | {"y": ["a", "b"] * 20})
    wanted = Declared(bins=True, cross=("all",))
    with pytest.raises(DataError, match="2,145 pairs"):
        find_plan(table.column_names, [column.chunk(0) for column in table.columns], wanted, "")
    left = find_plan(
        table.column_names, [column.chunk(0) for column in table.columns], wanted._replace(cross=("auto",)), ""
    )
    assert left.crosses == ()


def test_a_model_with_crosses_predicts_by_name(folder):
    onepass(folder, "train", "t.csv", "--bins", "--cross", "x*city,flag*code", "-o", "crossed", "-q")
    model = LinearModel.load(folder / "crossed")
    assert model.table.crosses == (("x", "city"), ("flag", "code"))
    frame = parquet.read_table(folder / "t.parquet")
    turned = frame.select(frame.column_names[::-1])
    with open_stream(folder / "t.csv", kinds="found", bins=True, cross=("x*city", "flag*code")) as stream:
        known = np.concatenate([model.decision(narrowed(chunk.rows, model.features)) for chunk in stream])
    assert model.decision(turned).tolist() == known.tolist()


@pytest.mark.parametrize(
    ("values", "borders"),
    [
        ([3.0] * 50, 0),
        ([0.0] * 50 + [1.0], 2),
        ([math.inf, 1.0, 2.0], 2),
        (list(range(1000)), 63),
    ],
)
def test_borders_of_odd_columns(values, borders):
    found = borders_of(np.array(values, float))
    assert len(found) == borders or (borders == 63 and 32 <= len(found) <= 64)
    assert list(found) == sorted(set(found))


def test_bins_find_what_a_line_cannot(folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    lines = [f"{value:.4f},{'in' if abs(value) < 0.7 else 'out'}" for value in x]
    (folder / "bent.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    risks = []
    for more in (("--race", "off"), ("--bins",)):
        done = onepass(folder, "train", "bent.csv", *more, "-o", "bent", "--force", "--json", "-q")
        risks.append(json.loads(done.stdout)["certificate"]["risk"])
    assert risks[0] > 0.4
    assert risks[1] < 0.1
    assert "predicted wrong" in onepass(folder, "predict", "bent", "bent.csv").stderr


# --- rows that are not counted ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["adaptive", "perceptron", "pa", "normalized"])
def test_the_first_rows_are_learned_and_not_counted(learner):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 4))
    y = np.where(x[:, 0] + rng.normal(size=900) > 0, "a", "b")
    more = {"n_features": 4} if learner == "normalized" else {}
    first = Pass(learner, classes=["a", "b"], **more)
    first.feed(x[:256], y[:256])
    carried = first.learner_run.carried()
    rest = Pass(learner, classes=["a", "b"], origin=carried, elapsed=256, **more)
    rest.feed(x[256:], y[256:])
    for cuts in ([900], [256, 900], [100, 300, 900], [*range(1, 901)]):
        run = Pass(learner, classes=["a", "b"], uncounted_rows=256, **more)
        done = 0
        for cut in cuts:
            run.feed(x[done:cut], y[done:cut])
            done = cut
        assert (run.rows, run.rounds) == (900, 644)
        assert run.model().weights.tobytes() == rest.model().weights.tobytes()
        assert run.certificate().risk == rest.certificate().risk


@pytest.mark.parametrize("at", [100, 256, 700])
def test_a_state_goes_on_from_before_and_after_the_first_rows(at):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(900, 4))
    y = (x[:, 0] > 0).astype(int)
    whole, one = Pass(uncounted_rows=256), Pass(uncounted_rows=256)
    whole.feed(x, y)
    one.feed(x[:at], y[:at])
    other = Pass(uncounted_rows=256)
    other.check_state(one.state())
    other.restore(one.state())
    other.feed(x[at:], y[at:])
    assert other.model().weights.tobytes() == whole.model().weights.tobytes()
    assert other.certificate() == whole.certificate()


def test_of_the_first_rows_alone_there_is_no_certificate():
    run = Pass(uncounted_rows=256)
    run.feed(np.eye(2), [0, 1])
    assert "no certificate counts them, and there were only 2" in run.certificate().withheld
    assert math.isnan(run.certificate().risk)
    assert run.model().features == 2


def test_a_rate_of_ones_own_cannot_start_anew_after_the_first_rows():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(900, 4))
    y = (x[:, 0] > 0).astype(int)
    rate = MarginPerceptron(schedule=lambda t: 1.0 / (t + 1.0))
    run, plain = Pass(rate, uncounted_rows=256), Pass(rate)
    run.feed(x, y)
    plain.feed(x, y)
    assert run.rounds == 900
    assert "MarginPerceptron cannot start anew after them" in run.certificate().withheld
    assert run.model().weights.tobytes() == plain.model().weights.tobytes()
    other = Pass(rate, uncounted_rows=256)
    other.check_state(run.state())
    other.restore(run.state())
    assert other.model().weights.tobytes() == run.model().weights.tobytes()


def test_as_many_rows_as_are_not_counted_make_a_model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(257, 4))
    run = Pass(uncounted_rows=256)
    run.feed(x[:256], x[:256, 0] > 0)
    assert (run.rows, run.mistakes > 0) == (256, True)
    assert "no certificate counts them, and there were only 256" in run.certificate().withheld
    assert (run.model().predict(x[:256]) == (x[:256, 0] > 0)).mean() > 0.9
    frame = pandas.DataFrame({"a": x[:, 0], "y": np.where(x[:, 0] > 0, "yes", "no")})
    assert train(frame[:256]).model.classes == ("no", "yes")
    run.feed(x[256:], x[256:, 0] > 0)
    assert (run.rows, run.rounds) == (257, 1)


# --- the program ------------------------------------------------------------------------------------------------------


def test_a_raw_table_needs_no_option(folder):
    done = onepass(folder, "train", "t.csv", "-o", "raw", "--force")
    assert "label: label (a guess: --target NAME says another), values no, yes" in done.stderr
    assert "numbers: x" in done.stderr
    assert "dates: when" in done.stderr
    assert "left out: n (counts the rows), name (differs in nearly every row)" in done.stderr
    assert "700 rows, 10 columns, " in done.stdout
    assert 'will be misjudged (always saying "' in done.stdout
    told = onepass(folder, "inspect", "raw").stdout
    assert 'said: "' in told
    assert "columns      10, " in told
    assert "city=Rome" in [name for met in LinearModel.load(folder / "raw").names.all() for name in met.names]
    told = json.loads(onepass(folder, "inspect", "raw", "--json").stdout)
    assert told["table"]["target"] == "label"


def test_check_tells_what_each_column_is(folder):
    told = json.loads(onepass(folder, "check", "t.csv", "--json").stdout)
    columns = {column["name"]: column for column in told["columns"]}
    assert columns["city"]["distinct"] == 3
    assert columns["city"]["missing"] == pytest.approx(np.mean([row["city"] == "?" for row in ROWS]))
    values = [float(row["x"]) for row in ROWS if row["x"]]
    assert (columns["x"]["least"], columns["x"]["most"]) == (min(values), max(values))
    assert told["labels"] == {label: sum(row["label"] == label for row in ROWS) for label in ("no", "yes")}
    assert told["train"].startswith("onepass train t.csv --target label")
    text = onepass(folder, "check", "t.parquet").stdout
    assert "words" in text
    assert "to learn from it: onepass train t.parquet --target label" in text
    (folder / "bare.csv").write_text("a,b\n" + "".join(f"{i % 5},{i % 97}\n" for i in range(300)))
    assert "labels: none" in onepass(folder, "check", "bare.csv").stdout


def test_predictions_know_columns_by_name(folder):
    onepass(folder, "train", "t.csv", "-o", "named", "--force", "-q")
    expected = onepass(folder, "predict", "named", "t.csv").stdout
    rows = [{"more": "1", **{name: row[name] for name in reversed(row) if name != "label"}} for row in ROWS]
    rows[0]["city"], rows[1]["city"] = "Atlantis", "Atlantis"
    write(folder / "other.csv", rows)
    done = onepass(folder, "predict", "named", "other.csv")
    assert done.stdout.split()[2:] == expected.split()[2:]
    assert "columns that the model does not know: more" in done.stderr
    assert "2 values, categories or words, were never met" in done.stderr
    write(folder / "few.csv", [{"x": "1", "city": "Rome"}])
    refused = onepass(folder, "predict", "named", "few.csv", code=3)
    assert "columns flag, said, when, code, always are not there. Columns: x, city" in refused.stderr
    for file in FILES:
        assert onepass(folder, "predict", "named", file).stdout == expected


def test_a_kind_that_is_wrong_is_overruled(folder):
    done = onepass(folder, "train", "t.csv", "--ignore", "said,when", "--categorical", "x", "--text", "name")
    assert "categories: x, city, flag, code" in done.stderr
    assert "words: name" in done.stderr
    assert "left out: n (counts the rows), said (as told), when (as told), nothing" in done.stderr
    wrong = onepass(folder, "train", "t.csv", "--numeric", "citi", code=3)
    assert "there is no column 'citi'; did you mean 'city'?" in wrong.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,a,y\n1,2,x\n", "two columns are named 'a'"),
        ("a,b\ty,y\n" + "1,2,x\n3,4,z\n" * 9, None),
        ("a,y\n" + "".join(f"{i % 3},{i}\n" for i in range(300)), "has 256 different values in its first rows"),
        ("id,y\n" + "".join(f"{i},{i % 2}\n" for i in range(300)), "no column to learn from: id: counts the rows"),
        ("a,y\n" + "1,x\n2,x\n" * 200, None),
    ],
)
def test_bad_tables(folder, text, message):
    (folder / "odd.csv").write_text(text)
    done = onepass(folder, "train", "odd.csv", "--target", "y", code=0 if message is None else 3)
    if message is not None:
        assert message in done.stderr


def test_a_column_that_turns_to_text_late_is_told_by_its_line(folder):
    lines = [f"{i % 13},{'ab'[i % 13 > 6]}" for i in range(40_000)]
    lines[30_000] = "oops,a"
    (folder / "late.csv").write_text("a,y\n" + "\n".join(lines) + "\n")
    done = onepass(folder, "train", "late.csv", code=3)
    assert "late.csv:line 30002, col 1: column 'a' holds numbers, but here 'oops'" in done.stderr
    assert "--categorical a or --ignore a" in done.stderr
    done = onepass(folder, "train", "late.csv", "--on-error", "skip")
    assert "left out 1 bad lines" in done.stdout


def test_a_table_in_time_order_keeps_what_was_the_same_at_first(folder):
    rows = [f"{'may' if i < 300 else 'jun'},{i % 7},{'yes' if i >= 300 else 'no'}" for i in range(2000)]
    (folder / "time.csv").write_text("month,a,y\n" + "\n".join(rows) + "\n")
    done = onepass(folder, "train", "time.csv", "-o", "time", "--force")
    assert "left out while they stay the same: month (may)" in done.stderr
    assert "month=jun" in onepass(folder, "inspect", "time").stdout


def test_check_tells_what_train_would_stop_at(folder):
    """And its command is one that runs, or says what is to be named."""
    rows = [f"{i % 7},{i % 3},{'ab'[i % 2]}" for i in range(400)]

    def checked(lines, code=0):
        (folder / "odd.csv").write_text("\n".join(lines) + "\n")
        return onepass(folder, "check", "odd.csv", code=code).stdout

    gap = checked(["p,q,y", *rows, "1,2,"])
    assert "labels (column y): a 200 (50.0%), b 200 (50.0%)" in gap
    assert "note: 1 rows have no label: `train` stops at the first, or leaves them out with --on-error skip" in gap
    command = gap.split("to learn from it: onepass ")[1].split(" -o ")[0]
    onepass(folder, *command.split())
    two = checked(["label,q,y", *rows])
    assert "no column is plainly the label" in two
    assert "--target NAME" in two.splitlines()[-1]
    bad = checked(["p,q,y", *rows, "1,2"], code=3)
    assert "--target y --on-error skip" in bad
    assert "400 different labels, and `train` takes 50" in checked(["p,y", *(f"{i % 7},L{i}" for i in range(400))])
    assert "all rows have the same label" in checked(["p,y", *(f"{i % 7},b" for i in range(400))])
    assert "all 400 rows have the label b: the model always says it" in onepass(folder, "train", "odd.csv").stderr


def test_pairs_to_be_crossed_may_be_pairs(folder):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "y": rng.choice(["u", "v"], 300)})
    words, pairs = (train(frame, cross=cross) for cross in (["a*b"], [("a", "b")]))
    assert pairs.table == words.table
    assert pairs.table.crosses == (("a", "b"),)
