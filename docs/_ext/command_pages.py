"""A page for each command, written from the program itself: its words, its options in their sections, its defaults."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import click

from onepass.cli.commands.help import TOPICS
from onepass.cli.group import COMMANDS, program

CODE = re.compile(r"(`[^`]+`|(?<![\w-])--[a-z][\w-]*)")  # what the help quotes, and options


def paragraphs(text: str) -> list[str]:
    """A command's docstring as Markdown: what click leaves as it is (after a line \\b) is a block of code."""
    found = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b"):
            title, *lines = part.removeprefix("\b").strip("\n").split("\n")
            language = "sh" if title == "Examples:" else "text"  # commands are not wrapped: a line is to be copied
            found += [f"**{title.rstrip(':')}**", f"```{language}\n" + inspect.cleandoc("\n".join(lines)) + "\n```"]
        else:
            found.append(marked(part))
    return found


def marked(text: str) -> str:
    """Words that are no markup, but for what the help quotes and for options: they are code."""
    parts = CODE.split(text)  # every second one is code
    return "".join(f"`{part.strip('`')}`" if i % 2 else escaped(part) for i, part in enumerate(parts))


def escaped(text: str) -> str:
    """Words that are no markup."""
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, "\\" + sign)
    return text


def options(command: click.Command, context: click.Context) -> list[str]:
    """The options, a list for each section of the help."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # an argument without words stands in the usage
            sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
    found = []
    for name, records in sections.items():
        found += [f"## {name}", *(f"`{names}`\n: {marked(help)}" for names, help in records)]
    return found


def page(name: str) -> str:
    """One command."""
    context = click.Context(program, info_name="onepass")
    command = program.get_command(context, name)
    assert command is not None
    own = click.Context(command, info_name=name, parent=context)
    usage = " ".join(["onepass", name, *command.collect_usage_pieces(own)])
    parts = [f"# onepass {name}", f"```text\n{usage}\n```", *paragraphs(command.help or ""), *options(command, own)]
    return "\n\n".join(parts) + "\n"


def topics() -> str:
    """What `onepass help TOPIC` says."""
    parts = ["# Topics", "What `onepass help TOPIC` prints."]
    for name, text in TOPICS.items():
        parts += [f"## {name}", f"```{{code-block}} text\n:class: table-of-numbers\n\n{text}\n```"]  # it has columns
    return "\n\n".join(parts) + "\n"


def contents() -> str:
    """All commands."""
    context = click.Context(program, info_name="onepass")
    rows = [f"| [{name}](commands/{name}.md) | {marked(line)} |" for name, line in COMMANDS.items()]
    listed = "\n".join(
        ["```{toctree}", ":hidden:", "", *(f"commands/{name}" for name in COMMANDS), "commands/topics", "```"]
    )
    parts = ["# Command line", "Written from the program's own options and help.", listed]
    parts += [
        "\n".join(["| command | what it does |", "|---|---|", *rows]),
        "[Topics](commands/topics.md) explains what several commands share.",
    ]
    return "\n\n".join([*parts, *options(program, context)]) + "\n"


def write(app: Any) -> None:
    """All pages; one that has not changed is left alone, so that it is not read again."""
    folder = Path(app.srcdir) / "reference"
    pages = {"commands.md": contents(), "commands/topics.md": topics()}
    pages |= {f"commands/{name}.md": page(name) for name in COMMANDS}
    (folder / "commands").mkdir(exist_ok=True)
    for name, text in pages.items():
        if not (folder / name).exists() or (folder / name).read_text() != text:
            (folder / name).write_text(text)


def setup(app: Any) -> dict[str, bool]:
    write(app)  # now, so that the pages are there when Sphinx looks for its sources
    return {"parallel_read_safe": True}
