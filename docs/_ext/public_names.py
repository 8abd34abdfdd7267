"""What is public, in one table: the reference lists it, and so does the order of the examples."""

from __future__ import annotations

import importlib
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
            *("risk_forecast", "rows_needed", "expected_risk"),
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
            *("noisy_constant", "plain_limits", "generalization_error"),
        ),
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


def write(app: Any) -> None:
    """The page of the Python reference: a table of names for each room; autosummary writes a page for each name."""
    lines = ["# Python", ""]
    for module, (heading, _) in ROOMS.items():
        if module == "onepass":
            lines += ["Every public class and function, by the module it is imported from.", ""]
        lines += [f"## {heading}", "", f"`from {module} import …`", "", "```{eval-rst}"]
        lines += [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", ""]
        lines += [f"   {name}" for name in names_of(module)] + ["```", ""]
    page = Path(app.srcdir) / "reference" / "python.md"
    text = "\n".join(lines)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def skip(app: Any, kind: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn writes into a class: set_fit_request and its like."""
    return True if name.endswith("_request") else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-skip-member", skip)
    write(app)  # now, so that the pages are there when Sphinx looks for its sources
    return {"parallel_read_safe": True}
