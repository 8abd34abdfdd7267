"""The Python that does what a command would do: --show-code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onepass.cli.options import Arguments

if TYPE_CHECKING:
    from onepass.cli.distributed import Distribution
    from onepass.cli.inputs import Reading
    from onepass.cli.training import Learned


def program(
    paths: tuple[str, ...], output: str | None, learned: Learned, reading: Reading, distribution: Distribution
) -> str:
    """A training with these options of a `Pass`, in one process or several."""
    options, entries = learned.options, learned.entries
    import inspect

    from onepass.passes import Pass
    from onepass.training import entries_asked

    table = _is_table(paths, reading)

    defaults = {name: known.default for name, known in inspect.signature(Pass).parameters.items()}
    changed = {name: value for name, value in options.items() if name != "learner" and value != defaults[name]}
    read = _keywords(reading.in_python())
    if distribution.asked:
        race = {"race": list(entries)} if entries else {}
        arguments = _keywords({"learner": options["learner"]} | race | changed)
        if table:
            read = f", defaults=lambda format: {learned.usual('')!r}{read}"
            arguments += ", uncounted_rows=inputs.table.looked_at"
            encodings = "inputs.table.encodings"
            arguments += f", race={encodings} if len({encodings}) > 1 else None" if entries is None else ""
        lines = _on_workers(list(paths), arguments, read, distribution)
        save = "    merged.model().save"
    elif entries != () or table:  # which `train` looks at as the command does
        own: Arguments = {"learner": options["learner"]} if options["learner"] != "adaptive" else {}
        alone = entries == () and entries_asked(None, options, reading.arguments()) is None
        own |= {"race": "off"} if alone else {"race": list(entries)} if entries else {}
        lines = _by_train(list(paths), own | changed, read)
        save = "result.model.save"
    else:
        lines = _in_one_process(list(paths), f"{options['learner']!r}{_keywords(changed)}", read, "stop_at" in changed)
        save = "run.model().save"
    return "\n".join([*lines, f"{save}({output!r})"] if output else lines)


def _is_table(paths: tuple[str, ...], reading: Reading) -> bool:
    """Whether the rows have columns that are looked at first; of stdin only --format can tell."""
    from onepass.io import open_stream
    from onepass.io.formats import FORMATS

    if reading.format is not None:
        return FORMATS[reading.format].table
    if "-" in paths:
        return False
    with open_stream(list(paths), compression=reading.compression) as stream:
        return FORMATS[stream.format].table


def _in_one_process(paths: list[str], arguments: str, read: str, stops: bool) -> list[str]:
    return [
        "from onepass import Pass",
        "from onepass.io import open_stream",
        "",
        f"run = Pass({arguments})",
        f"with open_stream({paths if len(paths) > 1 else paths[0]!r}{read}) as stream:",
        "    for rows, labels, origin in stream:",
        "        run.feed(rows, labels)",
        *(["        if run.stopped:", "            break"] if stops else []),
        "print(run.certificate())",
    ]


def _by_train(paths: list[str], arguments: Arguments, read: str) -> list[str]:
    return [
        "from onepass import train",
        "",
        f"result = train({paths if len(paths) > 1 else paths[0]!r}{_keywords(arguments)}{read})",
        "print(result.certificate)",
    ]


def _on_workers(paths: list[str], arguments: str, read: str, distribution: Distribution) -> list[str]:
    connect = "local_workers" if distribution.local else "connect"
    where = f"{distribution.local}" if distribution.local else f"{distribution.dask!r}{_keywords(distribution.tls)}"
    return [
        f"from onepass.scale import {connect}, cut, learn",
        "",
        'if __name__ == "__main__":  # worker processes import this file',
        f"    inputs = cut({paths!r}, chunk_bytes={distribution.chunk_bytes}{read})",
        f"    with {connect}({where}) as client:",
        f"        merged = learn(inputs, client, waves={distribution.waves}{arguments})",
        "    print(merged.certificate())",
    ]


def _keywords(arguments: Arguments | dict[str, str]) -> str:
    """
    >>> _keywords({"a": 1, "b": "x"})
    ", a=1, b='x'"
    """
    return "".join(f", {name}={value!r}" for name, value in arguments.items())
