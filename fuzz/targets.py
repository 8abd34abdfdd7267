"""What is fuzzed: a function from bytes to nothing for every reader and the model loader, and bytes to begin with."""

from __future__ import annotations

import ctypes
import functools
import io
import itertools
import json
import os
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("src", "tests")]

Target = Callable[[bytes], None]


@functools.cache
def scratch() -> Path:
    """A file in memory where the system has such a thing: it is written for every input."""
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    return Path(folder) / "input"


# Line formats: the kernel against its definition, and against float() ------------------------------


def lines_target(form: Any, oracle: Any = None) -> Target:
    from onepass.io.lines import closed, parse_lines
    from test_io_svmlight import Definition, plain, rows_of

    def check(data: bytes) -> None:
        fast = parse_lines(form, *closed(data), skip=True)
        assert plain(fast) == plain(parse_lines(Definition(form), *closed(data), skip=True))
        if (
            oracle is not None
            and not fast.bad
            and data.isascii()
            and not set(data) & set(b"\0\x0b\x0c\x1c\x1d\x1e\x1f")
        ):
            assert rows_of(fast) == oracle(data)

    return check


def svmlight() -> Target:
    import oracles_io
    from onepass.io.svmlight import Svmlight

    strict = lines_target(Svmlight(), oracles_io.svmlight)
    loose = lines_target(Svmlight(zero_based=True, unsorted="sort", duplicates="sum", missing="zero", labelled=False))
    folded = lines_target(Svmlight(bits=3))

    def check(data: bytes) -> None:
        (strict, loose, folded)[data[0] % 3 if data else 0](data[1:])

    return check


def vw() -> Target:
    from onepass.io.vw import VowpalWabbit

    labelled, free = lines_target(VowpalWabbit()), lines_target(VowpalWabbit(bits=4, labelled=False))
    return lambda data: (labelled, free)[data[0] % 2 if data else 0](data[1:])


# Files: read as a whole, and cut into small blocks; the same rows or the same error -----------------


def file_target(format: str, choices: list[dict[str, Any]], cuts: tuple[int, ...] = (1 << 20,)) -> Target:
    from onepass.errors import OnepassError
    from onepass.io.formats import FORMATS
    from onepass.io.opener import make_reader
    from onepass.io.sources import Limits, Source
    from onepass.io.stream import prepare
    from onepass.rows import Dense

    def said(options: dict[str, Any], block_size: int, skip: bool) -> tuple[Any, ...]:
        """(rows as bytes, bad lines or the error), without threads."""
        rows, bad, line = [], [], 1
        source = None
        try:
            source = Source(str(scratch()), "none", Limits(block_size=block_size, max_line=1 << 16), lambda note: None)
            prepare(source, format)
            for work in make_reader(format, options, {}).works(source, skip):
                parsed = work.run()
                values = parsed.rows.values
                if not parsed.bad or skip:
                    assert abs(values).max(initial=0.0) < float("inf")
                    rows.extend(each_row(parsed, Dense))
                bad += [(line + fault.line, fault.text, fault.fault.message) for fault in parsed.bad]
                if parsed.bad and not skip:
                    break
                line += parsed.lines
        except OnepassError as error:
            bad.append(str(error))
        finally:
            if source is not None:
                source.close()
        return rows, bad

    def check(data: bytes) -> None:
        scratch().write_bytes(data[1:])
        first = data[0] if data else 0
        options, skip = choices[first % len(choices)], bool(first & 128) and not FORMATS[format].binary
        whole = said(options, cuts[0], skip)
        for cut in cuts[1:]:
            parts = said(options, cut, skip)
            if any(isinstance(fault, str) for fault in whole[1] + parts[1]):
                assert bool(parts[1]) == bool(whole[1]), (
                    parts,
                    whole,
                )  # one may come to it before a bad line, one after
            elif skip or not whole[1]:
                assert parts == whole, (parts, whole)
            else:  # before an error whole blocks were handed out, so only the error itself is the same
                assert parts[1][0] == whole[1][0], (parts, whole)

    return check


def each_row(parsed: Any, dense: type) -> list[tuple[Any, ...]]:
    labels = [None] * 10**6 if parsed.labels is None else parsed.labels.tolist()
    if isinstance(parsed.rows, dense):
        return [(repr(label), row.tobytes()) for label, row in zip(labels, parsed.rows.values, strict=False)]
    ends = itertools.pairwise(parsed.rows.indptr.tolist())
    cut = [(parsed.rows.indices[a:b].tobytes(), parsed.rows.values[a:b].tobytes()) for a, b in ends]
    return [(repr(label), *row) for label, row in zip(labels, cut, strict=False)]


TABLE: list[dict[str, Any]] = [
    {"target": 0},
    {"target": -1, "missing": "zero"},
    {"target": 0, "missing": "indicator", "categorical": (1,)},
    {"labelled": False},
    {"target": 0, "text_column": 1, "bits": 6},
]


def csv() -> Target:
    return file_target("csv", [{**choice, "header": header} for choice in TABLE for header in (None, False)], CUTS)


def tsv() -> Target:
    return file_target("tsv", [{**choice, "header": header} for choice in TABLE for header in (None, False)], CUTS)


def jsonl() -> Target:
    return file_target("jsonl", [{"target": "y", "text_column": "t", "bits": bits} for bits in (6, 18)], CUTS)


CUTS = (1 << 20, 1, 17)


def parquet() -> Target:
    return file_target("parquet", TABLE)


def arrow() -> Target:
    return file_target("arrow", TABLE)


def npy() -> Target:
    return file_target("npy", [{"target": 0}, {"target": -1}, {"labelled": False}])


def npz() -> Target:
    """The bytes are an archive, or the members of one: a mutation inside a checksummed archive seldom gets far."""
    read = file_target("npz", [{}, {"labelled": False}])
    names = ("y", "X", "data", "indices", "indptr", "shape")

    def check(data: bytes) -> None:
        if len(data) > 1 and data[1] != ord("P"):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w") as archive:
                for part in data[2:].split(b"\x93NUMPY")[1:]:
                    if part:
                        archive.writestr(names[part[0] % len(names)] + ".npy", b"\x93NUMPY" + part[1:])
            data = data[:1] + out.getvalue()
        read(data)

    return check


def compressed() -> Target:
    """gz, zst, bz2 and xz by their first bytes: whole, or an error."""
    from onepass.errors import DataError
    from onepass.io.sources import Limits, Source

    def check(data: bytes) -> None:
        scratch().write_bytes(data[1:])
        limits = Limits(allow_truncated=bool(data and data[0] & 1))
        try:
            source = Source(str(scratch()), None, limits, lambda note: None)
        except DataError:
            return
        try:
            for piece in source.pieces():
                assert 0 < len(piece) <= 1 << 21
        except DataError:
            pass
        finally:
            source.close()

    return check


# The model loader ----------------------------------------------------------------------------------


def model() -> Target:
    """The bytes are a file; or what it says of itself, under the right hash; or its tensors' header."""
    import numpy as np
    from safetensors.numpy import save

    from onepass import Pass, model_files
    from onepass.container import read
    from onepass.errors import ModelError
    from onepass.models import LinearModel, VotedModel

    run = Pass()
    run.feed(np.eye(3), [1, -1, 1])
    run.model("average", how="vote").save(scratch())
    votes = read(scratch(), model_files.MODEL, 1 << 20, lambda *_: None).arrays

    def built(data: bytes) -> bytes:
        if data[:1] in (b"c", b"v"):  # content with the right hash, of a linear or a voted model
            arrays = {"weights": np.zeros((3, 1))} if data[:1] == b"c" else votes
            try:
                content = json.loads(data[1:])
                content["sha256"] = model_files.content_hash(content, arrays)
                return save(arrays, metadata={"onepass": json.dumps(content)})
            except (ValueError, TypeError, AttributeError, RecursionError):
                return data
        if data[:1] == b"h":  # any header, with its length before it
            return struct.pack("<Q", len(data) - 1) + data[1:] + b"\0" * 64
        return data

    def check_vote() -> None:
        try:
            found = VotedModel.load(scratch(), max_bytes=1 << 20)
        except ModelError:
            return
        found.predict(np.ones((1, found.width)))

    def check(data: bytes) -> None:
        scratch().write_bytes(built(data))
        try:
            found = LinearModel.load(scratch(), max_bytes=1 << 20)
        except ModelError:
            check_vote()
            return
        assert np.isfinite(found.weights).all()
        found.save(scratch())
        again = LinearModel.load(scratch())
        assert (again.classes, again.about, again.weights.tobytes()) == (
            found.classes,
            found.about,
            found.weights.tobytes(),
        )
        found.predict(np.zeros((1, found.features)))

    return check


TARGETS: dict[str, Callable[[], Target]] = {
    made.__name__: made for made in (svmlight, vw, csv, tsv, jsonl, parquet, arrow, npy, npz, compressed, model)
}

# Python whose branches guide the search: no function in these is compiled by numba.
GUIDES = {
    "svmlight": ("onepass.io.svmlight.Svmlight", "onepass.io.lines.finite"),
    "vw": ("onepass.io.vw.VowpalWabbit", "onepass.io.lines.finite", "onepass.io.vw._name", "onepass.io.vw._value"),
    "csv": ("onepass.io.delimited.Csv", "onepass.io.columns.make_plan"),
    "tsv": ("onepass.io.delimited.Csv", "onepass.io.columns.make_plan"),
    "jsonl": ("onepass.io.text.JsonLines", "json.decoder.JSONDecoder", "json.scanner.py_make_scanner"),
    "parquet": ("onepass.io.tabular.Parquet", "onepass.io.tabular._Table"),
    "arrow": ("onepass.io.tabular.Arrow", "onepass.io.tabular._Table"),
    "npy": ("onepass.io.arrays.Npy", "numpy.lib._format_impl"),
    "npz": ("onepass.io.arrays.Npz", "onepass.io.arrays.Member", "numpy.lib._format_impl", "zipfile.ZipFile"),
    "compressed": ("onepass.io.compression", "onepass.io.sources.Source"),
    "model": (
        *("onepass.model_files", "onepass.models.LinearModel", "onepass.models.VotedModel"),
        "json.decoder.JSONDecoder",
    ),
}

# Methods that compare arrays: atheris keeps what a watched comparison gives, unless it is True or False, for ever.
UNWATCHED = ("Csv._parse", "Csv._sift", "Csv._examples", "Csv._lone_return", "Csv._columns")


def guide(name: str, atheris: Any) -> None:
    """Watch the branches of the named functions, of every method of the named classes, of the named modules."""
    import importlib
    import inspect

    for path in GUIDES[name]:
        parent, _, last = path.rpartition(".")
        try:
            thing = importlib.import_module(path)
        except ImportError:
            owner = importlib.import_module(parent)
            thing = getattr(owner, last)
            if inspect.isfunction(thing):
                setattr(owner, last, atheris.instrument_func(thing))
                continue
        for key, value in list(vars(thing).items()):
            if f"{thing.__name__}.{key}" in UNWATCHED:
                continue
            if inspect.isfunction(value) and value.__module__ == getattr(thing, "__module__", thing.__name__):
                setattr(thing, key, atheris.instrument_func(value))


def seeds(name: str) -> list[bytes]:
    """Something to begin with: one good input of each kind."""
    import numpy as np

    if name == "svmlight":
        return [bytes([i]) + b"1 qid:3 1:0.5 7:1e-3 # c\r\n-1 2:nan\n+1.0 3:1 2:2 2:.5e+300\n0:1\n" for i in range(3)]
    if name == "vw":
        return [bytes([i]) + b"-1 'tag|size:0.5 rooms:4 2024 :3 | old\n1 1.0 t|a x\n|b y:1e400\n" for i in range(2)]
    if name in ("csv", "tsv"):
        text = b'y,a,b\n1,2.5,x\n0,NA,"two\nlines"\n1,,"q""q"\n1,2\n'
        plain = b"1,2.5,3\n0,1e-3,4\n1,x,5\n0,6,7\n"
        texts = [text, plain] if name == "csv" else [text.replace(b",", b"\t"), plain.replace(b",", b"\t")]
        return [bytes([i]) + text for i in (*range(10), *range(128, 138)) for text in texts]
    if name == "jsonl":
        return [b'\0{"y": 1, "t": "to be"}\n\n{"y": "a", "t": "\\ud800 x"}\n[1]\n', b'\x80{"y": 1e999, "t": ""}\n']
    if name == "compressed":
        import bz2
        import gzip
        import lzma

        import pyarrow

        text = b"1 1:0.5\n" * 40
        packed = [made(text) for made in (gzip.compress, bz2.compress, lzma.compress)]
        packed.append(bytes(pyarrow.compress(text, "zstd", asbytes=True)))
        return [bytes([i]) + data + data * i for i in range(2) for data in packed]
    if name in ("npy", "npz"):
        return numpy_seeds(name, np)
    if name == "model":
        return model_seeds(np)
    return arrow_seeds(name)


def numpy_seeds(name: str, np: Any) -> list[bytes]:
    def saved(array: Any) -> bytes:
        out = io.BytesIO()
        np.save(out, array)
        return out.getvalue()

    X = np.array([[1.0, 0.5], [0.0, -2.0], [1.0, 4.0]])
    if name == "npy":
        return [
            bytes([i]) + saved(array) for i in range(3) for array in (X, X.astype("f2"), X.T, X > 0, X.astype(">i4"))
        ]
    sparse = {
        "data": np.ones(3),
        "indices": np.array([0, 2, 1]),
        "indptr": np.array([0, 2, 3]),
        "shape": np.array([2, 3]),
    }
    found = []
    for members in ({"X": X, "y": np.array([1, 0, 1])}, {"y": np.array(["a", "b"]), **sparse}):
        out = io.BytesIO()
        np.savez(out, **members)
        found.append(b"\0" + out.getvalue())
        order = ("y", "X", "data", "indices", "indptr", "shape")
        found.append(
            b"\0m" + b"".join(b"\x93NUMPY" + bytes([order.index(key)]) + saved(a)[6:] for key, a in members.items())
        )
    return found


def arrow_seeds(name: str) -> list[bytes]:
    import pyarrow as pa
    from pyarrow import ipc
    from pyarrow import parquet as pq

    table = pa.table({"y": [1, 0, 1], "a": ["x", None, "z"], "b": pa.array([1.5, None, 2.0])})
    coded = table.set_column(1, "a", table.column("a").dictionary_encode())
    numbers = pa.table({"y": [1.0, 0.0], "a": [True, False], "b": pa.array([1, 2], pa.decimal128(5, 2))})
    found = []
    for made in (table, coded, numbers):
        sink = pa.BufferOutputStream()
        if name == "parquet":
            pq.write_table(made, sink, compression="none")
        else:
            with ipc.new_stream(sink, made.schema) as out:
                out.write_table(made)
            found.append(sink.getvalue().to_pybytes())
            sink = pa.BufferOutputStream()
            with ipc.new_file(sink, made.schema) as out:
                out.write_table(made)
        found.append(sink.getvalue().to_pybytes())
    return [bytes([i]) + data for i in range(len(TABLE)) for data in found]


def model_seeds(np: Any) -> list[bytes]:
    from onepass.models import LinearModel

    LinearModel(np.array([[0.5], [1.0], [-2.0]]), ("a", "b"), 1.0, 2.0, {"rows": 3}).save(scratch())
    whole = scratch().read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    header = whole[8 : 8 + length]
    said = json.loads(json.loads(header)["__metadata__"]["onepass"])
    vote = json.dumps({**said, "kind": "vote", "width": 3}).encode()
    return [whole, b"h" + header, b"c" + json.dumps(said).encode(), b"v" + vote]


def trimmed(check: Target) -> Target:
    """Give back what the C library holds free, now and then: what is left to grow is memory in use."""
    runs, trim = itertools.count(1), getattr(ctypes.CDLL(None), "malloc_trim", None)

    def once(data: bytes) -> None:
        check(data)
        if trim is not None and next(runs) % 1000 == 0:
            trim(0)

    return once


def main() -> None:
    import atheris

    name, corpus = sys.argv[1], Path(sys.argv[2])
    for number, data in enumerate(seeds(name)):
        (corpus / f"seed-{number}").write_bytes(data)
        if name == "model":
            scratch().unlink(missing_ok=True)
    check = TARGETS[name]()
    guide(name, atheris)
    for data in seeds(name):  # compiles the kernels before the clock runs
        check(data)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], trimmed(atheris.instrument_func(check)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
