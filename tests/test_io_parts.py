"""The parts of a stream, each by itself: bad lines, the labels met."""

from types import SimpleNamespace

import numpy as np
import pytest

from onepass import DataError
from onepass.io.bad_lines import FAULTS, BadLines
from onepass.io.chunk import Origin
from onepass.io.lines import BadLine, LineError
from onepass.io.met_labels import MANY, MetLabels
from onepass.io.position import Position

SOURCE = SimpleNamespace(path="data.svm", head=b"1 1:1\n")


def bad(*numbers):
    return [BadLine(number, b"1 x", LineError("no number", 3)) for number in numbers]


def test_the_first_bad_line_stops_a_stream():
    lines = BadLines("svmlight", False, None)
    lines.judge([], SOURCE, 1)
    with pytest.raises(DataError, match="no number") as caught:
        lines.judge(bad(4, 5), SOURCE, 10)
    assert (caught.value.line, caught.value.column, lines.count) == (14, 3, 0)


def test_bad_lines_are_counted_and_written_elsewhere():
    written = []
    lines = BadLines("svmlight", True, written.append)
    lines.judge(bad(*range(FAULTS - 1)), SOURCE, 1)
    lines.judge(bad(0, 2), SOURCE, 100)
    assert (lines.count, lines.quarantined) == (FAULTS + 1, 4 * (FAULTS + 1))
    assert [fault.line for fault in lines.faults] == [*range(1, FAULTS), 100]
    assert b"".join(written) == b"1 x\n" * (FAULTS + 1)


def test_bad_lines_go_on_from_a_position():
    lines = BadLines("svmlight", True, None)
    lines.go_on(Position("svmlight", skipped=3, quarantined=12, faults=("data.svm:1: no number",)))
    lines.judge(bad(0), SOURCE, 7)
    assert (lines.count, lines.quarantined) == (4, 12)
    assert str(lines.faults[0]) == "data.svm:1: no number"
    assert lines.faults[1].line == 7


def test_a_label_is_met_where_it_stood_first():
    met = MetLabels()
    first, second = (Origin("data.svm", line, 0, 1, 1) for line in (1, 9))
    met.meet(None, first)
    met.meet(np.array(["b", "", "a"], object), first)
    met.meet(np.array(["a", "c"], object), second)
    assert met.first == {"b": first, "a": first, "c": second}
    assert str(met.note()) == "labels: a, b, c"


def test_labels_are_numbers_too_and_not_more_than_so_many():
    met, origin = MetLabels(), Origin("data.svm", 1, 0, 1, 1)
    met.meet(np.array([2.0, np.nan, 0.5]), origin)
    assert met.note().labels == "0.5, 2"
    met.meet(np.arange(1.0, 5000.0), origin)  # of one chunk, all
    met.meet(np.array([1e9]), origin)
    assert len(met.first) == 5000 > MANY
    assert met.note().labels.endswith("and 4990 more")
