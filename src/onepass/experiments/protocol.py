"""One pass over a problem's training documents, paused at logarithmically spaced sizes. See dekel2008, Section 4.

A repetition is one random order of all documents: the first four fifths, in this order, are the training sequence, the
rest is the test set. So split and order are both new each time. At every pause the trace so far gives all conversions
and certificates; nothing is trained again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.certificates import BOUNDS, certify
from onepass.conversions import CONVERSIONS
from onepass.experiments.corpus import Corpus, Problem
from onepass.loop import head_of, score
from onepass.passes import Pass
from onepass.rows import AnyRows, Floats, Ints, Rows, count, onto_ball, part
from onepass.trace import Trace, combine
from onepass.validate import blocks
from onepass.voted import VotedModel

LEARNERS = {"perceptron": "zero_one", "margin": "hinge"}  # and the loss of each
FIRST = 10  # rounds before the first pause
LANDMARKS = (1_000, 10_000)  # and the end: where the best cutoff in hindsight is sought
JUDGED = 20_000  # test documents on which every single hypothesis is judged, at most

Paused = dict[str, Floats]  # per curve, its value at every pause


@dataclass(frozen=True)
class Design:
    """How the experiment is made."""

    repeats: int = 10
    per_decade: int = 8
    delta: float = 0.05
    seed: int = 0


def pauses(rounds: int, per_decade: int) -> Ints:
    """10, …, 100, …, with so many steps from one power of ten to the next, and the end.

    >>> pauses(2500, 2).tolist()
    [10, 32, 100, 316, 1000, 2500]
    """
    steps = range(math.floor(per_decade * math.log10(max(rounds / FIRST, 1.0))) + 1)
    sizes = [round(FIRST * 10 ** (i / per_decade)) for i in steps]
    return np.unique([min(size, rounds) for size in [*sizes, rounds]]).astype(np.int64)


def cut(documents: int) -> int:
    """Documents to train on: four fifths."""
    return documents * 4 // 5


def run(corpus: Corpus, problem: Problem, learner: str, repeat: int, design: Design) -> Paused:
    """All curves of one repetition.

    last, average, cutoff, cutoff_dekel2008    test loss of the model (0-1, or hinge for the margin-based learner)
    certificate, certificate_dekel2008         of the cutoff model, by each bound
    covered, covered_dekel2008                 test loss of what the certificate speaks of: the model itself in hinge
                                               loss, the average over its members in 0-1 loss
    k, k_dekel2008                             the cutoff that the bound chose
    hindsight                                  test loss of the best cutoff on the grid, chosen by the test set itself,
                                               at 1,000 and 10,000 rounds and at the end
    """
    fed, exam, X, y = prepare_repetition(corpus, problem, learner, repeat, design)
    rounds = len(y)
    sizes = pauses(rounds, design.per_decade)
    found: Paused = {name: np.full(sizes.size, np.nan) for name in CURVES}
    weighted = list[tuple[Ints, Ints]]()
    done = 0
    for i, size in enumerate(sizes.tolist()):
        fed.feed(X[done:size], y[done:size])
        done = size
        trace = fed.trace()
        weighted.append(_look(trace, exam, design.delta, found, i))
        if exam.loss == "hinge" and (size in LANDMARKS or size == rounds):
            found["hindsight"][i] = hindsight(trace, exam)
    if exam.loss == "hinge":
        found["covered"], found["covered_dekel2008"] = found["cutoff"], found["cutoff_dekel2008"]
    elif fed.trace().log is not None:  # compacted, the members would be gone
        voted = fed.model("average", how="vote")
        assert isinstance(voted, VotedModel)
        judged = min(JUDGED, len(exam.y))
        errors = voted.member_errors(part(exam.rows, 0, judged), exam.y[:judged])
        for i, pair in enumerate(weighted):  # hypotheses are numbered through the pass: judged once, weighted per pause
            for name, q in zip(AFTERWARDS, pair, strict=True):
                found[name][i] = q @ errors[: q.size] / q.sum()
    return found


def prepare_repetition(
    corpus: Corpus, problem: Problem, learner: str, repeat: int, design: Design
) -> tuple[Pass, Exam, Any, Ints]:
    """(a pass that has learned nothing yet, the exam at its pauses, X and y to feed it) of one repetition."""
    order = np.random.default_rng([design.seed, problem.number, repeat]).permutation(len(problem.places))
    rounds = cut(len(order))
    train, test = order[:rounds], order[rounds:]
    radius = corpus.longest * (1.0 + 1e-12) if LEARNERS[learner] == "hinge" else None
    width = corpus.X.shape[1]
    told = {"radius": radius, "horizon": rounds, "fit_intercept": False, "n_features": width}
    fed = Pass(learner, classes=(0, 1), conversion="cutoff", **told)
    X = corpus.X[problem.places[test]]
    rows: AnyRows = Rows(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    if radius is not None:
        rows = onto_ball(rows, radius)
    exam = Exam(rows, problem.codes[test], LEARNERS[learner])
    return fed, exam, corpus.X[problem.places[train]], problem.codes[train]


AT_ONCE = ("last", "average", "cutoff", "cutoff_dekel2008", "certificate", "certificate_dekel2008")
AFTERWARDS = ("covered", "covered_dekel2008")  # known when the pass has ended
CURVES = (*AT_ONCE, *AFTERWARDS, "k", "k_dekel2008", "hindsight")


@dataclass(frozen=True, eq=False)
class Exam:
    """Test rows with their labels 0 and 1, and the loss."""

    rows: AnyRows
    y: Ints
    loss: str

    def losses(self, trace: Trace, *weights: Ints) -> list[float]:
        """The average test loss of the combined hypothesis of each of these conversions, all in one walk."""
        W = np.concatenate([combine(trace, q) for q in (*weights, weights[0])], axis=1)  # two at least: a matrix head
        head, scores = head_of(W, 0.0), np.empty((count(self.rows), W.shape[1]))
        for first, last in blocks(self.rows):
            score(head, part(self.rows, first, last), scores[first:last])
        margins = np.where(self.y == 1, 1.0, -1.0)[:, None] * scores[:, :-1]
        lost = margins <= 0.0 if self.loss == "zero_one" else np.maximum(0.0, 1.0 - margins)
        return [float(mean) for mean in lost.mean(axis=0)]


def _look(trace: Trace, exam: Exam, delta: float, found: Paused, i: int) -> tuple[Ints, Ints]:
    """Enter what stands at pause i; the weights of the two cutoff models."""
    certificates = [certify(trace, "cutoff", delta=delta, bound=bound, loss=exam.loss) for bound in BOUNDS]
    cutoffs = [CONVERSIONS["cutoff"].members(trace, certificate.choice.value) for certificate in certificates]
    losses = exam.losses(trace, *(CONVERSIONS[name].members(trace, None) for name in ("last", "average")), *cutoffs)
    numbers = [*losses, *(c.risk for c in certificates), *(float(c.choice.value or 0) for c in certificates)]
    for name, number in zip((*AT_ONCE, "k", "k_dekel2008"), numbers, strict=True):
        found[name][i] = number
    return cutoffs[0], cutoffs[1]


def hindsight(trace: Trace, exam: Exam) -> float:
    """The least test loss of any cutoff on the grid: no rule could know it, and no cutoff can beat it."""
    cutoff = CONVERSIONS["cutoff"]
    family = [k for block in cutoff.choices(trace, exam.loss) for k in block.value.tolist()]
    return min(exam.losses(trace, *(cutoff.members(trace, k) for k in family)))
