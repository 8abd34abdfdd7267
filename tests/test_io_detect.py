"""What a file is, what it is not, and options that do not exist."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass.errors import DataError, printable
from onepass.io import open_stream
from onepass.io.detect import detect, guess
from test_io import TEXT, read


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"1 1:2\n", "x", "svmlight"),
        (b"-1 qid:3 1:2 # c\n1\n", "x.txt", "svmlight"),
        (b"1,7 1:2\n", "x", "svmlight"),
        (b"1 |a b:2\n", "x", "vw"),
        (b"1 2.0 'tag|a b\n|c d\n", "x", "vw"),
        (b'{"a": 1}\n', "x", "jsonl"),
        (b"a,b\n1,2\n", "x", "csv"),
        (b"a;b\n1;2\n", "x", "csv"),
        (b"a\tb,c\n", "x", "tsv"),
        (b"1 1:2\n", "x.csv", "csv"),
        (b"PAR1", "x.csv", "parquet"),
        (b"ARROW1\0\0", "x", "arrow"),
        (b"\xff\xff\xff\xff\x10\0\0\0", "x", "arrow"),
        (b"\x93NUMPY\x01\0", "x", "npy"),
        (b"PK\x03\x04", "x.npz", "npz"),
    ],
)
def test_the_format_from_magic_then_name_then_lines(head, name, expected):
    assert detect(head, name) == expected


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"<!DOCTYPE html><p>404", "HTML"),  # 23
        (b"  <html>", "HTML"),
        (b"\x80\x04\x95pickle", "pickle"),
        (b"PK\x03\x04rest", "zip"),
        ("1 1:2\n".encode("utf-16"), "UTF-16"),  # 20
        ("1 1:2\n".encode("utf-16-le"), "UTF-16"),
        (b"1 1:2\r-1 2:3\r", "CR only"),  # 18
        (b"hello world\n", "cannot tell the format"),
        (gzip.compress(gzip.compress(TEXT)), "compressed once more"),
    ],
)
def test_strangers_are_named(file, head, message):
    with pytest.raises(DataError, match=message):
        read(file(head, "data"))
    if "format" not in message:
        with pytest.raises(DataError, match=message):
            read(file(head, "data"), format="svmlight")


def test_the_wrong_format_says_what_it_looks_like(file):  # 23
    with pytest.raises(DataError, match=r"this looks like csv.*Fix: format='csv'"):
        read(file(b"a,b\n1,2\n", "x.svm"))
    with pytest.raises(DataError, match=r"this looks like svmlight"):
        read(file(b"1 1:2\n", "x.vw"))


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=300))
def test_guessing_never_fails(head):
    assert guess(head) in {None, "svmlight", "vw", "csv", "tsv", "jsonl"}


def test_arguments_are_checked_by_name(file):
    path = file(TEXT)
    for options, error, message in [
        ({"format": "svmlite"}, ValueError, "did you mean 'svmlight'"),
        ({"compression": "zip"}, ValueError, "compression must be one of"),
        ({"threads": -1}, ValueError, "threads"),
        ({"on_error": "ignore"}, ValueError, "on_error"),
        ({"zero_base": True}, TypeError, "did you mean 'zero_based'"),
        ({"block_size": 0}, ValueError, "block_size"),
    ]:
        with pytest.raises(error, match=message):
            open_stream(path, **options)
    np.save(path.with_suffix(".npy"), np.ones((3, 2)))
    with pytest.raises(ValueError, match="on_error"):
        open_stream(path.with_suffix(".npy"), on_error="skip")


def test_escapes_in_file_names_are_shown_escaped(tmp_path):  # 58
    with pytest.raises(DataError) as caught:
        open_stream(tmp_path / "\x1b[31mred.svm")
    assert "\x1b" not in str(caught.value)
    assert r"\x1b[31mred.svm" in str(caught.value)
    assert printable("\u202e\u0085") == r"\u202e\x85"


def test_labels_met_are_told(file):
    _, stream = read(file(b"".join(b"%d 1:1\n" % i for i in range(12))))
    assert stream.notes[-1].startswith("labels: 0, 1, 2")
    assert stream.notes[-1].endswith("and 2 more")
    assert stream.notes[-1] == f"labels: {stream.notes[-1].labels}"
    assert stream.labels[3.0].line == 1
    assert np.isclose(stream.rows, 12)


def test_a_later_file_of_another_format_is_named_with_both(file, tmp_path):
    text = file(b"1 1:2\n-1 1:1\n", "a.svm")
    np.savez(tmp_path / "b.npz", X=np.ones((2, 1)), y=[1, 2])
    for paths, message in (
        ([text, tmp_path / "b.npz"], "this is npz, and the first file is svmlight"),
        ([tmp_path / "b.npz", text], "this is svmlight, and the first file is npz"),
    ):
        with pytest.raises(DataError, match=message), open_stream(paths) as stream:
            list(stream)


@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"1 1:0.5 3:2\n-1 2:1\n", "svmlight"),
        (b"1\t1:0.5\t3:2\n-1\t2:1\t4:1\n", "svmlight"),
        (b"1 |a b:1,5\n-1 |a c\n", "vw"),
        (b'{"a": 1, "b": 2}\n', "jsonl"),
    ],
)
def test_lines_that_are_no_table_are_named(file, name, text, found):  # 23
    with pytest.raises(DataError, match=rf"this looks like {found}\)\. Fix: format='{found}'$"):
        read(file(text, name))


def test_a_column_of_numbers_is_a_table(file):
    with pytest.raises(DataError, match=r"which column is the label\? Columns: 0\. Fix: target=NAME"):
        read(file(b"1\n2\n", "data.csv"))
