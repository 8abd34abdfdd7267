"""Model files: the same bytes for the same model, and no belief in what was not checked."""

import json
import math
import os
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from onepass import (
    CheckpointError,
    ConversionError,
    LimitError,
    LinearModel,
    ModelError,
    OnePassClassifier,
    OutputTakenError,
    Pass,
    VotedModel,
    container,
    model_files,
)
from onepass.checkpoints import checkpoint
from onepass.rows import LARGEST
from onepass.trace.log import SHIFTS, Log
from strategies import csr, dyadic
from test_cli import onepass


def model_of(classes=2, **options):
    X, y = dyadic(0, 200, 5, classes)
    run = Pass("margin", classes=range(classes) if classes > 2 else ["ham", "spam"], radius=2.0, **options)
    run.feed(X, y if classes > 2 else np.where(y > 0, "spam", "ham"))
    return run.model(), X


@pytest.mark.parametrize("classes", [2, 3])
def test_a_saved_model_is_the_same_model(tmp_path, classes):
    model, X = model_of(classes)
    model.save(tmp_path / "one.safetensors")
    model_of(classes)[0].save(tmp_path / "two.safetensors")
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()
    back = LinearModel.load(tmp_path / "one.safetensors")
    np.testing.assert_array_equal(back.decision(X), model.decision(X))
    assert back.classes == model.classes
    assert back.about == model.about
    assert back.about["certificate"]["risk"] > 0
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_the_classifier_saves_and_loads_through_it(tmp_path):
    X, y = dyadic(1, 300, 5)
    clf = OnePassClassifier().fit(X, y)
    clf.save(tmp_path / "m.safetensors")
    back = OnePassClassifier.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(back.predict(X), clf.predict(X))
    np.testing.assert_array_equal(back.coef_, clf.coef_)
    assert back.certificate_ == clf.certificate_
    for forbidden in (lambda: back.partial_fit(X, y), lambda: back.convert("last"), lambda: back.trace_):
        with pytest.raises(ConversionError, match="loaded model"):
            forbidden()


def header(**changes):
    """A model file by hand, with what it says of itself changed."""
    content = {"format": 1, "version": "0", "classes": [0, 1], "bias": 1.0, "radius": None, "about": {}, "sha256": "x"}
    content.update(changes)
    content = {name: value for name, value in content.items() if value != "drop"}
    return save({"weights": np.zeros((3, 1))}, metadata={"onepass": json.dumps(content)})


def raw(entry, body=b""):
    text = json.dumps({"__metadata__": {"onepass": json.dumps(json.loads(header_text()))}, "weights": entry}).encode()
    return struct.pack("<Q", len(text)) + text + body


def header_text():
    data = header()
    return json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]["onepass"]


BAD = {
    "empty": b"",
    "short": b"\x01",
    "wrong magic": b"hello world, this is no model",
    "pickle": b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00.",
    "header of 2^60 bytes": struct.pack("<Q", 1 << 60) + b"{}",
    "header cut": struct.pack("<Q", 100) + b'{"__metadata__"',
    "another's safetensors": save({"weights": np.zeros(3)}),
    "deep nesting": struct.pack("<Q", 200_000) + b"{" + b'"a":{' * 39_999 + b"    ",
    "newer format": header(format=9),
    "no format": header(format="drop"),
    "no classes": header(classes="drop"),
    "classes of objects": header(classes=[{}, []]),
    "about is text": header(about="x"),
    "hash missing": header(sha256="drop"),
    "hash wrong": header(),
    "shape lies": raw({"dtype": "F64", "shape": [10**12, 1], "data_offsets": [0, 8]}, b"\0" * 8),
    "negative shape": raw({"dtype": "F64", "shape": [-1, 1], "data_offsets": [0, 8]}, b"\0" * 8),
    "offsets past the end": raw({"dtype": "F64", "shape": [1, 1], "data_offsets": [0, 8]}, b""),
    "extra bytes": raw({"dtype": "F64", "shape": [1, 1], "data_offsets": [0, 8]}, b"\0" * 100),
    "other dtype": raw({"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}, b"\0" * 8),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_are_refused(tmp_path, what):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(BAD[what])
    with pytest.raises(ModelError, match=r"bad\.safetensors: "):
        LinearModel.load(path)


def test_newer_formats_are_named(tmp_path):
    path = tmp_path / "new.safetensors"
    path.write_bytes(header(format=9, version="7.1"))
    with pytest.raises(ModelError, match=r"onepass 7\.1"):
        LinearModel.load(path)


def test_nan_weights_are_refused_even_with_the_right_hash(tmp_path):
    path = tmp_path / "nan.safetensors"
    LinearModel(np.array([[np.nan], [1.0]]), (0, 1)).save(path)
    with pytest.raises(ModelError, match="finite"):
        LinearModel.load(path)
    with pytest.raises(ModelError, match="max_bytes"):
        LinearModel.load(path, max_bytes=10)


def forged(path, weights=((0.0,), (1.0,)), **changes):
    """A model file with changed fields and the hash that belongs to them."""
    said = {"classes": [0, 1], "bias": 1.0, "radius": None, "about": {}, "cut": 0.0, "calibration": None} | changes
    model_files.write(path, said, np.array(weights))


FORGERIES = {
    "bias is NaN": ("bias", {"bias": math.nan}),
    "bias is infinite": ("bias", {"bias": -math.inf}),
    "bias is text": ("bias", {"bias": "1"}),
    "radius is NaN": ("radius", {"radius": math.nan}),
    "radius is 0": ("radius", {"radius": 0.0}),
    "radius is negative": ("radius", {"radius": -2.0}),
    "radius is infinite": ("radius", {"radius": math.inf}),
    "a class twice": ("classes", {"classes": ["a", "a"]}),
    "1 and 1.0": ("classes", {"classes": [1, 1.0]}),
    "text and numbers": ("classes", {"classes": ["a", 1]}),
    "a class that is NaN": ("classes", {"classes": [0.0, math.nan]}),
    "a class that is a list": ("classes", {"classes": [0, [1]]}),
    "no classes": ("classes", {"classes": []}),
    "three classes": ("weights", {"classes": [0, 1, 2]}),
    "NaN": ("weights", {"weights": [[0.0], [math.nan]]}),
    "infinity": ("weights", {"weights": [[0.0], [-math.inf]]}),
    "weights beyond a kernel's": ("weights", {"weights": [[0.0], [-1e200]]}),
    "cut is NaN": ("cut", {"cut": math.nan}),
    "cut of three classes": ("cut", {"classes": [0, 1, 2], "cut": 0.5, "weights": [[0.0] * 3]}),
    "calibration is text": ("calibration", {"calibration": "yes"}),
    "calibration lacks fields": ("calibration", {"calibration": {}}),
    "format 0": ("format", {"format": 0}),
    "format true": ("format", {"format": True}),
    "version is a number": ("version", {"version": 1}),
    "certificate is text": ("about.certificate", {"about": {"certificate": "0.01"}}),
    "reading is text": ("about.reading", {"about": {"reading": "x"}}),
    "the table is a number": ("table", {"table": 3}),
    "the table lacks all": ("table", {"table": {}}),
    "a header is text": ("about.reading.header", {"about": {"reading": {"header": "yes"}}}),
    "bits are text": ("about.reading.bits", {"about": {"reading": {"bits": "18"}}}),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_wrong_field_is_named_although_the_hash_is_right(tmp_path, what):
    field, changes = FORGERIES[what]
    forged(tmp_path / "m", **changes)
    with pytest.raises(ModelError, match=rf"m: its field '{field}' is missing or wrong"):
        LinearModel.load(tmp_path / "m")


def voted(classes=2):
    """A voted model, on all its rows."""
    X, y = dyadic(3, 150, 5, classes)
    run = Pass("perceptron", conversion="cutoff", classes=range(classes) if classes > 2 else [-1, 1], radius=2.0)
    run.feed(csr(X), y)
    return run.model("average", how="vote"), X, y


@pytest.mark.parametrize("classes", [2, 3])
def test_a_saved_voted_model_is_the_same_model(tmp_path, classes):
    model, X, y = voted(classes)
    model.save(tmp_path / "one")
    voted(classes)[0].save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    back = VotedModel.load(tmp_path / "one")
    assert (back.classes, back.width, back.bias, back.radius) == (model.classes, model.width, model.bias, model.radius)
    for name in set(model.log._fields) - {"row"}:
        kept = getattr(model.log, name)
        np.testing.assert_array_equal(getattr(back.log, name), kept)
        assert getattr(back.log, name).dtype == kept.dtype
    for rows in (X, csr(X)):
        np.testing.assert_array_equal(back.shares(rows), model.shares(rows))
        np.testing.assert_array_equal(back.decision(rows), model.decision(rows))
        np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(back.member_errors(X, y), model.member_errors(X, y))
    with pytest.raises(OutputTakenError):
        model.save(tmp_path / "one", overwrite=False)


def test_a_voted_model_of_one_class_or_of_no_update_is_kept_too(tmp_path):
    for rows, labels in (([[1.0, 2.0], [2.0, 1.0]], ["a", "a"]), ([[0.0]], [-1])):
        run = Pass()
        run.feed(np.array(rows), labels)
        model = run.model("average", how="vote")
        model.save(tmp_path / "m")
        np.testing.assert_array_equal(VotedModel.load(tmp_path / "m").shares(rows), model.shares(rows))


def test_what_model_files_know_without_the_compiler_is_what_the_kernels_have():
    assert set(model_files.VOTE) == {*Log._fields, "q"} - {"row", "cursor"}
    assert SHIFTS.size == model_files.SHIFTS
    assert LARGEST == model_files.LARGEST_VALUE


def test_each_kind_of_model_is_refused_where_the_other_is_expected(tmp_path):
    voted()[0].save(tmp_path / "vote")
    forged(tmp_path / "linear")
    with pytest.raises(ModelError, match=r"vote: a voted model, which `onepass\.VotedModel\.load` reads"):
        LinearModel.load(tmp_path / "vote")
    with pytest.raises(ModelError, match=r"linear: its field 'kind' .* `onepass\.LinearModel\.load`"):
        VotedModel.load(tmp_path / "linear")
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    for command in (("inspect", "vote"), ("predict", "vote", "rows.svm"), ("verify", "vote"), ("report", "vote")):
        said = onepass(tmp_path, *command, code=4).stderr
        assert "vote: a voted model" in said
        assert len(said.splitlines()) == 1


def at(place, number):
    """The change of one number of an array, to be made to a copy of it."""

    def changed(array):
        array[place] = number
        return array

    return changed


def longer(array):
    return np.append(array, array[-1:])


VOTED_FORGERIES = {
    "bias is NaN": (2, "bias", {"bias": math.nan}),
    "radius is negative": (2, "radius", {"radius": -2.0}),
    "a class twice": (2, "classes", {"classes": ["a", "a"]}),
    "another kind": (2, "kind", {"kind": "choir"}),
    "no width": (2, "width", {"width": None}),
    "width is true": (2, "width", {"width": True}),
    "width is negative": (2, "width", {"width": -1}),
    "width beyond 32 bits": (2, "width", {"width": 1 << 31}),
    "fewer features than there are": (2, "indices", {"width": 4}),
    "a feature below 0": (2, "indices", {"indices": at(3, -1)}),
    "a feature beyond the width": (2, "indices", {"indices": at(-1, 1 << 30)}),
    "rows that begin later": (2, "indptr", {"indptr": at(0, 1)}),
    "rows that begin before 0": (2, "indptr", {"indptr": at(0, -1)}),
    "rows that fall back": (2, "indptr", {"indptr": at(2, 0)}),
    "rows that reach beyond": (2, "indptr", {"indptr": at(2, 1 << 40)}),
    "rows that end beyond the values": (2, "indptr", {"indptr": at(-1, 1 << 40)}),
    "rows that end before the values": (2, "indptr", {"indptr": at(slice(1, None), 0)}),
    "a value that is NaN": (2, "values", {"values": at(0, math.nan)}),
    "a value beyond a kernel's": (2, "values", {"values": at(-1, -1e150)}),
    "an update that is infinite": (2, "a", {"a": at(0, math.inf)}),
    "a scale that is NaN": (2, "scale", {"scale": at(0, math.nan)}),
    "a round twice": (2, "round", {"round": at(1, 1)}),
    "a round 0": (2, "round", {"round": at(0, 0)}),
    "rounds that wrap around": (2, "round", {"round": at(slice(0, 2), [(1 << 63) - 1, -(1 << 63)])}),
    "a shift too many": (2, "shift", {"shift": at(0, 4)}),
    "a label of 0": (2, "label", {"label": at(0, 0)}),
    "a label of 2": (2, "label", {"label": at(0, 2)}),
    "one class and labels of two": (2, "label", {"classes": [0]}),
    "one class and a rival": (2, "rival", {"classes": [0], "label": at(slice(None), -1), "rival": at(0, 1)}),
    "a class beyond the last": (3, "label", {"label": at(-1, 3)}),
    "a class below the first": (3, "label", {"label": at(0, -1)}),
    "a rival beyond the last": (3, "rival", {"rival": at(-1, 3)}),
    "a rival below the first": (3, "rival", {"rival": at(0, -1)}),
    "more classes than two of -1 and 1": (2, "label", {"classes": [0, 1, 2]}),
    "a vote below 0": (2, "q", {"q": at(0, -1)}),
    "votes of nobody": (2, "q", {"q": at(slice(None), 0)}),
    "votes that overflow": (2, "q", {"q": at(slice(0, 2), 1 << 62)}),
    "a vote too many": (2, "q", {"q": longer}),
    "an update too many": (2, "label", {"label": longer}),
    "a row too many": (2, "indptr", {"indptr": longer}),
    "an index too many": (2, "indices", {"indices": longer}),
    "votes in a table": (2, "q", {"q": lambda array: array.reshape(-1, 1)}),
    "features of 64 bits": (2, "indices", {"indices": lambda array: array.astype(np.int64)}),
    "values of 32 bits": (2, "values", {"values": lambda array: array.astype(np.float32)}),
    "no votes": (2, "q", {"q": None}),
    "an array more": (2, "weights", {"weights": np.zeros(3)}),
}


@pytest.mark.parametrize("what", VOTED_FORGERIES)
def test_a_wrong_field_of_a_voted_model_is_named(tmp_path, what):
    """Whatever a kernel would trust: the file has the right hash, and one field that no pass gives."""
    classes, field, changes = VOTED_FORGERIES[what]
    path = tmp_path / "m"
    voted(classes)[0].save(path)
    content, _, arrays = container.read(path, model_files.MODEL, 1 << 30, lambda *_: None)
    for name, change in changes.items():
        if name in arrays:
            arrays[name] = None if change is None else change(arrays[name].copy())
        else:
            (arrays if isinstance(change, np.ndarray) else content)[name] = change
    arrays = {name: array for name, array in arrays.items() if array is not None}
    content["sha256"] = model_files.content_hash(content, arrays)
    path.write_bytes(save(arrays, metadata={"onepass": json.dumps(content)}))
    with pytest.raises(ModelError, match=rf"m: its field '{field}' is missing or wrong"):
        VotedModel.load(path)


def test_the_commands_call_a_forged_model_exit_4(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    forged(tmp_path / "m", bias=math.nan)
    for command in (("inspect", "m"), ("predict", "m", "rows.svm"), ("verify", "m")):
        assert "its field 'bias'" in onepass(tmp_path, *command, code=4).stderr
    forged(tmp_path / "m")
    onepass(tmp_path, "inspect", "m")
    options = {"learner": "Perceptron()", "certificate": {}, "options": {"max_trace_memory": None}}
    forged(tmp_path / "m", about=options)
    assert "'about.options'" in onepass(tmp_path, "verify", "m", "rows.svm", code=4).stderr
    with pytest.raises(ModelError, match=r"'about\.certificate'"):
        OnePassClassifier.load(tmp_path / "m")


def test_a_file_is_read_as_far_as_its_header_says(tmp_path):
    """Under a limit of memory, of a file full of holes, of a pipe and of a device: at once, and in little room."""
    good = tmp_path / "good"
    LinearModel(np.ones((1000, 1)), (0, 1)).save(good)
    with open(tmp_path / "holes", "wb") as file:
        file.truncate(3 << 30)
    with open(tmp_path / "longer", "wb") as file:
        file.write(good.read_bytes())
        file.truncate(3 << 30)
    os.mkfifo(tmp_path / "pipe")
    tracemalloc.start()
    try:
        assert LinearModel.load(good).features == 999
        for name, words in {
            "holes": "does not begin as a safetensors file does",
            "longer": "bytes follow the last array",
            "pipe": "not a regular file",
            "/dev/zero": "not a regular file",
            "/dev/null": "not a regular file",
            "": "a folder",
        }.items():
            with pytest.raises(ModelError, match=words):
                LinearModel.load(tmp_path / name)
            with pytest.raises(CheckpointError, match=words.replace("bytes follow", "not a onepass checkpoint|b")):
                checkpoint.load(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()
    assert "not a regular file" in onepass(tmp_path, "inspect", "/dev/zero", code=4).stderr


def test_weights_that_there_is_no_room_for_are_a_limit(tmp_path, monkeypatch):
    LinearModel(np.ones((1000, 1)), (0, 1)).save(tmp_path / "m")

    def full(*_):
        raise MemoryError

    monkeypatch.setattr(container.np, "empty", full)
    with pytest.raises(LimitError, match=r"m: the model holds an array of 8,000 bytes"):
        LinearModel.load(tmp_path / "m")


def test_an_edited_certificate_is_noticed(tmp_path):
    path = tmp_path / "m.safetensors"
    model, _ = model_of()
    model.save(path)
    data = path.read_bytes()
    at = data.index(b"risk")
    edited = data[:at] + data[at:].replace(b"0.", b"0,", 1) if b"0." in data[at : at + 40] else None
    assert edited is not None
    path.write_bytes(edited)
    with pytest.raises(ModelError):
        LinearModel.load(path)


@pytest.mark.parametrize("kind", [LinearModel, VotedModel])
@given(st.data())
@settings(deadline=None, max_examples=150)
def test_every_flipped_bit_is_found(tmp_path_factory, kind, data):
    path = tmp_path_factory.mktemp("flip") / "m.safetensors"
    model = model_of()[0] if kind is LinearModel else voted()[0]
    model.save(path)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) * 8 - 1))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(bytes(content))
    with pytest.raises(ModelError):
        kind.load(path)


@given(st.binary(max_size=400))
@settings(deadline=None, max_examples=150)
def test_no_bytes_crash_the_loader(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "m.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelError):
        LinearModel.load(path)
