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

from onepass.cli.options import option, options_of
from onepass.cli.spelling import words
from onepass.errors import DataError, ModelError, OnepassError, printable
from onepass.text_table import text_table

Record = dict[str, Any]  # what --json prints of a command
SCHEMA = 2  # version of the objects that --json prints


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
    text = io.StringIO()
    error.show(text)
    echo(text.getvalue().removesuffix("\n"), err=True)


@contextmanager
def usage_errors(*kinds: type[Exception]) -> Iterator[None]:
    """What the library says of a wrong argument is wrong usage here; bad data stays bad data."""
    try:
        yield
    except DataError:
        raise
    except kinds as error:
        raise click.UsageError(str(error)) from None


@contextmanager
def opening(path: str) -> Iterator[None]:
    """A file that cannot be opened is wrong usage."""
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"{name(path)}: {error.strerror}") from None


def escaped(text: str) -> str:
    """The text with all control characters escaped but the ends of its lines."""
    return "\n".join(map(printable, text.split("\n")))


def name(text: object) -> str:
    """A path, name or label, on one line whatever it holds."""
    return printable(str(text))


def table(rows: Sequence[Sequence[str]], align: str) -> str:
    """The text of a table whose first row has the columns' names; see `text_table`. A cell stays on its line."""
    return text_table([[name(cell) for cell in row] for row in rows], align)


def print_table(rows: Sequence[Sequence[str]], align: str) -> None:
    """The table on stdout, its heading bold where colours are wanted."""
    heading, _, body = escaped(table(rows, align)).partition("\n")
    click.echo(click.style(heading, bold=True) if _coloured() else heading, color=True)
    if body:
        click.echo(body)


def _coloured() -> bool:
    """Whether stdout takes colours: NO_COLOR and FORCE_COLOR, then what it is."""
    if os.environ.get("NO_COLOR") or os.environ.get("FORCE_COLOR"):
        return not os.environ.get("NO_COLOR")
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@dataclass(frozen=True)
class Messages:
    """How a command talks."""

    as_json: bool = option("--json", is_flag=True, help="Print one JSON object instead of text.")
    as_jsonl: bool = option("--jsonl", is_flag=True, help="Print progress events and the result as JSON lines.")
    quiet: bool = option("-q", "--quiet", is_flag=True, help="Say nothing but errors, and what --json prints.")
    log_every: float = option(
        type=click.FloatRange(0.01), default=10.0, show_default=False, help="Seconds between lines without a terminal."
    )
    verbose: bool = option("-v", "--verbose", is_flag=True, help="Say more: where the time goes.")
    print_config: bool = option(is_flag=True, help="Print the options in effect as TOML and stop.")

    @property
    def terminal(self) -> bool:
        """Whether a bar may be drawn."""
        return not self.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def as_objects(self) -> bool:
        """Whether the result is printed for programs."""
        return self.as_json or self.as_jsonl

    def note(self, text: str) -> None:
        """Something worth knowing, on stderr, in one line."""
        if not self.quiet:
            echo(name(words(text)), err=True)

    def detail(self, text: str) -> None:
        """Something for those who want to know more, on stderr, in one line."""
        if self.verbose:
            echo(name(text), err=True)

    def result(self, result: Record, text: Callable[[], str]) -> None:
        """The result, on stdout."""
        if self.as_objects:
            print_json(({"event": "result"} if self.as_jsonl else {}) | result)
        elif not self.quiet:
            echo(text())


def _messages(**given: Any) -> Messages:
    """How to talk; or the options in effect, printed, and the end."""
    messages = Messages(**given)
    if messages.print_config:
        from onepass.cli import config

        echo(config.text(click.get_current_context()))
        raise click.exceptions.Exit(0)
    return messages


options = options_of(Messages, only=("quiet", "as_json"))  # of every command, which gets them as `messages`
message_options = options_of(Messages, "Talking", _messages)  # of commands that take long


def print_json(result: Record) -> None:
    """One object with its schema version; keys are the names of the API. ASCII: valid whatever a label holds."""
    data(json.dumps({"schema": SCHEMA, **result}) + "\n")


Tick = Callable[[int, Callable[[], str], Callable[[], Record]], None]


@contextmanager
def bar(total: int | None, messages: Messages) -> Iterator[Tick]:
    """A bar over bytes on stderr while the block runs; a spinner if their number is unknown; lines without a terminal.

    Call the yielded function as often as you like, with the bytes done, a note, and facts for machines: it shows them
    ten times a second, or every `log_every` seconds where there is no terminal.
    """
    start = last = time.perf_counter()

    def line(done: int, note: Callable[[], str], facts: Callable[[], Record]) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < messages.log_every:
            return
        last = now
        if messages.as_jsonl:
            print_json({"event": "progress", "seconds": round(now - start, 3), **facts()})
        else:
            messages.note((f"{done / total:4.0%}  " if total else "") + note())

    if not messages.terminal or messages.as_jsonl:
        yield line
        return
    from rich.progress import BarColumn, TaskProgressColumn, TimeRemainingColumn

    known = (BarColumn(bar_width=12), TaskProgressColumn(), TimeRemainingColumn(compact=True)) if total else ()
    with _drawn(known, total) as update:

        def draw(done: int, note: Callable[[], str], facts: Callable[[], Record]) -> None:
            nonlocal last
            if time.perf_counter() - last > 0.1:
                last = time.perf_counter()
                update(done, note())

        yield draw


@contextmanager
def progress(description: str, total: int | None, messages: Messages) -> Iterator[Callable[..., None]]:
    """A bar on stderr while the block runs; call the yielded function with (done) or (done, note="...").

    Without a terminal there is no bar; without a total there is a spinner and no invented end.
    """
    if not messages.terminal:
        yield lambda done, note="": None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    end = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) if total else (TextColumn("{task.completed:,}"),)
    with _drawn((TextColumn("{task.description}"), *end), total, description) as update:
        yield update


@contextmanager
def _drawn(columns: Sequence[Any], total: int | None, description: str = "") -> Iterator[Callable[..., None]]:
    """A line of rich's: a spinner, these columns, a note."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    note = TextColumn("{task.fields[note]}")
    with Progress(SpinnerColumn(), *columns, note, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(description, total=total, note="")
        yield lambda done, note="": shown.update(task, completed=done, note=escaped(note))
