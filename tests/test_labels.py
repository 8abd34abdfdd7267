"""Labels: whatever way they come in, the same classes and the same numbers."""

import numpy as np
import pytest

from onepass.errors import DataError
from onepass.labels import FIRST, Labels

KINDS = {
    "int64": lambda y: y.astype(np.int64),
    "float64": lambda y: y.astype(np.float64),
    "int32": lambda y: y.astype(np.int32),
    "strided": lambda y: np.repeat(y, 2)[::2],
    "list": lambda y: np.asarray(y).tolist(),
    "text": lambda y: np.asarray(y).astype(str),
    "objects": lambda y: np.asarray(y).astype(object),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("late", [1, FIRST - 1, FIRST, FIRST + 700])
def test_the_second_class_may_come_late(kind, late):
    y = np.full(late + 5, 3)
    y[late:] = [7, 7, 3, 7, 3]
    labels, codes = Labels().encode(KINDS[kind](y), len(y))
    assert labels.classes == (("3", "7") if kind == "text" else (3, 7))
    assert not labels.declared
    assert codes.dtype == np.int64
    assert codes.tolist() == [-1] * late + [1, 1, -1, 1, -1]
    first, codes = Labels().encode(KINDS[kind](y[:late]), late)
    assert len(first.classes) == 1
    assert codes.tolist() == [-1] * late
    again, codes = first.encode(KINDS[kind](y[late:]), 5)
    assert again == labels
    assert codes.tolist() == [1, 1, -1, 1, -1]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("classes", [(0, 1), (1, 0), (-1.0, 1.0), (False, True)])
def test_declared_classes_keep_their_order(dtype, classes):
    y = np.array([classes[1], classes[0], classes[1]], dtype)
    labels, codes = Labels.of(classes).encode(y, 3)
    assert labels.declared
    assert codes.tolist() == [1, -1, 1]


def test_labels_that_floats_cannot_tell_apart():
    a, b = 2**53, 2**53 + 1
    assert Labels.of([a, b]).encode(np.array([b, a]), 2)[1].tolist() == [1, -1]
    labels, codes = Labels().encode(np.array([a, b]), 2)
    assert labels.classes == (a, b)
    assert codes.tolist() == [-1, 1]
    with pytest.raises(DataError, match=f"row 1: label {b} "):
        Labels.of([a, 5]).encode(np.array([a, b]), 2)


@pytest.mark.parametrize(
    ("classes", "y", "message"),
    [
        (None, np.array([0.0, np.nan]), "row 1: label nan is not a finite number"),
        ([0, 1], np.array([0, 1, 2]), "row 2: label 2 is not one of the known classes 0, 1"),
        (None, np.arange(60), "row 50: label 50 is number 51, and at most 50 classes may be met"),
        ([0, 1], np.array([0.0, 0.5]), "row 1: label 0.5"),
        ([0, 0.5], np.array([0, 1]), "row 1: label 1"),
        (["a", "b"], np.array([0, 1]), "the classes are text, but these labels are numbers"),
        ([0, 1], np.array([[0, 1]]), "one label per row"),
        (None, np.array([b"a", b"b"]), r"row 0: label b'a' is bytes: decode them"),
        (None, np.array(["a", b"b"], object), r"row 1: label b'b' is bytes: decode them"),
        (["a", "b"], np.array([b"a", b"b"]), "is bytes"),
        (None, np.array([1, 2.0, np.nan], object), "row 2: label nan is not a finite number"),
        (None, ["a", np.nan], "row 1: label nan is not a finite number"),
        (None, np.array(["a", None], object), "row 1: label None is neither a number nor text"),
        (None, np.array([1, "a"], object), "row 1: label 'a' is text, but those before it are numbers"),
        (None, ["a", 1], "row 1: label 1 is a number, but those before it are text"),
        ([0, 1], np.array(["0", "1"], object), "the classes are numbers, but these labels are text"),
    ],
)
def test_labels_that_are_none_are_named(classes, y, message):
    with pytest.raises(DataError, match=message):
        Labels.of(classes).encode(y, len(y))


def test_one_kind_of_label_in_every_piece():
    labels, _ = Labels().encode(np.array([1, np.int64(2), 1.0], object), 3)
    assert labels.classes == (1, 2)
    with pytest.raises(DataError, match="the classes are numbers, but these labels are text"):
        labels.encode(np.array(["a", "b"], object), 2)


@pytest.mark.parametrize(
    ("classes", "message"),
    [([1, "a"], "place 1: label 'a' is text"), ([0.0, np.nan], "place 1"), ([b"a", b"b"], "bytes")],
)
def test_classes_that_are_none_are_named(classes, message):
    with pytest.raises(DataError, match=f"classes: .*{message}"):
        Labels.of(classes)
