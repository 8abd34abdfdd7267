"""`onepass newswire`: documents to try things on."""

from __future__ import annotations

from dataclasses import dataclass

import click

from onepass.cli import terminal
from onepass.cli.options import option, options_of
from onepass.cli.outputs import Outputs


@dataclass(frozen=True)
class Selection:
    """Which documents are drawn, and where they go."""

    output: str = option("-o", "--output", required=True, help="Write svmlight here.")
    force: bool = option(is_flag=True, help="Overwrite OUTPUT if it is there.")
    skip: int = option(type=click.IntRange(0), default=0, help="Documents to leave out before.")
    categories: str = option(default="CCAT,GCAT", help="Two or more, separated by commas.")
    seed: int = option(type=int, default=0, help="Another newswire.")


@click.command("newswire")
@click.argument("documents", type=click.IntRange(1))
@options_of(Selection)
@terminal.options
def command(documents: int, selection: Selection, messages: terminal.Messages) -> None:
    """Draw DOCUMENTS of a synthetic newswire: log2(1 + count) of each word, one category each.

    Two categories are labelled -1 and 1, more 0, 1, 2, … Document i depends on the seed and on i alone, so that
    --skip gives fresh ones.

    \b
    Examples:
      onepass newswire 20000 -o news.svm
      onepass newswire 1000 --skip 20000 -o fresh.svm
    """
    from onepass.datasets import Newswire
    from onepass.io import dump_svmlight

    outputs = Outputs()
    place = outputs.check("--output", selection.output, selection.force)
    assert place is not None
    names, skip = tuple(selection.categories.split(",")), selection.skip
    wire = Newswire(selection.seed)
    with place.opened() as file, terminal.progress("writing", documents, messages) as tick:
        for first in range(skip, skip + documents, 2048):
            last = min(first + 2048, skip + documents)
            with terminal.usage_errors(ValueError):
                rows, codes = wire.rows(first, last, names)
            dump_svmlight(file, rows, 2 * codes - 1 if len(names) == 2 else codes)
            tick(last - skip)
    result = {"command": "newswire", "documents": documents, "output": place.written}
    messages.result(result, lambda: f"wrote {documents:,} documents to {terminal.name(place.written)}")
    outputs.settle()
