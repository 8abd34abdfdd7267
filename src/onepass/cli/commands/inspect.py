"""`onepass inspect`: what a model file says of itself."""

from __future__ import annotations

import json
from typing import Any

import click

from onepass.cli import terminal
from onepass.tables.column_names import find_place
from onepass.tables.feature_names import FeatureNames
from onepass.tables.plan import TablePlan
from onepass.text_table import text_table


@click.command("inspect")
@click.argument("model", type=click.Path())
@click.option("--weights", type=click.IntRange(min=0), default=20, show_default=True, help="Show so many, the largest.")
@click.option("--column", metavar="NAME", help="Of this column of the table only, crossed with others or not.")
@terminal.options
def command(model: str, weights: int, column: str | None, messages: terminal.Messages) -> None:
    """Show columns, weights, learner, options, data and certificate of a model file. Nothing in it is executed.

    The weight of a number is what one more of it adds to the score; all other features are there or not.

    \b
    Examples:
      onepass inspect model.safetensors
      onepass inspect model.safetensors --column age --weights 50
      onepass inspect model.safetensors --json | jq .about.certificate.risk
    """
    from onepass.model_files import read

    with terminal.opening(model):
        said, arrays = read(model)
    from onepass.report.weights import feature_names, heaviest, names_in_file

    learned = arrays["weights"]
    used = int((learned != 0).any(axis=1).sum())
    names = names_in_file(said, arrays)
    plan = None if said.get("table") is None else TablePlan.from_dict(said["table"])
    known = [] if plan is None else [one.name for one in plan.columns]
    if column is not None:
        find_place("column", column, known, model)
    name_of = feature_names(said["about"].get("reading") or {}, names)
    heavy = heaviest(learned, said["classes"], name_of, weights, column)["features"]
    facts: dict[str, Any] = {
        "features": len(learned) - 1,
        "non_zero": used,
        **{name: said[name] for name in ("format", "version", "classes", "bias", "radius", "cut")},
        **{name: said[name] for name in ("calibration", "sha256", "about")},
        "table": said.get("table"),
        "heaviest": heavy,
    }
    if messages.as_json:
        terminal.print_json({"command": "inspect", **facts})
    if messages.as_json or messages.quiet:
        return
    about, curve = facts.pop("about"), facts.pop("calibration")
    table, heavy = facts.pop("table"), facts.pop("heaviest")
    lines = facts | {"calibration": _words(curve)}
    raced = {"options"} if about.get("race") is not None else set()
    lines |= {name: value for name, value in about.items() if name not in ("certificate", "classes")}
    for line in _columns(table, names):  # what one reads comes first, and then what is looked up
        terminal.echo(f"{'columns':12s} {line}")
    for feature in heavy:
        way = "away from" if feature["weight"] < 0.0 and len(said["classes"]) > 2 else "towards"
        terminal.echo(f"{'weight':12s} {feature['weight']:+.4g} {feature['name']} ({way} {_json(feature['towards'])})")
    for name, value in lines.items():
        shown = "options of the deployed entry, which has its share of delta:" if name in raced else f"{name:12s}"
        terminal.echo(f"{shown} {terminal.name(value) if isinstance(value, str) else _json(value)}")
    certificate = about.get("certificate")
    if isinstance(certificate, dict):
        terminal.echo("certificate")
        for name, value in certificate.items():
            for line in _table(value) if name == "rates" else [_json(value)]:
                terminal.echo(f"  {name:12s} {line}")
                name = ""


def _columns(table: Any, names: FeatureNames | None) -> list[str]:
    """What the columns of a table are, and how many features were met in them."""
    if table is None or names is None:
        return []
    plan = TablePlan.from_dict(table)
    met = f"{len(plan.numbers) + names.count:,}" if not names.full else "more than a million"
    target = f", label {terminal.name(plan.target)}" if plan.target is not None else ""
    return [f"{len(plan.columns)}, {met} features met{target}", *plan.lines()]


def _json(value: Any) -> str:
    return terminal.name(json.dumps(value, ensure_ascii=False))


def _words(curve: Any) -> str:
    """What is worth knowing of the curve from scores to probabilities; --json has its knots."""
    if curve is None:
        return "none: the model gives no probabilities"
    return f"from {_json(curve.get('rows'))} rows that came after the model was frozen"


def _table(rates: Any) -> list[str]:
    """The rates, one a line, their numbers as they stand in the file: what rounds them outward is not loaded here."""
    try:
        shown = ("name", "label", "bound", "observed", "counted")
        lines = [[_json(rate[name]) for name in shown] for rate in rates["rates"]]
        heading = ["rate", "of", "certified", "observed", "rows"]
        together = f"all hold together with probability 1 - {_json(rates['delta'])}"
    except (KeyError, TypeError):  # null, or not what `train` writes
        return [_json(rates)]
    return [*text_table([heading, *lines], "<<<<>").splitlines(), together]
