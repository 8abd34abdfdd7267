"""What is public, in one table: the reference lists it, and so does the order of the examples."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

# module → (heading, names; None: all of its __all__)
ROOMS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "onepass": ("onepass", None),
    "onepass.learners": (
        "Learners",
        (
            *("Adaptive", "Perceptron", "MarginPerceptron", "PassiveAggressive", "NormalizedPerceptron"),
            *("ShiftedPerceptron", "named"),
        ),
    ),
    "onepass.schedules": (
        "Schedules of rates",
        ("Constant", "InverseRoot", "PowerLaw", "NoisyPowerLaw", "clean_optimum", "noisy_optimum"),
    ),
    "onepass.conversions": ("Conversions", ("conversion_named",)),
    "onepass.certificates": (
        "Certificates",
        (
            *("Rates", "Rate", "Threshold", "Calibration", "betting", "dekel2008"),
            *("LearningPlan", "risk_forecast", "rows_needed", "expected_risk"),
        ),
    ),
    "onepass.monitoring": ("Monitoring", ("MonitorResult", "ClaimResult", "ScoresResult")),
    "onepass.history": ("History of a pass", ("History", "Point")),
    "onepass.io": ("Reading and writing", None),
    "onepass.datasets": ("Data to try things on", ("Newswire", "digits", "rcv1", "fetch_rcv1")),
    "onepass.scale": ("Several machines", None),
    "onepass.experts": ("Experts", None),
    "onepass.cluster": ("Clustering", None),
    "onepass.smooth": ("Smooth functions", None),
    "onepass.lab.simulate": ("Lab: simulation", ("run", "run_smooth")),
    "onepass.lab.teachers": ("Lab: teachers", ("PerceptronTeacher", "SmoothTeacher")),
    "onepass.lab.curves": ("Lab: curves", ("LearningCurves",)),
    "onepass.lab.theory": (
        "Lab: theory",
        (
            *("clean_flow", "clean_law", "clean_constant", "stationary_error", "noisy_flow", "noisy_law"),
            *("noisy_constant", "best_eta0", "noisy_stationary_excess", "plain_limits"),
            *("generalization_error", "disagreement", "disagreement_at", "Flow", "Limit"),
        ),
    ),
}

# module → (heading, how it is imported, names): what pages use besides, with a line or two each
BESIDES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "onepass.checkpoints.checkpoint": (
        "Checkpoints",
        "from onepass.checkpoints import checkpoint",
        ("locked", "resume", "save", "load", "finish"),
    ),
    "onepass.learners.normalized": (
        "Lab: rules of a simulated student",
        "from onepass.learners.normalized import …",
        ("Normalized", "Unnormalized"),
    ),
}

EXAMPLES = (
    *("newswire", "raw_table", "spam", "digits", "false_alarms", "drift", "monitor", "conversions"),
    *("own_learner", "forecasts", "clusters", "learning_curves"),
)


def names_of(module: str) -> list[str]:
    """The public names of a module."""
    chosen = ROOMS[module][1]
    return [*(importlib.import_module(module).__all__ if chosen is None else chosen)]


class GalleryOrder:
    """The order of the examples: what a newcomer wants first."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        return EXAMPLES.index(Path(filename).stem)

    def __repr__(self) -> str:
        return "<GalleryOrder>"


def room(module: str) -> list[str]:
    """A table of a module's names; autosummary writes a page for each."""
    lines = [f"## {ROOMS[module][0]}", "", f"`from {module} import …`", "", "```{eval-rst}"]
    lines += [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", ""]
    return [*lines, *(f"   {name}" for name in names_of(module)), "```", ""]


def conversions() -> list[str]:
    """What stands in the dictionary of all conversions, which is no class and no function."""
    found = importlib.import_module("onepass.conversions").CONVERSIONS
    firsts = {name: inspect.cleandoc(type(one).__doc__ or "").split("\n")[0] for name, one in found.items()}
    words = "`CONVERSIONS` is a dictionary of them by name, in which `conversion_named` looks:"
    return [words, "", "| name | |", "|---|---|", *(f"| `{name}` | {first} |" for name, first in firsts.items()), ""]


def besides(module: str) -> list[str]:
    """What a module has, in place: a line or two each."""
    heading, how, names = BESIDES[module]
    lines = [f"## {heading}", "", f"`{how}`", "", "```{eval-rst}", f".. currentmodule:: {module}", ""]
    for name in names:
        kind = "class" if inspect.isclass(getattr(importlib.import_module(module), name)) else "function"
        lines += [f".. auto{kind}:: {name}", ""]
    return [*lines, "```", ""]


def write(app: Any) -> None:
    """The page of the Python reference."""
    lines = ["# Python", "", "Classes and functions by the module that they are imported from.", ""]
    for module in ROOMS:
        lines += room(module)
        lines += conversions() if module == "onepass.conversions" else []
    for module in BESIDES:
        lines += besides(module)
    page = Path(app.srcdir) / "reference" / "python.md"
    text = "\n".join(lines)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def skip(app: Any, kind: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn writes into a class: set_fit_request and its like."""
    return True if name.endswith("_request") else None


def link_pages(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Where a docstring names a page of this folder, docs/formats.md, the reference has its title and a link."""
    lines[:] = [re.sub(r"`{0,2}\bdocs/(\w+)\.md`{0,2}", r":doc:`/\1`", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", link_pages)
    write(app)  # now, so that the pages are there when Sphinx looks for its sources
    return {"parallel_read_safe": True}
