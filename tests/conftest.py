"""Fixtures that several test modules take (a module's own stay in it), and the marker of a test's room."""

from pathlib import Path

import numpy as np
import pytest

from onepass.io import dump_svmlight
from rooms import rooms_of
from strategies import EXAMPLES


def pytest_collection_modifyitems(items):
    for item in items:
        for room in rooms_of(item.path.stem):
            item.add_marker(room)


def _writer(folder: Path, usual: str):
    def write(data, name=usual):
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return folder / name

    return write


@pytest.fixture
def file(tmp_path):
    """A function that writes bytes or text to a new file, data.svm unless named, and returns its path."""
    return _writer(tmp_path, "data.svm")


@pytest.fixture
def csv_file(tmp_path):
    """The same for data.csv."""
    return _writer(tmp_path, "data.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of the same rows for the program: good, bad, sorted by label, and as a table."""
    folder = tmp_path_factory.mktemp("cli")
    X, y = EXAMPLES
    dump_svmlight(folder / "data.svm", X, y)
    dump_svmlight(folder / "test.svm", X[:100], y[:100])
    words = np.where(y > 0, "yes", "no").tolist()
    lines = [",".join([*map(repr, x), word]) for x, word in zip(X.tolist(), words, strict=True)]
    (folder / "data.csv").write_text("\n".join(["a,b,c,d,e,f,g,h,class", *lines]) + "\n")
    (folder / "bad.svm").write_text("1 1:2\n-1 2:x\n1 3:1\n-1 1:1\n")
    order = np.argsort(y, kind="stable")
    dump_svmlight(folder / "sorted.svm", X[order], y[order])
    return folder
