"""Docstrings of all that is public have one style: a first line, every parameter, what comes back, an example."""

import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    *("certificates", "cluster", "conversions", "experts", "io", "lab.theory", "learners", "monitoring", "scale"),
    "smooth",
)
MODULES = ("lab.curves", "lab.experiments", "lab.teachers")  # without `__all__`: all that they define
ROOMS = ("onepass", *(f"onepass.{room}" for room in PACKAGES + MODULES))

# name → what it need not have, and why. Errors without an __init__ of their own need a first line alone: they are made
# of a message, and a function that returns None needs no Returns.
EXCUSED = {
    "onepass.io.Stream": ("parameters", "`open_stream` makes it, and has them"),
    "onepass.scale.Merged": ("parameters", "`learn` makes it, of what no user has"),
}


def public_names(room):
    module = importlib.import_module(room)
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [name for name, thing in vars(module).items() if name[0] != "_" and is_defined_in(thing, module)]


def is_defined_in(thing, module):
    return (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__ == module.__name__


def is_documented(thing):
    """Whether it is a class or a function: tables of names have a comment."""
    return inspect.isclass(thing) or inspect.isfunction(thing)


def sections(docstring):
    """Heading → text, of numpydoc sections.

    >>> sections("Say it.\\n\\nReturns\\n-------\\nstr\\n    What.")
    {'': 'Say it.', 'Returns': 'str\\n    What.'}
    """
    first, *rest = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(docstring), flags=re.M)
    return {"": first.strip()} | {heading: text.strip() for heading, text in zip(rest[::2], rest[1::2], strict=True)}


def names_in(text):
    """What a section Parameters or Attributes names, each with its type.

    >>> sorted(names_in("low, high : float\\n    Ends.\\n\\\\*\\\\*options\\n    Others."))
    ['high', 'low', 'options']
    """
    lines = re.findall(r"^(?:([\w, ]+) : \S.*|(?:\\\*)+(\w+))$", text, flags=re.M)
    return {name.strip() for named, starred in lines for name in (named or starred).split(",")}


def is_plain_error(thing):
    return inspect.isclass(thing) and issubclass(thing, Exception) and "__init__" not in vars(thing)


def parameters(thing):
    return [name for name in inspect.signature(thing).parameters if not name.startswith("_")]


def faults(thing):
    """What its docstring lacks: (what, in words)."""
    docstring = thing.__doc__ or ""
    parts = sections(docstring)
    if not parts[""] or docstring.startswith(f"{thing.__name__}("):  # dataclasses without one are given a signature
        return [("first line", "a first line")]
    if is_plain_error(thing):
        return []
    found = []
    told = names_in(parts.get("Parameters", "")) | names_in(parts.get("Attributes", ""))
    if missing := [name for name in parameters(thing) if name not in told]:
        found.append(("parameters", f"parameters {', '.join(missing)}"))
    if not inspect.isclass(thing) and "Returns" not in parts and inspect.signature(thing).return_annotation != "None":
        found.append(("returns", "Returns"))
    if ">>> " not in parts.get("Examples", ""):
        found.append(("example", "an example"))
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_say_all_that_a_caller_needs(room):
    module, lacking = importlib.import_module(room), []
    for name in public_names(room):
        thing = getattr(module, name)
        if not is_documented(thing):
            continue
        excused, _ = EXCUSED.get(f"{room}.{name}", ("", ""))
        lacking += [f"{room}.{name} lacks {words}" for what, words in faults(thing) if what != excused]
    assert not lacking, "\n".join(lacking)


def test_the_reference_names_nothing_without_a_docstring():
    """Its page is written when the site is built, from this table."""
    listed = runpy.run_path(str(ROOT / "docs" / "_ext" / "public_names.py"))
    lacking, seen = [], 0
    for room in listed["ROOMS"]:
        module = importlib.import_module(room)
        for name in listed["names_of"](room):
            excused, _ = EXCUSED.get(f"{room}.{name}", ("", ""))
            found = faults(getattr(module, name))
            lacking += [f"{room}.{name} lacks {words}" for what, words in found if what != excused]
            seen += 1
    assert seen > 100
    assert not lacking, "\n".join(lacking)


@pytest.mark.parametrize("name", EXCUSED)
def test_who_is_excused_needs_it(name):
    room, _, last = name.rpartition(".")
    what, _ = EXCUSED[name]
    assert what in [lacks for lacks, _ in faults(getattr(importlib.import_module(room), last))]


def bare(low, high=1.0):
    """Between them."""
    return low + high


def test_what_is_lacking_is_named():
    assert [words for _, words in faults(bare)] == ["parameters low, high", "Returns", "an example"]
