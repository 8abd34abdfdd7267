"""What is declared of the number of rows that files will have: see onepass.io.row_counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onepass.cli.options import Arguments

if TYPE_CHECKING:
    from onepass.cli.checkpoints import Checkpointer
    from onepass.cli.inputs import Reading
    from onepass.cli.terminal import Messages


def declared(
    options: Arguments,
    paths: tuple[str, ...],
    reading: Reading,
    messages: Messages,
    resumed: Checkpointer | None = None,
) -> Arguments:
    """The options of a pass with the number of rows that is expected, where nobody declared it and something watches.

    A run that is resumed goes on with the number that it began with.
    """
    rows = options["expected_rows"]
    if rows is None and (options["conversion"] == "frozen" or options.get("watch")):
        found = None if resumed is None else resumed.found
        rows = expected_rows(paths, reading) if found is None else found.options.get("expected_rows")
        many = "an unknown number of" if rows is None else f"about {rows:,}"
        messages.detail(f"expecting {many} rows (a price depends on it; --expected-rows N declares another)")
    return options | {"expected_rows": rows}


def expected_rows(paths: tuple[str, ...], reading: Reading) -> int | None:
    """How many rows these files have, about; None where one of them does not tell."""
    from onepass.io import row_counts

    return row_counts.expected_rows(paths, reading.format, reading.compression)
