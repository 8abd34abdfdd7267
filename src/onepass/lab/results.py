"""What an experiment leaves behind: lines to draw, a table of their points, and the numbers that had to come out."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from onepass.lab.curves import LearningCurves, PowerLawFit
from onepass.rows import Floats


class Series(NamedTuple):
    """One line of a figure; simulations have a band that holds 90 % of the replicas.

    Attributes
    ----------
    label : str
        In the legend.
    kind : str
        "simulation", "theory" or "reference".
    x, y : array of float
        The points.
    low, high : array of float or None, default None
        The band.

    Examples
    --------
    >>> Series("theory", "theory", np.array([1.0]), np.array([0.5])).low is None
    True
    """

    label: str
    kind: str  # "simulation", "theory" or "reference"
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None


class Panel(NamedTuple):
    """Lines that share their axes.

    Attributes
    ----------
    title : str
        Above it.
    x_label, y_label : str
        Of the axes.
    series : list of Series
        The lines.
    y_scale, x_scale : str, default "log"
        Or "linear".

    Examples
    --------
    >>> Panel("", "α", "error", []).x_scale
    'log'
    """

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    y_scale: str = "log"
    x_scale: str = "log"


class Finding(NamedTuple):
    """A number that the experiment had to give: measured ± error, and expected ± tolerance.

    The tolerance is what the law may be off in a run of finite length; `sigmas` standard errors of the measurement come
    on top of it, so that few replicas are not held against the law.

    Attributes
    ----------
    what : str
        Which number.
    measured, error : float
        What came out, and its standard error.
    expected, tolerance : float
        What had to come out.
    sigmas : float, default 0.0
        Standard errors that are allowed on top.

    Examples
    --------
    >>> print(Finding("exponent", -0.49, 0.01, -0.5, 0.05))
    exponent: -0.49 ± 0.01, expected -0.5 ± 0.05
    >>> Finding("exponent", -0.54, 0.01, -0.5, 0.03).holds, Finding("exponent", -0.54, 0.01, -0.5, 0.03, 2.0).holds
    (False, True)
    """

    what: str
    measured: float
    error: float
    expected: float
    tolerance: float
    sigmas: float = 0.0

    @property
    def allowed(self) -> float:
        """How far measured and expected may lie apart."""
        return self.tolerance + self.sigmas * self.error

    @property
    def holds(self) -> bool:
        return bool(abs(self.measured - self.expected) <= self.allowed)

    def __str__(self) -> str:
        return f"{self.what}: {self.measured:.4g} ± {self.error:.2g}, expected {self.expected:.4g} ± {self.allowed:.2g}"


@dataclass(frozen=True)
class Experiment:
    """Panels to draw, findings to check, and the settings that gave them.

    Attributes
    ----------
    name : str
        As the command line has it.
    title : str
        Above the figure.
    settings : dict
        Replicas, α, seed and the like.
    panels : list of Panel
        To draw.
    findings : list of Finding
        To check.

    Examples
    --------
    >>> print(Experiment("figure1", "", {}, [], []).table().strip())
    panel,label,kind,x,y,low,high
    """

    name: str
    title: str
    settings: dict[str, Any]
    panels: list[Panel]
    findings: list[Finding]

    def table(self) -> str:
        """All points as CSV: panel, label, kind, x, y, low, high."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["panel", "label", "kind", "x", "y", "low", "high"])
        for panel in self.panels:
            for s in panel.series:
                low, high = (s.y, s.y) if s.low is None or s.high is None else (s.low, s.high)
                for row in zip(s.x, s.y, low, high, strict=True):
                    writer.writerow([panel.title, s.label, s.kind, *(repr(float(number)) for number in row)])
        return text.getvalue()


def simulation_series(label: str, curves: LearningCurves) -> Series:
    return Series(label, "simulation", curves.alpha, curves.mean, *curves.band())


def level_series(label: str, x: Floats, levels: list[Floats]) -> Series:
    """One point per setting; `levels` holds the replicas of each."""
    low, high = np.quantile(np.array(levels), [0.05, 0.95], axis=1)
    return Series(label, "simulation", x, np.array([level.mean() for level in levels]), low, high)


SAMPLING = 3.0  # standard errors that an exponent or a mean may be off by chance


def exponent(what: str, fit: PowerLawFit, expected: float, tolerance: float) -> Finding:
    """The exponent, with its own sampling error; where that is larger than the tolerance, the finding says so.

    >>> exponent("slope", PowerLawFit(-0.4, 0.08, 1.0, 0.1), -0.5, 0.05).what
    'slope (known to 0.24 only: more replicas would say more)'
    """
    return _sampled(what, (fit.exponent, fit.exponent_error), expected, tolerance)


def mean(what: str, values: Floats, expected: float, tolerance: float) -> Finding:
    """The mean over students, one value each, with its own sampling error.

    >>> mean("ratio", np.array([1.0, 1.25, 1.5]), 1.0, 0.1).holds  # 1.25 ± 0.14
    True
    """
    return _sampled(what, (float(values.mean()), standard_error(values)), expected, tolerance)


def final_level(what: str, curves: LearningCurves, expected: float, tolerance: float, power: float = 0.0) -> Finding:
    """The mean over the last factor of three in α of error·α^power, with its own sampling error."""
    late = curves.alpha >= curves.alpha[-1] / 3.0
    values = (curves.error[:, late] * curves.alpha[late] ** power).mean(axis=1)
    return mean(what, values, expected, tolerance)


def _sampled(what: str, measured: tuple[float, float], expected: float, tolerance: float) -> Finding:
    """A number with its standard error, of which three are allowed on top of the tolerance."""
    unsure = SAMPLING * measured[1]
    if unsure > tolerance:
        what = f"{what} (known to {unsure:.2g} only: more replicas would say more)"
    return Finding(what, *measured, expected, tolerance, SAMPLING)


def judge(findings: list[Finding], alpha: float, full: float) -> list[Finding]:
    """The findings; of a run shorter than `full` those that do not hold say that it may be too short for them.

    >>> judge([Finding("exponent", -0.4, 0.01, -0.5, 0.05)], alpha=200.0, full=1000.0)[0].what
    'exponent (α = 200 is short for what this compares, which is judged at 1,000)'
    """
    if alpha >= full:
        return findings
    short = f"(α = {alpha:,.7g} is short for what this compares, which is judged at {full:,.7g})"
    return [f if f.holds else f._replace(what=f"{f.what} {short}") for f in findings]


def standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(values.size))


def three_sigma(looks: int, replicas: int) -> float:
    """How many standard errors the worst of so many looks may be off, if the whole curve is to be judged at 3σ.

    The largest of forty gaps exceeds three standard errors in every tenth curve by mere chance. This is Bonferroni's
    limit for Student's t, which errs on 0.27 % of curves at most.

    >>> round(three_sigma(1, 10_000), 2), round(three_sigma(40, 50), 2)
    (3.0, 4.36)
    """
    return float(special.stdtrit(replicas - 1, 1.0 - 0.0027 / (2.0 * looks)))
