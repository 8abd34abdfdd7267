"""`onepass lab`: simulation and theory on one axis, as a figure, a table, and the numbers that had to come out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onepass.cli import pages, terminal
from onepass.cli.options import option, options_of
from onepass.cli.outputs import Outputs

if TYPE_CHECKING:
    from onepass.lab.results import Experiment

EXPERIMENTS = {  # the name of each in onepass.lab.experiments, which is imported only when one is run
    "figure1": "A perceptron learns a perceptron: error 1.27/α.",
    "figure2": "Output noise: only the shifted rule reaches p.",
    "schedules": "Rates that fall too slowly, well, and too fast.",
    "smooth": "Thresholded smooth functions: error ∝ η, and n^(−z).",
    "noise": "The shifted rule at constant and falling rates, T learned or exact.",
    "flow": "Order-parameter equations against simulation at N = 1000.",
    "stationary": "The law of one parameter near the teacher, which is not Gaussian.",
    "smooth-noise": "Smooth functions with output noise: √η, and n^(−1/2).",
    "parity": "A parity machine of two units: α^(−1/3), and what schedules make of it.",
    "inputs": "Gaussian, binary and uniform inputs: the same curves.",
    "balanced": "Balanced labels: a shift that depends on the input.",
}
SUFFIXES = (".png", ".svg", ".csv")
LEAST = {
    "smooth": 10_000.0,
    "smooth-noise": 100_000.0,
    "stationary": 1000.0,
}  # the least --alpha that leaves decades to fit; 100 elsewhere
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


@dataclass(frozen=True)
class Simulation:
    """How an experiment is run, and where its files go."""

    replicas: int | None = option(type=click.IntRange(min=2), help="Students to simulate.")
    alpha: float | None = option(type=float, help="Largest α (smooth: examples).")  # how large: see `subcommand`
    seed: int = option(type=click.IntRange(min=0), default=1, help="Seed of all draws.")
    threads: int | None = option(type=click.IntRange(min=1), help="Threads; the result does not depend on them.")
    output: str = option("-o", "--output", type=click.Path(), default=".", help="Folder for the files.")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite files.")

    def run(self, name: str, messages: terminal.Messages) -> Experiment:
        """The experiment, under a bar."""
        from onepass.lab.bench import RunOptions
        from onepass.lab.experiments import EXPERIMENTS as FUNCTIONS

        chosen = {"replicas": self.replicas, "alpha": self.alpha}
        given = {key: value for key, value in chosen.items() if value is not None}
        with terminal.usage_errors(ValueError), terminal.progress(name, TICKS, messages) as tick:
            settings = RunOptions(self.seed, self.threads, lambda share: tick(int(TICKS * share)))
            return FUNCTIONS[name](**given, how=settings)


def run(name: str, simulation: Simulation, messages: terminal.Messages) -> None:
    """Check where the files go, run the experiment, write them, and say what was found."""
    outputs, force = Outputs(), simulation.force
    *figures, table = outputs.check_figures(Path(simulation.output), [f"{name}{suffix}" for suffix in SUFFIXES], force)
    page = pages.check(outputs, simulation.report, force)
    from onepass.report.lab import details, draw

    experiment = simulation.run(name, messages)
    reached, full = experiment.settings["alpha"], experiment.settings["judged_at"]
    if reached < full:
        messages.note(f"α = {reached:,.7g} is short: what this compares is judged at {full:,.7g} (leave --alpha out)")
    for figure in figures:
        with figure.writing():
            draw(experiment, figure.path, overwrite=figure.overwrite)
    with table.opened() as rows:
        rows.write(experiment.table().encode())
    files = [file.written for file in (*figures, table)]
    findings = [
        {**finding._asdict(), "allowed": finding.allowed, "holds": finding.holds} for finding in experiment.findings
    ]
    result = {"command": "lab", "experiment": name, **experiment.settings, "findings": findings}
    if page is not None or messages.as_json:
        result["details"] = details(experiment) | pages.made()
        result["report"] = pages.write(result, page)
        files += [page.written] if page is not None else []
    if messages.as_json:
        terminal.print_json(result | {"files": files})
    elif not messages.quiet:
        _show(experiment)
        messages.note(f"wrote {', '.join(files)}")
    outputs.settle()


def _show(experiment: Experiment) -> None:
    """What was found beside what had to be."""
    rows = [("measured", "expected", "", "")]
    for f in experiment.findings:
        verdict = "holds" if f.holds else "does not hold"
        rows.append((f"{f.measured:.4g} ± {f.error:.2g}", f"{f.expected:.4g} ± {f.allowed:.2g}", verdict, f.what))
    terminal.echo(experiment.title)
    terminal.print_table(rows, "<")


def subcommand(name: str, text: str) -> click.Command:
    """One experiment as a command; all have the same options."""

    @command.command(name, help=text)
    @options_of(Simulation)
    @terminal.options
    def experiment(simulation: Simulation, messages: terminal.Messages) -> None:
        run(name, simulation, messages)

    (alpha,) = [one for one in experiment.params if one.name == "alpha"]
    alpha.type = click.FloatRange(min=LEAST.get(name, 100.0))
    return experiment


for _name, _text in EXPERIMENTS.items():
    subcommand(_name, _text)
