"""What every command says and where: results on stdout, everything else on stderr, one JSON object for machines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from onepass.errors import DataError, OnepassError

SCHEMA = 1  # version of the objects that --json prints


def exit_code(error: OnepassError) -> int:
    """3 for bad data, 1 for the rest. (0 is success, 2 wrong usage.)"""
    return 3 if isinstance(error, DataError) else 1


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command has: --json and -q."""
    function = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(function)
    return click.option("-q", "--quiet", is_flag=True, help="Say nothing but the result and errors.")(function)


def console() -> Console:
    """A console on stdout that honours NO_COLOR, FORCE_COLOR and TERM=dumb."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def print_json(result: dict[str, Any]) -> None:
    """One object with its schema version; keys are the names of the API."""
    click.echo(json.dumps({"schema": SCHEMA, **result}, ensure_ascii=False))


@contextmanager
def progress(description: str, total: int | None, quiet: bool) -> Iterator[Callable[..., None]]:
    """A bar on stderr while the block runs; call the yielded function with (done) or (done, note="...").

    Without a terminal there is no bar; without a total there is a spinner and no invented end.
    """
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, note="": None
        return
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
        yield lambda done, note="": bar.update(task, completed=done, note=note)
