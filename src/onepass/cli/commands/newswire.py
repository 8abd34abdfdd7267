"""`onepass newswire`: documents to try things on."""

from __future__ import annotations

import click

from onepass.cli import terminal
from onepass.cli.outputs import Outputs


@click.command("newswire")
@click.argument("documents", type=click.IntRange(1))
@click.option("-o", "--output", required=True, help="Write svmlight here.")
@click.option("--force", is_flag=True, help="Overwrite OUTPUT if it is there.")
@click.option("--skip", type=click.IntRange(0), default=0, show_default=True, help="Documents to leave out before.")
@click.option("--categories", default="CCAT,GCAT", show_default=True, help="Two or more, separated by commas.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another newswire.")
@terminal.options
def command(
    documents: int, output: str, force: bool, skip: int, categories: str, seed: int, as_json: bool, quiet: bool
) -> None:
    """Draw DOCUMENTS of a synthetic newswire: log2(1 + count) of each word, one category each.

    Two categories are labelled -1 and 1, more 0, 1, 2, … Document i depends on the seed and on i alone, so that
    --skip gives fresh ones.

    \b
    Examples:
      onepass newswire 20000 -o news.svm
      onepass newswire 1000 --skip 20000 -o fresh.svm
    """
    from onepass.datasets import Newswire
    from onepass.files import replacing
    from onepass.io import dump_svmlight

    outputs = Outputs()
    place = outputs.check("--output", output, force)
    assert place is not None
    names = tuple(categories.split(","))
    wire = Newswire(seed)
    with (
        place.writing(),
        replacing(output, overwrite=force) as file,
        terminal.progress("writing", documents, quiet) as tick,
    ):
        for first in range(skip, skip + documents, 2048):
            last = min(first + 2048, skip + documents)
            try:
                rows, codes = wire.rows(first, last, names)
            except ValueError as error:
                raise click.UsageError(str(error)) from None
            dump_svmlight(file, rows, 2 * codes - 1 if len(names) == 2 else codes)
            tick(last - skip)
    if as_json:
        terminal.print_json({"command": "newswire", "documents": documents, "output": place.written})
    else:
        terminal.echo(f"wrote {documents:,} documents to {terminal.name(place.written)}")
    outputs.settle()
