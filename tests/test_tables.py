"""What the command line names is what the library has: formats, learners, conversions, options, commands."""

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from onepass import conversions, learners
from onepass.cli import checkpoints, distributed, group, inputs, terminal, training
from onepass.cli.commands import train
from onepass.io.compression import COMPRESSIONS
from onepass.io.formats import FORMATS
from onepass.io.opener import open_stream
from onepass.io.sources import Limits
from onepass.passes import Pass

READING = {one.name for one in fields(inputs.Reading)}
READER_OPTIONS = {name for known in FORMATS.values() for name in known.options}
GROUPS = (
    *(train.Request, training.Learning, inputs.Reading, distributed.Distribution),
    *(checkpoints.Checkpointing, terminal.Messages),
)


def choices(kind, name):
    (option,) = [one for one in fields(kind) if one.name == name]
    return tuple(option.metadata["option"][1]["type"].choices)


def test_every_name_that_can_be_chosen_is_one_that_is_there():
    assert choices(inputs.Reading, "format") == tuple(FORMATS)
    assert choices(inputs.Reading, "compression") == COMPRESSIONS
    assert choices(training.Learning, "learner") == tuple(learners.NAMES)
    assert choices(train.Request, "conversion") == tuple(conversions.CONVERSIONS)
    assert [known.name for known in conversions.CONVERSIONS.values()] == list(conversions.CONVERSIONS)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_a_reader_that_keeps_to_its_entry(name):
    known = FORMATS[name]
    reader = known.load()
    assert {"works", "remarks", "splits"} <= set(dir(reader))
    assert known.hashed == ("bits" in known.options and name != "svmlight")  # where folding is a choice
    assert known.table == ("text_column" in known.options)
    assert known.suffixes
    assert all(suffix.startswith(".") for suffix in known.suffixes)


def test_no_two_formats_share_a_suffix_or_a_beginning():
    for names in (
        [s for known in FORMATS.values() for s in known.suffixes],
        [m for k in FORMATS.values() for m in k.magic],
    ):
        assert len(names) == len(set(names))


def test_every_reading_option_is_an_argument_and_the_other_way_round():
    taken = {*inspect.signature(open_stream).parameters, *Limits._fields, *READER_OPTIONS}
    assert READING - taken == {"max_bad"}
    unnamed = {
        "labelled",
        "features",
        "quote",
        "kinds",
        "named",
        "plan",
        "wide",
    }  # of a command or a model, and TSV's quotes
    assert unnamed == READER_OPTIONS - READING
    assert set(inputs.KEPT) <= READER_OPTIONS


def test_what_is_said_is_what_is_handed_on():
    assert inputs.Reading().arguments() == {}
    said = inputs.Reading(header=False, zero_based=True, categorical=("a",), on_error="skip", max_bad="3")
    assert said.arguments() == {"categorical": ("a",), "header": False, "zero_based": True}
    assert said.in_python() == said.arguments() | {"on_error": "skip"}
    assert inputs.Reading(on_error="quarantine=bad.txt").quarantine == "bad.txt"


def test_learning_options_are_arguments_of_a_pass():
    given = training.Learning(classes="1,2,x", no_intercept=True).arguments()
    assert set(given) <= set(inspect.signature(Pass).parameters)
    assert (given["classes"], given["fit_intercept"]) == ([1.0, 2.0, "x"], False)
    defaults = {name: p.default for name, p in inspect.signature(Pass).parameters.items()}
    assert {name for name, value in training.Learning().arguments().items() if value != defaults[name]} <= {"learner"}


@pytest.mark.parametrize("kind", GROUPS, ids=lambda kind: kind.__name__)
def test_the_defaults_of_a_group_of_options_are_those_of_the_program(kind):
    program = group.program.get_command(None, "train")
    values = program.make_context("train", ["data.svm"]).params
    assert kind(**{one.name: values[one.name] for one in fields(kind) if "option" in one.metadata}) == kind()


def modules_with_a_command():
    """The modules below onepass.cli that define `command`, by their last name; nothing is imported."""
    for path in Path(group.__file__).parent.rglob("*.py"):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if any(isinstance(node, ast.FunctionDef) and node.name == "command" for node in body):
            yield path.stem


def test_every_module_with_a_command_is_in_the_table():
    assert sorted(modules_with_a_command()) == sorted(group.COMMANDS)


@pytest.mark.parametrize("name", group.COMMANDS)
def test_a_command_of_the_table_is_one_with_help(name):
    assert group.COMMANDS[name].endswith(".")
    assert group.program.get_command(None, name).help
