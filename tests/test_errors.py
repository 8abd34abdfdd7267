"""Errors are data: each face puts them into its own words."""

import pickle
from pathlib import Path

import pytest

from onepass.cli.inputs import Reading
from onepass.cli.spelling import words
from onepass.errors import Argument, DataError, Phrase, advises
from onepass.io import open_stream

IO = Path(__file__).resolve().parent.parent / "src" / "onepass" / "io"


@pytest.mark.parametrize(
    ("argument", "python", "option"),
    [
        (Argument("unsorted", "sort"), "unsorted='sort'", "--unsorted sort"),
        (Argument("zero_based", True), "zero_based=True", "--zero-based"),
        (Argument("header", False), "header=False", "--no-header"),
        (Argument("target", 0), "target=0", "--target 0"),
        (Argument("max_features"), "max_features", "--max-features"),
        (Argument("text_column", like="NAME"), "text_column=NAME", "--text-column NAME"),
        (Argument("ignore", ["a b", "c"]), "ignore=['a b', 'c']", "--ignore 'a b' --ignore c"),
        (Argument("delimiter", ";"), "delimiter=';'", "--delimiter ';'"),
    ],
)
def test_python_names_arguments_and_the_command_line_options(argument, python, option):
    assert (str(argument), words(argument)) == (python, option)
    error = DataError("it is wrong", source="a.csv", remedy=Phrase("mend it, or {}", argument))
    assert str(error) == f"a.csv: it is wrong. Fix: mend it, or {python}"
    assert words(error) == f"a.csv: it is wrong. Fix: mend it, or {option}"
    assert advises(error.remedy, argument.name)
    assert not advises(error.remedy, "bits")


def test_an_argument_that_is_an_option_is_called_by_it_and_others_are_not():
    assert words(DataError("there is no column 'x'", source="a", argument="target")) == (
        "a: --target: there is no column 'x'"
    )
    assert words(DataError("too large", argument="X", row=3)) == "X: row 3: too large"


def test_an_error_in_an_error_and_one_from_a_worker_are_spelled_too():
    first = DataError("index 0", source="a.svm", line=2, remedy=Argument("zero_based", True))
    error = DataError(Phrase("no examples; the first: {}", first))
    for same in (error, pickle.loads(pickle.dumps(error))):
        assert str(same) == "no examples; the first: a.svm:line 2: index 0. Fix: zero_based=True"
        assert words(same) == "no examples; the first: a.svm:line 2: index 0. Fix: --zero-based"


def test_the_fields_of_an_error_say_where_it_is(tmp_path):
    file = tmp_path / "a.svm"
    file.write_text("1 1:1\n1 7:1 3:1\n")
    with pytest.raises(DataError) as caught, open_stream(file) as stream:
        list(stream)
    error = caught.value
    assert (error.source, error.line, error.column, error.value) == (str(file), 2, 7, b"1 7:1 3:1")
    assert (error.remedy.name, error.remedy.value) == ("unsorted", "sort")


def test_the_readers_know_no_options_of_a_program():
    flags = [f"--{name.replace('_', '-')}" for name in Reading.__dataclass_fields__]
    for path in IO.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [flag for flag in flags if flag in text], path.name
