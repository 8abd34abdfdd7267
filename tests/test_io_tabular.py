"""CSV, TSV, Parquet, Arrow, npy, npz and text columns."""

import contextlib
import gzip
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import ipc, parquet

import oracles_io as oracle
from onepass.errors import Argument, DataError
from onepass.io import delimited, open_stream
from onepass.io.blocks import Quotes
from onepass.rows import Dense
from onepass.tables.plan import CellError


def read(paths, **options):
    """(dense rows, labels, stream), all chunks joined."""
    with open_stream(paths, **options) as stream:
        chunks = list(stream)
    labels = None if chunks[0].labels is None else np.concatenate([chunk.labels for chunk in chunks])
    return np.concatenate([dense(chunk.rows) for chunk in chunks]), labels, stream


def dense(rows, width=64):
    if isinstance(rows, Dense):
        return rows.values
    assert rows.indices.max(initial=-1) < width  # SciPy would write outside the array
    matrix = scipy.sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(len(rows.indptr) - 1, width))
    return matrix.toarray()


def fails(message, paths, **options):
    with pytest.raises(DataError, match=message) as caught:
        read(paths, **options)
    return caught.value


X = np.array([[1.0, 0.1], [-2.5e-3, 4.0], [1e140, -0.0]])
Y = np.array([1.0, 0.0, 1.0])
FRAME = pa.table({"a": X[:, 0], "y": Y, "b": X[:, 1]})
MANY = 30_000  # rows: more than the sample that decides what columns are
CSV = "a,y,b\n1,1,0.1\n-2.5e-3,0,4\n1e140,1,-0.0\n"


# The same data in every format gives the same rows -------------------------------------------------


def write_all(folder):
    (folder / "d.csv").write_text(CSV)
    (folder / "d.tsv").write_text(CSV.replace(",", "\t"))
    (folder / "d.csv.gz").write_bytes(gzip.compress(CSV.replace("\n", "\r\n").encode()))
    parquet.write_table(FRAME, folder / "d.parquet")
    with ipc.new_file(folder / "d.arrow", FRAME.schema) as out:
        out.write_table(FRAME)
    with ipc.new_stream(folder / "d.arrows", FRAME.schema) as out:
        out.write_table(FRAME)
    np.save(folder / "d.npy", np.column_stack([X[:, 0], Y, X[:, 1]]))
    np.savez(folder / "d.npz", X=X, y=Y)
    return {path.name: {"target": 1} if path.suffix == ".npy" else {} for path in folder.iterdir()}


def test_every_format_gives_the_same_bits(tmp_path):
    options = write_all(tmp_path)
    assert len(options) == 8
    for name, choice in options.items():
        rows, labels, stream = read(tmp_path / name, **choice)
        assert rows.tobytes() == X.tobytes(), name
        assert labels.tobytes() == Y.tobytes(), name
        assert stream.format in name.replace("arrows", "arrow")
        assert stream.consumed == stream.total_bytes


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(st.tuples(st.text('ab",\n\r ', max_size=6), st.floats(-1e9, 1e9)), min_size=1, max_size=12),
    block_size=st.integers(1, 30),
)
def test_csv_cut_anywhere_is_the_same_csv(csv_file, cells, block_size):
    rows = "".join('"{}","c{}"\n'.format(value, text.replace('"', '""')) for text, value in cells)
    values, labels, _ = read(csv_file("x,y\n" + rows), target="y", block_size=block_size)
    assert values[:, 0].tolist() == [value for _, value in cells]
    assert [label.replace("\r\n", "\n") for label in labels] == [
        f"c{text}".replace("\r\n", "\n").strip() for text, _ in cells
    ]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text('a",\n', max_size=8), max_size=6))
def test_records_end_where_they_end_however_the_text_is_cut(parts):
    whole, cut, at, ends = Quotes("x", ",", '"'), Quotes("x", ",", '"'), 0, []
    for part in parts:
        end = cut.last_end(part.encode())
        ends.append(at + end if end >= 0 else -1)
        at += len(part)
    assert max(ends, default=-1) == whole.last_end("".join(parts).encode())


# CSV faults ----------------------------------------------------------------------------------------


def test_ragged_rows_and_quotes_and_names(csv_file):  # 24
    error = fails("expected 3 columns, got 2", csv_file(CSV + "1,2\n" + CSV[6:]))
    assert error.line == 5
    assert error.value == b"1,2"
    error = fails("never closed", csv_file('t,y\n"a",1\n"b\nc",0\n"oops,1\nd,0\n'), text_column="t")
    assert error.line == 5
    _, labels, _ = read(csv_file("a,y\n1,'x\ny,z'\n2,\"b\n", "d"), format="csv", quote="'", block_size=8)
    assert labels.tolist() == ["x\ny,z", '"b']
    fails("two columns are named 'a'", csv_file("a,y,a\n1,2,3\n"))
    fails("column 1 has no name", csv_file("a,,y\n1,2,3\n"))


@pytest.mark.parametrize("block_size", [512, 1 << 20])
def test_a_column_that_turns_to_text_is_an_error_with_its_row(csv_file, block_size):  # 25
    rows = "".join(f"{i},{i % 2}\n" for i in range(MANY))
    error = fails(
        "'x' holds numbers, but here 'abc': .*is not a number",
        csv_file(f"x,y\n\n{rows}abc,1\n{rows}"),
        block_size=block_size,
    )
    assert (error.line, error.column, error.value) == (MANY + 3, 1, b"abc,1")
    assert "categorical=['x']" in error.remedy


def test_headers_and_targets(csv_file):  # 26
    fails("no examples", csv_file("a,y\n"))
    fails("no examples", csv_file(""))
    fails("which column is the label.*Columns: a, b.*target=NAME", csv_file("a,b\n1,2\n"))
    fails(r"no column 'prise'; did you mean 'price'\? Columns: price, y", csv_file("price,y\n1,2\n"), target="prise")
    values, labels, stream = read(csv_file("1,5\n2,6\n"), target=-1)
    assert (values.tolist(), labels.tolist()) == ([[1], [2]], [5, 6])
    assert any("there is no header" in note for note in stream.notes)
    values, labels, stream = read(csv_file("1,5\n2,6\n"), target="1", header=True, labelled=False)
    assert (values.tolist(), labels.tolist()) == ([[6]], [2])
    values, labels, _ = read(csv_file("a,b\n1,2\n"), labelled=False)
    assert labels is None
    values, labels, _ = read(csv_file("y,b\n1,2\n"), target="class", labelled=False)
    assert (values.tolist(), labels) == ([[1, 2]], None)
    fails("separated by ';'.*delimiter=';'", csv_file("a;y\n1;2\n"), target="y", delimiter=",")
    for text in ("a;y\n1;2\n", "a\ty\n1\t2\n", "a|y\n1|2\n", " a  y\n1\t  2 \n"):
        values, labels, _ = read(csv_file(text))
        assert (values.tolist(), labels.tolist()) == ([[1]], [2])


def test_text_columns_must_be_declared(csv_file):
    fails(r"column 'city' holds text.*categorical=\['city'\] or ignore=\['city'\]", csv_file("city,y\nRome,1\n"))
    values, _, stream = read(csv_file("city,a,y\nRome,5,1\n"), ignore=["city"])
    assert values.tolist() == [[5]]
    assert stream.columns == ("a",)


@pytest.mark.parametrize(
    "options",
    [
        {"target": "w", "text_column": "w"},
        {"target": "w", "categorical": ["-1"]},
        {"target": "w", "ignore": ["w"]},
        {"categorical": ["w"], "ignore": ["w"]},
        {"text_column": "w", "ignore": ["w"]},
    ],
)
def test_a_column_has_one_use(csv_file, options):
    fails(r"column 'w' cannot be both [a-z_]+ and [a-z_]+\. Fix: choose one", csv_file("y,w\n1,a\n0,b\n"), **options)


def test_categories_are_hashed_after_the_numbers(csv_file):
    path = csv_file("a,city,y\n3,Rome,1\n0,Oslo,0\n7,Rome,1\n")
    with open_stream(path, categorical=["city"], bits=5) as stream:
        (chunk,) = stream
    rome, oslo = (1 + oracle.murmur3(city, oracle.murmur3(b"city")) % 32 for city in (b"Rome", b"Oslo"))
    assert chunk.rows.indptr.tolist() == [0, 2, 3, 5]
    assert chunk.rows.indices.tolist() == [0, rome, oslo, 0, rome]
    assert chunk.rows.values.tolist() == [3, 1, 1, 7, 1]
    assert any("2^5" in note for note in stream.notes)


@pytest.mark.parametrize("cell", ["", "NA", "nan", "?"])
def test_missing_values(csv_file, cell):  # 3
    path = csv_file(f"a,b,y\n1,2,1\n{cell},5,0\n")
    error = fails("column 'a' has no value.*missing='zero'", path)
    assert error.line == 3
    assert read(path, missing="zero")[0].tolist() == [[1, 2], [0, 5]]
    assert read(path, missing="indicator")[0].tolist() == [[1, 2, 0, 0], [0, 5, 1, 0]]
    path = csv_file(f"a,y\n1,2\n1,{cell}\n")
    fails("column 'y' has no value.*Fix: leave out rows", path, missing="zero")
    np.testing.assert_array_equal(read(path, labelled=False)[1], [2, np.nan])
    np.testing.assert_array_equal(read(csv_file(f"a,y\n1,{cell}\n2,{cell}\n"), labelled=False)[1], [np.nan] * 2)


def test_a_missing_label_is_one_where_none_is_needed(csv_file, tmp_path):
    path = csv_file("a,y\n1,spam\n2,\n")
    fails("'y' has no value", path)
    _, labels, stream = read(path, labelled=False)
    assert (labels.tolist(), [*stream.labels]) == (["spam", ""], ["spam"])
    for column, expected in (([1.0, None], [1, np.nan]), (["spam", None], ["spam", ""])):
        parquet.write_table(pa.table({"a": [1.0, 2.0], "y": column}), tmp_path / "d.parquet")
        fails("row 2: column 'y' has no value. Fix: leave out rows", tmp_path / "d.parquet")
        np.testing.assert_array_equal(read(tmp_path / "d.parquet", labelled=False)[1], expected)
    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": pa.nulls(2)}), tmp_path / "d.parquet")
    fails("row 1: column 'y' has no value", tmp_path / "d.parquet")
    values, labels, _ = read(tmp_path / "d.parquet", labelled=False)
    assert (values.tolist(), labels) == ([[1], [2]], None)


def test_missing_categories(csv_file):
    path = csv_file("c,y\nx,1\n,0\n")
    fails("column 'c' has no value", path, categorical=["c"])
    place = oracle.murmur3(b"", oracle.murmur3(b"c")) % 2**18
    for missing, expected in (("zero", []), ("indicator", [place])):
        with open_stream(path, categorical=["c"], missing=missing) as stream:
            (chunk,) = stream
        assert chunk.rows.indices[chunk.rows.indptr[1] :].tolist() == expected


@pytest.mark.parametrize(
    ("cell", "message", "column"),
    [
        ("inf", "inf is not a finite number", 3),  # 4
        ("-inf", "-inf is not a finite number", 3),
        ("1e400", "value overflows", 3),
        ("-nan", "not a finite number", 3),  # 3
        ("0.5abc", "not a number", 6),  # 6
        ("0x10", "not a number", 4),
        ("1_0", "not a number", 4),
        ('"1 e5"', "not a number", 5),
        ("spam", "not a number", 3),
    ],
)
@pytest.mark.parametrize("at", [2, 3, 700, 2000])  # in the sample that decides what the columns are, and beyond it
def test_a_bad_number_in_a_table_is_refused_with_line_and_column(csv_file, cell, message, column, at):
    rows = [f"7,{i}.5,0" for i in range(2500)]
    rows[at - 2] = f"7,{cell},0"
    error = fails(message, csv_file("a,b,y\n" + "\n".join(rows) + "\n"), block_size=4096)
    assert "column 'b' holds numbers" in error.args[0]
    assert (error.line, error.column, error.value) == (at, column, f"7,{cell},0".encode())
    assert "on_error='skip'" in error.remedy


@pytest.mark.parametrize("cell", ["1e-400", "-0", "+3", ".5", "5.", "1E5", " 7 "])  # 5
def test_numbers_that_look_odd_are_read_from_tables_too(csv_file, cell):
    values, _, _ = read(csv_file(f"a,y\n1,1\n{cell},0\n"))
    assert values[1].tobytes() == np.array([float(cell)]).tobytes()


@pytest.mark.parametrize("block_size", [1, 64, 1 << 20])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv"])
def test_bad_records_are_skipped_and_kept_with_their_lines(csv_file, name, block_size):
    lines = [
        "a,b,y",
        "1,2,1",
        "",
        "1,x,0",
        "3,4,0",
        "1",
        "5,,1",
        "6,7,0\r",
        "8,\xff,1",
        "9,\0,1",
        "1\r2,3,1",
        "10,11,1",
    ]
    text = ("\n".join(lines) + "\n").replace(",", "\t" if name == "d.tsv" else ",").encode("latin-1")
    kept = []
    values, labels, stream = read(
        csv_file(text, name), on_error="skip", quarantine=kept.append, block_size=block_size, header=True
    )
    assert values.tolist() == [[1, 2], [3, 4], [6, 7], [10, 11]]
    assert labels.tolist() == [1, 0, 0, 1]
    assert (stream.skipped, [fault.line for fault in stream.faults]) == (6, [4, 6, 7, 9, 10, 11])
    whole = text.split(b"\n")
    assert kept == [whole[line - 1] + b"\n" for line in (4, 6, 7, 9, 10, 11)]
    for fault, message in zip(
        stream.faults,
        ["not a number", "expected 3 columns, got 1", "no value", "UTF-8", "NUL", "carriage"],
        strict=True,
    ):
        assert message in fault.args[0]


def test_a_bad_record_of_several_lines_is_kept_whole(csv_file):
    kept = []
    text = b'a,t,y\n1,"x\ny",1\n2,"bad\n""row""",0,9\n3,"",1\n'
    _, labels, stream = read(csv_file(text), on_error="skip", quarantine=kept.append, ignore=["t"])
    assert labels.tolist() == [1, 1]
    assert kept == [b'2,"bad\n""row""",0,9\n']
    assert stream.faults[0].line == 4


def test_most_cells_decide_what_a_column_is(csv_file):
    fails(r"column 'c' holds text.*categorical=\['c'\]", csv_file("c,y\nRome,1\nOslo,0\n7,1\n"))
    error = fails("column 'c' holds numbers, but here 'Rome'", csv_file("c,y\n5,1\nRome,0\n7,1\n"))
    assert (error.line, error.column) == (3, 1)
    _, labels, _ = read(csv_file("c,y\n5,1\n6,0\n7,unknown\n"))
    assert labels.tolist() == ["1", "0", "unknown"]


def test_a_header_longer_than_the_first_look(csv_file):
    names = ",".join(f"column_{i}" for i in range(8999))
    row = ",".join(["0.5"] * 8999)
    values, labels, _ = read(csv_file(f"{names},y\n{row},1\n{row},0\n"))
    assert values.shape == (2, 8999)
    assert labels.tolist() == [1, 0]


def test_bytes_that_are_not_text(csv_file):  # 18, 20
    error = fails(r"byte 0xe9 is not UTF-8; this may be Latin-1\. Line", csv_file(b"a,y\n1,caf\xe9\n"))
    assert (error.line, error.column) == (2, 6)
    error = fails("byte 0xe9 is not UTF-8", csv_file(b"a,y\n" + b"1,tea\n" * 20_000 + b"1,caf\xe9\n"))
    assert (error.line, error.column) == (20_002, 6)
    error = fails("byte 0xe9 is not UTF-8", csv_file(b"\ncaf\xe9,y\n1,2\n"))
    assert (error.line, error.column) == (2, 4)
    assert fails("NUL", csv_file(b"a,y\n1,2\n\x00,2\n")).line == 3
    assert fails("NUL", csv_file(b"a,y\n" + b"1,2\n" * 20_000 + b"\x00,2\n")).line == 20_002
    fails("CR only", csv_file(b"a,y\r1,2\r"))
    values, _, stream = read(csv_file(b"\xef\xbb\xbfa,y\n1,2\n"))
    assert values.tolist() == [[1]]
    assert any("byte order mark" in note for note in stream.notes)


def test_text_labels_are_kept(csv_file):
    _, labels, stream = read(csv_file("a,class\n1,spam\n2,ham\n3,spam\n"))
    assert labels.tolist() == ["spam", "ham", "spam"]
    assert stream.notes[-1] == "labels: ham, spam"


def test_files_with_other_columns_are_refused_by_name(tmp_path):  # 27
    (tmp_path / "1.csv").write_text("a,y\n1,2\n")
    (tmp_path / "2.csv").write_text("b,y\n1,2\n")
    assert fails("column a is not there. Columns: b, y", tmp_path).source == str(tmp_path / "2.csv")
    (tmp_path / "2.csv").write_text("y,z,a\n1,9,2\n")
    values, labels, stream = read(tmp_path)
    assert (values.tolist(), labels.tolist()) == ([[1], [2]], [2, 1])
    assert any("not used: z" in note for note in stream.notes)
    (tmp_path / "2.csv").write_text("a,y\n3,4\nx,2\n")
    error = fails("'a' holds numbers, but here 'x'", tmp_path)
    assert (error.source, error.line) == (str(tmp_path / "2.csv"), 3)
    parquet.write_table(pa.table({"a": [1.0], "y": [1]}), tmp_path / "1.pq")
    parquet.write_table(pa.table({"a": ["x"], "y": [1]}), tmp_path / "2.pq")
    fails("'a' holds numbers, but here 'x'", [tmp_path / "1.pq", tmp_path / "2.pq"])


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200),
    st.sampled_from([("csv", {}), ("tsv", {"text_column": 0}), ("jsonl", {"text_column": "a"})]),
)
def test_any_bytes_are_read_or_refused(csv_file, data, how):
    name, options = how
    with (
        contextlib.suppress(DataError),
        open_stream(csv_file(data, "fuzz"), format=name, labelled=False, **options) as chunks,
    ):
        for chunk in chunks:
            assert chunk.size > 0


def test_a_lone_carriage_return_in_a_table_is_an_error_with_a_line(csv_file):
    """Arrow ends a row there, so its count of rows runs ahead of the lines."""
    path = csv_file(b"\rnull{\\\xc3\xa9\r1,2\nnan")
    with pytest.raises(DataError, match=r"data\.csv:line [123]"):
        read(path, format="csv", labelled=False)
    error = fails("carriage return in the middle", csv_file(b"a,y\n1,2\n3,4\r5,6\n"))
    assert (error.line, error.column) == (3, 4)
    _, labels, _ = read(csv_file(b'a,y\n1,"x\ry"\n'))
    assert labels.tolist() == ["x\ry"]


# Parquet and Arrow ---------------------------------------------------------------------------------


def test_parquet_columns_that_cannot_be_read_are_named(tmp_path):  # 27
    path = tmp_path / "d.parquet"
    for name, column, message in [
        ("list", pa.array([[1], [2]]), "list"),
        ("date", pa.array([0, 1], pa.date32()), "date32"),
        ("nested", pa.array([{"a": 1}, {"a": 2}]), "struct"),
        ("bytes", pa.array([b"a", b"b"]), "binary"),
        ("void", pa.nulls(2), "only nulls"),
    ]:
        parquet.write_table(pa.table({name: column, "y": [1, 0]}), path)
        error = fails(f"column '{name}' holds .*{message}", path)
        assert error.remedy == Argument("ignore", [name])


def test_casts_are_listed(tmp_path):  # 27
    frame = pa.table(
        {
            "money": pa.array([Decimal("1.25"), Decimal("2.50")]),
            "flag": [True, False],
            "small": pa.array([1, 2], pa.int8()),
            "half": pa.array(np.array([0.5, 0.25], np.float16)),
            "code": pa.array([7, 8]).dictionary_encode(),
            "y": ["a", "b"],
        }
    )
    parquet.write_table(frame, tmp_path / "d.parquet")
    values, labels, stream = read(tmp_path / "d.parquet")
    assert values.tolist() == [[1.25, 1, 1, 0.5, 7], [2.5, 0, 2, 0.25, 8]]
    assert labels.tolist() == ["a", "b"]
    for column in ("money", "flag"):
        assert any(f"'{column}'" in note and "float64" in note for note in stream.notes)


def test_integers_that_float64_cannot_hold_and_nulls_are_errors(tmp_path):
    path = tmp_path / "d.parquet"
    parquet.write_table(pa.table({"a": [2**53 + 1], "y": [1]}), path)
    fails("row 1: column 'a' cannot be read", path)
    parquet.write_table(pa.table({"a": [1.0, None], "y": [1, 0]}), path)
    fails("row 2: column 'a' has no value", path)
    assert read(path, missing="zero")[0].tolist() == [[1], [0]]


def test_damaged_parquet_is_an_error(tmp_path):  # 27
    path, big = tmp_path / "d.parquet", pa.table({"a": np.arange(5000.0), "y": np.arange(5000) % 2})
    parquet.write_table(big, path, write_page_checksum=True, use_dictionary=False)
    data = path.read_bytes()
    for cut in (4, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        fails("damaged or cut short", path)
    flipped = bytearray(data)
    flipped[len(data) // 3] ^= 1
    path.write_bytes(bytes(flipped))
    fails("damaged", path)
    (tmp_path / "d.parquet.gz").write_bytes(gzip.compress(data))
    fails("must be a plain file", tmp_path / "d.parquet.gz")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_column_name_that_is_not_text_is_damage(tmp_path, kind):
    """Found by fuzzing: pyarrow lets a UnicodeDecodeError out."""
    path, frame = tmp_path / f"d.{kind}", pa.table({"spam": [1.0], "y": [1]})
    if kind == "parquet":
        parquet.write_table(frame, path, store_schema=False)
    else:
        with ipc.new_file(path, frame.schema) as out:
            out.write_table(frame)
    path.write_bytes(path.read_bytes().replace(b"spam", b"sp\xa0m"))
    fails("damaged or cut short", path)


def test_a_table_without_columns_is_an_error_not_an_endless_one(tmp_path):
    """Found by fuzzing: a batch of no columns that claims 2^60 rows."""
    frame = FRAME.select(["a", "b"])
    with ipc.new_file(tmp_path / "d.arrow", frame.schema) as out:
        out.write_table(frame)
    fails("no column to learn from", tmp_path / "d.arrow", labelled=False, ignore=["a", "b"])


def test_a_footer_that_promises_too_few_rows_is_an_error(tmp_path):
    """Found by fuzzing: rows where none are promised."""
    path = tmp_path / "d.parquet"
    parquet.write_table(FRAME, path)
    data, rows = path.read_bytes(), b"\x16\x06\x19"  # three rows, then the list of row groups
    assert data.count(rows) == 1
    path.write_bytes(data.replace(rows, b"\x16\x00\x19"))
    fails("3 rows, but its footer promises 0", path)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_an_arrow_stream_that_is_cut_is_an_error_even_between_messages(tmp_path, compress):  # 28
    path = tmp_path / "d.arrows"
    sink, ends = pa.BufferOutputStream(), []
    with ipc.new_stream(sink, FRAME.schema) as out:
        for _ in range(3):
            out.write_table(FRAME)
            ends.append(sink.tell())
    data = sink.getvalue().to_pybytes()
    path.write_bytes(compress(data))
    assert read(path)[1].tolist() == [*Y, *Y, *Y]
    for cut in [*ends, ends[0] + 20, len(data) - 1]:
        path.write_bytes(compress(data[:cut]))
        fails("ends early|cut short", path)
    path.write_bytes(compress(data + b"junk"))
    fails("follow the end", path)


# --- what is right alone and wrong among others -----------------------------------------------------------------------


def rows_of(path, **options):
    """(rows as sets of (column, value), labels, how many were skipped)."""
    found, labels = [], []
    with open_stream(path, kinds="found", header=True, target="y", **options) as stream:
        for chunk in stream:
            rows = chunk.rows
            for begin, end in itertools.pairwise(rows.indptr.tolist()):
                pairs = zip(rows.indices[begin:end], rows.values[begin:end], strict=True)
                found.append({(int(column), float(value)) for column, value in pairs})
            labels += chunk.labels.tolist()
    return found, labels, stream.skipped


@pytest.mark.parametrize("spelling", ["-nan", "NAN", "+nan", "nan", "NaN"])
@pytest.mark.parametrize("size", [4096, 1 << 20])
def test_no_row_is_lost_whatever_a_missing_number_is_called(tmp_path, spelling, size):
    """One cell makes Arrow read its block as text, where these words once were errors that no row had alone."""
    rng = np.random.default_rng(0)
    cells = [[f"{rng.normal():.3f}", f"{rng.normal():.3f}", "yn"[i % 2]] for i in range(6000)]
    cells[3000][1], cells[3010][0] = spelling, "  NA"
    (tmp_path / "t.csv").write_text("\n".join(["x,z,y", *map(",".join, cells), ""]))
    rows, labels, skipped = rows_of(tmp_path / "t.csv", block_size=size)
    assert (len(rows), skipped, labels) == (6000, 0, [row[2] for row in cells])
    cells[3000][1], cells[3010][0] = "NA", "NA"
    (tmp_path / "plain.csv").write_text("\n".join(["x,z,y", *map(",".join, cells), ""]))
    assert rows == rows_of(tmp_path / "plain.csv", block_size=size)[0]
    assert rows_of(tmp_path / "t.csv", block_size=size, on_error="skip")[0] == rows


@pytest.mark.parametrize("size", [100, 5000, 1 << 20])
def test_a_byte_order_mark_inside_a_file_belongs_to_its_cell(tmp_path, size):
    """Arrow leaves one out wherever a text begins, and a block may begin anywhere."""
    numbers = [f"{i % 7},{'yn'[i % 2]}" for i in range(2000)]
    numbers[1500] = "\ufeff" + numbers[1500]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *numbers, ""]), encoding="utf-8")
    with pytest.raises(DataError, match="line 1502, col 1: column 'x' holds numbers"):
        rows_of(tmp_path / "t.csv", block_size=size)
    rows, _, skipped = rows_of(tmp_path / "t.csv", block_size=size, on_error="skip")
    assert (len(rows), skipped) == (1999, 1)
    words = [f"{'abc'[i % 3]},{'yn'[i % 2]}" for i in range(2000)]
    words[1500] = "\ufeffa,y"
    (tmp_path / "w.csv").write_text("\n".join(["x,y", *words, ""]), encoding="utf-8")
    rows, _, _ = rows_of(tmp_path / "w.csv", block_size=size)
    assert len({tuple(row) for row in rows}) == 4


def test_what_no_record_has_alone_is_read_piece_by_piece(tmp_path, monkeypatch):
    real = vars(delimited.Csv)["_examples"]
    rows = [f"{i},{'yn'[i % 2]}" for i in range(1000)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows, ""]))
    expected = rows_of(tmp_path / "t.csv", numeric=("x",))

    def only_together(self, text, layout):
        if (text == 10).sum() > 600:
            raise CellError(0, "too much at once")
        return real(self, text, layout)

    monkeypatch.setattr("onepass.io.delimited.Csv._examples", only_together)
    for how in ("stop", "skip"):
        assert rows_of(tmp_path / "t.csv", numeric=("x",), on_error=how) == expected
