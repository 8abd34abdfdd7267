"""Who takes part in a comparison: learners, and the entries of a race; and the command that trains one of them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click

from onepass.cli import inputs, table_check, training
from onepass.cli.options import Arguments
from onepass.names import CONVERSIONS
from onepass.tables.plan import BINS, CROSSES, ENCODINGS, PLAIN

if TYPE_CHECKING:
    from onepass.history import History
    from onepass.passes import Pass
    from onepass.tables.plan import TablePlan

RACER = "adaptive"  # whose encodings race


@dataclass
class Contender:
    """A learner on one encoding of the rows, and the conversions of its pass that are shown."""

    learner: str
    run: Pass
    conversions: tuple[str, ...]
    encoding: str | None = None  # of a table
    features: int | None = None  # of the rows, the first so many are seen; None: all
    entry: str | None = None  # its name in the race, if it takes part in that
    history: History | None = None  # of the run, if somebody will look at it

    def as_dict(self, conversion: str) -> dict[str, Any]:
        """Who it is, in plain values."""
        found = {"learner": self.learner, "conversion": conversion, "mistakes": self.run.mistakes}
        if self.encoding is not None:
            found["encoding"] = self.encoding
        if self.entry is not None and conversion == "frozen":
            found["entry"] = self.entry
        return found


def asked(race: str | None, learners: Sequence[str], options: Arguments, reading: inputs.Reading) -> Any:
    """The entries of the race that `train` would hold, as `entries_asked` gives them."""
    from onepass.training import entries_asked

    if race is None and options["bound"] == "dekel2008":  # which certifies no frozen model
        return ()
    learning = options | {"learner": racer(learners), "conversion": "frozen"}
    try:
        names = entries_asked(race, learning, reading.arguments())
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None
    if names and options["bound"] == "dekel2008":
        raise click.UsageError("--bound dekel2008: frozen models are certified by betting; leave out --race")
    return names


def racer(learners: Sequence[str]) -> str:
    """Whose encodings race."""
    return RACER if RACER in learners else learners[0]


def begin(
    learners: Sequence[str],
    names: tuple[str, ...] | None,
    options: Arguments,
    table: TablePlan | None,
    reading: inputs.Reading,
) -> list[Contender]:
    """All that are compared: each learner with every conversion, and each entry of the race with frozen models."""
    from onepass.training import entries_of

    shown = tuple(name for name in CONVERSIONS if name != "validation" or options["validation_fraction"])
    encoding = None if table is None else _encoding(reading)
    seen = None if table is None or encoding is None else _seen(table, encoding)
    found = [
        Contender(name, training.make(options | {"learner": name}), shown, encoding, seen)  # "cutoff", and all others
        for name in learners
    ]
    entries = entries_of(names, table)
    if not entries:
        return found
    if table is None and entries[0] in ENCODINGS:
        raise click.UsageError(f"--race {','.join(entries)}: encodings are a table's, and these files are none")
    return _with_race(found, entries, options | {"learner": racer(learners), "conversion": "frozen"}, table)


def _with_race(
    found: list[Contender], names: tuple[str, ...], options: Arguments, table: TablePlan | None
) -> list[Contender]:
    """The same with the entries of a race: one that is there anyway only gets its name."""
    from onepass import race

    with training.usage_errors(options | {"race": names}):
        held = race.begin(names, options, table, first=None)
    more = []
    for entry in held.entries:
        own = (entry.name, found[0].encoding) if entry.encoding is None else (options["learner"], entry.encoding)
        there = next((one for one in found if (one.learner, one.encoding) == own), None)
        if there is not None:
            there.entry = entry.name
        else:
            more.append(Contender(own[0], entry.run, ("frozen",), own[1], entry.features, entry.name))
    return found + more


def _encoding(reading: inputs.Reading) -> str:
    """The encoding of a table that was asked for."""
    return CROSSES if reading.cross else BINS if reading.bins else PLAIN


def _seen(table: TablePlan, encoding: str) -> int | None:
    width = table.narrowed(encoding).width
    return None if width == table.width else width


# --- the command ------------------------------------------------------------------------------------------------------


def command_for(
    line: dict[str, Any],
    paths: tuple[str, ...],
    table: TablePlan | None,
    reading: inputs.Reading,
    options: Sequence[str],
) -> str:
    """The command that trains what a line of the comparison shows, and certifies it at the same share of δ."""
    learner, conversion, encoding = line["learner"], line["conversion"], line.get("encoding")
    words = [*_bad_lines(reading), *options]
    if table is not None and encoding is not None:
        own = table.narrowed(encoding)
        reading = replace(reading, bins=own.bins, cross=(reading.cross or ("all",)) if own.crosses else ())
        if (learner, conversion, encoding) == (RACER, "frozen", PLAIN):  # or all encodings would race
            words += ["--race", "off"]
    if "delta" in line:
        words += ["--delta", repr(line["delta"])]
    words += ["--learner", learner, "--conversion", conversion]
    return f"{table_check.command_for(paths, table, reading)} {shlex.join(words)}"


def said(learning: training.Learning, validation_fraction: float, conversion: str) -> list[str]:
    """The options of learning that are not at their defaults, as words of a command; without learner and δ.

    >>> said(training.Learning(radius=2.0, no_intercept=True, delta=0.1), 0.0, "last")
    ['--radius', '2.0', '--no-intercept']
    """
    words = []
    for one in fields(learning):
        value = getattr(learning, one.name)
        if value == one.default or one.name in ("learner", "delta"):
            continue
        if one.name == "on_drift" and conversion != "frozen":  # nothing is watched then
            continue
        words += [f"--{one.name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return words + (["--validation-fraction", str(validation_fraction)] if validation_fraction else [])


def _bad_lines(reading: inputs.Reading) -> list[str]:
    """What is to be done with them; the file that they went to is there now."""
    words = [] if reading.on_error == "stop" else ["--on-error", "skip"]
    return words if reading.max_bad == inputs.Reading.max_bad else [*words, "--max-bad", reading.max_bad]
