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
WIDTH = 76  # characters of code that a page shows without a scroll bar, on a window of 1,200 pixels
BREAKS = re.compile(r" (?=--?[a-z]|[|] |&& )")  # before an option or another command
REMARK = re.compile(r" {2,}\((.+)\)$")  # behind a command


def paragraphs(text: str) -> list[str]:
    """A command's docstring as Markdown: what click leaves as it is (after a line \\b) is a block of code."""
    found = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b"):
            title, *lines = part.removeprefix("\b").strip("\n").split("\n")
            if title.startswith("onepass "):  # examples without a title
                title, lines = "Examples:", [title, *lines]
            language = "sh" if title == "Examples:" else "text"
            shown = inspect.cleandoc("\n".join(lines)).split("\n")
            if language == "sh":
                shown = [part for line in shown for part in command_lines(line)]
            found += [f"**{title.rstrip(':')}**", f"```{language}\n" + "\n".join(shown) + "\n```"]
        else:
            found.append(marked(part))
    return found


def command_lines(line: str) -> list[str]:
    """An example's lines: a remark becomes a comment above it, and what is too long goes on in the next line.

    >>> command_lines("onepass train data.svm      (tells, and writes nothing)")
    ['# tells, and writes nothing', 'onepass train data.svm']
    """
    remark = REMARK.search(line)
    found, line = ([f"# {remark[1]}"], line[: remark.start()]) if remark else ([], line)
    start = ""
    while len(start + line) > WIDTH:
        places = [at.start() for at in BREAKS.finditer(line) if len(start) + at.start() <= WIDTH - 2]
        if not places:
            break
        found.append(f"{start}{line[: places[-1]]} \\")
        start, line = "  ", line[places[-1] + 1 :]
    return [*found, start + line]


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
    if isinstance(command, click.Group):
        parts += subcommands(command, own)
    return "\n\n".join(parts) + "\n"


def subcommands(group: click.Group, context: click.Context) -> list[str]:
    """What a group's own commands do, and their options: one that several have is told once."""
    rows: list[str] = []
    told: dict[str, dict[str, list[str]]] = {}  # an option → its help → who has it
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        rows.append(f"| `onepass {context.info_name} {name}` | {marked(command.help or '')} |")
        for parameter in command.get_params(click.Context(command, info_name=name, parent=context)):
            if (record := parameter.get_help_record(context)) is not None and "--help" not in record[0]:
                told.setdefault(record[0], {}).setdefault(record[1], []).append(name)
    table = "\n".join(["| command | what it shows |", "|---|---|", *rows])
    found = ["## Commands", table, "## Options of each command"]
    for names, helps in told.items():
        lines = [f"`{names}`"]
        for help, having in helps.items():
            only = "" if len(having) == len(rows) else f" ({', '.join(having)})"
            lines.append(f": {marked(help)}{escaped(only)}")
        found.append("\n".join(lines))
    return found


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
