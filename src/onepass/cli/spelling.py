"""What the library calls by its argument, as an option: unsorted='sort' is --unsorted sort here."""

from __future__ import annotations

import shlex
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from onepass.errors import Argument, spelled

if TYPE_CHECKING:
    from onepass.certificates import Certificate


def words(thing: object) -> str:
    """The words of an error, a note or a remedy, for somebody at a command line.

    >>> from onepass.errors import DataError
    >>> words(DataError("no column 'x'", source="a.csv", argument="target", remedy=Argument("ignore", ["a b"])))
    "a.csv: --target: no column 'x'. Fix: --ignore 'a b'"
    """
    return spelled(thing, _option)


def certified(found: Certificate) -> Certificate:
    """The certificate, with the reason why there is none in the words of a command line."""
    return found if found.withheld is None else replace(found, withheld=words(found.withheld))


def _option(argument: Argument) -> str:
    """
    >>> _option(Argument("header", False)), _option(Argument("text_column", like="NAME")), _option(Argument("X"))
    ('--no-header', '--text-column NAME', 'X')
    """
    value, name = argument.value, argument.name.replace("_", "-")
    if value is False:
        return f"--no-{name}"
    if argument.like or value is True:
        return f"--{name} {argument.like}".rstrip()
    if value is None:
        return f"--{name}" if argument.name in _known() else argument.name
    return " ".join(f"--{name} {shlex.quote(str(one))}" for one in (value if isinstance(value, list) else [value]))


def _known() -> set[str]:
    """The arguments that are options of some command, not rows or labels."""
    from onepass.cli.inputs import Reading
    from onepass.cli.training import Learning

    return {one.name for kind in (Reading, Learning) for one in fields(kind)}
