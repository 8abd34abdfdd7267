"""`onepass cluster`: its table, files, figures, JSON, streams, and what it says of bad files."""

import gzip
import json
import os
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv, ipc, parquet

from invoking import invoke
from onepass.cli.commands.cluster import command
from onepass.cluster import Coreset, KMeans
from onepass.cluster.collector import Collector, CollectorOptions
from onepass.cluster.streams import MiniBatches
from onepass.errors import DataError
from onepass.io import dump_svmlight, open_stream
from onepass.rows import Dense, Rows

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(name="X")
def blobs():
    """Three clusters of two columns."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 30, axis=0)


@pytest.fixture
def points(tmp_path, X):
    path = tmp_path / "points.csv"
    np.savetxt(path, X, delimiter=",", header="width,y", comments="", fmt="%.17g")
    return path


def run(*arguments):
    return invoke(command, arguments)


@contextmanager
def piped(path):
    """stdin, as the reader sees it, is this file."""
    before = os.dup(0)
    with path.open("rb") as file:
        os.dup2(file.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)


def as_json(*arguments):
    done = run(*arguments, "--json", "-q")
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout)


def read_table(path):
    if path.suffix == ".npy":
        return np.load(path), None
    table = parquet.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in table.columns]), table.column_names


@pytest.mark.parametrize("stream", [(), ("--stream", "--coreset-size", 40)])
def test_the_command_prints_a_table_and_writes_every_format(points, tmp_path, stream):
    for kind in ("csv", "parquet", "npy"):
        labels, centres = tmp_path / f"labels.{kind}", tmp_path / f"centres.{kind}"
        figure = tmp_path / f"{kind}.png"
        done = run(points, "-k", 3, "--labels", labels, "--centres", centres, "--figure", figure, *stream)
        assert done.exit_code == 0, (done.output, done.exception)
        assert "90 points, 3 clusters" in done.stdout
        assert ("proved limit" in done.stdout) == (not stream)
        found, names = read_table(labels)
        assert names in (None, ["label"])
        assert np.bincount(found.ravel()).tolist() == [30, 30, 30]
        assert found.shape == ((90,) if kind == "npy" else (90, 1))
        means, names = read_table(centres)
        assert means.shape == (3, 2)
        assert names in (None, ["width", "y"])
    assert (tmp_path / "csv.png").read_bytes().startswith(b"\x89PNG")
    assert "--force" in run(points, "-k", 3, "--labels", tmp_path / "labels.csv").stderr


def test_the_command_says_what_the_library_says(points, X):
    result = as_json(points, "-k", 3, "--threads", 2)
    model = KMeans(3, init="local-search++", n_init=10, random_state=0)
    assert result["sizes"] == [30, 30, 30]
    assert result["inertia"] == -KMeans(3, init=result["centres"]).fit(X).score(X)
    assert result["inertia"] == pytest.approx(model.fit(X).inertia_, rel=1e-12)
    assert sum(result["inertias"]) == pytest.approx(result["inertia"], rel=1e-12)
    assert result["quality"]["ratio"] >= 1
    assert result["exact"] is True
    assert as_json(points, "-k", 3, "--threads", 1)["centres"] == result["centres"]


def test_every_format_is_read_alike(tmp_path, points, X):
    expected = as_json(points, "-k", 3, "--init", "k-means++")
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    parquet.write_table(table, tmp_path / "p.parquet")
    with ipc.new_file(tmp_path / "p.arrow", table.schema) as file:
        file.write_table(table)
    np.save(tmp_path / "p.npy", X)
    np.savez(tmp_path / "p.npz", X=X)
    np.savetxt(tmp_path / "p.tsv", X, delimiter="\t", fmt="%.17g")
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(points.read_bytes()))
    dump_svmlight(tmp_path / "p.svm", X, np.arange(90) % 2)
    half, rest = tmp_path / "half1.npy", tmp_path / "half2.npy"
    np.save(half, X[:41])
    np.save(rest, X[41:])
    for names in (["p.parquet"], ["p.arrow"], ["p.npy"], ["p.npz"], ["p.tsv"], ["p.csv.gz"], ["p.svm"], [half, rest]):
        found = as_json(*(tmp_path / name for name in names), "-k", 3, "--init", "k-means++")
        assert found["centres"] == expected["centres"], names
        assert found["inertia"] == expected["inertia"], names
    with piped(points):
        assert as_json("-", "--format", "csv", "-k", 3, "--init", "k-means++")["centres"] == expected["centres"]
    half = as_json(tmp_path / "p.npy", "-k", 3, "--dtype", "float32")
    np.testing.assert_allclose(half["inertia"], expected["inertia"], rtol=1e-5)


def test_labels_and_named_columns_do_not_count(tmp_path, X):
    expected = KMeans(3, n_init=10, random_state=0).fit(X)
    path = tmp_path / "more.csv"
    np.savetxt(path, np.column_stack([X, np.arange(90) * 1e3, np.arange(90) % 3]), delimiter=",", fmt="%.17g")
    path.write_text("a,b,number,class\n" + path.read_text())
    for option in ("--target", "--ignore"):
        found = as_json(path, "-k", 3, "--init", "k-means++", "--ignore", "number", option, "class")
        assert found["inertia"] == pytest.approx(expected.inertia_, rel=1e-12)
    said = run(path, "-k", 3, "--ignore", "number").stderr
    assert "column 'class' counts like any other; --target class leaves it out" in said
    missing = run(path, "-k", 3, "--target", "clas")
    assert isinstance(missing.exception, DataError)
    assert "did you mean 'class'" in str(missing.exception)
    dump_svmlight(tmp_path / "p.svm", X, np.arange(90) % 2)
    assert "labels are ignored (0, 1)" in run(tmp_path / "p.svm", "-k", 3).stderr


def test_the_command_draws_an_elbow(points, tmp_path):
    for stream in ((), ("--stream",), ("--stream", "--exact")):
        figure = tmp_path / f"elbow{len(stream)}.svg"
        result = as_json(points, "--k-range", "1:5", "--figure", figure, *stream)
        inertias = [row["inertia"] for row in result["k_range"]]
        assert inertias == sorted(inertias, reverse=True)
        assert result["exact"] == (stream != ("--stream",))
        assert b"<svg" in figure.read_bytes()
    assert run(points, "--k-range", "1:5").stdout.count("\n") >= 6


def test_a_stream_is_a_coreset_fed_by_the_reader_and_counted_in_a_second_pass(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(5000, 3)) + 9 * rng.integers(0, 2, (5000, 3))
    path = tmp_path / "points.csv"
    np.savetxt(path, X, delimiter=",", fmt="%.17g")
    told = as_json(path, "-k", 8, "--stream", "--coreset-size", 200)
    rows, weights = Coreset(200).feed(X).points()
    model = KMeans(8, init="local-search++", n_init=10, random_state=0).fit(rows, sample_weight=weights)
    assert told["inertia"] == pytest.approx(model.inertia_, rel=1e-9)
    assert told["coreset_points"] == len(rows)
    assert sum(told["sizes"]) == 5000
    assert (told["exact"], told["quality"], told["stream"]) == (False, None, "coreset")
    counted = as_json(path, "-k", 8, "--stream", "--coreset-size", 200, "--labels", tmp_path / "l.npy")
    D = ((X[:, None] - np.array(counted["centres"])[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(np.load(tmp_path / "l.npy"), D.argmin(axis=1))
    assert counted["sizes"] == np.bincount(D.argmin(axis=1)).tolist()
    assert counted["inertia"] == pytest.approx(D.min(axis=1).sum(), rel=1e-12)
    assert counted["exact"] is True
    # A limit that is passed on the way gives the same bits as --stream from the start.
    limited = as_json(path, "-k", 8, "--max-memory", "100KB", "--coreset-size", 200)
    assert (limited["centres"], limited["stream"]) == (told["centres"], "coreset")


def sparse_rows(rng, n, width):
    return sp.random_array((n, width), density=0.1, random_state=rng, format="csr") + sp.csr_array(
        (np.ones(n), rng.integers(0, 3, n), np.arange(n + 1)), shape=(n, width)
    )


def test_sparse_streams_go_through_mini_batches_and_may_grow_wider(tmp_path):
    rng = np.random.default_rng(5)
    narrow, wide = sparse_rows(rng, 3000, 20), sparse_rows(rng, 3000, 60)
    whole = sp.vstack([sp.csr_array((narrow.data, narrow.indices, narrow.indptr), shape=(3000, 60)), wide]).tocsr()
    dump_svmlight(tmp_path / "a.svm", whole, np.zeros(6000))
    told = as_json(tmp_path / "a.svm", "-k", 3, "--stream")
    batches = MiniBatches(3, 4096, 0)
    batches.feed(whole, np.ones(6000), None)
    clusters = batches.clusters(None)
    np.testing.assert_array_equal(told["centres"], clusters.centres)
    assert told["sizes"] == clusters.mass.astype(int).tolist()
    assert (told["inertia"], told["stream"]) == (None, "mini-batch")
    counted = as_json(tmp_path / "a.svm", "-k", 3, "--stream", "--exact")
    D = ((whole.toarray()[:, None] - clusters.centres[None]) ** 2).sum(axis=2)
    assert counted["inertia"] == pytest.approx(D.min(axis=1).sum(), rel=1e-9)
    pieces = Collector(CollectorOptions(3, stream=True))
    for part in np.array_split(np.arange(6000), 13):
        rows = whole[part]
        used = int(rows.indices.max()) + 1
        pieces.feed(Rows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data))
        assert pieces.width >= used
    np.testing.assert_array_equal(pieces.clusters().centres, clusters.centres)


def test_gathering_refuses_what_does_not_fit_together():
    dense, sparse = Dense(np.ones((4, 2))), Rows(np.array([0, 1]), np.array([0], np.int32), np.ones(1))
    for stream in (False, True):
        gathered = Collector(CollectorOptions(2, stream=stream))
        gathered.feed(dense)
        for rows, message in ((sparse, "sparse and others dense"), (Dense(np.ones((1, 3))), "3 columns after rows")):
            with pytest.raises(DataError, match=message):
                gathered.feed(rows)
        with pytest.raises(DataError, match="infinity"):
            gathered.feed(Dense(np.full((1, 2), np.inf)))
        assert gathered.rows == 4
        with pytest.raises(DataError):
            gathered.sample() if not stream else gathered.table()
        with pytest.raises(DataError, match="no mini-batches"):
            gathered.clusters()
    with pytest.raises(DataError, match="no rows"):
        Collector(CollectorOptions(2)).table()
    few = Collector(CollectorOptions(2, stream=True))
    few.feed(sparse)
    with pytest.raises(DataError, match="lower n_clusters"):
        few.clusters()


def test_partial_fit_over_a_reader_gives_the_bits_of_the_whole_table(points, X, monkeypatch):
    """The example of docs/cluster.md, run as it stands; and a reader that cuts the file into many pieces."""
    monkeypatch.chdir(points.parent)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "cluster.md").read_text(), re.DOTALL)
    happened = {}
    exec(next(code for code in examples if "open_stream" in code), happened)
    whole = KMeans(3, random_state=0, batch_size=4096).partial_fit(X)
    np.testing.assert_array_equal(happened["model"].cluster_centers_, whole.cluster_centers_)
    model = KMeans(3, random_state=0, batch_size=64)
    with open_stream(points, labelled=None, block_size=200) as stream:
        pieces = [model.partial_fit(chunk.rows.values) for chunk in stream]
    assert len(pieces) > 5
    whole = KMeans(3, random_state=0, batch_size=64).partial_fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, whole.cluster_centers_)


def test_progress_goes_to_stderr_or_is_json_lines(points):
    done = run(points, "-k", 3, "--jsonl", "--log-every", 0.01, "--n-init", 40, "--tol", 0)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events[:-1]] == ["progress"] * (len(events) - 1)
    assert events[-1]["event"] == "result"
    phases = {event["phase"] for event in events[:-1]}
    assert phases <= {"read", "cluster"}
    assert "cluster" in phases
    seen = next(event for event in events if event.get("phase") == "cluster")
    assert {"n_clusters", "seeding", "iteration", "inertia", "shift"} <= set(seen)
    lines = run(points, "-k", 3, "--log-every", 0.01, "--n-init", 40)
    assert "of 40, iteration" in lines.stderr
    assert "%" in lines.stderr
    assert run(points, "-k", 3, "-q").stderr == ""


def test_the_command_explains_bad_files(points, tmp_path):
    cases = {
        "text.csv": ("a,b\n1,x\n2,y\n", "column 'b' holds text, not numbers"),
        "hole.csv": ("a,b\n1,2\n3,\n", "line 3, col 3: column 'b' has no value"),
        "ragged.csv": ("1,2\n3\n", "expected 2 columns, got 1"),
        "empty.csv": ("", "no examples"),
        "inf.csv": ("a\n1\n2\ninf\n", "not a finite number"),
        "huge.csv": ("a\n1\n2\n1e200\n", "rescale the column"),
        "few.csv": ("1\n2\n", "n_clusters=3"),
        "bad.parquet": ("PAR1", "bad.parquet"),
        "bad.npy": ("nothing", "bad.npy"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_text(content)
        done = run(tmp_path / name, "-k", 3, "--labels", tmp_path / "none.csv")
        assert isinstance(done.exception, DataError), (name, done.output, done.exception)
        assert message in str(done.exception), name
    assert not (tmp_path / "none.csv").exists()
    for arguments, message in (
        ((), "either -k or --k-range"),
        (("--k-range", "5:2"), "first:last"),
        (("-k", 2, "--figure", tmp_path / "x.gif"), ".gif"),
        (("-k", 2, "--labels", tmp_path / "nowhere" / "x.csv"), "nowhere is not there"),
        (("--k-range", "2:3", "--labels", tmp_path / "x.csv"), "go with -k"),
        (("-k", 2, "--stream", "--exact", "-"), "only once"),
        (("-k", 2, "--max-memory", "much"), "not a size"),
    ):
        done = run(points, *arguments)
        assert done.exit_code == 2
        assert message in done.stderr


def test_what_cannot_be_read_twice_is_not_labelled(points, tmp_path):
    with piped(points):
        done = run("-", "--format", "csv", "-k", 3, "--max-memory", "100B", "--labels", tmp_path / "l.csv")
    assert isinstance(done.exception, DataError)
    assert "stdin can be read only once" in str(done.exception)
    assert not (tmp_path / "l.csv").exists()
