"""The simulations of one experiment: the same replicas and seed for all, one progress for all."""

from __future__ import annotations

from typing import Any, NamedTuple

from onepass.lab import simulate
from onepass.lab.curves import LearningCurves
from onepass.lab.results import Experiment, Finding, Panel, judge
from onepass.lab.simulate import Progress
from onepass.lab.teachers import PerceptronTeacher, SmoothTeacher
from onepass.rows import Floats
from onepass.schedules import Schedule


class RunOptions(NamedTuple):
    """How to run an experiment.

    Attributes
    ----------
    seed : int, default 1
        Of all students.
    threads : int or None, default None
        None: all cores.
    progress : callable or None, default None
        Is told the share of the work done.

    Examples
    --------
    >>> RunOptions(seed=7)
    RunOptions(seed=7, threads=None, progress=None)
    """

    seed: int = 1
    threads: int | None = None
    progress: Progress | None = None


DEFAULT = RunOptions()
FULL = {  # α (or examples) at which what they compare is judged
    "figure1": 1e3,
    "figure2": 3e4,
    "schedules": 1e5,
    "smooth": 3e6,
    "noise": 1e4,
    "flow": 300.0,
    "balanced": 3e3,
    "stationary": 1e4,
    "smooth-noise": 1e6,
    "parity": 1e4,
    "inputs": 300.0,
}


class Bench:
    """The simulations of one experiment, `parts` in number: same replicas, same seed, one progress from 0 to 1."""

    def __init__(self, replicas: int, alpha: float, how: RunOptions, parts: int) -> None:
        self.replicas, self.alpha, self.how, self.parts, self.done = replicas, alpha, how, parts, 0

    def run(
        self,
        teacher: PerceptronTeacher,
        rule: simulate.Rule,
        alphas: Floats,
        start: Any = None,
        replicas: int | None = None,
    ) -> LearningCurves:
        seed, threads, progress = self._next()
        return simulate.run(teacher, rule, alphas, replicas or self.replicas, seed, start, threads, progress)

    def run_smooth(self, teacher: SmoothTeacher, schedule: Schedule, rounds: Floats, distance: float) -> LearningCurves:
        seed, threads, progress = self._next()
        return simulate.run_smooth(teacher, schedule, rounds, self.replicas, seed, distance, threads, progress)

    def experiment(
        self, name: str, title: str, panels: list[Panel], findings: list[Finding], **settings: Any
    ) -> Experiment:
        """What came of it; of a law for α → ∞ it is judged whether α was large enough."""
        full = FULL[name]
        common = {"replicas": self.replicas, "alpha": self.alpha, "seed": self.how.seed, "judged_at": full}
        return Experiment(name, title, common | settings, panels, judge(findings, self.alpha, full))

    def next_progress(self) -> Progress:
        """Whom the next part tells the share of its own work."""
        tell, done = self.how.progress, self.done
        self.done += 1
        return (lambda share: None) if tell is None else (lambda share: tell((done + share) / self.parts))

    def _next(self) -> RunOptions:
        return self.how._replace(progress=self.next_progress())
