"""`onepass report`: one HTML file about a run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from onepass.cli import pages, terminal
from onepass.cli.outputs import Outputs


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--output", metavar="FILE", help="The page; - is stdout.  [default: RUN with the ending .html]")
@click.option("--force", is_flag=True, help="Overwrite the page if it is there.")
@terminal.options
def command(runs: tuple[str, ...], output: str | None, force: bool, messages: terminal.Messages) -> None:
    """Make one HTML file from a run: it needs no network and no scripts, and holds all its figures.

    RUN is what train, compare, experts, cluster or lab printed with --json (or --jsonl), or a saved model, or both: a
    model knows its weights and its certificate, but not the curves. Those commands write the page at once with
    --report page.html.

    \b
    Examples:
      onepass train data.svm --jsonl > run.jsonl && onepass report run.jsonl -o report.html
      onepass report model.safetensors
      onepass compare data.svm --test test.svm --json | onepass report - -o report.html
    """
    from onepass.errors import DataError
    from onepass.report import records
    from onepass.report.page import render

    if output is None and runs[0] == "-":
        raise click.UsageError("--output is needed when RUN is stdin")
    target = output or str(Path(runs[0]).with_suffix(".html"))
    outputs = Outputs(files=runs)
    if target == "-":
        outputs.claim("--output", target)
    place = pages.check(outputs, None if target == "-" else target, force, "--output")
    found = []
    for path in runs:
        try:
            data = records.parse(sys.stdin.buffer.read(), "stdin") if path == "-" else records.read(path)
        except OSError as error:
            raise DataError(f"cannot open: {error.strerror}", source=path) from None
        found.append(data)
    page = records.page_of(records.join_records(found, list(runs)), runs[0])
    if place is None:
        terminal.data(render(page))
        return
    text = render(page)
    with place.opened() as file:
        file.write(text.encode())
    result = {"command": "report", "output": place.written}
    messages.result(result, lambda: f"wrote {terminal.name(place.written)}")
    outputs.settle()
