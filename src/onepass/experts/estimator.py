"""Experts that learn: a scikit-learn classifier that votes over other classifiers while they are being trained."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition  # what scikit-learn's own VotingClassifier stands on
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from onepass.experts.forecaster import Forecaster
from onepass.experts.hedge import Hedge
from onepass.experts.run import Run
from onepass.rows import Floats
from onepass.structure import check_structure, refuse_masked

Experts = Sequence[tuple[str, Any]]


def expert_grid(estimator: Any, grid: Mapping[str, Sequence[Any]]) -> list[tuple[str, Any]]:
    """One expert for every point of a grid of parameters: instead of tuning them, hedge over them.

    Parameters
    ----------
    estimator : estimator with partial_fit
        What is copied.
    grid : dict of lists
        Parameter → values.

    Returns
    -------
    list of (name, estimator)
        One for every point, named by it.

    Examples
    --------
    >>> [name for name, _ in expert_grid(SGDClassifier(), {"alpha": [1e-4, 1e-2], "loss": ["hinge"]})]
    ['alpha=0.0001,loss=hinge', 'alpha=0.01,loss=hinge']
    """
    points = ParameterGrid(dict(grid))
    return [
        (",".join(f"{key}={value}" for key, value in point.items()), clone(estimator).set_params(**point))
        for point in points
    ]


class ExpertsClassifier(ClassifierMixin, _BaseComposition):  # type: ignore[misc]  # scikit-learn is untyped
    """Predicts with the weighted vote of its experts, and lets every expert learn from every example.

    An example is first predicted by all experts, then judged, then learned. So the weights rest on mistakes made on
    examples that an expert had not seen, and no expert needs tuning beforehand: put the candidates in a grid
    (`expert_grid`) and let the vote find out.

    Parameters
    ----------
    experts : list of (name, estimator) or None, default None
        Estimators with `partial_fit`. None: hinge and logistic `SGDClassifier` at three learning rates.
    forecaster : forecaster or None, default None
        WeightedMajority, RandomizedWeightedMajority, Hedge or FixedShare: how weights are learned from mistakes. None:
        `Hedge()`, which has no parameter.
    block_size : int, default 1
        Examples that are predicted and voted on before any of them is learned. With 1, cutting the stream elsewhere
        changes nothing; blocks of 100 are about a hundred times as fast, and the ends of the calls become part of the
        result.

    Attributes
    ----------
    experts_ : list
        The fitted estimators.
    weights_ : array
        The experts' weights, which sum to 1.
    mistakes_ : int
        What the vote got wrong before learning it, of `rounds_` examples.
    rounds_ : int
        Examples judged; the first block is only learned.
    run_ : Run
        The last call's losses, regret and bound. A round's loss is the weight of the experts that are wrong, so the
        vote makes at most 2·loss mistakes (when block_size is 1).
    classes_ : array
        The labels.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(300, random_state=0)
    >>> model = ExpertsClassifier().fit(X, y)
    >>> model.rounds_, bool(model.mistakes_ <= 2 * model.run_.bound)
    (299, True)
    """

    def __init__(
        self, experts: Experts | None = None, forecaster: Forecaster | None = None, block_size: int = 1
    ) -> None:
        self.experts = experts
        self.forecaster = forecaster
        self.block_size = block_size

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, those of the experts included: `name__parameter`."""
        return self._get_params("experts", deep=deep)  # type: ignore[no-any-return]

    def set_params(self, **params: Any) -> ExpertsClassifier:
        """Sets parameters, those of the experts included: `set_params(fast__alpha=0.1)`."""
        self._set_params("experts", **params)
        return self

    def fit(self, X: Any, y: Any) -> ExpertsClassifier:
        """One pass over X, from the start."""
        X, y = self._validate(X, y, reset=True)
        self._begin(np.unique(y))
        self._learn(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: npt.ArrayLike | None = None) -> ExpertsClassifier:
        """Goes on with X. The first call needs all `classes` unless y has them."""
        first = not hasattr(self, "experts_")
        X, y = self._validate(X, y, reset=first)
        known = self.classes_ if not first else np.unique(y if classes is None else classes)
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes={classes!r} are not those of the first call, {known.tolist()}")
        if not (fits := np.isin(y, known)).all():
            raise ValueError(f"y: class {y[~fits][0]} is not among {known.tolist()}; name all in `classes`")
        if first:
            self._begin(known)
        self._learn(X, y)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class with the most weight behind it (the first of several)."""
        share = self.predict_proba(X)
        return self.classes_[np.argmax(share, axis=1)]  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> Floats:
        """The weight behind each class. It is a share of the vote, not a calibrated probability."""
        check_is_fitted(self, "experts_")
        check_structure(X, indices=True)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return self._share(self._say(X), self.weights_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = all(get_tags(expert).input_tags.sparse for _, expert in self._named())
        return tags

    def _named(self) -> Experts:
        if self.experts is not None:
            return self.experts
        grid: dict[str, list[Any]] = {
            "loss": ["hinge", "log_loss"],
            "eta0": [0.01, 0.1, 1.0],
            "learning_rate": ["constant"],
        }
        return expert_grid(SGDClassifier(random_state=0), grid)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, npt.NDArray[Any]]:
        experts = self._named()
        if not experts:
            raise ValueError("experts: at least one is needed")
        for name, expert in experts:
            if not hasattr(expert, "partial_fit"):
                raise TypeError(f"experts: {name!r} ({type(expert).__name__}) has no partial_fit")
        if not isinstance(self.block_size, (int, np.integer)) or self.block_size < 1:
            raise ValueError(f"block_size={self.block_size!r} must be an integer of at least 1")
        check_structure(X, indices=True)
        refuse_masked(y, "y")
        X, y = validate_data(self, X, y, accept_sparse="csr", reset=reset)
        check_classification_targets(y)
        return X, y

    def _begin(self, classes: npt.NDArray[Any]) -> None:
        if classes.size < 2:
            raise ValueError(f"y: one class ({classes[0]}) is not enough; name all in `classes` of partial_fit")
        self.classes_ = classes
        self.experts_ = [clone(expert) for _, expert in self._named()]
        self.weights_ = np.full(len(self.experts_), 1.0 / len(self.experts_))
        self.rounds_ = self.mistakes_ = 0
        self.run_: Run | None = None
        self._forecaster = Hedge() if self.forecaster is None else copy.deepcopy(self.forecaster)
        self._green = True  # no expert has learned anything yet

    def _learn(self, X: Any, y: npt.NDArray[Any]) -> None:
        for first in range(0, len(y), self.block_size):
            rows = slice(first, first + self.block_size)
            if not self._green:
                self._judge(X[rows], y[rows])
            first_call = {"classes": self.classes_} if self._green else {}  # scikit-learn checks them anew each time
            for expert in self.experts_:
                expert.partial_fit(X[rows], y[rows], **first_call)
            self._green = False

    def _judge(self, X: Any, y: npt.NDArray[Any]) -> None:
        """Moves weight by who is wrong. To be wrong is a loss of 1, and a loss is advice about the outcome 0."""
        said, truth = self._say(X), np.searchsorted(self.classes_, y)
        vote = np.argmax(self._share(said, self.weights_), axis=1)
        self.run_ = self._forecaster.run((said != truth[:, None]).astype(np.uint8), np.zeros(len(y)))
        self.weights_ = self._forecaster.weights
        self.mistakes_ += int(np.count_nonzero(vote != truth))
        self.rounds_ += len(y)

    def _say(self, X: Any) -> npt.NDArray[np.int64]:
        """Row by expert: the number of the class that it predicts."""
        said = [np.searchsorted(self.classes_, expert.predict(X)) for expert in self.experts_]
        return np.stack(said, axis=1)

    def _share(self, said: npt.NDArray[np.int64], weights: Floats) -> Floats:
        """Row by class: the weight of the experts that say it."""
        share = np.zeros((len(said), self.classes_.size))
        for c in range(self.classes_.size):
            share[:, c] = np.where(said == c, weights, 0.0).sum(axis=1)
        return share
