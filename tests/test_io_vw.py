"""Vowpal Wabbit text: its hashes, its grammar, its errors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles_io as oracle
from onepass.errors import DataError
from onepass.io import open_stream
from onepass.io.vw import VowpalWabbit
from onepass.tables.hashing import hashed, murmur3_of
from test_io_svmlight import Definition, plain, read, rows_of


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_hashes_are_those_of_the_oracle(name, seed):
    assert murmur3_of(name) == oracle.murmur3(name)
    assert hashed(name, seed) == (oracle.vw_hash(name, seed) if name else seed)


def test_known_values_of_murmur3():
    """Published test vectors, so that kernel and oracle cannot be wrong together."""
    for data, seed, expected in [
        (b"", 1, 0x514E28B7),
        (b"test", 0, 0xBA6BD213),
        (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    ]:
        assert oracle.murmur3(data, seed) == expected
    assert murmur3_of(b"test") == 0xBA6BD213


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # The indices that Vowpal Wabbit 9.11.9 prints with --audit --noconstant -b 24.
        (b"1 |a x:2 y 12 z:0.5", {5822600: 2, 2926431: 1, 2451902: 1, 1250822: 0.5}),
        (b"-1 'tag|price 23 :3 :4 foo", {13337125: 1, 13337102: 3, 13337103: 4, 13023928: 1}),
        (b"1 1.0 t|123456789012 7 foo |b:0.5 7:2 bar", {10033691: 1, 346502: 1, 14581258: 1, 6788303: 0.5}),
        (b"1 | q 99999999999 00012 a^b", {8522216: 1, 7792639: 1, 12: 1, 747126: 1}),
        (b"1 |a x:0 |a :1 x", {2451890: 1, 5822600: 1}),
        (b"1 |1 2 foo", {3: 1, 12476274: 1}),
    ],
)
def test_indices_are_those_of_vowpal_wabbit(line, expected):
    ((_, row),) = rows_of(read(line, VowpalWabbit(bits=24)))
    assert row == expected


NAMES = st.sampled_from([b"", b"a", b"price", b"7", b"007", b"4294967301", "größe".encode(), b"x^y"])
VALUES = st.sampled_from([1.0, 0.5, -2.0, 0.0, 3e5])
SPACES = st.lists(st.tuples(NAMES, VALUES, st.lists(st.tuples(NAMES, VALUES), max_size=5)), min_size=1, max_size=3)


@settings(deadline=None, max_examples=150)
@given(SPACES, st.sampled_from([4, 18, 31]))
def test_features_are_those_of_the_oracle(namespaces, bits):
    namespaces = [(name, weight if name else 1.0, features) for name, weight, features in namespaces]
    parts = [
        b"|"
        + name
        + (b":%r" % weight if name else b"")
        + b"".join(b" " + feature + b":%r" % value for feature, value in features)
        for name, weight, features in namespaces
    ]
    ((label, row),) = rows_of(read(b"-1.5 " + b" ".join(parts), VowpalWabbit(bits=bits)))
    assert label == -1.5
    assert row == oracle.vw_features(namespaces, bits)


PIECES = st.sampled_from(
    [
        "1",
        "-1",
        " ",
        " ",
        "|",
        "|a",
        "|b:2",
        "x",
        ":",
        ":3",
        "x:1",
        "y:nan",
        "12",
        "'t",
        "t|",
        "\t",
        "\r",
        "\0",
        "1e400",
        "é",
        ":1e400",
        "::",
    ]
)


@pytest.mark.parametrize("options", [{}, {"bits": 2}, {"labelled": False}])
@settings(deadline=None, max_examples=150)
@given(lines=st.lists(st.lists(PIECES, max_size=9).map("".join), max_size=5))
def test_kernel_and_definition_read_the_same_language(options, lines):
    text, form = "\n".join(lines).encode(), VowpalWabbit(**options)
    assert plain(read(text, form)) == plain(read(text, Definition(form)))


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=120))
def test_any_bytes_are_read_or_refused_by_both_alike(text):
    form = VowpalWabbit()
    assert plain(read(b"1 |" + text, form)) == plain(read(b"1 |" + text, Definition(form)))


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("1 a b c", "no |", 8),
        ("|a x", "no label", 1),
        ("1|a x", "what touches the | is a tag", 2),
        ("spam |a x", "label is not a number", 1),
        ("nan |a x", "not a finite number", 1),
        ("1:0.5 2:1 |a x", "labels with costs", 1),
        ("1 2 |a x", "importance weights", 3),
        ("1 1 0.5 |a x", "initial prediction", 5),
        ("1 |a x:", "no value", 8),
        ("1 |a x:y", "not a number", 8),
        ("1 |a x:nan", "not a finite number", 8),
        ("1 |a x:1e999", "overflows", 8),
        ("1 |:2 x", "without a name", 4),
        ("1 |a:0.5z x", "not a number", 9),
        ("1 |a x\r1 |a y", "CR only", 7),
        ("1 |a \x1b", "control character", 6),
    ],
)
def test_a_bad_line_is_refused_with_its_place(tmp_path, line, message, column):
    path = tmp_path / "data.vw"
    path.write_bytes(b"1 |a x\n\n" + line.encode() + b"\n")
    with pytest.raises(DataError) as caught, open_stream(path) as stream:
        list(stream)
    assert message in caught.value.args[0]
    assert (caught.value.line, caught.value.column) == (3, column)


def test_unlabelled_examples_and_tags():
    form = VowpalWabbit(labelled=False)
    parsed = read(b"|a x\n'id |a x\n1 |a x\n1 'id |a x\n1 1 id|a x\n", form)
    assert [math.isnan(label) for label in parsed.labels] == [True, True, False, False, False]
    assert len({tuple(row) for _, row in rows_of(parsed)}) == 1


def test_the_stream_reads_it_in_blocks_and_says_how_features_are_hashed(tmp_path):
    path = tmp_path / "data.vw"
    path.write_text("".join(f"{(-1) ** i} |words w{i} shared:{i}\n" for i in range(1, 200)))
    with open_stream(path, block_size=100, bits=20) as stream:
        chunks = list(stream)
    assert stream.format == "vw"
    assert any("2^20" in note for note in stream.notes)
    labels = np.concatenate([chunk.labels for chunk in chunks])
    assert labels.tolist() == [(-1) ** i for i in range(1, 200)]
    assert max(chunk.rows.indices.max() for chunk in chunks) < 2**20
