"""Prediction with expert advice: be almost as good as the best of N experts, without knowing which one it will be.

    from onepass.experts import WeightedMajority
    run = WeightedMajority(beta=0.5).run(advice, outcomes)
    run.mistakes, run.bound, run.regret, run.weights

| experts say | learner                                      | compared with                 |
|-------------|----------------------------------------------|-------------------------------|
| 0 or 1      | `WeightedMajority`                           | the best expert, times two    |
| 0 or 1      | `RandomizedWeightedMajority`                 | the best expert               |
| [0, 1]      | `Hedge`: a rate, or none at all (`AdaHedge`) | the best expert               |
| [0, 1]      | `FixedShare`                                 | the best sequence of experts  |
| classes     | `ExpertsClassifier`, in scikit-learn's way   | the best estimator            |

`oracle` knows the best expert and the best sequence in hindsight.
"""

from __future__ import annotations

from typing import Any

from onepass.experts.hedge import FixedShare, Hedge
from onepass.experts.hindsight import Oracle, oracle
from onepass.experts.randomized import RandomizedWeightedMajority
from onepass.experts.rates import AdaHedge, Anytime, Doubling, Horizon
from onepass.experts.run import Run
from onepass.experts.weighted_majority import WeightedMajority

__all__ = [
    "AdaHedge",
    "Anytime",
    "Doubling",
    "ExpertsClassifier",
    "FixedShare",
    "Hedge",
    "Horizon",
    "Oracle",
    "RandomizedWeightedMajority",
    "Run",
    "WeightedMajority",
    "expert_grid",
    "oracle",
]


def __getattr__(name: str) -> Any:
    if name in ("ExpertsClassifier", "expert_grid"):  # scikit-learn is imported by those who use it
        from onepass.experts import estimator

        return getattr(estimator, name)
    raise AttributeError(f"module 'onepass.experts' has no attribute {name!r}")
