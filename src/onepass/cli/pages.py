"""The option --report of every command that has something to show, and what its page needs from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from onepass import __version__
from onepass.cli import spelling
from onepass.cli.options import Arguments
from onepass.cli.terminal import Messages, Record

if TYPE_CHECKING:
    from onepass.certificates import Certificate
    from onepass.cli import inputs
    from onepass.cli.outputs import Output, Outputs
    from onepass.history import History
    from onepass.io import Stream
    from onepass.passes import Pass
    from onepass.race import Race
    from onepass.scale.merged import Merged
    from onepass.scale.racing import MergedRace

OPTION: Arguments = {"metavar": "FILE", "help": "Write a page about this run here (one HTML file)."}  # --report


def check(outputs: Outputs, path: str | None, force: bool, name: str = "--report") -> Output | None:
    """The page, if one is wanted; says before the run, not after it, why it could not be written."""
    if path is None:
        return None
    if path == "-":
        raise click.UsageError(f"{name} - is not supported: print --json, and pipe it to onepass report - -o -")
    from importlib.util import find_spec

    missing = [module for module in ("jinja2", "matplotlib") if find_spec(module) is None]
    if missing:
        raise click.UsageError(f"{name} needs {' and '.join(missing)}: pip install 'onepass[report]'")
    return outputs.check(name, path, force)


def write(record: Record, page: Output | None) -> str | None:
    """Write the page of this result, if one was asked for; where it is."""
    if page is None:
        return None
    from onepass.report.page import render
    from onepass.report.records import page_of

    text = render(page_of(record, page.path))
    with page.opened() as file:
        file.write(text.encode())
    return page.written


def watched(
    run: Pass | Race, report: str | None, messages: Messages, before: Sequence[Sequence[Any]] = ()
) -> History | None:
    """The pass, to be fed under watch if somebody will look at its history; `before` is what an earlier run saw."""
    if not (report or messages.as_objects):
        return None
    from onepass.history import History

    history = History(run)
    history.recall(before)
    return history


def made(**more: Any) -> Record:
    """How the result came about: the command, what computed it, and more that the caller knows."""
    import platform
    from importlib.metadata import version

    numbers = {name: version(name) for name in ("numpy", "scipy", "numba")}
    versions = {"onepass": __version__, "python": platform.python_version(), **numbers}
    return {"command": command_line(click.get_current_context()), **more, "versions": versions}


# options that say where a result goes or how it is told, not what it is
ASIDE = (
    *("report", "force", "output", "figure", "labels", "centres", "as_json", "as_jsonl", "quiet", "verbose"),
    *("log_every", "print_config", "threads", "checkpoint", "checkpoint_every", "resume", "require_risk"),
)


def command_line(context: click.Context) -> str:
    """The command that gives this result again: its files, and every option that is not at its default, wherever it
    was set (command line, environment or file)."""
    import shlex

    words = context.command_path.split()
    arguments = list[str]()
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in ASIDE or value is None or value == _default(parameter, context):
            continue
        values = list(value) if isinstance(value, tuple) else [value]
        if isinstance(parameter, click.Argument):
            arguments += map(str, values)
            continue
        name = max(parameter.opts, key=len)
        if isinstance(value, bool):
            words.append(name if value else parameter.secondary_opts[0])
            continue
        for one in values:
            words += [name, f"{one[0]}:{one[-1]}" if isinstance(one, range) else str(one)]
    return shlex.join([*words, *arguments])


def _default(parameter: click.Parameter, context: click.Context) -> Any:
    if isinstance(parameter.default, bool | int | float | str | tuple | list):
        return parameter.type_cast_value(context, parameter.default)
    plain_flag = getattr(parameter, "is_flag", False) and not parameter.secondary_opts
    return () if parameter.multiple else False if plain_flag else None


def identity(*paths: str) -> list[Record]:
    """What tells these files from others, as far as they are plain files."""
    from onepass.io.sources import expand, identify

    found = [identify(path) for path in expand(paths)]
    return [{"path": known.path, "size": known.size, "ends": known.ends} for known in found if known is not None]


def of_pass(
    history: History,
    stream: Stream,
    reading: inputs.Reading,
    options: Arguments,
    certificate: Certificate | None = None,
) -> Record:
    """All that a page shows of a pass over files; the weights are those of the model that `certificate` speaks of."""
    from onepass.cli import inputs
    from onepass.report import details
    from onepass.report.weights import feature_names, heaviest

    run: Any = history.run
    found = details.of_pass(run, history.finish(), certificate)
    for line in found["conversions"]:
        if line.get("withheld"):
            line["withheld"] = spelling.words(line["withheld"])
    if run.rounds:
        names = inputs.remember(reading, stream)
        weights: Any = run.model(certificate)
        found["weights"] = heaviest(weights.weights, run.classes, feature_names(names, stream.feature_names))
    notes = [*map(spelling.words, stream.notes)]
    return found | made(data=identity(*stream.paths), options=_told(options, reading), notes=notes)


def of_workers(
    run: Merged | MergedRace, paths: Sequence[str], reading: inputs.Reading, read: Record, options: Arguments
) -> Record:
    """The same of what several workers have learned; how they came there they do not keep. `read`: as a model says."""
    from onepass.report.weights import feature_names, heaviest

    weights: Any = run.model()
    found = {"weights": heaviest(weights.weights, run.classes, feature_names(read, run.feature_names))}
    return found | made(data=identity(*paths), options=_told(options, reading), notes=[])


def _told(options: Arguments, reading: inputs.Reading) -> Record:
    """The options, as JSON can hold them: it has no keys of two parts."""
    told = options | reading.arguments()
    if told.get("cost"):
        told["cost"] = [[*pair, cost] for pair, cost in told["cost"].items()]
    return told
