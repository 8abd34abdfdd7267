"""Stopping anywhere and going on changes nothing: every format, every learner, every conversion."""

import bz2
import gzip
import json
import lzma
import time

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import DataError, Pass
from onepass.checkpoints import checkpoint
from onepass.io import arrays, open_stream, tabular
from onepass.learners import ShiftedPerceptron
from onepass.rows import Dense
from strategies import dyadic

X, Y = dyadic(3, 1200, 5, noise=0.1)


def text_of(rows, labels, form):
    if form == "svm":
        return "".join(
            f"{label:g} {' '.join(f'{j + 1}:{v!r}' for j, v in enumerate(row) if v)}\n"
            for row, label in zip(rows.tolist(), labels, strict=True)
        )
    if form == "vw":
        return "".join(
            f"{label:g} | {' '.join(f'f{j}:{v!r}' for j, v in enumerate(row) if v)}\n"
            for row, label in zip(rows.tolist(), labels, strict=True)
        )
    if form == "jsonl":
        return "".join(
            json.dumps({"text": " ".join(f"w{j}x{v}" for j, v in enumerate(row)), "kind": "ny"[int(label > 0)]}) + "\n"
            for row, label in zip(rows.tolist(), labels, strict=True)
        )
    mark = "\t" if form == "tsv" else ","
    body = "".join(
        mark.join(
            [*map(repr, row), 'a "b"\nc' if form == "quoted" and row[0] > 0 else f"t{row[1]}", "ny"[int(label > 0)]]
        ).replace('a "b"\nc', '"a ""b""\nc"')
        + "\n"
        for row, label in zip(rows.tolist(), labels, strict=True)
    )
    return mark.join(["a", "b", "c", "d", "e", "word", "class"]) + "\n" + body


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """name → (paths, options): the same rows in every format, each cut into several chunks."""
    folder = tmp_path_factory.mktemp("formats")
    made = {}

    def write(name, data, **options):
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        made[name] = ([folder / name], options)

    svm = text_of(X, Y, "svm")
    for name, pack in (("svm", str), ("svm.gz", gzip.compress), ("svm.bz2", bz2.compress), ("svm.xz", lzma.compress)):
        write(f"data.{name}", svm if pack is str else pack(svm.encode()))
    write("bom.svm", b"\xef\xbb\xbf" + svm.encode())
    write("bom.svm.gz", gzip.compress(b"\xef\xbb\xbf" + svm.encode()))
    with pyarrow.CompressedOutputStream(str(folder / "data.svm.zst"), "zstd") as out:
        out.write(svm.encode())
    made["data.svm.zst"] = ([folder / "data.svm.zst"], {})
    write("data.vw", text_of(X, Y, "vw"))
    write("data.jsonl", text_of(X, Y, "jsonl"), text_column="text", target="kind")
    for form in ("csv", "tsv", "quoted"):
        suffix = "tsv" if form == "tsv" else "csv"
        write(f"{form}.{suffix}", text_of(X, Y, form), categorical=("word",))
        write(f"{form}.{suffix}.gz", gzip.compress(text_of(X, Y, form).encode()), categorical=("word",))
    table = pyarrow.table({**{name: X[:, j] for j, name in enumerate("abcde")}, "y": Y.astype(float)})
    pyarrow.parquet.write_table(table, folder / "data.parquet", row_group_size=500)
    made["data.parquet"] = ([folder / "data.parquet"], {})
    for name, opened in (("file", pyarrow.ipc.new_file), ("stream", pyarrow.ipc.new_stream)):
        with opened(str(folder / f"{name}.arrow"), table.schema) as out:
            out.write_table(table, max_chunksize=700)
        made[f"{name}.arrow"] = ([folder / f"{name}.arrow"], {})
    np.save(folder / "data.npy", np.column_stack([X, Y]))
    made["data.npy"] = ([folder / "data.npy"], {"target": -1})
    np.savez_compressed(folder / "dense.npz", X=X, y=Y)
    made["dense.npz"] = ([folder / "dense.npz"], {})
    many = scipy.sparse.csr_array(np.tile(X, (8, 1)))
    np.savez(
        folder / "sparse.npz",
        data=many.data,
        indices=many.indices,
        indptr=many.indptr,
        shape=many.shape,
        y=np.tile(Y, 8),
    )
    made["sparse.npz"] = ([folder / "sparse.npz"], {})
    made["several"] = ([folder / "data.svm", folder / "data.svm.gz", folder / "bom.svm"], {})
    (folder / "empty.csv").write_text("")
    made["several tables"] = (
        [folder / "empty.csv", folder / "csv.csv", folder / "quoted.csv.gz"],
        {"categorical": ("word",)},
    )
    return made


NAMES = [
    *("data.svm", "data.svm.gz", "data.svm.bz2", "data.svm.xz", "data.svm.zst", "bom.svm", "bom.svm.gz", "data.vw"),
    *("data.jsonl", "csv.csv", "csv.csv.gz", "tsv.tsv", "tsv.tsv.gz", "quoted.csv", "quoted.csv.gz", "data.parquet"),
    *("file.arrow", "stream.arrow", "data.npy", "dense.npz", "sparse.npz", "several", "several tables"),
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(tabular, "CELLS", 1)  # at least 256 rows
    monkeypatch.setattr(arrays, "CELLS", 600)


def opened(found, **more):
    paths, options = found
    return open_stream([str(path) for path in paths], block_size=6000, **options, **more)


def listed(chunk):
    rows, labels, _ = chunk
    if isinstance(rows, Dense):
        return [(label, *row) for label, row in zip(labels.tolist(), rows.values.tolist(), strict=True)]
    parts = [slice(a, b) for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]
    return [
        (label, rows.indices[part].tolist(), rows.values[part].tolist())
        for label, part in zip(labels.tolist(), parts, strict=True)
    ]


def told(stream):
    return stream.rows, stream.skipped, stream.consumed, stream.labels, sorted(stream.notes), stream.columns


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_goes_on_from_any_chunk(files, name):
    with opened(files[name]) as stream:
        chunks, positions = [], []
        for chunk in stream:
            chunks.append((chunk.origin, listed(chunk)))
            positions.append(stream.position)
    assert len(chunks) > 2
    for i in range(len(chunks)) if len(chunks) < 9 else range(0, len(chunks), len(chunks) // 8):
        with opened(files[name], position=positions[i], threads=1 + i % 3) as rest:
            seen = [(chunk.origin, listed(chunk)) for chunk in rest]
        assert [row for _, part in seen for row in part] == [row for _, part in chunks[i + 1 :] for row in part]
        assert told(rest) == told(stream)
        if seen:  # after a cut, chunks may end elsewhere; they begin where they should
            assert seen[0][0][:3] == chunks[i + 1][0][:3]


lines = st.lists(st.integers(1, 40), min_size=1, max_size=60)


@settings(deadline=None, max_examples=40)
@given(lengths=lines, sizes=st.tuples(st.integers(1, 90), st.integers(1, 90)), data=st.data())
def test_a_text_is_cut_anywhere_whatever_its_lines_and_blocks(tmp_path_factory, lengths, sizes, data):
    path = tmp_path_factory.mktemp("lines") / "data.svm"
    packed = data.draw(st.booleans())
    text = "".join(f"{1 if k % 2 else -1} {k}:1{'0' * k}\n" for k in lengths)
    text = text if data.draw(st.booleans()) else text[:-1]
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with open_stream(path, block_size=sizes[0]) as stream:
        chunks, positions = [], []
        for chunk in stream:
            chunks.append(listed(chunk))
            positions.append((stream.position, chunk.origin.line + chunk.size))
    at = data.draw(st.integers(0, len(chunks) - 1))
    with open_stream(path, position=positions[at][0], block_size=sizes[1]) as rest:
        first = None
        seen = []
        for chunk in rest:
            first = first or chunk.origin.line
            seen += listed(chunk)
    assert seen == [row for part in chunks[at + 1 :] for row in part]
    assert first in (None, positions[at][1])


@pytest.mark.parametrize(
    ("name", "bad", "options"),
    [
        ("data.svm", "1 2:x\n", {}),
        ("data.svm.gz", "1 2:x\n", {}),
        ("quoted.csv", "1,2,3,4,five,w,y\n", {"categorical": ("word",)}),
        ("quoted.csv", '1,2,3,4,5,"w,y\n', {"categorical": ("word",)}),
    ],
)
def test_a_bad_line_after_the_cut_has_its_number(files, tmp_path, name, bad, options):
    source = files[name][0][0].read_bytes()
    text = gzip.decompress(source) if name.endswith("gz") else source
    path = tmp_path / name
    path.write_bytes(gzip.compress(text + bad.encode()) if name.endswith("gz") else text + bad.encode())
    messages = []
    with opened(([path], options)) as stream:
        next(stream)
        position = stream.position
        with pytest.raises(DataError) as error:
            list(stream)
        messages.append(str(error.value))
    with opened(([path], options), position=position) as stream, pytest.raises(DataError) as error:
        list(stream)
    messages.append(str(error.value))
    assert messages[0] == messages[1]
    last = text.count(b"\n") + 1
    assert f"line {last}" in messages[0]


def test_bad_lines_are_counted_and_put_aside_once(files, tmp_path):
    good = files["data.svm"][0][0].read_text().splitlines(keepends=True)
    bad = [f"bad line {i}\n" for i in range(400)]
    text = [line for pair in zip(good, bad, strict=False) for line in pair] + bad * 5 + good[400:]
    (tmp_path / "data.svm").write_text("".join(text))
    kept = []
    with opened(([tmp_path / "data.svm"], {}), on_error="skip", quarantine=kept.append) as stream:
        for n, _ in enumerate(stream):
            if n == 2:
                position = stream.position
    whole = b"".join(kept)
    assert stream.skipped == 400 * 6
    assert 0 < position.quarantined < len(whole)
    for _ in range(2):
        rest = []
        with opened(
            ([tmp_path / "data.svm"], {}), on_error="skip", quarantine=rest.append, position=position
        ) as stream:
            for _ in stream:
                pass
        assert whole[: position.quarantined] + b"".join(rest) == whole
        assert stream.skipped == 400 * 6


def test_the_position_is_that_of_the_chunk_handed_out_whatever_was_read_ahead(files):
    with opened(files["data.svm"], threads=4) as stream:
        chunk = next(stream)
        time.sleep(0.2)  # the readers are far ahead now
        assert stream.position.at == chunk.origin.stop
        assert stream.position.rows == chunk.size


# --- the pass ---------------------------------------------------------------------------------------------------------

LEARNERS = ["perceptron", "margin", "margin-sphere", "pa", "pa2", "normalized", ShiftedPerceptron(warmup=3.0)]
CONVERSIONS = ["cutoff", "average", "last", "longest", "suffix", "frozen", "validation"]
SEVERAL = np.argmax(X @ np.random.default_rng(5).integers(-8, 9, size=(5, 3)), axis=1)


def answers(run):
    """Everything that a pass can say, to the last bit."""
    said = []
    for conversion in CONVERSIONS:
        try:
            said.append((run.model(conversion).weights.tobytes(), str(run.certificate(conversion).as_dict())))
        except ValueError as error:  # a conversion that this learner or this memory refuses
            said.append(str(error))
    return said, run.rows, run.rounds, run.mistakes, run.classes, run.stopped, str(run.certificate())


def made(learner, several, memory, radius):
    own = isinstance(learner, ShiftedPerceptron)
    return Pass(
        learner,
        classes=[0, 1, 2] if several and not own else None,
        radius=radius,
        watch=True,
        validation_fraction=0.1,
        max_trace_memory=memory,
        n_features=5,
        conversion="frozen",
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("learner", "several"),
    [*((learner, False) for learner in LEARNERS), *((learner, True) for learner in ("perceptron", "margin"))],
)
def test_a_pass_goes_on_from_any_row(learner, several, tmp_path):
    y = SEVERAL if several else Y
    for memory, radius in ((1 << 20, 2.0), (6000, "auto"), (6000, None)):
        whole = made(learner, several, memory, radius)
        whole.feed(X[:1100], y[:1100])
        expected = answers(whole)
        for cut in (0, 1, 1024) if radius == 2.0 else (333,):
            run = made(learner, several, memory, radius)
            run.feed(X[:cut], y[:cut])
            checkpoint.save(tmp_path / "c", run)
            other = made(learner, several, memory, radius)
            assert checkpoint.resume(tmp_path / "c", other) is None
            other.feed(X[cut:1100], y[cut:1100])
            assert answers(other) == expected


@settings(deadline=None, max_examples=15)
@given(
    name=st.sampled_from(NAMES),
    learner=st.sampled_from(["perceptron", "margin", "pa", "pa2"]),
    conversion=st.sampled_from(CONVERSIONS),
    cuts=st.lists(st.integers(1, 6), max_size=3),
)
def test_any_format_any_learner_any_conversion_stopped_again_and_again(
    files, tmp_path_factory, name, learner, conversion, cuts
):
    path = tmp_path_factory.mktemp("kept") / "run.checkpoint"

    def new():
        more = {"watch": True} if conversion == "frozen" else {}
        more |= {"validation_fraction": 0.1} if conversion == "validation" else {}
        return Pass(learner, conversion=conversion, radius=3.0, **more)

    def go(chunks):
        run = new()
        with opened(files[name], position=checkpoint.resume(path, run)) as stream:
            for n, (rows, labels, _) in enumerate(stream, 1):
                run.feed(rows, labels)
                if n == chunks:
                    checkpoint.save(path, run, stream.position)
                    return None
        return run.model().weights.tobytes(), str(run.certificate().as_dict())

    whole = go(None)
    for cut in cuts:
        go(cut)
    assert go(None) == whole


def test_a_line_longer_than_a_block_is_no_empty_table(tmp_path):
    """Found on the way: a block in which no line starts was handed to the CSV parser as an empty file."""
    text = "word\tclass\n" + "".join(f"{'x' * 300}{i}\t{'ab'[i % 2]}\n" for i in range(20))
    (tmp_path / "long.tsv").write_text(text)
    with open_stream(tmp_path / "long.tsv", block_size=50, text_column="word") as stream:
        assert sum(chunk.size for chunk in stream) == 20
