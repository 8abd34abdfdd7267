"""`onepass.train` and `onepass.load`: the same bits from files, frames and streams; and what cannot be learned."""

import hashlib
import json
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import onepass
from onepass import DataError, LinearModel, VotedModel
from onepass.cli import inputs
from onepass.io.columns import TableOptions
from onepass.io.table_stream import TableStream
from onepass.tables.finding import Declared, find_plan
from onepass.tables.plan import CATEGORY, DATE, LEFT_OUT, NUMBER, WORDS
from onepass.training_result import KEPT
from test_cli import process

ROWS = 3000


def drawn(rows=ROWS, seed=0):
    """A table with a column of every kind, with holes."""
    rng = np.random.default_rng(seed)
    job, age = rng.choice(["cook", "poet, retired", "ä"], rows), rng.integers(-80, 80, rows) / 8.0
    frame = pd.DataFrame(
        {
            "job": job,
            "age": age,
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 4 * 10**6, rows), unit="s"),
            "member": rng.random(rows) < 0.5,
            "said": [" ".join(rng.choice(["so", "good", "fine", "bad"], 5)) + f" n{i % 90}" for i in range(rows)],
            "id": np.arange(rows),
            "same": np.full(rows, 3),
            "y": np.where((age + 6.0 * (job == "ä") > 0) ^ (rng.random(rows) < 0.05), "yes", "no"),
        }
    )
    frame.loc[rng.random(rows) < 0.05, "job"] = None
    frame.loc[rng.random(rows) < 0.05, "age"] = np.nan
    return frame


FRAME = drawn()
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


class OnlyAStream:
    """What has `__arrow_c_stream__` and nothing else, as results of databases do."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows as files."""
    folder = tmp_path_factory.mktemp("rows")
    FRAME.to_csv(folder / "d.csv", index=False)
    FRAME.to_csv(folder / "d.tsv", index=False, sep="\t")
    FRAME.assign(since=FRAME["since"].astype(str)).to_json(folder / "d.jsonl", orient="records", lines=True)
    parquet.write_table(TABLE, folder / "d.parquet", row_group_size=700)
    with ipc.new_stream(folder / "d.arrows", TABLE.schema) as out:
        out.write_table(TABLE, max_chunksize=100)
    return folder


def bits(result):
    """Weights, certificate and names, as bytes; and what the columns are."""
    names = b"".join(array.tobytes() for array in result.model.names.arrays().values())
    weights = result.model.weights.tobytes()
    certificate = json.dumps(result.certificate.as_dict(), sort_keys=True).encode()
    kinds = [(column.name, column.kind, column.neutral, column.constant) for column in result.table.columns]
    return hashlib.sha256(weights + certificate + names).hexdigest(), kinds


@pytest.fixture(scope="module")
def wanted(files):
    return bits(onepass.train(files / "d.csv", target="y", expected_rows=ROWS))


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "parquet", "arrows"])
def test_every_file_of_the_same_rows_gives_the_same_bits(files, wanted, suffix):
    assert bits(onepass.train(files / f"d.{suffix}", target="y", expected_rows=ROWS)) == wanted


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.astype({"job": "category", "y": "category"}),
        FRAME.astype(object),
        FRAME.convert_dtypes(),
        FRAME.set_index(FRAME.index[::-1]),
        pl.from_pandas(FRAME),
        TABLE,
        TABLE.combine_chunks().to_batches()[0],
        OnlyAStream(TABLE),
    ],
    ids=["pandas", "categorical", "objects", "nullable", "index", "polars", "table", "batch", "capsule"],
)
def test_every_frame_of_the_same_rows_gives_the_same_bits(wanted, source):
    assert bits(onepass.train(source, target="y", expected_rows=ROWS)) == wanted


@pytest.mark.parametrize("rows", [1, 77, 255, 256, 257, 2999])
def test_however_a_stream_is_cut_the_same_bits_come_out(wanted, rows):
    assert bits(onepass.train(TABLE.to_reader(max_chunksize=rows), target="y", expected_rows=ROWS)) == wanted


def test_the_kinds_are_those_of_the_columns(wanted):
    kinds = {name: kind for name, kind, _, _ in wanted[1]}
    numbers, categories = dict.fromkeys(["age", "same"], NUMBER), dict.fromkeys(["job", "member"], CATEGORY)
    assert kinds == {**numbers, **categories, "since": DATE, "said": WORDS, "id": LEFT_OUT}


def test_the_command_writes_the_same_file_and_says_the_same(files, tmp_path):
    written, said = tmp_path / "command.safetensors", []
    for path in (files / "d.csv", files / "d.parquet"):
        done = process(files, "train", path, "-o", written, "--force", check=True)
        result = onepass.train(path)
        result.model.save(tmp_path / "python.safetensors")
        assert (tmp_path / "python.safetensors").read_bytes() == written.read_bytes()
        said.append(done.stdout)
        assert done.stdout == f"{result}\nwrote {written}\n"
    assert "7 columns" in said[0]


def test_a_table_declares_its_length_and_a_stream_has_none(files):
    assert onepass.train(FRAME, "y").run.expected_rows == ROWS
    assert onepass.train(pl.from_pandas(FRAME), "y").run.expected_rows == ROWS
    assert onepass.train(files / "d.parquet", "y").run.expected_rows == ROWS
    assert onepass.train(TABLE.to_reader(), "y").run.expected_rows is None
    assert onepass.train(FRAME, "y", conversion="average").run.expected_rows is None
    assert bits(onepass.train(FRAME, "y")) == bits(onepass.train(files / "d.parquet", "y"))


def test_options_reach_the_pass_the_table_and_the_reader(files):
    result = onepass.train(
        FRAME, "y", learner="perceptron", delta=0.1, conversion="average", ignore=["said"], bits=10, missing="zero"
    )
    assert (result.certificate.delta, result.certificate.conversion, repr(result.run.learner)) == (
        *(0.1, "average"),
        "Perceptron()",
    )
    assert (result.table.bits, result.table.missing) == (10, "zero")
    again = onepass.train(
        [str(files / "d.csv")], "y", learner="perceptron", delta=0.1, conversion="average", ignore=["said"], bits=10,
        missing="zero", header=True, threads=1,
    )  # fmt: skip
    assert again.model.weights.tobytes() == result.model.weights.tobytes()
    assert onepass.train(FRAME, "y", stop_at=0.4).run.stopped
    assert "stopped" in str(onepass.train(FRAME, "y", stop_at=0.4))


def test_declared_kinds_leave_no_row_uncounted():
    kinds = {"categorical": ["job", "member"], "numeric": ["age", "same"], "text": ["said"]}
    assert onepass.train(FRAME, "y", **kinds, ignore=["id", "since"]).run.uncounted_rows == 0
    assert onepass.train(FRAME, "y", **kinds, ignore=["id"]).run.uncounted_rows == 256
    alone = onepass.train(FRAME, "y", text_column="said")
    assert [column.name for column in alone.table.used] == ["said"]
    assert alone.run.uncounted_rows == 0


def test_bad_lines_of_a_file_are_left_out_and_told(files, tmp_path):
    lines = (files / "d.csv").read_text().splitlines()
    lines.insert(1500, "too,few")
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"bad\.csv:line 1501: expected 8 columns, got 2"):
        onepass.train(tmp_path / "bad.csv", "y")
    result = onepass.train(tmp_path / "bad.csv", "y", on_error="skip")
    assert result.skipped == 1
    assert "left out 1 bad line" in str(result)
    assert any("bad lines were left out" in text for text in result.certificate.assumptions)
    assert result.model.about["reading"]["on_error"] == "skip"


def test_other_files_than_tables_work_too(file):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (500, 3))
    path = file(
        "".join(f"{1 if x[0] > 0 else -1} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) + "\n" for x in X)
    )
    result = onepass.train(path)
    assert (result.table, result.model.names, result.run.rows) == (None, None, 500)
    assert str(result).startswith("500 rows, 3 features, labels -1, 1\n")


def test_a_stream_is_read_batch_by_batch():
    drawn_batches = []

    def batches():
        for batch in TABLE.to_batches(max_chunksize=30):
            drawn_batches.append(batch.num_rows)
            yield batch

    stream = TableStream(pa.RecordBatchReader.from_batches(TABLE.schema, batches()), TableOptions(kinds="found"))
    for number, chunk in enumerate(stream, start=1):
        assert chunk.size == 30
        assert len(drawn_batches) <= number + 20  # the first rows, and one for each thread
    assert stream.rows == ROWS


def test_what_a_model_remembers_of_files_is_what_the_command_line_calls_so():
    assert {*KEPT} == {*inputs.KEPT}


# --- prediction by name -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    onepass.train(FRAME, target="y").model.save(path)
    return onepass.load(path)


def test_a_loaded_model_applies_its_own_columns(model):
    new = drawn(400, seed=1)
    wanted = model.predict(new)
    assert (wanted == new["y"]).mean() > 0.8
    table = pa.Table.from_pandas(new, preserve_index=False)
    for source in (
        new.drop(columns=["y", "id"]),
        new[[*reversed(new.columns)]].assign(more=1),
        pl.from_pandas(new),
        table,
        table.to_reader(max_chunksize=7),
        OnlyAStream(table),
        new.convert_dtypes(),
        new.astype({"job": "category"}),
        new.rename(columns={"job": " job "}),
    ):
        assert model.predict(source).tolist() == wanted.tolist()
    scores, shares = model.decision(new), model.predict_proba(new)
    assert (np.where(scores > model.cut, "yes", "no") == wanted).all()
    assert shares.shape == (400, 2)
    assert (np.array(["no", "yes"])[shares.argmax(axis=1)] == wanted).all()
    assert model.predict(new[:0]).tolist() == []
    assert model.predict(new.assign(job="never met")).shape == (400,)


def test_columns_that_a_model_needs_and_a_frame_lacks_are_listed(model):
    with pytest.raises(DataError, match=r"columns job, said are not there\. Columns: age, since"):
        model.predict(FRAME.drop(columns=["said", "job"]))
    with pytest.raises(DataError, match="two columns are named 'age'"):
        model.predict(pd.concat([FRAME, FRAME[["age"]]], axis=1))
    with pytest.raises(DataError, match="several levels"):
        model.predict(FRAME.set_axis(pd.MultiIndex.from_tuples([("a", name) for name in FRAME]), axis=1))
    with pytest.raises(DataError, match=r"row 7: column 'age' holds numbers, but here 'old'\. Fix: mend it, or cat"):
        model.predict(FRAME.assign(age=[*FRAME["age"].astype(object)[:7], "old", *FRAME["age"][8:]]))


def test_the_command_predicts_by_a_model_that_learned_from_a_frame(files, tmp_path, model):
    model.save(tmp_path / "m.safetensors")
    done = process(files, "predict", tmp_path / "m.safetensors", "d.csv", "-q", check=True)
    assert done.stdout.split() == model.predict(FRAME).tolist()


def test_models_without_a_table_take_frames_of_numbers_as_before(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    run = onepass.Pass("perceptron", conversion="cutoff")
    run.feed(X, X[:, 0] > 0)
    run.model().save(tmp_path / "linear")
    run.model(how="vote").save(tmp_path / "vote")
    linear, vote = onepass.load(tmp_path / "linear"), onepass.load(tmp_path / "vote")
    assert (type(linear), type(vote)) == (LinearModel, VotedModel)
    for model in (linear, vote):
        assert model.predict(pd.DataFrame(X, columns=list("abc"))).tolist() == model.predict(X).tolist()
    (tmp_path / "none").write_bytes(b"no model")
    with pytest.raises(onepass.ModelError, match="not a model"):
        onepass.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        onepass.load(tmp_path / "nowhere")


# --- what cannot be learned from --------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
X = RNG.integers(-64, 65, 1000) / 8.0
SIMPLE = pd.DataFrame({"x": X, "y": np.where(X > 0, "yes", "no")})
LEVELS = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])


def late(values, at, other):
    """The values with another one at this row."""
    return [*values[:at], other, *values[at + 1 :]]


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (SIMPLE.set_axis(LEVELS, axis=1), {}, "several levels, so that none has a name. Fix: join them"),
        (pd.concat([SIMPLE, SIMPLE[["x"]]], axis=1), {}, "two columns are named 'x'. Fix: rename one$"),
        (pa.Table.from_arrays([X, X], ["x", " x"]), {}, "two columns are named 'x'"),
        (pd.DataFrame({"0": X, 0: X, "y": SIMPLE["y"]}), {}, "two columns are named '0'"),
        (SIMPLE.rename(columns={"x": " "}), {"target": "y"}, "column 0 has no name. Fix: name it$"),
        (pd.DataFrame({"id": np.arange(1000), "y": SIMPLE["y"]}), {}, "no column to learn from: id: counts the rows"),
        (SIMPLE[["y"]], {"target": "y"}, "no column to learn from: the label's column stands alone"),
        (SIMPLE, {"ignore": ["x"]}, "no column to learn from: x: as told"),
        (pd.DataFrame({"x": X, "y": np.arange(1000) * 7 % 10**4}), {"target": "y"}, "y has 256 different values"),
        (pd.DataFrame({"x": X, "y": [f"c{i}" for i in range(1000)]}), {}, "looks like a quantity. Fix: another target"),
        (SIMPLE, {"target": "why"}, r"target: there is no column 'why'\. Columns: x, y"),
        (SIMPLE.rename(columns={"y": "outcome"}), {"target": "outcom"}, "did you mean 'outcome'"),
        (SIMPLE.rename(columns={"y": "a\x1b[1m"}), {"target": "z\n"}, r"no column 'z\\\\n'\. Columns: x, a\\x1b\[1m"),
        (pd.DataFrame({"a": X, "b": X}), {}, "which column is the label. Columns: a, b. Fix: target=NAME"),
        (SIMPLE, {"target": "y", "categorical": ["y"]}, "cannot be both target and categorical"),
        (SIMPLE[:0], {"target": "y"}, "no examples: the table has no rows"),
        (pd.DataFrame(), {}, "the table has no columns"),
        (TABLE.schema.empty_table().to_reader(), {}, "no examples: the table has no rows"),
        (SIMPLE.assign(y=late(SIMPLE["y"], 0, None)), {"target": "y"}, "row 0: column 'y' has no value"),
        (SIMPLE.assign(y=late(X > 0, 700, None)), {"target": "y"}, "row 700: column 'y' has no value"),
        (
            SIMPLE.assign(y=late(SIMPLE["y"], 700, "maybe")),
            {"target": "y", "max_classes": 2},
            "row 700: label 'maybe' is number 3",
        ),
        (
            SIMPLE.assign(m=late([1.5] * 1000, 600, "a")),
            {},
            r"row 600: column 'm' holds numbers, but here 'a'\. Fix: mend",
        ),
        (SIMPLE.assign(m=late(X, 600, np.inf)), {}, "row 600: column 'm' holds inf"),
        (SIMPLE.assign(m=late(X, 600, None)), {"missing": "error"}, "row 600: column 'm' has no value"),
        (
            SIMPLE.assign(d=late(["2024-01-01"] * 1000, 600, "2024-13-01")),
            {},
            "row 600: column 'd' holds dates, but here",
        ),
        (SIMPLE.assign(h=RNG.integers(2**53, 2**62, 1000)), {}, r"'h' cannot be read .* Fix: categorical=\['h'\]"),
        (SIMPLE["y"], {}, "no table that Arrow can read"),
    ],
)
def test_what_cannot_be_learned_from_is_said(source, options, message):
    with pytest.raises(DataError, match=message):
        onepass.train(source, **options)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (SIMPLE, {"categorcal": ["x"]}, "train has no option 'categorcal'; did you mean 'categorical'"),
        ("d.csv", {"detla": 0.1}, "train has no option 'detla'; did you mean 'delta'"),
        (SIMPLE, {"header": True}, "header: this is an option of files"),
        (SIMPLE, {"categorical": "x"}, "categorical must be a list"),
        (X.reshape(-1, 1), {}, "source: a path, .* got ndarray; `OnePassClassifier` and `Pass` learn from arrays"),
        (pl.from_pandas(SIMPLE).lazy(), {}, "got LazyFrame; collect"),
        (None, {}, "got NoneType"),
        ([], {}, "source: a path"),
    ],
)
def test_wrong_arguments_are_type_errors_that_help(source, options, message):
    with pytest.raises(TypeError, match=message):
        onepass.train(source, **options)


SCHEMA = pa.schema([("x", pa.float64()), ("y", pa.string())])
BATCH = pa.record_batch({"x": X, "y": SIMPLE["y"]}, schema=SCHEMA)


def reader(second):
    """A stream of two batches; the second is one, or an error."""

    def batches():
        yield BATCH
        if isinstance(second, Exception):
            raise second
        yield second

    return pa.RecordBatchReader.from_batches(SCHEMA, batches())


class Promising(OnlyAStream):
    """A stream that says how many rows it has, and has fewer."""

    def __len__(self):
        return 5000


def cut_short():
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, SCHEMA) as out:
        out.write_batch(BATCH)
        out.write_batch(BATCH)
    return ipc.open_stream(sink.getvalue().to_pybytes()[:-300])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: reader(pa.record_batch({"x": X.astype(np.float32), "y": SIMPLE["y"]})),
            "changes its schema after 1,000",
        ),
        (lambda: reader(pa.record_batch({"z": X, "y": SIMPLE["y"]})), "changes its schema after 1,000 rows"),
        (lambda: reader(OSError("connection lost")), "ends early .*after 1,000 rows: connection lost"),
        (lambda: OnlyAStream(reader(ValueError("boom"))), "ends early .*after 1,000 rows: .*boom"),
        (cut_short, "ends early .*after 1,000 rows: Expected to be able to read"),
        (lambda: Promising(pa.Table.from_batches([BATCH])), "ends early: 1,000 rows came, and there should be 5,000"),
    ],
)
def test_a_stream_that_breaks_off_is_an_error_and_no_model(make, message):
    with pytest.raises(DataError, match=message):
        onepass.train(make(), target="y")


# --- choices that are documented --------------------------------------------------------------------------------------


def kinds_of(frame, **options):
    result = onepass.train(frame, target="y", **options)
    return {column.name: (column.kind, column.constant or column.reason) for column in result.table.columns}, result


def test_one_label_gives_a_model_that_says_it_and_a_note():
    for label, said in (("yes", "yes"), (1, "1")):
        result = onepass.train(SIMPLE.assign(y=label), target="y")
        assert result.notes[-1] == f"all 1,000 rows have the label {said}: the model always says it"
        assert {*result.model.predict(SIMPLE).tolist()} == {label}


def test_few_rows_give_a_model_and_no_certificate_unless_all_is_declared():
    result = onepass.train(SIMPLE[:10], target="y")
    assert result.certificate.withheld
    assert "there were only 10" in str(result)
    assert result.model.predict(SIMPLE[:10]).shape == (10,)
    assert not onepass.train(SIMPLE[:10], target="y", numeric=["x"]).certificate.withheld


@pytest.mark.parametrize("name", ["a\nb", "a=b", "a\x1b[31m", "a,b", "=", "ä\u202e", 'a"b'])
def test_strange_names_stay_what_they_are_and_are_shown_escaped(name, tmp_path):
    frame = SIMPLE.rename(columns={"x": name}).assign(job=RNG.choice(["c=d", "e\nf"], 1000))
    kinds, result = kinds_of(frame, numeric=[name])
    assert kinds[name] == (NUMBER, "")
    assert all(line.isprintable() for line in result.table.lines())
    result.model.save(tmp_path / "m")
    model = onepass.load(tmp_path / "m")
    assert model.predict(frame).tolist() == result.model.predict(frame).tolist()
    names = [model.names.at(place) for place in range(model.features)]
    assert all(text.isprintable() for text in names)
    assert {"job=c=d", r"job=e\nf"} <= {*names}
    assert (result.model.predict(frame) == frame["y"]).mean() > 0.95


def test_an_equals_sign_does_not_make_two_columns_one():
    frame = SIMPLE.assign(**{"a": RNG.choice(["b=c", "d"], 1000), "a=b": RNG.choice(["c", "d"], 1000)})
    _, result = kinds_of(frame)
    one = result.model.decision(frame.assign(**{"a": "b=c", "a=b": "d"}))
    other = result.model.decision(frame.assign(**{"a": "d", "a=b": "c"}))
    assert (one != other).any()


def test_names_that_are_no_text_are_taken_as_they_are_written():
    frame = pd.DataFrame({0: X, 1: SIMPLE["y"], (2, "a"): RNG.choice(["b", "c"], 1000)})
    result = onepass.train(frame, target=1)
    assert result.table.target == "1"
    assert [column.name for column in result.table.columns] == ["0", "(2, 'a')"]
    assert result.model.predict(frame).shape == (1000,)


def test_kinds_of_strange_columns():
    zoned = pd.date_range("2024-03-30", periods=1000, freq="37min", tz="Europe/Berlin")
    kinds, _ = kinds_of(
        SIMPLE.assign(
            mixed=[1, "a", 2.0, None, True] * 200,
            nothing=None,
            nan=np.nan,
            category=pd.Categorical(RNG.choice(["u", "v"], 1000)),
            codes=pd.Categorical(RNG.integers(0, 3, 1000)),
            zoned=zoned,
            whole=pd.array([1, None, 3, 5] * 250, dtype="Int64"),
            truth=pd.array([True, None] * 500, dtype="boolean"),
            money=[Decimal(i % 7) / 8 for i in range(1000)],
            large=pd.Series([2**70 * (1 + i % 3) for i in range(1000)], dtype=object),
            span=pd.to_timedelta(RNG.integers(0, 1000, 1000), unit="s"),
            lists=[[1, 2]] * 1000,
            period=pd.period_range("2024", periods=1000, freq="D"),
            bytes=[b"a", b"b"] * 500,
        )
    )
    found = {name: kind for name, (kind, _) in kinds.items()}
    numbers = dict.fromkeys(["x", "whole", "money", "large", "span"], NUMBER)
    categories = dict.fromkeys(["mixed", "category", "codes", "truth"], CATEGORY)
    left_out = dict.fromkeys(["nothing", "nan", "lists", "period", "bytes"], LEFT_OUT)
    assert found == {**numbers, **categories, **left_out, "zoned": DATE}
    assert kinds["nothing"][1] == kinds["nan"][1] == "nothing but missing values"


def test_a_time_with_a_zone_is_the_moment_that_it_means(tmp_path):
    """In Arrow, as text with its offset, and as the same moment without a zone."""
    zoned = pd.date_range("2024-03-30", periods=1000, freq="37min", tz="Europe/Berlin")
    results = [
        onepass.train(SIMPLE.assign(t=times), target="y", expected_rows=1000)
        for times in (zoned, zoned.tz_convert("UTC"), zoned.tz_convert(None), [one.isoformat() for one in zoned])
    ]
    assert len({result.model.weights.tobytes() for result in results}) == 1


def test_truths_as_labels_are_text():
    result = onepass.train(SIMPLE.assign(y=X > 0), target="y")
    assert result.model.classes == ("false", "true")
    assert result.model.predict(SIMPLE[:50]).tolist() == [str(bool(x > 0)).lower() for x in X[:50]]


def test_numbers_as_categories_do_not_depend_on_what_stands_beside_them():
    frame = SIMPLE.assign(c=[1.0, 2.5, 1e15, -3.0, 2.0**60] * 200)
    options = {"target": "y", "categorical": ["c"], "expected_rows": 1000}
    mixed = frame.assign(c=late(frame["c"].astype(object).tolist(), 999, "text"))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    whole, parts, text = (onepass.train(one, **options) for one in (frame, table.to_reader(max_chunksize=1), mixed))
    assert whole.model.weights.tobytes() == parts.model.weights.tobytes()
    for result in (whole, parts, text):
        names = {result.model.names.at(place) for place in range(result.model.features)}
        assert {"c=1", "c=2.5", "c=1000000000000000", "c=-3"} <= names


def test_a_column_of_nan_is_empty_whether_arrow_or_pandas_says_so():
    table = pa.table({"x": X, "n": np.full(1000, np.nan), "half": np.where(X > 0, np.nan, 1.0), "y": SIMPLE["y"]})
    plan = find_plan(table.column_names, [c.combine_chunks() for c in table.columns], Declared("y"), "")
    assert [(column.name, column.kind) for column in plan.columns] == [("x", NUMBER), ("n", LEFT_OUT), ("half", NUMBER)]


# --- imports ----------------------------------------------------------------------------------------------------------


ABSENT = """
import sys
class Absent:
    def find_spec(self, name, *more):
        if name.split(".")[0] in ("sklearn", "pandas", "polars", "dask", "click", "matplotlib"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
"""
LEARN_A_FILE = "onepass.train(sys.argv[1], target='y')"
LEARN_A_TABLE = (
    "import pyarrow.parquet\n"
    "table = pyarrow.parquet.read_table(sys.argv[1].replace('csv', 'parquet'))\n"
    "print(onepass.train(table, target='y').model.predict(table[:2]))"
)


@pytest.mark.parametrize("code", ["onepass.train, onepass.load", LEARN_A_FILE, LEARN_A_TABLE])
def test_training_needs_neither_scikit_learn_nor_pandas(files, code):
    """They cannot be imported here: pyarrow itself takes pandas where it is there."""
    done = subprocess.run(
        [sys.executable, "-c", f"{ABSENT}\nimport onepass\n{code}", files / "d.csv"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_to_import_train_is_to_import_nothing_heavy():
    code = "import sys, onepass; onepass.train; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"sklearn", "pandas", "pyarrow", "numba", "scipy"} & {*done.stdout.split()}


def test_a_number_too_large_is_said_by_its_column_and_may_be_left_out(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=600), "y": rng.choice(["a", "b"], 600)})
    frame.loc[450, "size"] = 1e200
    with pytest.raises(DataError, match=r"row 450: column 'size' holds 1e\+200, which is too large to be squared. Fix"):
        onepass.train(frame)
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"row 451: column 'size' holds 1e\+200.* Fix: mend it, or categorical="):
        onepass.train(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"line 452: column 'size' holds 1e\+200, which is too large to be squared"):
        onepass.train(tmp_path / "t.csv")
    assert onepass.train(tmp_path / "t.csv", on_error="skip").skipped == 1


@pytest.mark.parametrize("line", ["1.5", "1.5,"])
def test_what_a_line_lacks_is_told_with_a_remedy(tmp_path, line):
    (tmp_path / "t.csv").write_text("size,y\n" + "1,a\n2,b\n" * 200 + line + "\n")
    with pytest.raises(DataError, match=r"line 402.* Fix: .*on_error='skip'"):
        onepass.train(tmp_path / "t.csv")
    assert onepass.train(tmp_path / "t.csv", on_error="skip").skipped == 1


def test_labels_stand_in_the_table():
    table = pd.DataFrame({"size": [1.0, -1.0] * 200})
    with pytest.raises(TypeError, match="target: the name or the place of a column of the table is expected, got Seri"):
        onepass.train(table, pd.Series(["yes", "no"] * 200))


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b", "p", "q"])], ids=["categorical", "enum"])
def test_dictionaries_of_polars_are_categories_and_labels(kind):
    job, good = ["a", "b"] * 300, ["p", "q", "q"] * 200
    plain = pl.DataFrame({"job": job, "x": [float(i % 7) for i in range(600)], "good": good})
    typed = plain.with_columns(pl.col("job").cast(kind), pl.col("good").cast(kind))
    models = [onepass.train(frame, target="good", expected_rows=600).model for frame in (plain, typed)]
    assert models[0].weights.tobytes() == models[1].weights.tobytes()
    assert models[0].classes == models[1].classes == ("p", "q")


def test_decimals_are_the_numbers_that_their_digits_say():
    cents = [Decimal(i) / 100 for i in range(1000)]
    table = pa.table({"x": pa.array(cents, pa.decimal128(10, 2)), "y": ["p", "q"] * 500})
    frame = pa.table({"x": [float(cent) for cent in cents], "y": ["p", "q"] * 500})
    models = [onepass.train(one, target="y", numeric=["x"], expected_rows=1000).model for one in (table, frame)]
    assert models[0].weights.tobytes() == models[1].weights.tobytes()


def test_a_label_that_is_no_number_is_not_to_be_declared_a_feature():
    table = pa.table({"x": [1.0, 2.0] * 300, "y": ["1", "2"] * 299 + ["1", "x"]})
    with pytest.raises(DataError, match=r"holds numbers, but here 'x'\. Fix: mend it, or leave out that row"):
        onepass.train(table, target="y")
