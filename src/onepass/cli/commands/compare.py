"""`onepass compare`: every conversion of several learners, from one reading of the rows, side by side."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

import click
import numpy as np

from onepass.cli import columns, expected, inputs, kernels, pages, table_check, terminal, training
from onepass.cli.options import Sectioned, option, options_of
from onepass.cli.outputs import Outputs
from onepass.cli.spelling import certified
from onepass.names import CONVERSIONS, LEARNERS
from onepass.text_table import text_table

if TYPE_CHECKING:
    from onepass.history import History
    from onepass.io import Stream
    from onepass.io.chunk import Labels as Given
    from onepass.labels import Label
    from onepass.models import LinearModel
    from onepass.passes import Pass
    from onepass.rows import Floats, Ints
    from onepass.tables.plan import TablePlan


@dataclass(frozen=True)
class Comparison:
    """What is compared, and where it is shown."""

    learner: str = option(metavar="LEARNERS", default="adaptive,pa,perceptron", help="Learners, with commas between.")
    tests: tuple[str, ...] = option(
        "--test", multiple=True, metavar="FILE", help="Measure the loss here too; may be repeated."
    )
    validation_fraction: float = option(type=float, default=0.0, help="Rows kept out, to compare validation too.")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite the page if it is there.")

    @property
    def learners(self) -> list[str]:
        """The learners by name, each once."""
        names = [*dict.fromkeys(name.strip() for name in self.learner.split(","))]
        for name in names:
            if name not in LEARNERS:
                near = difflib.get_close_matches(name, LEARNERS, n=1)
                hint = f" Did you mean {near[0]}?" if near else ""
                raise click.UsageError(f"--learner: there is no {name!r}.{hint} There are {', '.join(LEARNERS)}")
        return names


class SeveralPasses:
    """Passes that are fed the same rows, each under watch if somebody will look."""

    def __init__(self, runs: list[Pass], histories: list[History | None]) -> None:
        self.runs, self.histories = runs, histories
        self.options = runs[0].options

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.runs[0].classes

    def feed(self, rows: Any, labels: Any) -> None:
        """Feed all of them."""
        for run, history in zip(self.runs, self.histories, strict=True):
            (history or run).feed(rows, labels)


OTHERS = [one.name for one in fields(training.Learning) if one.name != "learner"]


@click.command("compare", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@options_of(Comparison)
@options_of(training.Learning, "Learning", only=OTHERS)
@inputs.options
@terminal.message_options
def command(
    paths: tuple[str, ...],
    comparison: Comparison,
    learning: training.Learning,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> None:
    """Learn from FILE... once, with several learners at a time, and show what every conversion makes of each.

    The best comes first, with the command that trains it. The certificates are claimed together, so each is given at
    DELTA divided by their number; a single `train` with the whole DELTA is certified better, and may choose another
    cutoff or candidate.

    \b
    Examples:
      onepass compare table.csv --learner adaptive,pa
      onepass compare train.svm --test test.svm --learner margin --radius auto
      onepass compare train.svm --test test.svm --report page.html
    """
    learners = comparison.learners
    kernels.tell_if_missing(messages, LEARNERS[learners[0]][1])
    outputs = Outputs((*paths, *comparison.tests))
    page = pages.check(outputs, comparison.report, comparison.force)
    outputs.claim("--on-error", reading.quarantine)
    options = learning.arguments() | {
        "conversion": "cutoff",  # which needs what the pass keeps; with `watch` all others come of it too
        "watch": True,
        "validation_fraction": comparison.validation_fraction,
        "max_features": reading.max_columns,
    }
    options = expected.declared(options, paths, reading, messages)
    with inputs.opened(paths, reading, inputs.found) as stream:
        columns.look(stream)
        if stream.table is not None:
            options = columns.settled(options, stream.table, paths[0], reading, messages)
        runs = [training.make(options | {"learner": name}) for name in learners]
        histories = [pages.watched(run, comparison.report, messages) for run in runs]
        trained = training.feed(runs[0], stream, reading, messages, history=SeveralPasses(runs, histories))
    if trained.interrupted:
        raise SystemExit(trained.status)
    _judge(runs[1:], stream)
    found = _lines(runs, learners, learning.delta, comparison, reading, stream.table)
    mistakes = dict(zip(learners, (run.mistakes for run in runs), strict=True))
    result: terminal.Record = {
        "command": "compare",
        "rows": runs[0].rows,
        "mistakes": mistakes,
        "delta": learning.delta,
    }
    result |= {"conversions": found, "train": _winner(found, paths, stream, reading)}
    best = learners.index(found[0]["learner"])
    history = histories[best]
    if history is not None and "refused" not in found[0]:
        result |= _more(runs[best], trained, found)
        own = runs[best].certificate(found[0]["conversion"], delta=found[0]["delta"])
        result["details"] = pages.of_pass(history, stream, reading, options, own) | {"conversions": found}
        result["report"] = pages.write(result, page)
    messages.result(result, lambda: _table(result, bool(comparison.tests)))
    if page is not None:
        messages.note(f"wrote {page.written}")
    outputs.settle()


def _judge(runs: list[Pass], stream: Stream) -> None:
    """What reading showed, for those that were fed beside the first."""
    for run in runs:
        training.judge(run, stream)


def _lines(
    runs: list[Pass],
    learners: list[str],
    delta: float,
    comparison: Comparison,
    reading: inputs.Reading,
    table: TablePlan | None,
) -> list[terminal.Record]:
    """What every learner and conversion certifies, the best first: of models before members, which are not deployed."""
    names = [name for name in CONVERSIONS if name != "validation" or comparison.validation_fraction]
    share = delta / (len(names) * len(runs))
    found = [
        {"learner": learner, **_line(run, name, share)}
        for learner, run in zip(learners, runs, strict=True)
        for name in names
    ]
    if comparison.tests:
        _test(dict(zip(learners, runs, strict=True)), found, share, comparison.tests, reading, table)

    def rank(line: terminal.Record) -> tuple[bool, bool, bool, float]:
        known = "refused" not in line
        lost = not known or line["risk"] is None
        return (
            not known,
            known and line["covers"] != "model",
            known and not line["informative"],
            math.inf if lost else line["risk"],
        )

    return sorted(found, key=rank)


def _winner(found: list[terminal.Record], paths: tuple[str, ...], stream: Stream, reading: inputs.Reading) -> str:
    """The command that trains the first line."""
    words = table_check.command_for(paths, stream.table, reading)
    return f"{words} --learner {found[0]['learner']} --conversion {found[0]['conversion']}"


def _more(run: Pass, trained: training.LocalTraining, found: list[terminal.Record]) -> terminal.Record:
    """What a page says of the pass; its headline is the best that is certified of a model, which δ/c each allows."""
    certificate = {name: value for name, value in found[0].items() if name in run.certificate().as_dict()}
    known: terminal.Record = {
        "rounds": run.rounds,
        "mistakes": run.mistakes,
        "features": run.width,
        "classes": list(run.classes),
        "learner": repr(run.learner),
    }
    return {**known, "skipped": trained.stream.skipped, "certificate": certificate}


def _line(run: Pass, conversion: str, delta: float) -> terminal.Record:
    """What a conversion certifies, or why it cannot."""
    from onepass.errors import ConversionError

    try:
        certificate = certified(run.certificate(conversion, delta=delta))
    except ConversionError as error:
        return {"conversion": conversion, "refused": str(error)}
    return {"conversion": conversion, "informative": certificate.informative, **certificate.as_dict()}


def _test(
    runs: dict[str, Pass],
    found: list[terminal.Record],
    delta: float,
    tests: tuple[str, ...],
    reading: inputs.Reading,
    table: TablePlan | None,
) -> None:
    """Add the test error of every model that was certified, and its hinge loss where that was certified."""
    from onepass.tables.reading import narrowed

    lines = [line for line in found if "refused" not in line]
    models = [cast("LinearModel", runs[line["learner"]].model(line["conversion"], delta=delta)) for line in lines]
    wrong, hinge, rows = np.zeros(len(models)), np.zeros(len(models)), 0
    classes = next(iter(runs.values())).classes
    with inputs.opened(tests, reading, lambda format: {"plan": table}) as stream:
        for chunk in stream:
            codes = _codes(classes, chunk.labels)
            for i, model in enumerate(models):
                given = chunk.rows if table is None else narrowed(chunk.rows, model.features)
                margin = _margins(model.decision(given), codes)
                wrong[i] += (margin <= 0).sum()
                hinge[i] += np.maximum(0.0, 1.0 - margin).sum()
            rows += len(codes)
    for i, line in enumerate(lines):
        line["test_error"] = wrong[i] / rows
        if line["loss"] == "hinge":
            line["test_hinge"] = hinge[i] / rows


def _codes(classes: tuple[Label, ...], labels: Given | None) -> Ints:
    from onepass.labels import Labels

    assert labels is not None  # a reader that is not told otherwise refuses rows without
    _, codes = Labels(classes, declared=True).encode(labels, len(labels))
    return (codes + 1) // 2 if len(classes) == 2 else codes


def _margins(decision: Floats, codes: Ints) -> Floats:
    """y·score, or the true class's score less the best other's."""
    if decision.ndim == 1:
        return (2 * codes - 1) * decision
    own: Floats = decision[np.arange(len(codes)), codes].copy()
    decision[np.arange(len(codes)), codes] = -np.inf
    best: Floats = decision.max(axis=1)
    return own - best


def _table(result: terminal.Record, tested: bool) -> str:
    from onepass.certificates.baseline import Baseline

    found, delta = result["conversions"], result["delta"]
    hinge = any("test_hinge" in line for line in found)
    rows = [["learner", "conversion", "certified", "of", *("test error", "test hinge")[: tested + hinge]]]
    for line in found:
        measured = [
            f"{line[name]:.4f}" if name in line else "" for name in ("test_error", "test_hinge")[: tested + hinge]
        ]
        rows.append([line["learner"], line["conversion"], *_certified(line), *measured])
    lines = text_table(rows, "<<><>").splitlines()
    lines += [f"{line['learner']} {line['conversion']}: {line['refused']}" for line in found if "refused" in line]
    sure = [line for line in found if "refused" not in line and not line["withheld"]]
    if sure:
        lines.append(f"With probability {100 * (1 - delta):g} % all certified numbers hold together.")
        if sure[0].get("baseline"):
            lines.append(f"For scale, {Baseline(**sure[0]['baseline'])} of the rows are misjudged.")
        lines.append(f"The first of them: {result['train']}")
    withheld = {line["withheld"] for line in found if line.get("withheld")}
    return "\n".join(lines + [f"No certificate: {reason}" for reason in sorted(withheld)])


def _certified(line: terminal.Record) -> list[str]:
    """The risk, and what it is one of."""
    from onepass.certificates import round_up

    if "refused" in line:
        return ["–", "refused"]
    risk = "withheld" if line["withheld"] else round_up(line["risk"]) if line["informative"] else "nothing yet"
    return [risk, f"{'0-1' if line['loss'] == 'zero_one' else 'hinge'}, {line['covers']}"]
