"""svmlight text: the kernel, its definition in Python, the errors, and the way back."""

import io
import itertools
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import oracles_io as oracle
from onepass.errors import DataError
from onepass.io import dump_svmlight, open_stream
from onepass.io.lines import LineError, closed, parse_lines
from onepass.io.numbers import _nearest
from onepass.io.svmlight import Svmlight
from onepass.io.vw import VowpalWabbit
from onepass.rows import Rows

FEW = settings(deadline=None, max_examples=150)


class Definition:
    """A format without its kernel: every line goes through `read_line`."""

    def __init__(self, form):
        self.read_line, self.shortest_row, self.shortest_feature = (
            form.read_line,
            form.shortest_row,
            form.shortest_feature,
        )

    def tokenize(self, text, size, table, state):
        return state


def read(text, form=None, **options):
    """Everything a format says about a text: rows, labels, lines, the bad ones, remarks."""
    return parse_lines(form or Svmlight(**options), *closed(text), skip=True)


def plain(parsed):
    """The same as bits and words, to compare with ==."""
    bad = [(line, text, fault.message, fault.column, fault.remedy) for line, text, fault in parsed.bad]
    arrays = [array.tobytes() for array in (*parsed.rows, parsed.labels)]
    return arrays, parsed.lines, bad, parsed.flags


def rows_of(parsed):
    """[(label, {index: value})]."""
    indptr, indices, values = (array.tolist() for array in parsed.rows)
    pairs = [dict(zip(indices[a:b], values[a:b], strict=True)) for a, b in itertools.pairwise(indptr)]
    return list(zip(parsed.labels.tolist(), pairs, strict=True))


# Numbers -------------------------------------------------------------------------------------------

DECIMALS = st.from_regex(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?", fullmatch=True)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def half_way(x):
    """The exact decimal that lies in the middle between x and the next float."""
    from decimal import Decimal, localcontext

    with localcontext() as context:
        context.prec = 1100
        return str((Decimal(x) + Decimal(math.nextafter(x, math.inf))) / 2)


NUMBERS = st.one_of(
    DECIMALS,
    FINITE.map(repr),
    FINITE.map("{:.17e}".format),
    st.floats(0, 1e300).map(half_way),
    st.tuples(st.integers(0, 2**64), st.integers(-345, 310)).map("{0[0]}e{0[1]}".format),
)


@FEW
@given(st.lists(NUMBERS, min_size=1, max_size=8))
def test_every_number_is_read_to_the_bits_that_float_gives(texts):
    finite = [text for text in texts if math.isfinite(float(text))]
    parsed = read("\n".join(f"{text} 1:{text}" for text in finite).encode())
    expected = [struct.pack("d", float(text)) for text in finite]
    assert [struct.pack("d", value) for value in parsed.rows.values] == expected
    assert [struct.pack("d", value) for value in parsed.labels] == expected
    assert not parsed.bad


SHAPES = [(n, point) for n in range(1, 27) for point in range(n + 2)]  # digits, and where the point stands, if at all
FORMS = {"svmlight": (Svmlight(zero_based=True, max_features=2**30), ""), "vw": (VowpalWabbit(bits=28), "| ")}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("digits", ["12345678901234567890123456", "0" * 9 + "12345678901234567", "9" * 26])
def test_numbers_of_every_length_with_the_point_at_every_place(digits, form):
    """Words end in the middle of numbers, and numbers in the middle of words, in every way."""
    texts = [digits[:n] if point > n else f"{digits[:point]}.{digits[point:n]}" for n, point in SHAPES]
    form, bar = FORMS[form]
    for index in (1, 1234567, 12345678):
        for after in (" ", "\t", "", "\r", f" {index + 1}:1"):
            parsed = read("\n".join(f"1 {bar}{index}:{text}{after}" for text in texts).encode(), form)
            assert not parsed.bad
            assert [row.get(index, 0.0) for _, row in rows_of(parsed)] == [float(text) for text in texts]


ODD = ("", ".", "..", "1..2", "1.2.3", "-", "1-2", "1e", "1e5", ".12345678", "1/2", "./1", "12345678.", "1234567.8")
ENDS = ("", " ", " 2:3", "#c", ":1", "é", "\x01", " .5:1")
STARTS = ("1:", "12345678:", "1234567890:", "1:1 ", "  3:", "a:", ":", "12a4:", "1234567890123456789:", "1" * 30 + ":")


@pytest.mark.parametrize("before", STARTS)
def test_kernel_and_definition_agree_on_what_is_no_plain_number(before):
    text = "\n".join(f"1 {before}{number}{after}" for number in ODD for after in ENDS).encode()
    for form in (Svmlight(), Svmlight(bits=8), Svmlight(unsorted="sort", duplicates="sum", max_features=2**31)):
        assert plain(read(text, form)) == plain(read(text, Definition(form)))
    text = text.replace(b"\n1 ", b"\n1 | ")
    assert plain(read(text, VowpalWabbit())) == plain(read(text, Definition(VowpalWabbit())))


@pytest.mark.parametrize(
    "text", ["1e400", "-1e400", "1" + "0" * 400, "1.7976931348623159e308", "17976931348623159e292"]
)
def test_overflow_is_named_apart_from_infinity(text):
    (bad,) = read(f"1 1:{text}".encode()).bad
    assert "overflows" in bad.fault.message
    assert bad.fault.column == 5


@pytest.mark.parametrize(
    "text",
    [
        "1e-400",
        "-0",
        "+3",
        ".5",
        "5.",
        "1E5",
        "0e999999999999",
        "0." + "0" * 400 + "1e401",
        "9" * 19,
        "9" * 20,
        "5e-324",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "9007199254740993",
        "1e23",
    ],
)
def test_numbers_that_look_odd_are_read(text):
    parsed = read(f"1 1:{text}".encode())
    assert struct.pack("d", parsed.rows.values[0]) == struct.pack("d", float(text))


def test_the_product_with_a_power_of_five_rounds_as_float_does_at_the_ends_of_its_table():
    for q in (-342, -341, -28, -27, -5, -4, 0, 23, 24, 55, 56, 307, 308):
        for w in (1, 3, 2**53 - 1, 2**53 + 1, 2**63 + 12345, 2**64 - 1, 9007199254740993):
            with np.errstate(over="ignore"):  # as the readers call it; matters only with the JIT off
                bits = int(_nearest(np.uint64(w), q))
            assert struct.unpack("d", struct.pack("Q", bits))[0] == float(f"{w}e{q}"), (w, q)


# The kernel and the definition ---------------------------------------------------------------------

OPTIONS = [
    {},
    {"zero_based": True},
    {"unsorted": "sort"},
    {"duplicates": "sum"},
    {"unsorted": "sort", "duplicates": "last", "missing": "zero"},
    {"bits": 3},
    {"labelled": False, "max_features": 9},
]
WORDS = st.one_of(
    st.builds(
        "{}:{}".format, st.integers(0, 12), st.sampled_from(["1", "-0.5", "2e3", "nan", "1e400", "", "x", "1_0"])
    ),
    st.sampled_from(
        [
            "1",
            "-1",
            "+1.0",
            "qid:3",
            "#",
            "# a",
            "spam",
            "1,2",
            ":",
            "::",
            "-3:1",
            "99999999999999999999:1",
            "\r",
            "\0",
            "\t",
        ]
    ),
)
LINES = st.lists(WORDS, max_size=6).map(" ".join)


@pytest.mark.parametrize("options", OPTIONS)
@settings(deadline=None, max_examples=60)
@given(lines=st.lists(LINES, max_size=8), end=st.sampled_from(["\n", "\r\n"]))
def test_kernel_and_definition_read_the_same_language(options, lines, end):
    text, form = end.join(lines).encode(), Svmlight(**options)
    assert plain(read(text, form)) == plain(read(text, Definition(form)))


@FEW
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_by_both_alike(text):
    assert plain(read(text)) == plain(read(text, Definition(Svmlight())))


@FEW
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "-1", "2.5"]), st.dictionaries(st.integers(1, 99), FINITE, max_size=5), st.booleans()
        ),
        max_size=6,
    )
)
def test_the_kernel_reads_what_the_oracle_reads(examples):
    lines = [
        f"{label} {'qid:7 ' if qid else ''}{' '.join(f'{i}:{row[i]!r}' for i in sorted(row))} # end"
        for label, row, qid in examples
    ]
    text = "\n".join(lines).encode()
    parsed = read(text)
    assert rows_of(parsed) == oracle.svmlight(text)
    assert not parsed.bad


# Errors -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message", "column", "remedy"),
    [
        ("1 1:nan", "not a finite number", 5, "missing='zero'"),  # 3
        ("1 1:-nan", "not a finite number", 5, "missing='zero'"),
        ("1 1:inf", "not a finite number", 5, None),  # 4
        ("1 1:1e400", "overflows", 5, None),
        ("1 1:0.5abc", "not a number", 8, None),  # 6
        ("1 1:0,5", "not a number", 6, None),
        ("1 1:0x10", "not a number", 6, None),
        ("1 1:1_0", "not a number", 6, None),
        ("1 1:1 e5", "expected index:value", 7, None),
        ("nan 1:1", "label nan is not a finite number", 1, None),  # 7
        ("spam 1:1", "label is not a number", 1, None),
        ("1,2 1:1", "several labels", 1, "keep one label"),
        ("1 0:1", "indices start at 1", 3, "zero_based=True"),  # 10
        ("1 -3:1", "negative index", 3, None),  # 11
        ("1 7:1 3:1", "index 3 after 7 (must increase)", 7, "unsorted='sort'"),  # 12
        ("1 7:1 7:1", "index 7 stands twice", 7, "duplicates='sum'"),  # 13
        ("1 2147483649:1", "limit is 16777216 features", 3, "bits=24 or max_features"),  # 14
        ("1 4294967297:1", "limit is 16777216 features", 3, "bits=24 or max_features"),
        ("1 9223372036854775808:1", "limit is 16777216 features", 3, "bits=24 or max_features"),
        ("1 " + "9" * 40 + ":1", "99999999… (40 digits)", 3, "bits=24 or max_features"),
        ("1 18446744073709551617:1", "limit is 16777216 features", 3, "bits=24 or max_features"),  # 2^64 + 1 is not 1
        ("1 10000000000:1", "needs 80 GB of weights", 3, "bits=24"),  # 15
        ("1 5", "expected index:value", 3, None),  # 16
        ("1 5:", "no value after the colon", 5, None),
        ("1 5: 2", "no value after the colon", 5, None),
        ("1 :5", "no index before the colon", 3, None),
        ("3:1 4:1", "no label", 1, "put a label first"),
        ("1 1:2\r-1 2:3", "CR only", 6, "tr"),  # 18
        ("1 1:2 # c\r-1 2:3", "CR only", 10, "tr"),
        ("1 1:2\0", "NUL", 6, None),  # 20
        ("1 1:2\xe9", "not a number", 6, None),
        ("1 qid:1 qid:2 1:1", "whole number", 9, None),
        ("1 x:2", "whole number", 3, None),
        ("1 1x:2", "whole number", 4, None),
    ],
)
def test_a_bad_line_is_refused_with_its_place_and_the_remedy(tmp_path, line, message, column, remedy):
    path = tmp_path / "data.svm"
    path.write_bytes(b"# first\n1 1:1\n" + line.encode("latin-1") + b"\n-1 2:1\n")
    with pytest.raises(DataError) as caught, open_stream(path) as stream:
        list(stream)
    error = caught.value
    assert message in error.args[0]
    assert (error.source, error.line, error.column) == (str(path), 3, column)
    assert error.value == line.encode("latin-1")
    assert (remedy or "") in (error.remedy or "")
    assert str(error).startswith(f"{path}:line 3, col {column}: ")
    assert isinstance(error, ValueError)


def test_the_message_is_the_one_that_users_expect_and_escapes_the_terminal(tmp_path):
    path = tmp_path / "file.svm"
    path.write_bytes(b"1 7:1 3:\x1b[31m\n")
    with pytest.raises(DataError) as caught, open_stream(path) as stream:
        list(stream)
    assert str(caught.value) == (
        rf'{path}:line 1, col 7: index 3 after 7 (must increase). Line: "1 7:1 3:\x1b[31m". Fix: '
        "unsorted='sort'"
    )


@pytest.mark.parametrize("text", [b"", b"\n\n \t\n", b"# only\n#comments\n"])  # 1
def test_a_file_without_examples_is_an_error(tmp_path, text):
    path = tmp_path / "empty.svm"
    path.write_bytes(text)
    with pytest.raises(DataError, match="no examples"), open_stream(path) as stream:
        list(stream)


def test_a_file_of_bad_lines_alone_says_how_many_and_what_is_wrong(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_bytes(b"# zero-based\n1 0:1\n-1 0:2\n")
    message = r"no examples, but 2 bad lines; the first: .*bad\.svm:line 2, col 3: index 0.* Fix: zero_based=True$"
    with pytest.raises(DataError, match=message), open_stream(path, on_error="skip") as stream:
        list(stream)


@pytest.mark.parametrize(
    "text", [b"1 1:2\n-1 2:3", b"1 1:2\r\n-1 2:3\r\n", b"1 1:2\r\n-1 2:3\n", b"\xef\xbb\xbf1 1:2\n-1 2:3\n"]
)
def test_line_ends_and_byte_order_marks(tmp_path, text):  # 17, 18, 19
    path = tmp_path / "data.svm"
    path.write_bytes(text)
    with open_stream(path) as stream:
        (chunk,) = stream
    assert chunk.labels.tolist() == [1, -1]
    assert chunk.rows.values.tolist() == [2, 3]
    assert any("byte order mark" in note for note in stream.notes) == text.startswith(b"\xef")


def test_what_the_options_accept():
    assert rows_of(read(b"1 7:1 3:2", unsorted="sort")) == [(1, {2: 2, 6: 1})]
    assert rows_of(read(b"1 7:1 3:2 7:4", unsorted="sort", duplicates="sum")) == [(1, {2: 2, 6: 5})]
    assert rows_of(read(b"1 7:1 7:4", duplicates="last")) == [(1, {6: 4})]
    assert rows_of(read(b"1 7:nan", missing="zero")) == [(1, {6: 0})]
    assert rows_of(read(b"1 0:3", zero_based=True)) == [(1, {0: 3})]
    assert rows_of(read(b"1 1:1 9:2 " + str(8 + 2**70).encode() + b":4", bits=3)) == [(1, {0: 3, 7: 4})]
    ((label, row),) = rows_of(read(b"2:1", labelled=False))
    assert math.isnan(label)
    assert row == {1: 1}
    (bad,) = read(b"1 7:1e308 7:1e308", duplicates="sum").bad
    assert "beyond the largest float" in bad.fault.message


@pytest.mark.parametrize("texts", [("0", "1"), ("1", "2"), ("-1", "+1"), ("3", "7"), ("1.0", "-1")])  # 8
def test_labels_are_kept_as_given(tmp_path, texts):
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{text} 1:1\n" for text in texts))
    with open_stream(path) as stream:
        (chunk,) = stream
    assert chunk.labels.tolist() == [float(text) for text in texts]
    assert sorted(stream.labels) == sorted({float(text) for text in texts})


def test_remarks(tmp_path):  # 10, 21
    path = tmp_path / "data.svm"
    path.write_text("1 qid:3 1:1\n")
    with open_stream(path, zero_based=True) as stream:
        list(stream)
    assert "qid: query numbers were ignored" in stream.notes
    assert any("no line has an index 0" in note for note in stream.notes)


def test_options_are_checked_by_name():
    for options in (
        {"unsorted": "maybe"},
        {"duplicates": "first"},
        {"missing": "no"},
        {"bits": 40},
        {"max_features": 0},
    ):
        (name,) = options
        with pytest.raises(ValueError, match=name):
            Svmlight(**options)


def test_the_definition_takes_any_number_of_digits_without_waiting():
    with pytest.raises(LineError, match="5000 digits"):
        Svmlight().read_line(b"1 " + b"9" * 5000 + b":1")


# The way back --------------------------------------------------------------------------------------

MATRICES = st.lists(st.tuples(FINITE, st.dictionaries(st.integers(0, 50), FINITE, max_size=6)), min_size=1, max_size=6)


@FEW
@given(MATRICES, st.booleans())
def test_dump_and_parse_give_the_same_bits(examples, zero_based):
    labels = np.array([label for label, _ in examples])
    indices = [sorted(row) for _, row in examples]
    rows = Rows(
        np.cumsum([0, *map(len, indices)]),
        np.array([i for row in indices for i in row], np.int32),
        np.array([row[i] for _, row in examples for i in sorted(row)], np.float64),
    )
    file = io.BytesIO()
    dump_svmlight(file, rows, labels, zero_based=zero_based)
    parsed = read(file.getvalue(), zero_based=zero_based)
    assert plain(parsed)[0] == [array.tobytes() for array in (*rows, labels)]
    assert parsed.rows.indptr.dtype == np.int64
    assert parsed.rows.indices.dtype == np.int32


def test_dump_takes_matrices_and_paths_and_refuses_what_svmlight_cannot_say(tmp_path):
    X = np.array([[0.0, 1.5], [2.0, 0.0]])
    written = []
    for number, matrix in enumerate((X, csr_array(X), X.tolist())):
        dump_svmlight(tmp_path / f"{number}.svm", matrix, [True, False])
        written.append((tmp_path / f"{number}.svm").read_bytes())
    assert written == [b"1 2:1.5\n0 1:2\n"] * 3
    for bad in ((X, [1]), (X, ["a", "b"]), (X * np.nan, [1, 2]), (X[0], [1]), (X, [1, np.inf])):
        with pytest.raises(ValueError, match=r"X|y"):
            dump_svmlight(io.BytesIO(), *bad)
