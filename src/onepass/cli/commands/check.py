"""`onepass check`: is this file what it should be, before an hour is spent on it?"""

from __future__ import annotations

from collections import Counter
from functools import partial

import click
import numpy as np

from onepass.cli import inputs, terminal
from onepass.cli.options import Sectioned
from onepass.cli.spelling import words
from onepass.io.formats import FORMATS


@click.command("check", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@inputs.options
@terminal.message_options
def command(paths: tuple[str, ...], reading: inputs.Reading, messages: terminal.Messages) -> None:
    """Read FILE... from end to end and tell what is there: labels, width, density, bad lines, telling order.

    Bad lines of text are counted, and the first ten shown with what is wrong with them; in Parquet, Arrow, npy and npz
    the first bad row ends the check. Exit code 3 if there is one.

    \b
    Examples:
      onepass check data.svm.gz
      onepass check table.csv --target class
    """
    from onepass.guards.order import observe_labels, order_reason, order_state
    from onepass.io.stream import LabelNote
    from onepass.rows import Dense, count

    labels: Counter[float | str] = Counter()
    order, codes = order_state(2), dict[float | str, int]()
    rows = values = width = 0
    with inputs.opened(paths, reading, _lenient) as stream:
        with terminal.bar(stream.total_bytes, messages) as tick:
            for chunk in stream:
                rows += count(chunk.rows)
                if isinstance(chunk.rows, Dense):
                    width = max(width, chunk.rows.values.shape[1])
                    values += int(np.count_nonzero(chunk.rows.values))
                else:
                    width = max(width, int(chunk.rows.indices.max(initial=-1)) + 1)
                    values += chunk.rows.values.size
                if chunk.labels is not None:
                    labels.update(chunk.labels.tolist())
                    for label in chunk.labels.tolist():
                        codes.setdefault(label, -1 if not codes else 1)
                    observe_labels(order, np.array([codes[label] for label in chunk.labels.tolist()]))
                tick(stream.consumed, partial("{:,} rows".format, rows), partial(dict, rows=rows))
        reasons = [stream.duplicate_reason, order_reason(order) if len(labels) == 2 else None]
        notes = [*stream.notes, *filter(None, reasons)]
    shown = {inputs.label_text(label): n for label, n in sorted(labels.items(), key=lambda pair: str(pair[0]))}
    result = {
        "command": "check",
        "format": stream.format,
        "compression": stream.compression,
        "rows": rows,
        "features": width,
        "values": values,
        "labels": shown,
        "bad": stream.skipped,
        "bad_lines": [words(fault) for fault in stream.faults],
        "notes": [*map(words, notes)],
    }
    telling = [words(note) for note in notes if not isinstance(note, LabelNote)]  # the text has the labels anyway
    messages.result(result, lambda: _text(result, telling))
    if stream.skipped:
        raise SystemExit(3)


def _lenient(format: str) -> dict[str, str]:
    """Bad lines are counted where the format has lines."""
    return {} if FORMATS[format].binary else {"on_error": "skip"}


def _text(result: terminal.Record, notes: list[str]) -> str:
    density = result["values"] / max(1, result["rows"] * result["features"])
    labels = ", ".join(f"{label} ({n:,})" for label, n in list(result["labels"].items())[:20])
    lines = [
        f"{result['format']}, compression {result['compression']}",
        f"{result['rows']:,} rows, {result['features']:,} features, {density:.3%} of the values are not zero",
        f"labels: {labels}",
        f"bad lines: {result['bad']:,}",
        *(f"  {line}" for line in result["bad_lines"]),
        *(["  …"] if result["bad"] > len(result["bad_lines"]) else []),
        *(f"note: {note}" for note in notes),
    ]
    return "\n".join(lines)
