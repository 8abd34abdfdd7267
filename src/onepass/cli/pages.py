"""The option --report of every command that has something to show, and what its page needs from the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from onepass import __version__

if TYPE_CHECKING:
    from onepass.history import History
    from onepass.io import Stream
    from onepass.passes import Pass

option = click.option("--report", metavar="FILE", help="Write a page about this run here (one HTML file).")


def check(path: str | None, force: bool, name: str = "--report") -> None:
    """Say before the run, not after it, why the page could not be written."""
    if path is None:
        return
    if path == "-":
        raise click.UsageError(f"{name} - is not supported: print --json, and pipe it to onepass report - -o -")
    from importlib.util import find_spec

    missing = [module for module in ("jinja2", "matplotlib") if find_spec(module) is None]
    if missing:
        raise click.UsageError(f"{name} needs {' and '.join(missing)}: pip install 'onepass[report]'")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise click.UsageError(f"{name}: the folder {folder} is not there or cannot be written to")
    if os.path.isdir(path):
        raise click.UsageError(f"{name}: {path} is a folder")
    if os.path.exists(path) and not force:
        raise click.UsageError(f"{name}: {path} is there already; --force overwrites it")


def write(record: dict[str, Any], path: str | None) -> None:
    """Write the page of this result, if one was asked for."""
    if path is None:
        return
    from onepass.report.page import write as write_page
    from onepass.report.records import page_of

    write_page(page_of(record, path), path)


def watched(run: Pass, wanted: bool) -> Any:
    """The pass, watched while it is fed if somebody will look at its history."""
    if not wanted:
        return run
    from onepass.history import History

    return History(run)


def made(**more: Any) -> dict[str, Any]:
    """How the result came about: the command as it was typed, what computed it, and more that the caller knows."""
    import platform
    import shlex
    from importlib.metadata import version

    typed = click.get_current_context().find_root().obj
    numbers = {name: version(name) for name in ("numpy", "scipy", "numba")}
    versions = {"onepass": __version__, "python": platform.python_version(), **numbers}
    known = {"command": shlex.join(["onepass", *typed])} if isinstance(typed, list) else {}
    return {**known, **more, "versions": versions}


def identity(*paths: str) -> list[dict[str, Any]]:
    """What tells these files from others, as far as they are plain files."""
    from onepass.io.sources import expand, identify

    found = [identify(path) for path in expand(paths)]
    return [{"path": known.path, "size": known.size, "ends": known.ends} for known in found if known is not None]


def of_pass(
    history: History,
    stream: Stream,
    reading: dict[str, Any],
    options: dict[str, Any],
    conversion: str | None = None,
) -> dict[str, Any]:
    """All that a page shows of a pass over files; the weights are those of `conversion`."""
    from onepass.cli import reading as reader
    from onepass.report import details

    run = history.run
    found = details.of_pass(run, history.finish())
    if run.rounds:
        names = reader.remember(reading, stream)
        weights: Any = run.model(conversion)
        found["weights"] = details.heaviest(weights.weights, run.classes, details.feature_names(names))
    return found | made(data=identity(*stream.paths), options=options | reader.said(reading), notes=list(stream.notes))
