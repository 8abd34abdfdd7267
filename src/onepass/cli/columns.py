"""What a table's first rows settle for a run, in words: its columns, which is the label, and which labels there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onepass.cli import inputs, terminal
from onepass.cli.options import Arguments
from onepass.io.formats import FORMATS

if TYPE_CHECKING:
    from onepass.cli.checkpoints import Checkpointer
    from onepass.cli.inputs import Reading
    from onepass.io import Stream
    from onepass.tables.plan import TablePlan

FOUND = ("uncounted_rows",)  # options of a pass that the first rows may settle


def resumed(options: Arguments, checkpointer: Checkpointer) -> Arguments:
    """The options of a run with what its first rows had settled, where it is resumed."""
    found = checkpointer.found
    if found is None:
        return options
    return options | {
        name: found.options[name] for name in FOUND if options.get(name) is None and name in found.options
    }


def look(stream: Stream) -> None:
    """Have the first rows of a table looked at; other formats have nothing to settle."""
    if FORMATS[stream.format].table:
        stream.look_ahead()


def settled(
    options: Arguments, table: TablePlan, path: str, reading: Reading, messages: terminal.Messages
) -> Arguments:
    """The options of a run with what the first rows of its table settle; said, line by line."""
    from onepass.training import settled_by

    for line in describe(table, reading.target is None):
        messages.note(line)
    return settled_by(table, options, path)


def describe(table: TablePlan, guessed: bool) -> list[str]:
    """One line for the label, and one for each kind of column."""
    values = ", ".join(inputs.label_text(label) for label in table.labels[:10])
    more = f" and {len(table.labels) - 10} more" if len(table.labels) > 10 else ""
    how = " (a guess: --target NAME says another)" if guessed else ""
    met = f"values {values}{more} (in the first rows)"
    label = [f"label: {terminal.name(table.target)}{how}, {met}"] if table.target is not None else []
    return [*label, *table.lines()]
