"""Compressed sources: every kind is read, and whatever is not whole is an error."""

import gzip
import subprocess
import sys
import tracemalloc

import numba
import pytest

import oracles_io as oracle
from onepass.errors import DataError
from onepass.io import compression as codecs
from onepass.io import open_stream
from onepass.io.sources import RawFile
from test_io import COMPRESS, TEXT, read


@pytest.mark.parametrize("kind", COMPRESS)
def test_every_compression_is_found_by_its_first_bytes_and_read(file, kind):
    data = COMPRESS[kind](TEXT)
    for name in ("data.svm", f"data.svm.{kind}"):
        examples, stream = read(file(data, name))
        assert examples == oracle.svmlight(TEXT)
        assert (stream.format, stream.compression) == ("svmlight", kind)
        assert stream.consumed == stream.total_bytes == len(data)


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_are_read_on(file, kind):  # 30
    half = TEXT.index(b"\n", len(TEXT) // 2) + 1
    examples, _ = read(file(COMPRESS[kind](TEXT[:half]) + COMPRESS[kind](TEXT[half:])))
    assert examples == oracle.svmlight(TEXT)


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_truncated_stream_is_an_error_wherever_it_is_cut(file, kind):  # 29
    data = COMPRESS[kind](TEXT)
    for size in [*range(12), *range(12, len(data), 7), len(data) - 1]:
        with pytest.raises(DataError, match="ends early"):
            read(file(data[:size], f"data.svm.{kind}"))


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_truncated_stream_may_be_allowed_and_is_then_labelled(file, kind):
    text = TEXT * 200
    data = COMPRESS[kind](text)
    path = file(data[: len(data) * 9 // 10])
    if kind in ("bz2", "zst"):  # one block, or one read of the decoder: it has given nothing yet
        with pytest.raises(DataError, match="no examples"):
            read(path, allow_truncated=True)
        return
    examples, stream = read(path, allow_truncated=True)
    assert stream.truncated
    assert len(examples) > 1000
    assert any("ends early" in note for note in stream.notes)
    assert examples == oracle.svmlight(text)[: len(examples)]


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_a_flipped_bit_is_an_error_or_makes_no_difference(file, kind):  # 30
    data = COMPRESS[kind](TEXT)
    places, harmless = range({"gz": 10, "bz2": 4, "xz": 6}[kind], len(data), 7), 0
    for at in places:
        flipped = bytearray(data)
        flipped[at] ^= 16
        try:
            examples, _ = read(file(bytes(flipped), f"data.svm.{kind}"))
        except DataError:
            continue
        assert examples == oracle.svmlight(TEXT)
        harmless += 1  # bits that the format itself does not use, such as the tables of symbols that do not occur
    assert harmless <= len(places) // 10


def test_a_flipped_bit_in_zst_is_an_error_where_there_is_a_checksum(file):
    frame = bytes.fromhex("28b52ffd04583100003120313a320ac28fd48c")  # what the zstd program makes of "1 1:2\n"
    assert read(file(frame))[0] == [(1, {0: 2})]
    for bit in range(8 * frame.index(b"1 1:2"), 8 * len(frame)):
        flipped = bytearray(frame)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DataError, match="zst stream is damaged"):
            read(file(bytes(flipped)))


@pytest.mark.parametrize("kind", COMPRESS)
def test_bytes_after_the_stream_are_an_error(file, kind):  # 30
    for junk in (b"junk", b"j", b"1 1:2\n" * 50):
        with pytest.raises(DataError, match=r"follow the compressed stream|ends early") as caught:
            read(file(COMPRESS[kind](TEXT) + junk))
        assert str(caught.value).count("Fix: ") == 1
        assert "damaged" not in str(caught.value)


def test_zeros_may_pad_a_gz(file):
    examples, _ = read(file(gzip.compress(TEXT) + bytes(700)))
    assert examples == oracle.svmlight(TEXT)


def test_text_that_is_only_named_gz_is_an_error(file):
    with pytest.raises(DataError, match="damaged"):
        read(file(TEXT, "data.svm.gz"))
    examples, _ = read(file(TEXT, "data.svm.gz"), compression="none")
    assert examples == oracle.svmlight(TEXT)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="40 MB")
@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_bomb_is_stopped_and_memory_stays_flat(file, kind):  # 31
    path = file(COMPRESS[kind](b"1 1:2\n" + b"#" * 6 + b"\n" * (40 << 20)))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"expands more than 500-fold.*Fix: max_expand"):
        read(path, max_expand=500, threads=1)
    assert tracemalloc.get_traced_memory()[1] < 120 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", ["gz", "bz2", "zst"])
def test_a_bomb_shows_after_its_first_pieces(file, kind):
    """And not after all that the first megabyte of the file holds: gigabytes."""
    raw = RawFile(str(file(COMPRESS[kind](b"\n" * (80 << 20)))))
    unpacked = 0
    with pytest.raises(DataError, match="expands more than 1000-fold"):  # noqa: PT012
        for piece in codecs.decompressed(raw, kind, "bomb", 1000.0):
            unpacked += len(piece)
    assert unpacked <= codecs.GRACE + codecs.PIECE
    raw.close()


@pytest.mark.parametrize("name", ["data.svm", "data.vw"])
def test_empty_lines_cost_next_to_nothing(file, name):
    """They are counted, and nothing is called for each."""
    blank, last = b"\n" * (1 << 20), {"data.svm": b"1 1:2\n", "data.vw": b"1 |a b\n"}[name]
    with open_stream(file(blank + last, name), threads=0, block_size=1 << 22) as stream:
        next(stream)
        assert stream.position.line == (1 << 20) + 2


GROWTH = """
import sys
from pathlib import Path
from onepass.errors import DataError
from onepass.io import open_stream

def read(times):
    for _ in range(times):
        try:
            with open_stream(sys.argv[1], format="svmlight") as stream:
                list(stream)
        except DataError:
            continue
        raise SystemExit("read without an error")
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

before = read(100)
print(read(400) - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_damaged_zst_streams_leave_no_memory_behind(tmp_path):
    """Found by fuzzing: a megabyte for each. In a process of its own, whose memory nothing else moves."""
    path = tmp_path / "d.svm.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x40" + b"\n" * 400)
    found = subprocess.run([sys.executable, "-c", GROWTH, path], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 100 << 20
