"""Options from a file: `onepass --config run.toml train data.svm`.

The file has one table per command, with the names of the options. What stands in the file gives way to an environment
variable (ONEPASS_TRAIN_DELTA=0.01), and that to the command line.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable
from typing import Any

import click

from onepass.errors import printable


def read(path: str, commands: tuple[str, ...], command: Callable[[str], click.Command | None]) -> dict[str, Any]:
    """The file as click takes defaults: command → parameter → value; every name in it is checked."""
    try:
        with open(path, "rb") as file:
            said = tomllib.load(file)
    except OSError as error:
        raise click.UsageError(f"--config: {printable(path)}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--config: {printable(path)}: not TOML: {error}") from None
    defaults: dict[str, Any] = {}
    for name, table in said.items():
        if name not in commands or not isinstance(table, dict):
            raise click.UsageError(f"--config: {printable(path)}: [{name}] is no command{_hint(name, commands)}")
        found = command(name)
        assert found is not None
        known = {key: parameter for parameter in found.params for key in _keys(parameter)}
        defaults[name] = {}
        for key, value in table.items():
            if key not in known:
                raise click.UsageError(
                    f"--config: {printable(path)}: {name} has no option {key!r}{_hint(key, tuple(known))}"
                )
            defaults[name][known[key].name] = value
    return defaults


def text(context: click.Context) -> str:
    """The options in effect, wherever they come from, as such a file."""
    lines = [f"[{context.info_name}]"]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name != "print_config" and _keys(parameter) and value not in (None, ()):
            shown = list(value) if isinstance(value, tuple) else value
            lines.append(f"{_keys(parameter)[0]} = {_toml(shown)}")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    """JSON is TOML; what a terminal cannot show is escaped as both of them do it.

    >>> _toml("caf\u00e9 \x9b \U000e0001")
    '"café \\\\u009b \\\\U000e0001"'
    """
    text = json.dumps(value, ensure_ascii=False)
    return "".join(
        c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 1 << 16 else f"\\U{ord(c):08x}" for c in text
    )


def _keys(parameter: click.Parameter) -> list[str]:
    """The names of an option: long ones, with - or _."""
    if not isinstance(parameter, click.Option):
        return []
    names = [name.removeprefix("--") for name in parameter.opts if name.startswith("--")]
    return [*names, *(name.replace("-", "_") for name in names if "-" in name)]


def _hint(name: str, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
