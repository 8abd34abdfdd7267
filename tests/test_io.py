"""Sources, compression, blocks, order and errors: what is common to all formats."""

import bz2
import gzip
import itertools
import lzma
import os
import stat
import threading

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import onepass.io.stream
import oracles_io as oracle
from onepass.errors import DataError
from onepass.io import open_stream

TEXT = b"".join(b"%d 1:%d.5 %d:0.25\n" % ((-1) ** i, i, i + 2) for i in range(40))


def zst(data):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zst}


def read(paths, **options):
    """[(label, {index: value})] and the stream, read to its end."""
    examples = []
    with open_stream(paths, **options) as stream:
        for chunk in stream:
            indptr, indices, values = (array.tolist() for array in chunk.rows)
            for i, label in enumerate(chunk.labels.tolist()):
                row = slice(indptr[i], indptr[i + 1])
                examples.append((label, dict(zip(indices[row], values[row], strict=True))))
    return examples, stream


# Cutting anywhere changes nothing ------------------------------------------------------------------


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.sampled_from(["1 1:2", "-1 3:0.5 4:1", "", "# " + "x" * 30, "2"]), min_size=1, max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    block_size=st.integers(1, 40),
    how=st.sampled_from(["plain", "gz", "bom"]),
)
def test_any_block_size_gives_the_same_examples_and_lines(file, lines, end, last, block_size, how):
    text = (end.join(["1 1:1", *lines]) + end * last).encode()
    data = {"plain": text, "gz": gzip.compress(text), "bom": b"\xef\xbb\xbf" + text}[how]
    path = file(data)
    examples, stream = read(path, block_size=block_size, threads=2)
    assert examples == oracle.svmlight(text)
    assert stream.consumed == stream.total_bytes == len(data)


def test_origins_tile_the_file_and_count_its_lines(file):
    text = b"# head\n" + TEXT + b"\n# tail"
    with open_stream(file(text), block_size=64) as stream:
        chunks = list(stream)
    assert len(chunks) > 10
    for chunk, after in itertools.pairwise(chunks):
        assert chunk.origin.stop == after.origin.start
        assert chunk.origin.consumed < after.origin.consumed
        assert after.origin.line - chunk.origin.line == text[chunk.origin.start : chunk.origin.stop].count(b"\n")
    for chunk in chunks:
        examples = oracle.svmlight(text[chunk.origin.start : chunk.origin.stop])
        assert chunk.labels.tolist() == [label for label, _ in examples]
        assert chunk.size == len(examples)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_any_number_of_threads_gives_the_same_bits(file, threads):
    with open_stream(file(TEXT), block_size=50, threads=threads) as stream:
        chunks = [(c.rows.indices.tobytes(), c.rows.values.tobytes(), c.labels.tobytes(), c.origin) for c in stream]
    with open_stream(file(TEXT), block_size=50, threads=1) as stream:
        assert chunks == [
            (c.rows.indices.tobytes(), c.rows.values.tobytes(), c.labels.tobytes(), c.origin) for c in stream
        ]


# Paths ---------------------------------------------------------------------------------------------


def test_files_globs_folders_and_lists_in_the_order_given(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.svm").write_text(f"{ord(name)} 1:1\n")
    (tmp_path / ".hidden").write_text("nonsense")
    (tmp_path / "list.txt").write_text(f"\ufeff{tmp_path}/c.svm\n\n{tmp_path}/a.svm\n")  # with a byte order mark

    def labels(*paths):
        return [chr(int(label)) for label, _ in read(list(paths))[0]]

    assert labels(tmp_path / "b.svm", tmp_path / "a.svm") == ["b", "a"]
    assert labels(f"{tmp_path}/[ac].svm") == ["a", "c"]
    assert labels(f"@{tmp_path}/list.txt", tmp_path / "b.svm") == ["c", "a", "b"]
    os.remove(tmp_path / "list.txt")
    assert labels(tmp_path) == ["a", "b", "c"]


def test_several_files_of_several_compressions_are_one_stream(tmp_path):
    for kind in COMPRESS:
        (tmp_path / f"data.{kind}").write_bytes(COMPRESS[kind](TEXT))
    (tmp_path / "data.svm").write_bytes(TEXT + b"1 1:1")  # its last line has no end
    examples, stream = read(tmp_path, block_size=100)
    one = oracle.svmlight(TEXT)
    assert examples == [*one * 3, (1.0, {0: 1.0}), *one * 2]  # bz2, gz, svm, xz, zst
    assert stream.compression == "bz2,gz,none,xz,zst"
    assert stream.consumed == stream.total_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_an_error_in_the_second_file_names_it_and_its_own_line(tmp_path):
    (tmp_path / "1.svm").write_bytes(TEXT)
    (tmp_path / "2.svm").write_bytes(b"1 1:1\n1 x:1\n")
    with pytest.raises(DataError) as caught:
        read(tmp_path, block_size=30)
    assert (caught.value.source, caught.value.line) == (str(tmp_path / "2.svm"), 2)


def test_what_cannot_be_opened_says_why(tmp_path):  # 33
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "one.txt").write_text(f"@{tmp_path}/two.txt\n")
    (tmp_path / "two.txt").write_text(f"@{tmp_path}/folder/../one.txt\n")
    for path, reason in [
        (tmp_path / "missing.svm", "No such file"),
        (tmp_path / "link", "No such file"),
        (tmp_path / "folder", "no files"),
        (f"{tmp_path}/*.none", "no file matches"),
        (f"@{tmp_path}/missing.txt", "No such file"),
        (f"@{tmp_path}/one.txt", "one.txt: this list of files names itself"),
        ("/dev/null", "no examples"),
    ]:
        with pytest.raises(DataError, match=reason):
            read(path)
    with pytest.raises(DataError, match="No such file"):  # found before the first file is read
        open_stream([__file__.replace("test_io", "oracles_io"), tmp_path / "missing"], format="svmlight")
    with pytest.raises(ValueError, match="no file"):
        open_stream([])


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read anything")
def test_no_permission(file):
    path = file(TEXT)
    path.chmod(0)
    with pytest.raises(DataError, match="Permission denied"):
        read(path)


def test_a_fifo_and_stdin_are_read_to_their_end(tmp_path, monkeypatch):  # 33
    os.mkfifo(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(TEXT)))
    writer.start()
    examples, stream = read(tmp_path / "pipe")
    writer.join()
    assert examples == oracle.svmlight(TEXT)
    assert (stream.total_bytes, stream.identity) == (None, [None])

    out, into = os.pipe()
    kept = os.dup(0)
    os.dup2(out, 0)
    try:
        os.write(into, TEXT)
        os.close(into)
        assert read("-")[0] == oracle.svmlight(TEXT)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(out)


def test_identity_tells_files_apart_and_names_twins(tmp_path):
    for name, text in (("a", TEXT), ("b", TEXT), ("c", TEXT[:-2] + b"6\n")):
        (tmp_path / name).write_bytes(text)
    _, stream = read(tmp_path)
    a, b, c = stream.identity
    assert a.size == c.size == len(TEXT)
    assert a.ends == b.ends != c.ends
    assert a.modified == (tmp_path / "a").stat().st_mtime_ns
    assert any("seem to be the same data" in note and "a and" in note for note in stream.notes)


# Threads, errors and ends --------------------------------------------------------------------------


def our_threads():
    """Those that read and parse; passes share some that stay."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(("onepass-read", "onepass-parse"))]


@pytest.mark.parametrize("how", ["plain", "gz"])
def test_threads_end_after_an_early_exit_an_error_and_the_end(file, how):
    text = TEXT * 100 + b"oops\n"
    path = file(text if how == "plain" else gzip.compress(text))
    with open_stream(path, block_size=100, threads=3) as stream:
        next(stream)
        assert our_threads()
    assert not our_threads()
    with pytest.raises(DataError, match="label is not a number"):
        list(open_stream(path, block_size=100))
    assert not our_threads()
    read(file(TEXT))
    assert not our_threads()
    unread = open_stream(path)
    unread.close()
    assert not our_threads()
    for closed in (stream, unread):
        with pytest.raises(ValueError, match="closed"):
            next(closed)


def test_an_error_comes_after_all_that_stood_before_its_block(file):
    path = file(TEXT + b"1 x:1\n" + TEXT)
    seen = []
    stream = open_stream(path, block_size=64, threads=4)
    with pytest.raises(DataError, match="whole number"):
        seen.extend(chunk.size for chunk in stream)
    assert 30 < sum(seen) <= 40


def test_a_fault_of_the_parser_itself_reaches_the_caller(file, monkeypatch):
    from onepass.io.svmlight import Svmlight

    def broken(self, *args):
        raise MemoryError("a worker's own trouble")

    monkeypatch.setattr(Svmlight, "tokenize", broken)
    with pytest.raises(MemoryError, match="own trouble"):
        read(file(TEXT))
    assert not our_threads()


@pytest.mark.parametrize("packed", [False, True])
def test_only_a_few_blocks_are_read_ahead(file, monkeypatch, packed):
    path, ahead, taken = file(TEXT * 50), onepass.io.stream.AHEAD, []
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
        ahead = onepass.io.stream.UNPACKED
    real = onepass.io.prefetch.ThreadPoolExecutor.submit
    monkeypatch.setattr(
        onepass.io.prefetch.ThreadPoolExecutor, "submit", lambda self, run: (taken.append(1), real(self, run))[1]
    )
    with open_stream(path, block_size=100, threads=2) as stream:
        next(stream)
        threading.Event().wait(0.3)
        assert ahead < len(taken) <= 2 + ahead + 3  # waiting, taken out, about to be put in


def test_bad_lines_may_be_skipped_counted_and_kept(file):
    kept = []
    text = b"1 1:1\n1 x:1\n\n-1 2:1\nspam\n1 3:1\n"
    examples, stream = read(file(text), on_error="skip", quarantine=kept.append, block_size=9)
    assert examples == [(1, {0: 1}), (-1, {1: 1}), (1, {2: 1})]
    assert (stream.skipped, kept) == (2, [b"1 x:1\n", b"spam\n"])


@pytest.mark.parametrize("how", ["plain", "gz"])
def test_a_line_too_long_is_refused_before_it_fills_the_memory(file, how):  # 22
    text = b"1 1:1\n" + b"1" * 3_000_000
    path = file(text if how == "plain" else gzip.compress(text))
    with pytest.raises(DataError, match=r"a line longer than 10000 bytes.*Fix: max_line"):
        read(path, max_line=10_000, block_size=4096)


def test_a_file_that_changes_while_it_is_read_is_noticed(file):  # 32
    path = file(TEXT * 200)
    with open_stream(path, block_size=100, threads=1) as stream:
        next(stream)
        with path.open("ab") as grown:
            grown.write(b"1 1:1\n")
        list(stream)
    assert stream.changed == [str(path)]
    assert any("changed while" in note for note in stream.notes)
    assert read(path)[1].changed == []
    table = file(b"a,y\n" + b"1,2\n" * 1_000_000, "data.csv")
    for shrinking in (path, table):
        with open_stream(shrinking, block_size=100, threads=1) as stream:
            next(stream)
            os.truncate(shrinking, len(TEXT))
            with pytest.raises(DataError, match="became shorter"):
                list(stream)


@pytest.mark.parametrize("size", [40, 64, 100, 1 << 16])
def test_a_stream_knows_where_bad_lines_stood(tmp_path, size):
    rng = np.random.default_rng(size)
    fine = rng.random(200) < 0.6
    fine[:30] = fine[-30:] = False
    fine[100] = True
    lines = [f"1 1:{i}" if good else "1 1:x" for i, good in enumerate(fine)]
    (tmp_path / "t.svm").write_text("\n".join([*lines, ""]))
    seen = []
    with open_stream(tmp_path / "t.svm", on_error="skip", block_size=size) as stream:
        for chunk in stream:
            values = chunk.rows.values.tolist()
            for row in range(chunk.size + 1):
                seen += [None] * stream.gaps.count(row) + values[row : row + 1]
        seen += [None] * len(stream.gaps)
    assert seen == [float(i) if good else None for i, good in enumerate(fine)]


@pytest.mark.parametrize(
    ("end", "told"), [("yes", False), ("n", True), ("n\n", False), ("no\n1,n", False), ("no\n1,n\n", False)]
)
def test_a_label_that_was_cut_is_noticed(tmp_path, end, told):
    rows = [f"{i},{'yes' if i % 3 else 'no'}" for i in range(200)]
    early = ["7,n"] if end.startswith("no\n") else []
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *early, *rows, f"5,{end}"]))
    with open_stream(tmp_path / "t.csv", target="y") as stream:
        assert sum(chunk.size for chunk in stream) >= 201
    assert any("was the file cut?" in note for note in stream.notes) == told


def test_a_file_that_is_gone_when_its_end_is_looked_at_is_no_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,y", *(f"{i},{'yes' if i % 3 else 'no'}" for i in range(200)), "5,n"]))
    with open_stream(path, target="y", threads=0) as stream:
        first = next(stream)
        path.unlink()
        assert first.size + sum(chunk.size for chunk in stream) == 201
    assert not any("cut?" in note for note in stream.notes)
