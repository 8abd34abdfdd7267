"""SmoothThresholdClassifier: the scikit-learn face of SmoothThreshold."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from onepass.averager import CutoffAverager
from onepass.certificates import Certificate
from onepass.errors import ConversionError
from onepass.rows import Array, Floats
from onepass.smooth.functions import check_gradient, next_mistake, slope, values
from onepass.smooth.shift import GradientShift
from onepass.smooth.threshold import SmoothThreshold
from onepass.structure import check_structure, refuse_masked


class SmoothThresholdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """sgn f(x; W) for a differentiable f, learned in one pass and cutoff-averaged, with a certificate.

    Two classes, dense rows. A function of your own is called once per row: compile it with numba where that counts.

    Parameters
    ----------
    function : str or callable, default "committee"
        "linear", "committee" (soft, with `hidden` units), "quadratic", a NamedTuple of `onepass.smooth.functions`, or
        a function f(W, x) of your own.
    gradient : callable or None, default None
        Of a function of your own: gradient(W, x), an array like W.
    parameters : int or None, default None
        Of a function of your own: the length of W.
    hidden : int, default 3
        Units of the committee.
    schedule : schedule, callable or None, default None
        η(t): one of `onepass.schedules` or a function of t. None: 1/(inputs·√t).
    start : array_like or None, default None
        W before the first row. None: 0 for linear and quadratic, else small random numbers.
    conversion : str, default "cutoff"
        "cutoff": W is the cutoff average; "last": the last one, which has no certificate.
    delta : float, default 0.05
        The certificate fails with at most this probability; it is in 0-1 loss and speaks of the members of the
        average.
    bound : str, default "betting"
        "betting" or "dekel2008".
    fit_intercept : bool, default True
        Whether f sees x with a last feature 1.
    check_gradient : bool, default False
        Whether to compare the gradient with finite differences, at the first row, before learning.
    shuffle : bool, default True
        Whether `fit` puts the rows in random order.
    random_state : int, RandomState or None, default 0
        Seed of the shuffling and of the first W.
    weighting : str or None, default None
        How gradients are shifted so that output noise cancels: "uniform", "halfspace", "auto", or None: not at all. It
        costs a gradient for every row, not only for mistakes.
    warmup : float or None, default None
        Rows until gradients are shifted. None: 100 for each parameter.

    Attributes
    ----------
    certificate_ : Certificate
        What is certified of the members of the average.
    weights_ : array
        W of the model that predicts.
    last_ : array
        The last W.
    classes_ : array
        The two labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2))
    >>> ring = np.where((X**2).sum(axis=1) > 1.4, "out", "in")
    >>> clf = SmoothThresholdClassifier("quadratic").fit(X, ring)
    >>> clf.predict([[0.1, 0.1], [2.0, -2.0]]).tolist(), bool(clf.score(X, ring) > 0.9)
    (['in', 'out'], True)
    >>> clf.certificate_.covers
    'members'
    """

    def __init__(
        self,
        function: Any = "committee",
        gradient: Any = None,
        parameters: int | None = None,
        hidden: int = 3,
        schedule: Any = None,
        start: Any = None,
        conversion: str = "cutoff",
        delta: float = 0.05,
        bound: str = "betting",
        fit_intercept: bool = True,
        check_gradient: bool = False,
        shuffle: bool = True,
        random_state: Any = 0,
        weighting: str | None = None,
        warmup: float | None = None,
    ) -> None:
        self.function = function
        self.gradient = gradient
        self.parameters = parameters
        self.hidden = hidden
        self.schedule = schedule
        self.start = start
        self.conversion = conversion
        self.delta = delta
        self.bound = bound
        self.fit_intercept = fit_intercept
        self.check_gradient = check_gradient
        self.shuffle = shuffle
        self.random_state = random_state
        self.weighting = weighting
        self.warmup = warmup

    def fit(self, X: Any, y: Any) -> SmoothThresholdClassifier:
        """Learn from X, y in one pass, forgetting all that went before."""
        X, y = self._checked(X, y, reset=True)
        random = check_random_state(self.random_state)
        begun = self._begun(np.unique(y), X, random)
        if self.shuffle:
            order = random.permutation(len(y))
            X, y = X[order], y[order]
        return self._learn(X, y, *begun)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> SmoothThresholdClassifier:
        """Learn from more rows, in the order given; the first call names all `classes`. Bad rows change nothing."""
        begun = "_averager" in self.__dict__
        X, y = self._checked(X, y, reset=not begun)
        if not begun:
            if classes is None:
                raise ValueError("classes: the first call of partial_fit must name all classes")
            return self._learn(X, y, *self._begun(np.unique(classes), X, check_random_state(self.random_state)))
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes: {np.unique(classes)} differ from those of the first call, {self.classes_}")
        # together: the averager knows W by identity
        averager, last, shift = copy.deepcopy((self._averager, self.last_, self._shift))
        return self._learn(X, y, self.classes_, averager, last, shift)

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Floats, Array]:
        check_structure(X)
        refuse_masked(y, "y")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=reset)
        check_classification_targets(y)
        return self._with_constant(X), y

    def _with_constant(self, X: Any) -> Floats:
        if self.fit_intercept:
            return np.column_stack([X, np.ones(len(X))])
        return np.require(X, np.float64, ["C", "W"])

    def _begun(self, classes: Array, X: Floats, random: Any) -> tuple[Array, CutoffAverager, Floats, Any]:
        """(classes, averager, W, shift) before the first row."""
        if len(classes) < 2:
            raise ValueError(f"y: at least two classes are needed, got one class: {classes.tolist()}")
        if len(classes) > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass")
        if self.conversion not in ("cutoff", "last"):
            raise ValueError(f"conversion: 'cutoff' or 'last' expected, got {self.conversion!r}")
        learner = self._learner
        function = learner.function_of(X.shape[1])
        W = learner.first_weights(function, X.shape[1], np.random.default_rng(random.randint(1 << 31)))
        if self.check_gradient:
            beside = W + 0.1 * np.random.default_rng(0).standard_normal(W.size)  # at 0 much that is wrong does not show
            check_gradient(lambda V, x: float(values(function, V, x[None])[0]), partial(slope, function), beside, X[0])
        return classes, CutoffAverager(1.0, self.delta, bound=self.bound), W, learner.shift_for(W.size)

    @property
    def _learner(self) -> SmoothThreshold:
        given = self.function, self.gradient, self.parameters, self.hidden, self.schedule, self.start
        return SmoothThreshold(*given, self.weighting, self.warmup)

    def _learn(
        self, X: Floats, y: Array, classes: Array, averager: CutoffAverager, W: Floats, shift: GradientShift | None
    ) -> SmoothThresholdClassifier:
        unknown = ~np.isin(y, classes)
        if unknown.any():
            raise ValueError(f"y: label {y[unknown][0]} is none of the classes {classes.tolist()}")
        learner = self._learner
        function = learner.function_of(X.shape[1])
        signs = np.where(y == classes[1], 1, -1).astype(np.int64)
        first = 0
        while first < len(y):
            i = next_mistake(function, W, X, signs, first)
            if shift is not None:
                shift.absorb(function, W, X, signs, first, i)
            if i == len(y):
                averager.observe(W, 0.0, i - first)
                break
            averager.observe(W, 1.0, i - first + 1)
            W = learner.update(function, W, X[i], int(signs[i]), averager.rounds, shift)
            first = i + 1
        self.classes_, self._averager, self.last_, self._shift = classes, averager, W, shift
        self._kept: dict[str, tuple[Floats, Certificate]] = {}
        return self

    def _results(self) -> tuple[Floats, Certificate]:
        check_is_fitted(self, "_averager")
        if "result" not in self._kept:
            self._kept["result"] = self._averager.result()
        return self._kept["result"]

    @property
    def weights_(self) -> Floats:
        """The parameters in use: the cutoff average, or the last ones (which `last_` always has)."""
        return self._results()[0] if self.conversion == "cutoff" else self.last_

    @property
    def certificate_(self) -> Certificate:
        """How large the risk can be, what that speaks of, and what it assumes."""
        if self.conversion != "cutoff":
            raise ConversionError("the last hypothesis alone has no certificate here: set conversion='cutoff'")
        return self._results()[1]

    def decision_function(self, X: Any) -> Floats:
        """f(x; W) of every row: positive for the second class."""
        check_is_fitted(self, "_averager")
        check_structure(X)
        X = self._with_constant(validate_data(self, X, dtype=np.float64, reset=False))
        return values(self._learner.function_of(X.shape[1]), self.weights_, X)

    def predict(self, X: Any) -> Array:
        """The class of every row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def __sklearn_is_fitted__(self) -> bool:
        return "_averager" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
