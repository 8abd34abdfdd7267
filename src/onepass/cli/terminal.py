"""What every command says and where: results on stdout, everything else on stderr, one JSON object for machines."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from onepass.errors import DataError, ModelError, OnepassError, printable
from onepass.text_table import text_table

SCHEMA = 1  # version of the objects that --json prints


def exit_code(error: OnepassError) -> int:
    """3 for bad data, 4 for a bad model file, 1 for the rest. (0 is success, 2 wrong usage.)"""
    return 3 if isinstance(error, DataError) else 4 if isinstance(error, ModelError) else 1


def echo(text: str, err: bool = False) -> None:
    """Words for people, on stdout or stderr: nothing in them moves the cursor, changes a colour or rings the bell.

    All words of all commands come through here (or through the bars below), so that no path, name or
    label has to be thought of. The end of a line stays; `name` is for what must not hold one.
    """
    click.echo(escaped(text), err=err)


def data(text: str) -> None:
    """Text for programs, on stdout, as it is."""
    click.echo(text, nl=False)


def show(error: click.ClickException) -> None:
    """Wrong usage or another error, on stderr, in click's words."""
    words = io.StringIO()
    error.show(words)
    echo(words.getvalue().removesuffix("\n"), err=True)


def escaped(text: str) -> str:
    """The text with all control characters escaped but the ends of its lines."""
    return "\n".join(map(printable, text.split("\n")))


def name(text: object) -> str:
    """A path, name or label, on one line whatever it holds."""
    return printable(str(text))


def table(rows: Sequence[Sequence[str]], align: str) -> str:
    """The text of a table whose first row has the columns' names; see `text_table`. A cell stays on its line."""
    return text_table([[name(cell) for cell in row] for row in rows], align)


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has: --json and -q."""
    function = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(function)
    return click.option("-q", "--quiet", is_flag=True, help="Say nothing but the result and errors.")(function)


@dataclass
class Say:
    """How a long command talks."""

    as_json: bool = False
    as_jsonl: bool = False
    quiet: bool = False
    log_every: float = 10.0
    verbose: bool = False

    @property
    def terminal(self) -> bool:
        """Whether a bar may be drawn."""
        return not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def aside(self, text: str) -> None:
        """Something worth knowing, on stderr, in one line."""
        if not self.quiet:
            echo(name(text), err=True)

    def detail(self, text: str) -> None:
        """Something for those who want to know more, on stderr, in one line."""
        if self.verbose:
            echo(name(text), err=True)

    def result(self, result: dict[str, Any], text: Callable[[], str]) -> None:
        """The result, on stdout."""
        if self.as_json or self.as_jsonl:
            print_json(({"event": "result"} if self.as_jsonl else {}) | result)
        else:
            echo(text())


def gathering(
    function: Callable[..., Any],
    name: str,
    choices: Sequence[Callable[..., Any]],
    make: Callable[[dict[str, Any]], Any],
    section: str,
) -> Callable[..., Any]:
    """The command with these options more; it gets what `make` makes of their values as one argument `name`.

    The help of a `Sectioned` command shows them under the heading `section`.
    """

    @click.pass_context
    def command(context: click.Context, /, **given: Any) -> Any:
        own = {key: given.pop(key) for key in keys}
        return context.invoke(function, **{name: make(own)}, **given)

    wrapped: Any = command
    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    wrapped.__click_params__ = list(getattr(function, "__click_params__", []))
    before = len(wrapped.__click_params__)
    for option in reversed(choices):
        wrapped = option(wrapped)
    keys = [parameter.name for parameter in wrapped.__click_params__[before:]]
    for parameter in wrapped.__click_params__[before:]:
        parameter.section = section
    return wrapped  # type: ignore[no-any-return]


def grouped(
    section: str, name: str, make: Callable[..., Any], *choices: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that adds these options to a command, which gets make(**values) as one argument `name`."""
    return lambda function: gathering(function, name, choices, lambda given: make(**given), section)


class Sectioned(click.Command):
    """A command whose many options are shown in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


_TALK = (
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text."),
    click.option("--jsonl", "as_jsonl", is_flag=True, help="Print progress events and the result as JSON lines."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but the result and errors."),
    click.option(
        "--log-every", type=click.FloatRange(0.01), default=10.0, help="Seconds between lines without a terminal."
    ),
    click.option("-v", "--verbose", is_flag=True, help="Say more: where the time goes."),
    click.option("--print-config", is_flag=True, help="Print the options in effect as TOML and stop."),
)


def talking(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that take long; the command gets them as `say`."""
    return gathering(function, "say", _TALK, _say, "Talking")


def _say(given: dict[str, Any]) -> Say:
    if given.pop("print_config"):
        from onepass.cli import config

        echo(config.text(click.get_current_context()))
        raise click.exceptions.Exit(0)
    return Say(**given)


def print_json(result: dict[str, Any]) -> None:
    """One object with its schema version; keys are the names of the API. ASCII: valid whatever a label holds."""
    data(json.dumps({"schema": SCHEMA, **result}) + "\n")


Tick = Callable[[int, Callable[[], str], Callable[[], dict[str, Any]]], None]


@contextmanager
def bar(total: int | None, say: Say) -> Iterator[Tick]:
    """A bar over bytes on stderr while the block runs; a spinner if their number is unknown; lines without a terminal.

    Call the yielded function as often as you like, with the bytes done, a note, and facts for machines: it shows them
    ten times a second, or every `log_every` seconds where there is no terminal.
    """
    start = last = time.perf_counter()

    def line(done: int, note: Callable[[], str], facts: Callable[[], dict[str, Any]]) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < say.log_every:
            return
        last = now
        if say.as_jsonl:
            print_json({"event": "progress", "seconds": round(now - start, 3), **facts()})
        else:
            say.aside((f"{done / total:4.0%}  " if total else "") + note())

    if not say.terminal or say.as_jsonl:
        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    known = (BarColumn(bar_width=12), TaskProgressColumn(), TimeRemainingColumn(compact=True)) if total else ()
    with Progress(
        SpinnerColumn(), *known, TextColumn("{task.fields[note]}"), console=Console(stderr=True), transient=True
    ) as shown:
        task = shown.add_task("", total=total, note="")

        def draw(done: int, note: Callable[[], str], facts: Callable[[], dict[str, Any]]) -> None:
            nonlocal last
            if time.perf_counter() - last > 0.1:
                last = time.perf_counter()
                shown.update(task, completed=done, note=escaped(note()))

        yield draw


@contextmanager
def progress(description: str, total: int | None, quiet: bool) -> Iterator[Callable[..., None]]:
    """A bar on stderr while the block runs; call the yielded function with (done) or (done, note="...").

    Without a terminal there is no bar; without a total there is a spinner and no invented end.
    """
    if not Say(quiet=quiet).terminal:
        yield lambda done, note="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    end = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) if total else (TextColumn("{task.completed:,}"),)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        *end,
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(description, total=total, note="")
        yield lambda done, note="": bar.update(task, completed=done, note=escaped(note))
