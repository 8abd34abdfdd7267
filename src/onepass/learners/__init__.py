"""Online learners: one file per rule.

A learner is what a user writes, `MarginPerceptron(projection="sphere")`. Its `rule(setting)` is what the loop runs: a
NamedTuple of numbers whose type chooses the step. A step is handed

    margin   y·⟨w, x⟩ (several classes: the true class's score less the best rival's)
    norm2    ‖w‖² as the last step left it
    x2       the squared length of the direction in which w moves, ⟨w, direction⟩ = margin
    radius2  the largest x2 to reckon with: R² if a radius was declared, else the largest met, this row included
    t        the round, from 1

and says what it did: (loss, a, norm2, shrink) for w ← shrink·(w + a·direction); loss 0 means that nothing changed.
"""

from __future__ import annotations

import difflib
import importlib
from typing import Any

from onepass._jit import by_type
from onepass.learners.adaptive import Adaptive
from onepass.learners.learner import Learner, NonlinearLearner, Setting
from onepass.learners.margin import MarginPerceptron
from onepass.learners.normalized import NormalizedPerceptron
from onepass.learners.passive_aggressive import PassiveAggressive
from onepass.learners.perceptron import Perceptron
from onepass.learners.shifted import ShiftedPerceptron
from onepass.names import LEARNERS
from onepass.schedules import Custom, Schedule, for_kernel

__all__ = [
    "NAMES",
    "Adaptive",
    "Learner",
    "MarginPerceptron",
    "NormalizedPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "Setting",
    "ShiftedPerceptron",
    "named",
]

_modules = {module: importlib.import_module(f"onepass.learners.{module}") for module, _, _ in LEARNERS.values()}
NAMES: dict[str, Learner] = {
    name: getattr(_modules[module], kind)(**arguments) for name, (module, kind, arguments) in LEARNERS.items()
}

_rules = [module for module in _modules.values() if hasattr(module, "STEPS")]
step = by_type({rule: function for module in _rules for rule, function in module.STEPS.items()})
widen = by_type({rule: function for module in _rules for rule, function in module.WIDEN.items()})


def named(learner: Any) -> Learner:
    """The learner meant by a name, a class, an instance, or None (Adaptive).

    Parameters
    ----------
    learner : str, class, learner or None
        A name, a class, an instance, or None.

    Returns
    -------
    Learner
        The learner.

    Raises
    ------
    ValueError
        If no learner has this name; it says which may have been meant.
    TypeError
        If it is no learner.

    Examples
    --------
    >>> named("margin")
    MarginPerceptron(projection='ball', schedule=None)
    """
    if learner is None:
        return Adaptive()
    if isinstance(learner, str):
        if learner in NAMES:
            return NAMES[learner]
        near = difflib.get_close_matches(learner, NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(NAMES)}"
        raise ValueError(f"learner: no learner is called {learner!r}; {hint}")
    if isinstance(learner, type) and issubclass(learner, Learner):
        return learner()
    if isinstance(learner, Learner):
        return learner
    kind = learner if isinstance(learner, type) else type(learner)
    if issubclass(kind, NonlinearLearner):
        raise TypeError(f"learner: {kind.__name__} has hypotheses that are not linear; use {kind.estimator}")
    raise TypeError(f"learner: a name, a learner or its class expected, got {learner!r}")


def has_own_rate(rule: Any) -> bool:
    """Whether the rule's rate is a user's function, which no kernel can call."""
    return isinstance(getattr(rule, "schedule", None), Custom)


def rate_table(rule: Any, first: int, last: int) -> Schedule:
    """The rates of rounds first..last of such a rule, each asked for once, in order."""
    return for_kernel(rule.schedule, first, last)
