"""A checkpoint that is not what it should be, or not whose it should be, is never gone on from."""

import errno
import gzip
import json
import os
import resource
import subprocess
import sys

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import CheckpointError, Pass, ResumeError
from onepass.checkpoints import checkpoint, packing, tensors
from onepass.io import dump_svmlight, open_stream
from onepass.io.chunk import Origin
from onepass.io.sources import Identity
from strategies import dyadic

X, Y = dyadic(3, 1200, 5, noise=0.1)


@pytest.fixture
def kept(tmp_path):
    run = Pass("margin", radius=2.0, watch=True)
    path = tmp_path / "run.checkpoint"
    run.feed(X[:300], Y[:300])
    checkpoint.save(path, run)
    run.feed(X[300:600], Y[300:600])
    checkpoint.save(path, run)
    return path


def new():
    return Pass("margin", radius=2.0, watch=True)


def test_it_is_a_safetensors_file_with_no_clock_in_it(kept, tmp_path):
    from safetensors.numpy import load_file

    assert len(load_file(kept)) > 20
    run = new()
    checkpoint.resume(kept, run)
    checkpoint.save(tmp_path / "again", run)
    assert (tmp_path / "again").read_bytes() == kept.read_bytes()


def test_any_damage_is_noticed_and_the_previous_one_taken(kept):
    good, before = kept.read_bytes(), (kept.parent / "run.checkpoint.prev").read_bytes()
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(good[:8], "little")
    places = [*range(8), *rng.integers(8, header, 60), *rng.integers(header, len(good), 60)]
    flipped = [
        good[:at] + bytes([good[at] ^ (1 << bit)]) + good[at + 1 :]
        for at, bit in zip(places, rng.integers(0, 8, 128), strict=True)
    ]
    cut = [good[:size] for size in [0, 1, 7, 8, 9, header - 1, header, len(good) - 1, *rng.integers(0, len(good), 20)]]
    refused = 0
    for data in [*flipped, *cut, good + b"\0", b"\x80\x04K\x01.", b"{}", os.urandom(1000)]:
        kept.write_bytes(data)
        with pytest.raises((CheckpointError, ResumeError)):
            checkpoint.load(kept)
        refused += 1
    assert refused == 160
    kept.write_bytes(good[:-1])
    found, note = checkpoint.last(kept)
    assert found.state["rows"] == 300
    assert "run.checkpoint: damaged or cut short" in note
    assert "before it" in note
    assert kept.read_bytes() == before  # and so the damaged one never becomes the previous one
    assert not (kept.parent / "run.checkpoint.prev").exists()


def test_one_that_is_missing_is_replaced_by_the_previous_one_and_two_damaged_ones_are_an_error(kept):
    before = kept.parent / "run.checkpoint.prev"
    kept.rename(before)
    run = new()
    checkpoint.resume(kept, run)
    assert run.rows == 600
    before.write_bytes(b"torn")
    kept.write_bytes(b"torn too")
    with pytest.raises(CheckpointError, match="so is the one before it"):
        checkpoint.last(kept)
    kept.unlink()
    before.unlink()
    assert checkpoint.last(kept) == (None, None)


def test_sizes_in_the_file_are_never_trusted(kept):
    good = kept.read_bytes()
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])
    for lie in (
        {"shape": [1 << 60]},
        {"shape": [-1]},
        {"shape": [2.0]},
        {"data_offsets": [0, 1 << 50]},
        {"dtype": "O"},
        {"shape": [True]},
    ):
        forged = json.dumps(header | {"0": header["0"] | lie}).encode()
        kept.write_bytes(len(forged).to_bytes(8, "little") + forged + good[8 + length :])
        with pytest.raises(CheckpointError):
            checkpoint.load(kept)
    kept.write_bytes((1 << 60).to_bytes(8, "little") + good[8:])
    with pytest.raises(CheckpointError):
        checkpoint.load(kept)
    kept.write_bytes(good)
    with pytest.raises(CheckpointError, match="max_bytes"):
        checkpoint.load(kept, max_bytes=100)


def rehashed(path, *, content=None, layout=None):
    """The checkpoint with other words or another layout, and the hash that belongs to them."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    text = json.loads(header.pop("__metadata__")["onepass-checkpoint"])
    header, text = (layout or dict)(header) or header, (content or dict)(text) or text
    digest = tensors._begun(text, header)
    digest.update(data[8 + length :])
    told = {"onepass-checkpoint": json.dumps(text | {"sha256": digest.hexdigest()}, sort_keys=True)}
    forged = json.dumps({"__metadata__": told} | header).encode()
    path.write_bytes(len(forged).to_bytes(8, "little") + forged + data[8 + length :])


LIES = {
    "dtype is a list": ("dtype", {"dtype": ["F64"]}),
    "dtype is an object": ("dtype", {"dtype": {}}),
    "dtype is unknown": ("dtype", {"dtype": "F16"}),
    "2^62 rows of nothing": ("shape", {"shape": [1 << 62, 0], "data_offsets": [0, 0]}),
    "2^62 values": ("shape", {"shape": [1 << 62]}),
    "many dimensions": ("shape", {"shape": [1] * 40}),
    "shape is text": ("shape", {"shape": "6"}),
    "shape is true": ("shape", {"shape": [True]}),
    "negative": ("shape", {"shape": [-1]}),
    "beyond the file": ("data_offsets", {"data_offsets": [0, 1 << 50]}),
    "offsets are text": ("data_offsets", {"data_offsets": "0"}),
    "one offset": ("data_offsets", {"data_offsets": [0]}),
    "no place": ("data_offsets", {"data_offsets": None}),
}


@pytest.mark.parametrize("what", LIES)
def test_a_layout_that_lies_is_named_although_the_hash_is_right(kept, what):
    field, lie = LIES[what]
    rehashed(kept)  # and nothing changed
    assert checkpoint.load(kept).state["rows"] == 600
    rehashed(kept, layout=lambda header: header | {"0": header["0"] | lie})
    with pytest.raises(CheckpointError, match=rf"run\.checkpoint: .*{field}"):
        checkpoint.load(kept)


WORDS = {
    "format": ("0", True, None, [1]),
    "version": (1, None, ["0.1"]),
    "options": (None, {"list": []}, 3),
    "state": (3, {"list": []}, {"tuple": [1]}),
    "position": (3, {"list": []}),
    "said": (None, [], "x"),
}


@pytest.mark.parametrize("field", WORDS)
def test_a_field_that_is_not_what_it_should_be_is_named(kept, field):
    good = kept.read_bytes()
    for value in WORDS[field]:
        kept.write_bytes(good)
        rehashed(kept, content=lambda text, value=value: text | {field: value})
        with pytest.raises(CheckpointError, match=f"'{field}'"):
            checkpoint.load(kept)


PLACES = {
    "format": ("bogus", "../svmlight", None, 1, ""),
    "file": (1, -1, 1 << 63, 0.0, True),
    "at": (-1, 1 << 63, 1.5, "0", None),
    "line": (-1, None),
    "consumed": (-1, 1 << 50),
    "rows": (-1, "5"),
    "quarantined": (-1, None),
    "truncated": (0, None),
    "notes": ((1,), "x", None),
    "changed": ((None,),),
    "identity": ((3,), None, (Identity("data.svm", -1, 0, ""),), (Identity("data.svm", 9, 1 << 80, ""),)),
    "labels": (((1.0, 2),), ((None, Origin("-", 1, 0, 1, 1)),), ((1.0, Origin(3, 1, 0, 1, 1)),), 3),
}


@pytest.mark.parametrize("field", PLACES)
def test_a_place_where_no_stream_can_have_been_is_named(tmp_path, field):
    path = tmp_path / "data.svm"
    dump_svmlight(path, X, Y)
    run = Pass()
    with open_stream(path, block_size=6000) as stream:
        run.feed(*next(stream)[:2])
        position = stream.position
    checkpoint.save(tmp_path / "c", run, position)
    assert checkpoint.load(tmp_path / "c").position == position
    for value in PLACES[field]:
        checkpoint.save(tmp_path / "c", run, position._replace(**{field: value}))
        with pytest.raises(CheckpointError, match=rf"c: damaged: its field 'position\.{field}'"):
            checkpoint.load(tmp_path / "c")


@pytest.mark.parametrize("kind", ["svm", "svm.gz", "csv", "csv.gz", "npy", "npz", "parquet", "arrow", "arrows"])
def test_a_place_beyond_the_end_of_the_data_is_no_end_of_the_run(tmp_path, kind):
    """What was never read must not be taken for read: the model would say nothing of the rest."""
    path, options = tmp_path / f"data.{kind}", {} if "svm" in kind or kind == "npz" else {"target": "5"}
    _written(path, kind)
    with open_stream(path, block_size=6000, **options) as stream:
        next(stream)
        position = stream.position
        end = sum(chunk.origin.stop - chunk.origin.start for chunk in stream) + position.at
    with open_stream(path, block_size=6000, position=position._replace(at=end), **options) as stream:
        assert list(stream) == []  # right at the end: there is no more, and that is fine
    far = position._replace(at=end + 1)
    with pytest.raises(CheckpointError, match=r"'position\.at'"):
        list(open_stream(path, block_size=6000, position=far, **options))


def _written(path, kind):
    """X and Y in this format, the label last."""
    table = np.column_stack([X, Y])
    columns = pyarrow.table({str(place): table[:, place] for place in range(6)})
    if "svm" in kind:
        dump_svmlight(path, X, Y)
    elif "csv" in kind:
        names = ",".join(map(str, range(6)))
        path.write_text("\n".join([names, *(",".join(map(repr, row)) for row in table.tolist())]) + "\n")
    elif kind == "npy":
        np.save(path, table)
    elif kind == "npz":
        np.savez(path, X=X, y=Y)
    elif kind == "parquet":
        pyarrow.parquet.write_table(columns, path, row_group_size=200)
    else:
        made = pyarrow.ipc.new_file if kind == "arrow" else pyarrow.ipc.new_stream
        with open(path, "wb") as file, made(file, columns.schema) as writer:
            writer.write_table(columns, max_chunksize=200)
    if kind.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))


def changed(state, name, field, change):
    part = state[name]
    state[name] = part._replace(**{field: change(getattr(part, field).copy())})


def put(at, value):
    def change(array):
        array[at] = value
        return array

    return change


FORGERIES = {
    "an index beyond the weights": lambda s: changed(s["learner"], "log", "indices", put(3, 1 << 20)),
    "a negative index": lambda s: changed(s["learner"], "log", "indices", put(3, -7)),
    "rows that overlap": lambda s: changed(s["learner"], "log", "indptr", put(2, 1 << 40)),
    "rounds that fall": lambda s: changed(s["learner"], "log", "round", put(1, 0)),
    "a shift there is not": lambda s: changed(s["learner"], "log", "shift", put(0, 9)),
    "a label that is none": lambda s: changed(s["learner"], "log", "label", put(0, 5)),
    "a short array": lambda s: changed(s["learner"], "log", "a", lambda array: array[:-1]),
    "another type": lambda s: changed(s["learner"], "log", "a", lambda array: array.astype(np.float32)),
    "a cursor beyond": lambda s: changed(s["learner"], "log", "cursor", put(0, 1 << 40)),
    "a tally with few lines": lambda s: changed(s["learner"]["ledger"], "tally", "runs", lambda array: array[:4]),
    "an order alarm off its table": lambda s: changed(s["guards"], "order", "place", put(1, 77)),
    "narrow watched models": lambda s: s["watched"].update(weights=s["watched"]["weights"][:-1]),
    "watched models that are NaN": lambda s: s["watched"].update(weights=s["watched"]["weights"] * np.nan),
    "a watched model off the grid": lambda s: changed(s["watched"], "counts", "frozen", put(0, 257)),
    "a watched model of the future": lambda s: changed(s["watched"], "counts", "frozen", put(0, 1 << 20)),
    "an elder that is younger": lambda s: changed(s["watched"], "counts", "elder", put(0, 1 << 20)),
    "counts below 0": lambda s: changed(s["watched"], "counts", "rows", put(0, -1)),
    "counts of three classes": lambda s: changed(s["watched"], "counts", "rows", lambda array: np.zeros((8, 3), int)),
    "borders that fall": lambda s: changed(s["watched"], "at_look", "borders", lambda array: array[:, ::-1]),
    "wider watched models": lambda s: s["watched"].update(width=99),
    "a sum of the future": lambda s: s["watched"]["sums"].update({1 << 20: np.zeros((6, 1))}),
    "a sum of another shape": lambda s: s["watched"]["sums"].update({512: np.zeros((6, 2))}),
    "a slot that is none": lambda s: s["watched"].update(progress=np.array([0, 9])),
    "no watched models": lambda s: s.update(watched=None),
    "a running sum that is short": lambda s: s["learner"]["running"].update(u=np.zeros(2)),
    "no running sum": lambda s: s["learner"].update(running=None),
    "a hypothesis in use since the future": lambda s: s["learner"]["ledger"].update(since=1 << 40),
    "weights of two classes more": lambda s: s["learner"].update(weights=np.zeros((6, 3))),
    "NaN": lambda s: s["learner"].update(weights=s["learner"]["weights"] * np.nan),
    "text for a number": lambda s: s.update(rows="600"),
    "a missing field": lambda s: s.pop("guards"),
    "a field more": lambda s: s.update(more=1),
    "no log": lambda s: s["learner"].update(log=None),
    "a lazy state": lambda s: s["learner"].update(lazy=s["learner"]["ledger"]["tally"]),
    "labels that are lists": lambda s: s["intake"].update(labels=[1, 2]),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_state_with_a_true_hash_and_a_false_content_reaches_no_kernel(kept, forgery):
    found = checkpoint.load(kept)
    FORGERIES[forgery](found.state)
    forged = {}
    content, _ = tensors.read(kept, lambda content: None, 1 << 30)
    tensors.write(kept, content | {"state": packing.pack(found.state, forged)}, forged)
    run = new()
    with pytest.raises(CheckpointError):
        checkpoint.resume(kept, run)
    assert run.rows == 0  # and the pass is as it was


def test_columns_and_candidates_are_checked_too(tmp_path):
    def compacted():
        return Pass("perceptron", conversion="cutoff", max_trace_memory=6000, n_features=5)

    run = compacted()
    run.feed(X[:600], Y[:600])
    for field, change in [
        *(("lower", put(0, 99)), ("kappa", put(1, 0.0)), ("A", lambda array: array[:-1]), ("record", put(3, 1 << 40))),
        *(("M", lambda array: array[:, :2]), ("state", put(2, 1e9)), ("v", lambda array: array[:3])),
    ]:
        checkpoint.save(tmp_path / "c", run)
        found = checkpoint.load(tmp_path / "c")
        learner, forged = found.state["learner"], {}
        columns = learner["columns"]
        fold = columns.fold._replace(**{field: change(getattr(columns.fold, field).copy())})
        content, _ = tensors.read(tmp_path / "c", lambda content: None, 1 << 30)
        columns = type(columns)(fold, columns.classes, columns.bits, columns.limit)
        state = found.state | {"learner": learner | {"columns": columns}}
        tensors.write(tmp_path / "c", content | {"state": packing.pack(state, forged)}, forged)
        with pytest.raises(CheckpointError, match="the columns"):
            checkpoint.resume(tmp_path / "c", compacted())


def test_what_is_no_state_cannot_be_packed_or_unpacked():
    for value in (object(), np.array(["text"]), np.array([None]), 1j, b"bytes", Pass):
        with pytest.raises(TypeError):
            packing.pack(value, {})
    deep = 1
    for _ in range(100):
        deep = {"list": [deep]}
    for node in (
        {"system": []},
        {"Tally": [1]},
        {"Labels": [1, 2, 3, 4]},
        {"array": "none"},
        [1],
        {"a": 1, "b": 2},
        {},
        deep,
        {"dict": [[{"list": []}, 1]]},
    ):
        with pytest.raises(CheckpointError):
            packing.unpack(node, {})


@settings(deadline=None, max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.integers() | st.text(), inner),
        max_leaves=20,
    )
)
def test_what_is_packed_comes_back(value):
    arrays = {}
    node = json.loads(json.dumps(packing.pack(value, arrays)))
    back = packing.unpack(node, arrays)
    assert (back, repr(back)) == (value, repr(value))


# --- whose it is ------------------------------------------------------------------------------------------------------


def test_other_options_are_refused_by_name(kept):
    for name, value in {"radius": 3.0, "delta": 0.1, "conversion": "cutoff", "seed": 1, "stop_at": 0.1}.items():
        run = Pass("margin", **({"radius": 2.0, "watch": True} | {name: value}))
        with pytest.raises(ResumeError, match=f"^{name}: .* then, {value!r} now$"):
            checkpoint.resume(kept, run)
        assert run.rows == 0
    with pytest.raises(ResumeError, match=r"learner: .*Margin.* then, .*Perceptron\(\).* now; conversion"):
        checkpoint.resume(kept, Pass("perceptron", radius=2.0, conversion="average"))


def test_a_pass_with_an_origin_goes_on_from_its_own_only(tmp_path):
    def begun(value):
        return Pass("perceptron", conversion="cutoff", n_features=5, origin=np.full((6, 1), value), elapsed=100)

    whole, run, other = begun(0.5), begun(0.5), begun(0.5)
    whole.feed(X, Y)
    run.feed(X[:500], Y[:500])
    checkpoint.save(tmp_path / "c", run)
    checkpoint.resume(tmp_path / "c", other)
    other.feed(X[500:], Y[500:])
    assert other.model().weights.tobytes() == whole.model().weights.tobytes()
    with pytest.raises(ResumeError, match=r"^origin: "):
        checkpoint.resume(tmp_path / "c", begun(0.25))


def test_another_version_is_refused_and_named(kept, monkeypatch):
    monkeypatch.setattr(checkpoint, "__version__", "7.8.9")
    with pytest.raises(ResumeError, match=r"written by onepass 0.*, this is 7\.8\.9"):
        checkpoint.resume(kept, new())
    monkeypatch.undo()
    monkeypatch.setattr(checkpoint, "FORMAT", 3)
    with pytest.raises(ResumeError, match=r"format 2.*format 3"):
        checkpoint.resume(kept, new())


def test_another_file_is_refused_and_the_difference_named(tmp_path):
    path = tmp_path / "data.svm"
    dump_svmlight(path, X, Y)
    text = path.read_text()
    with open_stream(path, block_size=6000) as stream:
        next(stream)
        position = stream.position
    for content, words in ((text + "1 1:1\n", "bytes then"), (text.replace("1", "2", 1), "first or last 64 KiB")):
        path.write_text(content)
        with pytest.raises(ResumeError, match=words):
            open_stream(path, block_size=6000, position=position)
    with pytest.raises(ResumeError, match="1 files then, 2 now"):
        open_stream([path, path], position=position)
    path.write_text(text)
    with pytest.raises(ResumeError, match="touch -d") as error:
        open_stream(path, block_size=6000, position=position)
    subprocess.run(str(error.value).partition("by its time: ")[2], shell=True, check=True)
    with open_stream(path, block_size=6000, position=position) as stream:
        assert sum(chunk.size for chunk in stream) == 1200 - position.rows
    with pytest.raises(ResumeError, match="format: svmlight then, vw now"):
        open_stream(path, block_size=6000, position=position, format="vw")


HOLD = """
import sys, time
from onepass.checkpoints import checkpoint
with checkpoint.locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_is_held_once_and_ends_with_its_process(tmp_path):
    path = tmp_path / "run.checkpoint"
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"held\n"
    with pytest.raises(ResumeError, match=f"in use by process {other.pid}"), checkpoint.locked(path):
        pass
    other.kill()
    other.wait()
    other.stdout.close()
    (tmp_path / ".run.checkpoint.abcd_123.part").write_text("what a killed process left")
    (tmp_path / ".run.checkpoint.prev.abcd_123.part").write_text("another's")
    with checkpoint.locked(path):
        assert sorted(os.listdir(tmp_path)) == [".run.checkpoint.prev.abcd_123.part", "run.checkpoint.lock"]
        with pytest.raises(ResumeError, match=f"process {os.getpid()}"), checkpoint.locked(path):
            pass
    assert not (tmp_path / "run.checkpoint.lock").exists()


def test_a_full_disk_leaves_the_last_checkpoint_as_it_was(kept):
    good = kept.read_bytes()
    run = new()
    checkpoint.resume(kept, run)
    run.feed(X[600:], Y[600:])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(OSError) as error:
            checkpoint.save(kept, run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.value.errno == errno.EFBIG
    assert kept.read_bytes() == good
    assert sorted(os.listdir(kept.parent)) == ["run.checkpoint", "run.checkpoint.prev"]
