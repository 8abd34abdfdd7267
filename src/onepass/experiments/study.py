"""All problems, all repetitions, and what they show together."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.executor import ThreadExecutor
from onepass.experiments.corpus import Corpus, Problem, pairs
from onepass.experiments.protocol import CURVES, LANDMARKS, LEARNERS, Design, Paused, cut, pauses, run
from onepass.rows import Floats, Ints

BAND = (0.05, 0.95)  # of the repetitions
SLACK = 0.002  # by which the cutoff model may be worse than the average and still count as good


@dataclass(frozen=True, eq=False)
class Curves:
    """One learner on one problem: every curve at every pause, per repetition."""

    problem: str
    learner: str
    rounds: Ints
    values: dict[str, Floats]  # (repetitions, pauses)

    @property
    def loss(self) -> str:
        return LEARNERS[self.learner]

    def mean(self, name: str) -> Floats:
        return np.asarray(self.values[name].mean(axis=0))

    def band(self, name: str) -> tuple[Floats, Floats]:
        """What nine tenths of the repetitions lie in."""
        low, high = np.quantile(self.values[name], BAND, axis=0)
        return low, high

    def final(self, name: str) -> float:
        return float(self.mean(name)[-1])

    def spread(self, name: str) -> float:
        """How far the loss jumps from pause to pause in the last decade of rounds, in one repetition.

        The standard deviation of a pause from the line between its two neighbours (over √(3/2), what independent noise
        of deviation 1 would give), so that the falling of the curve itself, steep or not, does not count.
        """
        late = self.rounds >= self.rounds[-1] / 10
        x, y = np.log(self.rounds[late]), self.values[name][:, late]
        if x.size < 3:
            return float("nan")
        along = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
        off = y[:, 1:-1] - (1.0 - along) * y[:, :-2] - along * y[:, 2:]
        return float(np.sqrt(np.mean(off**2) / 1.5))

    def share(self, name: str, rounds: int) -> float:
        """What part of the gap between average and last a model closes, after so many rounds: 0 none, 1 all.

        NaN where there was no such pause, or no gap: the last hypothesis no better than the average.
        """
        at = np.flatnonzero(self.rounds == rounds)
        if not at.size:
            return float("nan")
        average, last, model = (self.mean(each)[at[0]] for each in ("average", "last", name))
        return float((average - model) / (average - last)) if average > last else float("nan")

    def holds(self, certificate: str, covered: str) -> Any:
        """Per repetition: was the certificate at least what it covers at every pause? None where that is unknown."""
        if np.isnan(self.values[covered]).any():
            return None
        return (self.values[certificate] >= self.values[covered]).all(axis=1)


@dataclass(frozen=True, eq=False)
class Study:
    """The curves of one learner on all problems."""

    learner: str
    corpus: str
    design: Design
    curves: list[Curves]

    @property
    def loss(self) -> str:
        return LEARNERS[self.learner]

    def table(self) -> str:
        """All curves as CSV: problem, learner, loss, rounds, curve, mean, low, high, repeats."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["problem", "learner", "loss", "rounds", "curve", "mean", "low", "high", "repeats"])
        for curves in self.curves:
            for name in CURVES:
                mean, (low, high) = curves.mean(name), curves.band(name)
                for row in zip(curves.rounds.tolist(), mean, low, high, strict=True):
                    if not np.isnan(row[1]):
                        numbers = [repr(float(number)) for number in row[1:]]
                        said = [curves.problem, self.learner, self.loss, row[0], name]
                        writer.writerow([*said, *numbers, self.design.repeats])
        return text.getvalue()

    def coverage(self) -> dict[str, float]:
        """By bound: in what share of the runs the certificate was above what it covers at every pause."""
        found = {}
        for bound, ending in (("betting", ""), ("dekel2008", "_dekel2008")):
            held = [curves.holds(f"certificate{ending}", f"covered{ending}") for curves in self.curves]
            judged = [each for each in held if each is not None]
            if judged:
                found[bound] = float(np.concatenate(judged).mean())
        return found

    def lines(self) -> list[dict[str, Any]]:
        """Per problem, where the curves end and what that says: plain values."""
        return [self._line(curves) for curves in self.curves]

    def _line(self, curves: Curves) -> dict[str, Any]:
        said: dict[str, Any] = {"problem": curves.problem, "rounds": int(curves.rounds[-1])}
        said |= {name: curves.final(name) for name in CURVES if not np.isnan(curves.final(name))}
        if self.loss == "hinge":
            sizes = {str(size): size for size in LANDMARKS if size in curves.rounds} | {"all": int(curves.rounds[-1])}
            said["share"] = {
                bound: {place: _plain(curves.share(name, size)) for place, size in sizes.items()}
                for bound, name in (
                    ("betting", "cutoff"),
                    ("dekel2008", "cutoff_dekel2008"),
                    ("hindsight", "hindsight"),
                )
            }
            return said
        spreads = {name: curves.spread(name) for name in ("last", "average", "cutoff")}
        return said | {
            "spread": {name: _plain(spread) for name, spread in spreads.items()},
            "near_average": said["cutoff"] <= said["average"] + SLACK,
            "below_last": said["cutoff"] < said["last"],
            "steady": spreads["cutoff"] < spreads["last"] / 2.0,
        }


def _plain(number: float) -> float | None:
    return None if np.isnan(number) else number


def study(
    corpus: Corpus,
    learners: Sequence[str] = tuple(LEARNERS),
    design: Design | None = None,
    *,
    threads: int | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> list[Study]:
    """Every pair of categories, so many repetitions, each learner. Results do not depend on the number of threads.

    `tick` is told what share of the work is done.

    >>> from onepass.experiments.corpus import newswire
    >>> [perceptron] = study(newswire(600), ["perceptron"], Design(repeats=2, per_decade=2))
    >>> len(perceptron.curves), perceptron.curves[0].rounds.tolist()
    (10, [10, 32, 100, 224])
    """
    design = design or Design()
    corpus = corpus.scaled()
    problems = pairs(corpus)
    jobs = [(p, learner, repeat) for p in problems for learner in learners for repeat in range(design.repeats)]
    work, done = sum(len(problem.places) for problem, _, _ in jobs), list[int]()

    def repetition(job: tuple[Problem, str, int]) -> Paused:
        found = run(corpus, *job, design)
        done.append(len(job[0].places))
        return found

    with ThreadExecutor(threads) as executor:
        results = executor.map(repetition, jobs, lambda count: tick(sum(done[:count]) / work))
    found = {(problem.name, *rest): paused for (problem, *rest), paused in zip(jobs, results, strict=True)}
    studies = []
    for learner in learners:
        curves = []
        for problem in problems:
            runs = [found[problem.name, learner, repeat] for repeat in range(design.repeats)]
            values = {name: np.array([each[name] for each in runs]) for name in CURVES}
            sizes_of = pauses(cut(len(problem.places)), design.per_decade)
            curves.append(Curves(problem.name, learner, sizes_of, values))
        studies.append(Study(learner, corpus.name, design, curves))
    return studies
