"""Plain blocks of CSV: what is read in one walk is what Arrow and the encoding of columns give, to the last bit."""

import itertools

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles_io as oracle
from onepass import train
from onepass.errors import DataError
from onepass.io import delimited, open_stream
from onepass.io.cell_ends import cell_ends
from onepass.io.lines import closed
from onepass.io.plain_cells import PlainCells
from onepass.tables.hashing import hashes_of
from onepass.tables.sorting import FEW, exchanges, sort_columns

HEAD = "age,job,wage,city,y"
ROWS = ["31,cook,1.5,Rome,yes", "40,poet,,Oslo,no", "55,smith,-2e3,NA,yes", " 8, cook ,.5,São Paulo,no"]
EARLY = [HEAD, *ROWS * 64]  # the rows that decide what the columns are


@pytest.fixture
def read(tmp_path, monkeypatch):
    """A function that reads a table, (by one walk or by Arrow) and how many blocks of it were plain."""

    def reads(lines, walk, end="\n", suffix=".csv", **options):
        path = tmp_path / f"t{suffix}"
        path.write_bytes(end.join([*lines, ""]).encode())
        monkeypatch.setattr(delimited, "LONG", 0 if walk else 1 << 62)
        plain = []
        monkeypatch.setattr(PlainCells, "read", counted(PlainCells.read, plain))
        with open_stream(path, kinds="found", named=True, threads=0, **options) as stream:
            chunks = list(stream)
        monkeypatch.undo()
        return chunks, stream.feature_names, sum(plain)

    return reads


def counted(function, plain):
    def wrapped(*given):
        found = function(*given)
        plain.append(found is not None)
        return found

    return wrapped


def assert_same(read, lines, plain=True, **how):
    (chunks, names, walked), (wanted, known, _) = read(lines, True, **how), read(lines, False, **how)
    for chunk, other in zip(chunks, wanted, strict=True):
        for own, true in zip(chunk.rows, other.rows, strict=True):
            assert own.tobytes() == true.tobytes()
        assert chunk.labels.tolist() == other.labels.tolist()
        assert chunk.labels.dtype == other.labels.dtype
        assert chunk.origin == other.origin
    assert {key: value.tolist() for key, value in names.arrays().items()} == {
        key: value.tolist() for key, value in known.arrays().items()
    }
    assert walked == plain


@pytest.mark.parametrize("wide", [False, True], ids=["plain", "bins and crosses"])
def test_plain_tables_are_read_to_the_same_bits(read, wide):
    assert_same(read, EARLY, wide=wide)
    assert_same(read, EARLY, end="\r\n", wide=wide)
    assert_same(read, [line.replace(",", "\t") for line in EARLY], suffix=".tsv", wide=wide)
    assert_same(read, [line.replace(",", ";") for line in EARLY], wide=wide)
    assert_same(read, EARLY, missing="zero", wide=wide)


def test_labels_may_be_numbers_and_columns_left_out(read):
    numbers = [line.replace("yes", "1").replace("no", "-2.5") for line in EARLY]
    assert_same(read, numbers)
    assert_same(read, EARLY, ignore=("city", "age"))
    assert_same(read, [line if i == 0 else f"{i},{line}" for i, line in enumerate(["id," + HEAD, *ROWS * 64])])


NUMBERS = ["0", "-0", "7", "12.25", "-1e-3", "1E5", "123456789012345678901234567890", "4.9e-324", "1e144", "5.", ""]
NUMBERS += ["NA", " 3 ", "nan", "?", "null", "00012", "0.1"]
TEXTS = ["cook", "true", "false", " poet", "tru", "trues", "None", "N/A", "x" * 40, "é", "München", "", "a b", "-", "7"]


@given(st.lists(st.tuples(*[st.sampled_from(NUMBERS), st.sampled_from(TEXTS)] * 2, st.sampled_from("abc")), min_size=1))
@settings(max_examples=60, deadline=None)
def test_any_plain_cells_are_read_to_the_same_bits(tmp_path_factory, rows):
    lines = [*EARLY, *(",".join(row).replace(",a", ",yes").replace(",b", ",no") for row in rows)]
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cells")
        results = []
        for walk in (True, False):
            (folder / "t.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
            patch.setattr(delimited, "LONG", 0 if walk else 1 << 62)
            with open_stream(folder / "t.csv", kinds="found", named=True, threads=0) as stream:
                results.append([[*map(bytes, chunk.rows), chunk.labels.tolist()] for chunk in stream])
    assert results[0] == results[1]


@pytest.mark.parametrize(
    "line",
    [
        '31,"cook",1.5,Rome,yes',
        "31,True,1.5,Rome,yes",
        "31,FALSE,1.5,Rome,yes",
        "+31,cook,1.5,Rome,yes",
        "31,\u00a0cook,1.5,Rome,yes",
        "31,cook\u3000,1.5,Rome,yes",
        "31,cook\x0b,1.5,Rome,yes",
        "",
    ],
)
def test_what_is_not_plain_is_left_to_arrow(read, line):
    assert_same(read, [*EARLY, line, *ROWS], plain=False)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("31,cook,1.5,Rome", "expected 5 columns, got 4"),
        ("31,cook,1.5,Rome,yes,no", "expected 5 columns, got 6"),
        ("old,cook,1.5,Rome,yes", "holds numbers, but here 'old'"),
        ("1e400,cook,1.5,Rome,yes", "overflows"),
        ("31,cook,inf,Rome,yes", "not a finite number"),
        ("31,cook,1.5,Rome,", "has no value"),
        ("31,co\0ok,1.5,Rome,yes", "NUL byte"),
        ("31,cook,1.5,Ro\rme,yes", "carriage return"),
    ],
)
def test_what_is_wrong_is_told_as_before(read, line, word):
    said = []
    for walk in (True, False):
        with pytest.raises(DataError, match=word) as error:
            read([*EARLY, line, *ROWS], walk)
        said.append((str(error.value), error.value.line))
    assert said[0] == said[1]
    assert said[0][1] == len(EARLY) + 1


def test_many_labels_and_bytes_that_are_no_text_are_left_to_arrow(read, tmp_path):
    many = [f"{i},cook,1,Rome,label{i % 70}" for i in range(400)]
    assert_same(read, [HEAD, *many], plain=False, numeric=("age",))
    (tmp_path / "latin.csv").write_bytes("\n".join([*EARLY, ""]).encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"), open_stream(tmp_path / "latin.csv", kinds="found") as stream:
        list(stream)


@given(st.lists(st.sampled_from([b"a", b",", b"\n", b"\r", b" ", b"\t", b"bcdefgh" * 9]), max_size=120))
@settings(max_examples=200, deadline=None)
def test_cells_end_at_marks_and_newlines(pieces):
    text = b"".join(pieces)
    buffer, _ = closed(text)
    places = [at for at, byte in enumerate(text) if byte in b",\n"]
    ends, returns = cell_ends(buffer, len(text), ",", '"', len(places))
    assert ends.tolist() == places
    assert returns == text.count(b"\r")
    assert cell_ends(buffer, len(text), ",", '"', len(places) + 1) is None
    assert not places or cell_ends(buffer, len(text), ",", '"', len(places) - 1) is None


@pytest.mark.parametrize("before", [0, 1, 63, 64, 200])
@pytest.mark.parametrize("odd", [b'"', b"\0", b"\x1f", b"\xff", "\u00a0".encode(), "\u3000".encode()])
def test_strange_bytes_are_met_wherever_they_stand(before, odd):
    text = b"x" * before + odd + b"y" * 100 + b"\n"
    assert cell_ends(closed(text)[0], len(text), ",", '"', 1) is None
    fine = text.replace(odd, "\u00e9".encode())
    assert cell_ends(closed(fine)[0], len(fine), ",", None, 1)[0].tolist() == [len(fine) - 1]


@given(st.lists(st.text(max_size=20), max_size=30), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_texts_of_any_length_have_their_hash(texts, seed):
    assert hashes_of(texts, seed).tolist() == [oracle.murmur3(text.encode(), seed) for text in texts]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8, 11])
def test_exchanges_sort_every_row_of_zeros_and_ones(size):
    """And so every row: Knuth's zero-one principle."""
    rows = np.array(list(itertools.product([0, 1], repeat=size)), np.uint32).reshape(2**size, size)
    lines = np.ascontiguousarray(rows.T)
    sort_columns(lines)
    assert (lines == np.sort(rows.T, axis=0)).all()


def test_many_lines_are_left_as_they_are():
    assert len(exchanges(FEW))
    assert not len(exchanges(FEW + 1))


@pytest.mark.parametrize("columns", [3, FEW, FEW + 5])
def test_categories_stand_in_order_however_many_there_are(columns, tmp_path):
    rng = np.random.default_rng(columns)
    names = [f"c{j}" for j in range(columns)]
    rows = [[f"v{code}" if code else "" for code in rng.integers(4, size=columns)] for _ in range(300)]
    lines = [",".join([*names, "y"]), *(",".join([*row, "yn"[i % 2]]) for i, row in enumerate(rows))]
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]))
    with open_stream(
        tmp_path / "t.csv", header=True, target="y", categorical=names, missing="zero", bits=5, threads=0
    ) as stream:
        chunk = next(stream)
    start = 0
    for row, end in zip(rows, chunk.rows.indptr[1:], strict=True):
        hashed = [
            oracle.murmur3(v.encode(), oracle.murmur3(n.encode())) % 32 for n, v in zip(names, row, strict=True) if v
        ]
        wanted = sorted(set(hashed))
        assert chunk.rows.indices[start:end].tolist() == wanted
        assert chunk.rows.values[start:end].tolist() == [hashed.count(place) for place in wanted]
        start = end


def test_a_long_file_is_walked_and_the_model_is_that_of_the_table(tmp_path):
    rng = np.random.default_rng(0)
    job, age = rng.choice(["cook", "poet", "smith"], 330_000), rng.integers(20, 60, 330_000)
    columns = {"age": age, "job": job, "part": age / 8, "rich": np.where((job == "poet") ^ (age < 30), "no", "yes")}
    cells = zip(*(column.tolist() for column in columns.values()), strict=True)
    (tmp_path / "t.csv").write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in cells), ""]))
    assert (tmp_path / "t.csv").stat().st_size > delimited.LONG + (1 << 20)
    walked = train(tmp_path / "t.csv", race="off", expected_rows=330_000)
    table = train(pyarrow.table(columns), race="off", expected_rows=330_000)
    assert walked.model.weights.tobytes() == table.model.weights.tobytes()
    assert walked.certificate == table.certificate
