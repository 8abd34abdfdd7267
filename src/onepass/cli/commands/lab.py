"""`onepass lab`: simulation and theory on one axis, as a figure, a table, and the numbers that had to come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from onepass.cli import pages, terminal
from onepass.cli.outputs import Outputs
from onepass.cli.terminal import options, print_json, progress

EXPERIMENTS = {  # the name of each in onepass.lab.experiments, which is imported only when one is run
    "figure1": "A perceptron learns a perceptron: error 1.27/α.",
    "figure2": "Output noise: only the shifted rule reaches p.",
    "schedules": "Rates that fall too slowly, well, and too fast.",
    "smooth": "Thresholded smooth functions: error ∝ η, and n^(−z).",
    "noise": "The shifted rule at constant and falling rates, T learned or exact.",
    "flow": "Order-parameter equations against simulation at N = 1000.",
}
SUFFIXES = (".png", ".svg", ".csv")
LEAST = {"smooth": 10_000.0}  # the least --alpha that leaves decades to fit; 100 elsewhere
TICKS = 1000  # of the progress bar


@click.group()
def command() -> None:
    """On-line learning of dichotomies, simulated beside its theory.

    Each experiment writes NAME.png, NAME.svg and NAME.csv, and prints what it found beside what it had to find.

    \b
    onepass lab figure1
    onepass lab figure2 --replicas 8 --output figures --force
    onepass lab schedules --json
    onepass lab figure1 --report page.html
    """


def run(name: str, replicas: int | None, alpha: float | None, output: str, force: bool, **how: Any) -> None:
    """Check where the files go, run the experiment, write them, and say what was found."""
    outputs = Outputs()
    *figures, table = outputs.check_figures(Path(output), [f"{name}{suffix}" for suffix in SUFFIXES], force)
    page = pages.check(outputs, how["report"], force)
    from onepass.files import replacing
    from onepass.lab.experiments import EXPERIMENTS as FUNCTIONS
    from onepass.lab.experiments import RunOptions
    from onepass.report.lab import draw

    chosen = {key: value for key, value in (("replicas", replicas), ("alpha", alpha)) if value is not None}
    with progress(name, TICKS, how["quiet"]) as tick:
        settings = RunOptions(how["seed"], how["threads"], lambda share: tick(int(TICKS * share)))
        try:
            experiment = FUNCTIONS[name](**chosen, how=settings)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    for figure in figures:
        with figure.writing():
            draw(experiment, figure.path, overwrite=force)
    with table.writing(), replacing(table.path, overwrite=force) as rows:
        rows.write(experiment.table().encode())
    files = [file.written for file in (*figures, table)]
    result = {"command": "lab", "experiment": name, **experiment.settings, "findings": _findings(experiment)}
    if page is not None or how["as_json"]:
        from onepass.report.lab import details

        result["details"] = details(experiment) | pages.made()
        result["report"] = pages.write(result, page)
        files += [page.written] if page is not None else []
    if how["as_json"]:
        print_json(result | {"files": files})
    else:
        _show(experiment)
        if not how["quiet"]:
            terminal.echo(f"wrote {terminal.name(', '.join(files))}", err=True)
    outputs.settle()


def _show(experiment: Any) -> None:
    """What was found beside what had to be."""
    rows = [("measured", "expected", "", "")]
    for f in experiment.findings:
        verdict = "holds" if f.holds else "does not hold"
        rows.append((f"{f.measured:.4g} ± {f.error:.2g}", f"{f.expected:.4g} ± {f.tolerance:.2g}", verdict, f.what))
    terminal.echo(experiment.title)
    terminal.print_table(rows, "<")


def _findings(experiment: Any) -> list[dict[str, Any]]:
    return [{**finding._asdict(), "holds": finding.holds} for finding in experiment.findings]


def subcommand(name: str, text: str) -> click.Command:
    """One experiment as a command; all have the same options."""

    @command.command(name, help=text)
    @click.option("--replicas", type=click.IntRange(min=2), help="Students to simulate.")
    @click.option("--alpha", type=click.FloatRange(min=LEAST.get(name, 100.0)), help="Largest α (smooth: examples).")
    @click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of all draws.")
    @click.option("--threads", type=click.IntRange(min=1), help="Threads; the result does not depend on them.")
    @click.option("-o", "--output", type=click.Path(), default=".", show_default=True, help="Folder for the files.")
    @pages.option
    @click.option("--force", is_flag=True, help="Overwrite files.")
    @options
    def experiment(**chosen: Any) -> None:
        run(name, **chosen)

    return experiment


for _name, _text in EXPERIMENTS.items():
    subcommand(_name, _text)
