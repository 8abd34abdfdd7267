"""Where the advice of `onepass experts` comes from: a table, or learners that read examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import click

from onepass.cli import inputs
from onepass.cli.options import option
from onepass.errors import DataError, advises

if TYPE_CHECKING:
    from onepass.rows import Floats

OF_ADVICE = {"format", "compression", "threads", "ignore", "allow_truncated"}  # of the reading options


class AdviceTable(NamedTuple):
    """A table of advice: the experts' names, what they say, and what came true; bad lines that were left out."""

    names: list[str]
    advice: Floats
    outcomes: Floats
    skipped: int


@dataclass(frozen=True)
class AdviceSource:
    """Where the advice comes from, if not from a table: examples, and learners of them."""

    data: str | None = option(
        metavar="EXAMPLES", help="Instead of FILE: examples; the experts are learners, trained on the way."
    )
    learners: str = option("--experts", default="adaptive,perceptron,margin,pa", help="Learners for --data.")
    outcome: str = option(default="outcome", help="The column that holds what came true.")


def read_advice(file: str, outcome: str, reading: inputs.Reading) -> AdviceTable:
    """The CSV in `file`: an empty cell is an expert who sleeps."""
    import numpy as np

    if out_of_place := sorted(reading.arguments().keys() - OF_ADVICE):
        raise click.UsageError(f"--{out_of_place[0].replace('_', '-')} is for --data, not for a FILE of advice.")
    table = replace(reading, format=reading.format or "csv")
    try:
        with inputs.opened((file,), table, target=outcome, missing="indicator", header=True) as stream:
            chunks = [(np.asarray(chunk.rows.values), chunk.labels) for chunk in stream]
            inputs.check_bad(stream, reading, at_the_end=True)
    except DataError as error:
        if error.argument == "target":
            error.remedy = "--outcome NAME"
        elif advises(error.remedy, "ignore"):
            error.remedy = "what an expert says is a number, or nothing if it sleeps; --ignore COLUMN leaves one out"
        raise
    outcomes = np.concatenate([labels for _, labels in chunks])
    if outcomes.dtype.kind != "f":
        raise DataError(f"column {outcome!r} holds text, not numbers", source=file)
    values = np.concatenate([values for values, _ in chunks])
    advice, asleep = np.split(values, 2, axis=1)
    if not advice.shape[1]:
        raise DataError(f"column {outcome!r} stands alone: at least one expert is needed", source=file)
    return AdviceTable(list(stream.columns or ()), np.where(asleep > 0.0, np.nan, advice), outcomes, stream.skipped)


def learned_advice(source: AdviceSource, reading: inputs.Reading) -> AdviceTable:
    """The advice of learners: 0 or 1 for every example, as each predicted it before learning from it.

    One pass each tells it all: a learner's prediction is the outcome but in the rounds of its mistakes.
    """
    import numpy as np

    from onepass.passes import Pass

    data, widest = str(source.data), reading.max_columns
    try:
        runs = {
            name: Pass(name, conversion="cutoff", order_alarm=False, max_trace_memory=1 << 62, max_features=widest)
            for name in source.learners.split(",")
        }
    except ValueError as error:
        raise click.UsageError(f"--experts: {error}") from None
    labels = []
    with inputs.opened((data,), reading) as stream:
        for chunk in stream:
            if chunk.labels is None:
                raise DataError("no labels to learn from", source=data, remedy="--target names the label's column")
            labels.append(chunk.labels)
            try:
                for run in runs.values():
                    run.feed(chunk.rows, chunk.labels)
            except DataError as error:
                raise stream.located(error) from None
        inputs.check_bad(stream, reading, at_the_end=True)
    classes = next(iter(runs.values())).classes
    outcomes = (np.concatenate(labels) == classes[-1]).astype(np.float64)
    advice = np.repeat(outcomes[:, None], len(runs), axis=1)
    for column, run in enumerate(runs.values()):
        updates = run.trace().need_updates("experts")
        wrong = updates.round[updates.margin <= 0.0] - 1
        advice[wrong, column] = 1.0 - outcomes[wrong]
    return AdviceTable(list(runs), advice, outcomes, stream.skipped)
