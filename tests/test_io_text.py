"""Raw text in a column: the hashed bag of words."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import oracles_io as oracle
from onepass.io import open_stream
from test_io_tabular import fails

TEXTS = ["To be, or not to be", "Ärger über ÄRGER 7 7 7", "", 'say "hi"\nthere', "a" * 50 + " " + "a" * 50]


def bags_of(chunks):
    bags = []
    for chunk in chunks:
        indptr, indices, values = (array.tolist() for array in chunk.rows)
        bags += [dict(zip(indices[a:b], values[a:b], strict=True)) for a, b in itertools.pairwise(indptr)]
    return bags


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_text_column_is_a_hashed_bag_of_words(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    if kind == "csv":
        quoted = ['"' + text.replace('"', '""') + '"' for text in TEXTS]
        path.write_text("spam,body\n" + "".join(f"{i % 2},{text}\n" for i, text in enumerate(quoted)))
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps({"spam": i % 2, "body": text}) for i, text in enumerate(TEXTS)))
    else:
        parquet.write_table(pa.table({"spam": [i % 2 for i in range(5)], "body": TEXTS}), path)
    with open_stream(path, text_column="body", target="spam", bits=12, block_size=40) as stream:
        chunks = list(stream)
    assert bags_of(chunks) == [oracle.bag_of_words(text, 12) for text in TEXTS]
    assert np.concatenate([chunk.labels for chunk in chunks]).tolist() == [0, 1, 0, 1, 0]


def test_tsv_without_header_as_message_collections_come(file):
    path = file("ham\tIt's \"fine\nspam\tWIN win\nham\tok\n", "sms.tsv")
    with open_stream(path, text_column=1, target=0) as stream:
        (chunk,) = stream
    assert chunk.labels.tolist() == ["ham", "spam", "ham"]
    assert bags_of([chunk])[1] == oracle.bag_of_words("win win", 18)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON"),
        (b"[1]", "one JSON object"),
        (b'{"t": "a"}', "column 'y' has no value"),
        (b'{"t": "a", "y": NaN}', "column 'y' has no value"),
        (b'{"t": "\xe9", "y": 1}', "not UTF-8"),
        (b"[" * 100_000, "too deep"),
    ],
)
def test_bad_json_lines(file, line, message):
    path = file(b'{"t": "a", "y": 1}\n' + line + b"\n", "d.jsonl")
    assert fails(message, path, text_column="t", target="y").line == 2
    for block_size in (1, 1 << 20):  # the first label decides, wherever the text is cut
        with open_stream(path, text_column="t", target="y", on_error="skip", block_size=block_size) as stream:
            assert sum(chunk.size for chunk in stream) == 1
        assert (stream.skipped, stream.faults[0].line) == (1, 2)
        assert message in stream.faults[0].args[0]


def test_json_lines_need_to_know_their_members(file):
    path = file('{"t": "a", "y": 1}\n', "d.jsonl")
    fails("column 't' holds text, not numbers", path)
    fails("target=NAME", file('{"t": "a", "x": 1}\n', "e.jsonl"), text_column="t")
    fails("'t' cannot be both target and text_column", path, text_column="t", target="t")


@pytest.mark.parametrize("block_size", [1, 1 << 20])
def test_a_missing_label_of_json_lines_is_one_where_none_is_needed(file, block_size):
    lines = ['{"t": "a"}', '{"t": "b", "y": "spam"}', '{"t": "c", "y": null}']
    path, options = file("\n".join(lines), "d.jsonl"), {"text_column": "t", "target": "y", "block_size": block_size}
    with open_stream(path, labelled=False, **options) as stream:
        labels = [None if chunk.labels is None else chunk.labels.tolist() for chunk in stream]
    assert labels == ([[""], ["spam"], [""]] if block_size == 1 else [["", "spam", ""]])
    assert [*stream.labels] == ["spam"]


def test_labels_that_are_numbers_in_some_lines_are_text_in_all(file):
    path = file('{"t": "a", "y": 1}\n{"t": "b", "y": "spam"}\n{"t": "c", "y": 2.0}\n', "d.jsonl")
    options = {"text_column": "t", "target": "y", "block_size": 1}
    with open_stream(path, **options) as stream:
        next(stream)
        position = stream.position
    with open_stream(path, position=position, **options) as stream:
        assert [chunk.labels.tolist() for chunk in stream] == [["spam"], ["2"]]
