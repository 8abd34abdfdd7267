"""`onepass check`: is this file what it should be, before an hour is spent on it?"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import click
import numpy as np

from onepass.cli import inputs, table_check, terminal
from onepass.cli.options import Arguments, Sectioned
from onepass.cli.spelling import words
from onepass.io.formats import FORMATS

if TYPE_CHECKING:
    from onepass.io import Chunk, Stream


@click.command("check", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@inputs.options
@terminal.message_options
def command(paths: tuple[str, ...], reading: inputs.Reading, messages: terminal.Messages) -> None:
    """Read FILE... from end to end and tell what is there: columns, labels, gaps, repeated rows, bad lines.

    Of a table it says what each column is taken for, with examples, and prints the command that learns from it. Bad
    lines of text are counted, and the first ten shown with what is wrong with them; in Parquet, Arrow, npy and npz the
    first bad row ends the check. Exit code 3 if there is one.

    \b
    Examples:
      onepass check data.svm.gz
      onepass check table.csv
      onepass check table.csv --target class --json | jq .columns
    """
    look_through(paths, reading, messages)


def look_through(paths: tuple[str, ...], reading: inputs.Reading, messages: terminal.Messages) -> None:
    """Tell what is in the files; exit code 3 if there are bad lines."""
    from onepass.io.met_labels import LabelNote

    seen = Seen()
    with inputs.opened(paths, reading, _lenient) as stream:
        with terminal.bar(stream.total_bytes, messages) as tick:
            for chunk in stream:
                seen.look(chunk, stream)
                tick(stream.consumed, partial("{:,} rows".format, seen.rows), partial(dict, rows=seen.rows))
        notes = [*stream.notes, *filter(None, [stream.duplicate_reason]), *seen.reasons()]
    told = _of_table(seen, stream)
    notes += [*table_check.outgrown(told.get("columns", [])), *_in_the_way(seen, stream)]
    result = {
        "command": "check",
        "format": stream.format,
        "compression": stream.compression,
        **seen.told(),
        **told,
        "bad": stream.skipped,
        "bad_lines": [words(fault) for fault in stream.faults],
        "notes": [*map(words, notes)],
        "train": table_check.command_for(
            paths,
            stream.table,
            reading,
            bad=bool(stream.skipped or (seen.unlabelled and not FORMATS[stream.format].binary)),
        ),
    }
    telling = [words(note) for note in notes if not isinstance(note, LabelNote)]  # the text has the labels anyway
    messages.result(result, lambda: _text(result, telling))
    if stream.skipped:
        raise SystemExit(3)


class Seen:
    """What the rows of a file have shown."""

    def __init__(self) -> None:
        from onepass.guards import Guards

        self.rows = self.values = self.width = 0
        self.labels: Counter[float | str] = Counter()
        self.unlabelled = 0
        self.columns: table_check.ColumnCounts | None = None
        self._codes = dict[float | str, int]()
        self._guards = Guards(2, order=True, repeats=True)

    def look(self, chunk: Chunk, stream: Stream) -> None:
        """Look at some more of them."""
        from onepass.rows import Dense, count

        rows = chunk.rows
        self.rows += count(rows)
        if isinstance(rows, Dense):
            self.width = max(self.width, rows.values.shape[1])
            self.values += int(np.count_nonzero(rows.values))
        else:
            self.width = max(self.width, int(rows.indices.max(initial=-1)) + 1)
            self.values += rows.values.size
            if stream.table is not None:
                self.columns = self.columns or table_check.ColumnCounts(stream.table)
                self.columns.count(rows)
        labels = [""] * count(rows) if chunk.labels is None else chunk.labels.tolist()
        known = [label for label in labels if label not in ("", None) and label == label]  # NaN is not itself
        self.labels.update(known)
        self.unlabelled += len(labels) - len(known) if chunk.labels is not None else 0
        for label in labels:
            self._codes.setdefault(label, -1 if not self._codes else 1)
        self._guards.observe(rows, np.array([self._codes[label] for label in labels]))

    @property
    def repeated(self) -> float | None:
        """The share of the rows that equal an earlier one."""
        from onepass.guards.duplicates import share

        counted = self._guards.counted
        return None if counted is None else share(counted)

    def reasons(self) -> list[str]:
        """What no independent draws would show; of the labels' order only where there are two."""
        return list(self._guards.reasons()) if len(self.labels) == 2 else []

    def told(self) -> terminal.Record:
        """All of it, in plain values."""
        known = sorted(self.labels.items(), key=lambda pair: str(pair[0]))
        told = {"rows": self.rows, "features": self.width, "values": self.values, "repeated_rows": self.repeated}
        told["unlabelled_rows"] = self.unlabelled
        return {**told, "labels": {inputs.label_text(label): n for label, n in known}}


def _in_the_way(seen: Seen, stream: Stream) -> list[str]:
    """What keeps `train` from learning, or from learning anything, although every row could be read."""
    from onepass.labels import MOST

    found = []
    if stream.table is not None and stream.table.target is None:
        found.append("no column is plainly the label: --target NAME says which")
    if seen.unlabelled:
        left_out = "" if FORMATS[stream.format].binary else ", or leaves them out with --on-error skip"
        found.append(f"{seen.unlabelled:,} rows have no label: `train` stops at the first{left_out}")
    if len(seen.labels) > MOST:
        found.append(
            f"{len(seen.labels):,} different labels, and `train` takes {MOST}: another --target, or --max-classes"
        )
    if len(seen.labels) == 1:
        found.append("all rows have the same label: a model can only say that one")
    return found


def _of_table(seen: Seen, stream: Stream) -> terminal.Record:
    """What is known of a table's columns."""
    table, counts = stream.table, seen.columns
    if table is None or counts is None:
        return {}
    named = stream.feature_names
    met = len(table.numbers) + named.count if named is not None and not named.full else None
    return {
        "target": table.target,
        "columns": [counts.of(column, stream) for column in table.columns],
        "features_met": met,
    }


def _lenient(format: str) -> Arguments:
    """Bad lines are counted where the format has lines; a table need have no label."""
    found = {} if FORMATS[format].binary else {"on_error": "skip"}
    return found | (inputs.found(format) | {"labelled": False} if FORMATS[format].table else {})


def _text(result: terminal.Record, notes: list[str]) -> str:
    total = sum(result["labels"].values())
    labels = ", ".join(f"{label} {n:,} ({n / total:.1%})" for label, n in list(result["labels"].items())[:20])
    repeated = result["repeated_rows"]
    target = f" (column {terminal.name(result['target'])})" if result.get("target") is not None else ""
    lines = [
        f"{result['format']}, compression {result['compression']}",
        f"{result['rows']:,} rows, {_extent(result)}",
        *(["", *table_check.lines(result["columns"]), ""] if "columns" in result else []),
        f"labels{target}: {labels}" if labels else "labels: none",
        *([f"rows that equal an earlier one: {repeated:.2%}"] if repeated is not None else []),
        f"bad lines: {result['bad']:,}",
        *(f"  {line}" for line in result["bad_lines"]),
        *(["  …"] if result["bad"] > len(result["bad_lines"]) else []),
        *(f"note: {note}" for note in notes),
        f"to learn from it: {result['train']}",
    ]
    return "\n".join(lines)


def _extent(result: terminal.Record) -> str:
    if "columns" in result:
        met = result["features_met"]
        return (
            f"{len(result['columns'])} columns, {'more than a million' if met is None else format(met, ',')} features"
        )
    density = result["values"] / max(1, result["rows"] * result["features"])
    return f"{result['features']:,} features, {density:.3%} of the values are not zero"
