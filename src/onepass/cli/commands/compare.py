"""`onepass compare`: conversions of several learners and the entries of a race, from one reading, side by side."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, cast

import click
import numpy as np

from onepass.cli import columns, contenders, expected, feeding, inputs, kernels, memory, pages, terminal, training
from onepass.cli.contenders import Contender
from onepass.cli.options import Sectioned, Size, option, options_of
from onepass.cli.outputs import Outputs
from onepass.cli.spelling import certified
from onepass.names import LEARNERS
from onepass.text_table import text_table

if TYPE_CHECKING:
    from onepass.io import Stream
    from onepass.io.chunk import Labels as Given
    from onepass.labels import Label
    from onepass.models import LinearModel
    from onepass.passes import Pass
    from onepass.race import Race
    from onepass.rows import Floats, Ints
    from onepass.tables.plan import TablePlan


LEARNERS_SHOWN = "adaptive,pa,perceptron"


@dataclass(frozen=True)
class Comparison:
    """What is compared, and where it is shown."""

    learner: str | None = option(
        metavar="LEARNERS", help=f"Learners, with commas between.  [default: {LEARNERS_SHOWN}, or those of --race]"
    )
    tests: tuple[str, ...] = option(
        "--test", multiple=True, metavar="FILE", help="Measure the loss here too; may be repeated."
    )
    validation_fraction: float = option(type=float, default=0.0, help="Rows kept out, to compare validation too.")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite the page if it is there.")
    max_memory: int | None = option(type=Size(), help="Refuse a run that may need more.")
    race: str | None = option(
        metavar="off|ENTRIES",
        help="Entries, with commas between, as `train` has them: encodings plain, bins, crosses, or learners. None is "
        "dropped.  [default: the encodings that a table has]",
        about={"section": inputs.RACE},
    )

    @property
    def learners(self) -> list[str]:
        """The learners by name, each once; those of a race take part."""
        raced = [name for name in _names(self.race or "") if name in LEARNERS]
        if self.learner is None:
            return raced or _names(LEARNERS_SHOWN)
        names = _names(self.learner)
        for name in names:
            if name not in LEARNERS:
                near = difflib.get_close_matches(name, LEARNERS, n=1)
                hint = f" Did you mean {near[0]}?" if near else ""
                raise click.UsageError(f"--learner: there is no {name!r}.{hint} There are {', '.join(LEARNERS)}")
        return [*dict.fromkeys([*names, *raced])]


def _names(text: str) -> list[str]:
    """Names with commas between, each once."""
    return [*dict.fromkeys(name.strip() for name in text.split(","))]


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

    Of a table, the encodings that `train` would race (plain, bins, crosses) are shown beside them, and none is dropped.

    The best comes first, with the command that trains it. The certificates are claimed together, so each is given at
    DELTA divided by their number. The command names that share: the whole DELTA is for who chooses before looking.

    \b
    Examples:
      onepass compare table.csv
      onepass compare table.csv --learner adaptive --race plain,bins
      onepass compare table.csv --race adaptive,pa --test test.csv
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
    names = contenders.asked(comparison.race, learners, options, reading)
    options = expected.declared(options, paths, reading, messages)
    used = training.peak_memory()
    with inputs.opened(paths, reading, training.Learned(options, names).usual) as stream:
        columns.look(stream)
        if stream.table is not None:
            options = columns.settled(options, stream.table, paths[0], reading, messages)
        compared = contenders.begin(learners, names, options, stream.table, reading)
        for one in compared:
            one.history = pages.watched(one.run, comparison.report, messages)
        race = _race(compared, learning.delta)
        limit = memory.MemoryLimit(race, stream, reading, comparison.max_memory, messages, used)
        trained = feeding.feed(compared[0].run, stream, reading, messages, look=limit.check, history=race)
    if trained.interrupted:
        raise SystemExit(trained.status)
    _judge(compared[1:], stream)
    found = _lines(compared, learning.delta, comparison, reading, stream.table)
    best, lines = found[0][0], [line for _, line in found]
    result = _result(compared, found, learning.delta)
    words = contenders.said(learning, comparison.validation_fraction, lines[0]["conversion"])
    result["train"] = contenders.command_for(lines[0], paths, stream.table, reading, words)
    if best.history is not None and "refused" not in lines[0]:
        result |= _more(best.run, trained, lines)
        own = best.run.certificate(lines[0]["conversion"], delta=lines[0]["delta"])
        result["details"] = pages.of_pass(best.history, stream, reading, options, own) | {"conversions": lines}
        result["report"] = pages.write(result, page)
    messages.result(result, lambda: _table(result, bool(comparison.tests)))
    if page is not None:
        messages.note(f"wrote {page.written}")
    outputs.settle()


def _race(compared: list[Contender], delta: float) -> Race:
    """All of them, to be fed by one reading; nobody is dropped."""
    from onepass.race import Race
    from onepass.standings import Entry

    entries = [Entry(one.entry or one.learner, one.history or one.run, one.encoding, one.features) for one in compared]
    return Race(entries, delta, first=None)


def _judge(compared: list[Contender], stream: Stream) -> None:
    """What reading showed, for those that were fed beside the first."""
    from onepass.training import judge

    for one in compared:
        judge(one.run, stream)


def _result(compared: list[Contender], found: list[tuple[Contender, terminal.Record]], delta: float) -> terminal.Record:
    """What is printed as JSON, but for the command; its rows and mistakes are those of the first line."""
    result: terminal.Record = {
        "command": "compare",
        "rows": found[0][0].run.rows,
        "mistakes": found[0][0].run.mistakes,
        "delta": delta,
        "conversions": [line for _, line in found],
    }
    entries = [one.entry for one in compared if one.entry is not None]
    return result | ({"entries": entries} if entries else {})


def _lines(
    compared: list[Contender],
    delta: float,
    comparison: Comparison,
    reading: inputs.Reading,
    table: TablePlan | None,
) -> list[tuple[Contender, terminal.Record]]:
    """What every learner and conversion certifies, the best first: of models before members, which are not deployed."""
    share = delta / sum(len(one.conversions) for one in compared)
    found = [
        (one, {**one.as_dict(conversion), **_line(one.run, conversion, share)})
        for one in compared
        for conversion in one.conversions
    ]
    if comparison.tests:
        _test(found, share, comparison.tests, reading, table)

    def rank(pair: tuple[Contender, terminal.Record]) -> tuple[bool, bool, bool, float]:
        line = pair[1]
        known = "refused" not in line
        lost = not known or line["risk"] is None
        return (
            not known,
            known and line["covers"] != "model",
            known and not line["informative"],
            math.inf if lost else line["risk"],
        )

    return sorted(found, key=rank)


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
    found: list[tuple[Contender, terminal.Record]],
    delta: float,
    tests: tuple[str, ...],
    reading: inputs.Reading,
    table: TablePlan | None,
) -> None:
    """Add the test error of every model that was certified, and its hinge loss where that was certified."""
    from onepass.tables.reading import narrowed

    lines = [line for _, line in found if "refused" not in line]
    models = [
        cast("LinearModel", one.run.model(line["conversion"], delta=delta))
        for one, line in found
        if "refused" not in line
    ]
    wrong, hinge, rows = np.zeros(len(models)), np.zeros(len(models)), 0
    classes = found[0][0].run.classes
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
    from onepass.certificates.rounding import probability_text

    found, delta = result["conversions"], result["delta"]
    hinge = any("test_hinge" in line for line in found)
    who = ["learner", *(["encoding"] if "encoding" in found[0] else []), "conversion"]
    rows = [[*who, "certified", "of", *("test error", "test hinge")[: tested + hinge]]]
    for line in found:
        measured = [
            f"{line[name]:.4f}" if name in line else "" for name in ("test_error", "test_hinge")[: tested + hinge]
        ]
        rows.append([*(line[name] for name in who), *_certified(line), *measured])
    lines = text_table(rows, f"{'<' * len(who)}><>").splitlines()
    lines += [f"{' '.join(line[name] for name in who)}: {line['refused']}" for line in found if "refused" in line]
    raced = [f"{line['entry']} {_certified(line)[0]}" for line in found if "entry" in line]
    if raced:
        lines.append(f"Entries of the race, frozen models, none dropped: {', '.join(raced)}.")
    sure = [line for line in found if "refused" not in line and not line["withheld"]]
    if sure:
        lines.append(f"With probability {probability_text(delta)} all certified numbers hold together.")
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
