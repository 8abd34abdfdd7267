"""`onepass cluster`: its table, files, figures, JSON, and what it says of bad files."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from onepass.cli.cluster import command, read_points
from onepass.cluster import KMeans
from onepass.errors import DataError


@pytest.fixture
def points(tmp_path):
    """Three clusters of two columns in a CSV with a header."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 30, axis=0)
    path = tmp_path / "points.csv"
    np.savetxt(path, X, delimiter=",", header="width,height", comments="")
    return path


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_the_command_prints_a_table_and_writes_every_format(points, tmp_path):
    for kind in ("csv", "parquet", "npy"):
        labels, centres = tmp_path / f"labels.{kind}", tmp_path / f"centres.{kind}"
        done = run(points, "-k", 3, "--labels", labels, "--centres", centres, "--figure", tmp_path / f"{kind}.png")
        assert done.exit_code == 0, done.output
        assert "90 points, 3 clusters" in done.output
        assert "proved limit" in done.output
        if kind != "npy":
            table, names = read_points(labels)
            assert names == ["label"]
            assert sorted(np.bincount(table[:, 0].astype(int))) == [30, 30, 30]
            assert read_points(centres)[1] == ["width", "height"]
        assert read_points(centres)[0].shape == (3, 2)
    assert np.load(tmp_path / "labels.npy").shape == (90,)
    assert (tmp_path / "csv.png").read_bytes().startswith(b"\x89PNG")
    assert "--force" in run(points, "-k", 3, "--labels", tmp_path / "labels.csv").output


def test_the_command_speaks_json_and_says_what_the_library_says(points):
    done = run(points, "-k", 3, "--json", "-q", "--threads", 2)
    result = json.loads(done.output)
    X = np.loadtxt(points, delimiter=",", skiprows=1)
    assert result["sizes"] == [30, 30, 30]
    assert result["inertia"] == -KMeans(3, init=result["centres"]).fit(X).score(X)
    assert result["quality"]["ratio"] >= 1
    assert json.loads(run(points, "-k", 3, "--json", "-q", "--threads", 1).output)["centres"] == result["centres"]


def test_the_command_draws_an_elbow(points, tmp_path):
    figure = tmp_path / "elbow.svg"
    done = run(points, "--k-range", "1:5", "--figure", figure, "--json", "-q")
    inertias = [row["inertia"] for row in json.loads(done.output)["k_range"]]
    assert inertias == sorted(inertias, reverse=True)
    assert b"<svg" in figure.read_bytes()
    assert run(points, "--k-range", "1:5").output.count("\n") >= 6


def test_the_command_explains_bad_files(points, tmp_path):
    cases = {
        "text.csv": ("a,b\n1,x\n2,y\n", "column 'b' holds string"),
        "hole.csv": ("a,b\n1,2\n3,\n", "column 'b' has no value in row 2"),
        "ragged.csv": ("1,2\n3\n", "Expected 2 columns"),
        "empty.csv": ("", "no points"),
        "nan.csv": ("a\n1\nnan\n", "no value in row 2"),
        "inf.csv": ("a\n1\n2\ninf\n", "infinity"),
        "few.csv": ("1\n2\n", "n_clusters=3"),
        "bad.parquet": ("PAR1", "bad.parquet"),
        "bad.npy": ("nothing", "not a readable .npy"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_text(content)
        done = run(tmp_path / name, "-k", 3)
        assert isinstance(done.exception, DataError), (name, done.output)
        assert message in str(done.exception), name
    for arguments, message in (
        ((), "either -k or --k-range"),
        (("--k-range", "5:2"), "first:last"),
        (("-k", 2, "--figure", tmp_path / "x.gif"), ".gif"),
        (("-k", 2, "--labels", tmp_path / "nowhere" / "x.csv"), "no folder"),
        (("--k-range", "2:3", "--labels", tmp_path / "x.csv"), "go with -k"),
    ):
        done = run(points, *arguments)
        assert done.exit_code == 2
        assert message in done.output
