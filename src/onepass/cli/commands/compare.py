"""`onepass compare`: every conversion of one pass, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import numpy as np

from onepass.cli import expected, inputs, pages, terminal, training
from onepass.cli.options import Sectioned, option, options_of
from onepass.cli.outputs import Outputs
from onepass.names import CONVERSIONS

if TYPE_CHECKING:
    from onepass.io.chunk import Labels as Given
    from onepass.labels import Label
    from onepass.passes import Pass
    from onepass.rows import Floats, Ints


@dataclass(frozen=True)
class Comparison:
    """What is compared, and where it is shown."""

    tests: tuple[str, ...] = option(
        "--test", multiple=True, metavar="FILE", help="Measure the loss here too; may be repeated."
    )
    validation_fraction: float = option(type=float, default=0.1, help="Rows kept out, for validation.")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite the page if it is there.")


@click.command("compare", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@options_of(Comparison)
@training.options
@inputs.options
@terminal.message_options
def command(
    paths: tuple[str, ...],
    comparison: Comparison,
    learning: training.Learning,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> None:
    """Learn from FILE... once, and show what every conversion makes of it.

    The certificates are claimed together, so each is given at DELTA divided by their number; a single `train` with the
    whole DELTA may choose another cutoff or candidate.

    \b
    Examples:
      onepass compare data.svm
      onepass compare train.svm --test test.svm --learner margin --radius auto
      onepass compare train.svm --test test.svm --report page.html
    """
    tests, fraction = comparison.tests, comparison.validation_fraction
    outputs = Outputs((*paths, *tests))
    page = pages.check(outputs, comparison.report, comparison.force)
    outputs.claim("--on-error", reading.quarantine)
    options = learning.arguments() | {
        "conversion": "cutoff",  # which needs what the pass keeps; with `watch` all others come of it too
        "watch": True,
        "validation_fraction": fraction,
        "max_features": reading.max_columns,
    }
    options = expected.declared(options, paths, reading, messages)
    run = training.make(options)
    history = pages.watched(run, comparison.report, messages)
    with inputs.opened(paths, reading) as stream:
        trained = training.feed(run, stream, reading, messages, history=history)
    if trained.interrupted:
        raise SystemExit(trained.status)
    names = [name for name in CONVERSIONS if name != "validation" or fraction]
    delta = learning.delta / len(names)
    found = [_line(run, name, delta) for name in names]
    if tests:
        _test(run, found, delta, tests, reading)
    result: terminal.Record = {
        "command": "compare",
        "rows": run.rows,
        "mistakes": run.mistakes,
        "delta": learning.delta,
        "conversions": found,
    }
    if history is not None:
        result |= _more(run, trained, found)
        best = run.certificate(result["certificate"]["conversion"], delta=delta)
        result["details"] = pages.of_pass(history, stream, reading, options, best) | {"conversions": found}
        result["report"] = pages.write(result, page)
    messages.result(result, lambda: _table(found, learning.delta, bool(tests)))
    if page is not None:
        messages.note(f"wrote {page.written}")
    outputs.settle()


def _more(run: Pass, trained: training.LocalTraining, found: list[terminal.Record]) -> terminal.Record:
    """What a page says of the pass; its headline is the best that is certified of a model, which δ/c each allows."""
    lines = [line for line in found if "refused" not in line]
    order = [(line["covers"] != "model" or not line["informative"], line["risk"] or 0.0) for line in lines]
    best = lines[min(range(len(lines)), key=order.__getitem__)]
    certificate = {name: value for name, value in best.items() if name in run.certificate().as_dict()}
    known = {"rounds": run.rounds, "features": run.width, "classes": list(run.classes), "learner": repr(run.learner)}
    return {**known, "skipped": trained.stream.skipped, "certificate": certificate}


def _line(run: Pass, conversion: str, delta: float) -> terminal.Record:
    """What a conversion certifies, or why it cannot."""
    from onepass.errors import ConversionError

    try:
        certificate = run.certificate(conversion, delta=delta)
    except ConversionError as error:
        return {"conversion": conversion, "refused": str(error)}
    return {"conversion": conversion, "informative": certificate.informative, **certificate.as_dict()}


def _test(
    run: Pass, found: list[terminal.Record], delta: float, tests: tuple[str, ...], reading: inputs.Reading
) -> None:
    """Add the test error of every model that was certified, and its hinge loss where that was certified."""
    lines = [line for line in found if "refused" not in line]
    models = [run.model(line["conversion"], delta=delta) for line in lines]
    wrong, hinge, rows = np.zeros(len(models)), np.zeros(len(models)), 0
    with inputs.opened(tests, reading) as stream:
        for chunk in stream:
            codes = _codes(run.classes, chunk.labels)
            for i, model in enumerate(models):
                margin = _margins(model.decision(chunk.rows), codes)
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


def _table(found: list[terminal.Record], delta: float, tested: bool) -> str:
    from onepass.certificates import round_up

    hinge = any("test_hinge" in line for line in found)
    columns = [f"{name:>10s}" for name in ("test error", "test hinge")[: tested + hinge]]
    lines = ["  ".join([f"{'conversion':10s}", f"{'certified':>11s}", f"{'of':12s}", *columns])]
    for line in found:
        if "refused" in line:
            lines.append(f"{line['conversion']:10s}  {'–':>11s}  {line['refused']}")
            continue
        risk = "withheld" if line["withheld"] else round_up(line["risk"]) if line["informative"] else "nothing yet"
        of = f"{'0-1' if line['loss'] == 'zero_one' else 'hinge'}, {line['covers']}"
        measured = [f"{line[name]:10.4f}" for name in ("test_error", "test_hinge") if name in line]
        lines.append("  ".join([f"{line['conversion']:10s}", f"{risk:>11s}", f"{of:12s}", *measured]))
    if any("refused" not in line and not line["withheld"] for line in found):
        lines.append(f"With probability {100 * (1 - delta):g} % all certified numbers hold together.")
    withheld = {line["withheld"] for line in found if line.get("withheld")}
    return "\n".join(lines + [f"No certificate: {reason}" for reason in sorted(withheld)])
