"""OnePassClassifier: the scikit-learn face of a pass."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from onepass.certificates import Certificate, Target, Threshold, target_of
from onepass.errors import ConversionError, DataError, ModelError
from onepass.learners import named
from onepass.models import LinearModel
from onepass.passes import Pass
from onepass.race import Race, begin, entries_named
from onepass.rows import Array, Floats
from onepass.structure import check_structure, refuse_masked
from onepass.tables.frames import is_table
from onepass.tables.plan import ENCODINGS
from onepass.trace import Trace
from onepass.voted import VotedModel

CHUNK = 1 << 15  # rows that a shuffled fit gathers at a time
_COUNTED_RANGE = 1 << 16  # whole numbers over a wider range are sorted


@contextmanager
def _tables_named(X: Any) -> Iterator[None]:
    """What scikit-learn says of a table that is not all numbers, with what takes such tables."""
    try:
        yield
    except ValueError as error:
        if not is_table(X) or "has feature names" in str(error) or "feature names should" in str(error):
            raise
        hint = "OnePassClassifier learns from numbers; onepass.train(table, target=NAME) takes columns of any kind"
        raise ValueError(f"{error}\n{hint}, with gaps, and gives a model that predicts such tables.") from None


def _is_watched(classifier: OnePassClassifier) -> bool:
    """Whether it deploys a watched model, so that there are probabilities."""
    if classifier.conversion != "frozen":
        raise AttributeError(f"probabilities are those of a watched model: conversion is {classifier.conversion!r}")
    return True


class OnePassClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A linear classifier learned in one pass, with a certificate of its risk and no hold-out set.

    Parameters
    ----------
    learner : learner, class, str or None, default None
        A learner, its class or its name ("perceptron", "margin", "pa", …). None: Adaptive.
    conversion : str, default "frozen"
        How the hypotheses become one model, unless told otherwise: "frozen" (a model that was watched on later rows,
        and is certified itself), "average", "cutoff", "last", "longest", "suffix", "validation".
    cutoffs : str, default "grid"
        "grid", or "all": the cutoffs among which "cutoff" chooses.
    bound : str, default "betting"
        "betting" or "dekel2008", the theorem.
    delta : float, default 0.05
        The certificate fails with at most this probability.
    loss : str or None, default None
        "zero_one" or "hinge". None: what the learner and the conversion have.
    radius : float, "auto" or None, default None
        R: rows outside the ball are scaled onto it; "auto": the largest norm in the first 1000 rows, which are read
        and not counted. None: no scaling, and no certificate in hinge loss.
    horizon : int or None, default None
        The number of rows, if known beforehand: it sets the rate of the margin-based Perceptron.
    fit_intercept : bool, default True
        Whether a constant feature 1 is appended (after scaling).
    shuffle : bool, default True
        Whether `fit` puts the rows in random order; without it, `fit` and any cutting into `partial_fit` calls give
        the same bits.
    random_state : int, RandomState or None, default 0
        Seed of the shuffling.
    expected_rows : int or None, default None
        How many rows are expected. None: `fit` takes the number of its rows.
    positive : label or None, default None
        The class that misses and false alarms speak of. None: the second in sorted order.
    cost : dict or None, default None
        {(label, prediction): cost}: certify the mean cost in place of the share of mistakes.
    max_false_alarm, max_miss, min_precision : float or None, default None
        A target for the threshold of the model, kept with probability 1 − delta; one of them.
    validation_fraction : float, default 0.0
        Share of the rows kept out of the pass, for the conversion "validation".
    stop_at : float or None, default None
        Stop as soon as the certificate is at most this, and two labels have been met.
    on_drift : str, default "withhold"
        What to do when rows are seen to drift: "withhold" certificates, "restart" them from there (each start with its
        own share of delta; the learner goes on), or "ignore" it and only tell.
    max_trace_memory : int, default 256 MB
        Bytes of updates kept before they are folded into one vector per cutoff; those of Adaptive are let go at 32 MB
        where the declared conversion does without them.
    max_watch_memory : int, default 256 MB
        Bytes that the weights of watched models may take: eight of them, or fewer.
    race : list of str or None, default None
        Learners, e.g. ["adaptive", "pa"], that learn from the same rows in place of `learner`: the one with the best
        certificate is deployed, and `race_` tells of all. None: there is no race.
    pickle_rows : bool, default False
        Whether pickles hold the update rows; without them a pickle is small, goes on learning and converts to last,
        average, longest and cutoff (suffix and cutoffs="all" need them, and hold them).

    Attributes
    ----------
    certificate_ : Certificate
        Of the model that predicts.
    classes_ : array
        The labels.
    coef_, intercept_ : array
        Of the model that predicts.
    trace_ : Trace
        What the pass left behind.
    n_features_in_ : int
        Columns.

    Examples
    --------
    >>> from onepass.datasets import Newswire
    >>> X, y = Newswire().documents(0, 5000, categories=("CCAT", "GCAT"))
    >>> clf = OnePassClassifier().fit(X, y)
    >>> clf.predict(X[:3]).tolist() == y[:3].tolist()
    True
    >>> clf.certificate_.informative, clf.certificate_.covers
    (True, 'model')
    >>> clf.convert("average").predict(X[:1]).tolist() == y[:1].tolist()
    True
    """

    def __init__(
        self,
        learner: Any = None,
        conversion: str = "frozen",
        cutoffs: str = "grid",
        bound: str = "betting",
        delta: float = 0.05,
        loss: str | None = None,
        radius: float | str | None = None,
        horizon: int | None = None,
        fit_intercept: bool = True,
        shuffle: bool = True,
        random_state: Any = 0,
        expected_rows: int | None = None,
        positive: Any = None,
        cost: Any = None,
        max_false_alarm: float | None = None,
        max_miss: float | None = None,
        min_precision: float | None = None,
        validation_fraction: float = 0.0,
        stop_at: float | None = None,
        on_drift: str = "withhold",
        max_trace_memory: int = 256 << 20,
        max_watch_memory: int = 256 << 20,
        pickle_rows: bool = False,
        race: Any = None,
    ) -> None:
        self.learner = learner
        self.conversion = conversion
        self.cutoffs = cutoffs
        self.bound = bound
        self.delta = delta
        self.loss = loss
        self.radius = radius
        self.horizon = horizon
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.expected_rows = expected_rows
        self.positive = positive
        self.cost = cost
        self.max_false_alarm = max_false_alarm
        self.max_miss = max_miss
        self.min_precision = min_precision
        self.validation_fraction = validation_fraction
        self.stop_at = stop_at
        self.on_drift = on_drift
        self.max_trace_memory = max_trace_memory
        self.max_watch_memory = max_watch_memory
        self.pickle_rows = pickle_rows
        self.race = race

    # --- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **unsupported: Any) -> OnePassClassifier:
        """Learn from X, y in one pass, forgetting all that went before."""
        _refuse(unsupported)
        with self._or_as_before():
            X, y = self._checked(X, y, reset=True, finite=self.stop_at is not None)  # past a stop nobody looks
            self._start(_distinct(y), len(y))
            if not self.shuffle:
                self._feed(X, y)
                return self
            order = check_random_state(self.random_state).permutation(len(y))
            for first in range(0, len(order), CHUNK):
                part = order[first : first + CHUNK]
                if not self._pass.stopped:
                    self._feed(X[part], y[part])
        return self

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """Rows that are refused leave what was fitted before, or nothing."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **unsupported: Any) -> OnePassClassifier:
        """Learn from more rows, in the order given; the first call names all `classes`."""
        if unsupported:
            _refuse(unsupported)
        run = self.__dict__.get("_pass")
        if run is not None and classes is None and run.feed_one(X, y):
            return self
        if run is None:
            with self._or_as_before():
                X, y = self._checked(X, y, reset=True)
                if classes is None:
                    raise ValueError("classes: the first call of partial_fit must name all classes")
                self._start(np.unique(classes))
                self._feed(X, y)
            return self
        X, y = self._checked(X, y, reset=False)
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes: {np.unique(classes)} differ from those of the first call, {self.classes_}")
        self._feed(X, y)
        return self

    def _feed(self, X: Any, y: Any) -> None:
        """Feed rows, which the pass checks for what is not finite; what is wrong is told as scikit-learn tells it."""
        try:
            self._pass.feed(X, y)
        except DataError:
            assert_all_finite(X, input_name="X")
            raise

    def _checked(self, X: Any, y: Any, reset: bool, finite: bool = False) -> tuple[Any, Array]:
        check_structure(X)
        refuse_masked(y, "y")
        with _tables_named(X):
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset, ensure_all_finite=finite
            )
        if y.dtype.kind not in "biu":  # whole numbers are classes as they are, and looking at all of them takes time
            check_classification_targets(y)
        return X, y

    def _start(self, classes: Array, rows: int | None = None) -> None:
        if len(classes) < 2:
            raise ValueError(f"y: at least two classes are needed, got one class: {classes.tolist()}")
        entries = () if self.race is None else entries_named(self.race)
        learners = [named(one) for one in entries or [self.learner] if one not in ENCODINGS]
        if len(learners) < len(entries):
            raise ValueError(f"race: learners are wanted, and {', '.join(ENCODINGS)} are encodings of tables")
        if len(classes) > 2 and not all(learner.several for learner in learners):
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass; "
                f"learner={self.learner!r} learns two classes"
            )
        options: dict[str, Any] = {
            "learner": self.learner,
            "classes": classes,
            "conversion": self.conversion,
            "cutoffs": self.cutoffs,
            "bound": self.bound,
            "delta": self.delta,
            "loss": self.loss,
            "radius": self.radius,
            "horizon": self.horizon,
            "fit_intercept": self.fit_intercept,
            "n_features": self.n_features_in_,
            "max_features": max(1 << 24, self.n_features_in_),
            "max_trace_memory": self.max_trace_memory,
            "max_watch_memory": self.max_watch_memory,
            "expected_rows": rows if self.expected_rows is None else self.expected_rows,
            "positive": self.positive,
            "cost": self.cost,
            "max_false_alarm": self.max_false_alarm,
            "max_miss": self.max_miss,
            "min_precision": self.min_precision,
            "validation_fraction": self.validation_fraction,
            "stop_at": self.stop_at,
            "on_drift": self.on_drift,
        }
        self._pass: Pass | Race = begin(entries, options) if entries else Pass(**options)
        self.classes_ = classes
        self._kept: dict[Any, Any] = {}
        self._looked: dict[int, LinearModel | VotedModel] = {}  # the model of the last look

    def _must_be_fitted(self) -> None:
        if "_pass" not in self.__dict__:  # asked directly: check_is_fitted takes longer than a row
            check_is_fitted(self)

    # --- what comes out -----------------------------------------------------------------------------------------------

    def _at_this_round(self, what: Any, make: Any) -> Any:
        """The answer, made anew only if rows have been learned since it was made."""
        self._must_be_fitted()
        if self._kept.get("rows") != self._pass.rows:
            self._kept.clear()
            self._kept["rows"] = self._pass.rows
        if what not in self._kept:
            self._kept[what] = make()
        return self._kept[what]

    def convert(self, choice: str | Certificate, how: str = "combine") -> LinearModel | VotedModel:
        """Another model from the same pass, without training: that of a conversion, or of one of its certificates."""
        return self._at_this_round((choice, how), lambda: self._pass.model(choice, how=how))  # type: ignore[no-any-return]

    @property
    def certificate_(self) -> Certificate:
        """How large the risk can be, what that speaks of, and what it assumes."""
        return self._at_this_round("certificate", lambda: self._pass.certificate())  # type: ignore[no-any-return]

    @property
    def race_(self) -> dict[str, Any]:
        """The entries that raced, each with its certificate, and when and why it was dropped."""
        if self.race is None:
            raise AttributeError("there was no race: name its learners, race=['adaptive', 'pa']")
        return self._at_this_round("race", lambda: self._pass.as_dict())  # type: ignore[no-any-return, union-attr]

    @property
    def trace_(self) -> Trace:
        """What the pass has left behind."""
        return self._at_this_round("trace", lambda: self._pass.trace())  # type: ignore[no-any-return]

    @property
    def coef_(self) -> Floats:
        """Weights, (1 or classes, features)."""
        return np.asarray(self._weights()[1:].T)

    @property
    def intercept_(self) -> Floats:
        """Weights of the constant feature, (1 or classes)."""
        return np.asarray(self._weights()[0])

    def _weights(self) -> Floats:
        self._must_be_fitted()
        model = self.convert(self._pass.conversion)
        assert isinstance(model, LinearModel)
        return model.weights

    def decision_function(self, X: Any) -> Floats:
        """Scores: one per row for two classes (positive: the second), else one per row and class."""
        model, X = self._asked(X)
        return model.decision(X)

    def predict(self, X: Any) -> Array:
        """The class of every row; the scores are not held, but for a block of them."""
        model, X = self._asked(X)
        return np.asarray(self.classes_[model.chosen(X)])

    @available_if(_is_watched)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """How probable each class is, (rows, classes), from scores on rows that came after the model was frozen.

        The most probable class is the one that `predict` gives, unless a target was declared: then it goes by its
        threshold. The page of a model has the band that belongs to it.
        """
        _, X = self._asked(X)
        model = self.convert(self._pass.conversion)
        assert isinstance(model, LinearModel)
        return model.predict_proba(X)

    def threshold_for(
        self,
        *,
        false_alarm: float | None = None,
        miss: float | None = None,
        precision: float | None = None,
    ) -> Threshold:
        """Where to cut the scores of the deployed model for a target that was not declared beforehand.

        Its guarantee holds only if the target was not chosen by looking at these rows: `max_false_alarm=…` and its like
        declare one before the first.
        """
        self._must_be_fitted()
        target = target_of(false_alarm, miss, precision)
        if target is None:
            raise ValueError("false_alarm, miss or precision: one of them expected")
        return self._pass.threshold_for(replace(target, declared=False))

    def _asked(self, X: Any) -> tuple[LinearModel | VotedModel, Any]:
        """(the model as it was fitted, whatever set_params said since; X, checked)."""
        self._must_be_fitted()
        if not _plain_row(X, self.n_features_in_):
            check_structure(X)
            with _tables_named(X):
                X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._model(), X

    def _model(self) -> LinearModel | VotedModel:
        """What predicts: the same object between two looks at the choice, so that predicting costs nothing then."""
        look = self._pass.look
        if look is None:
            return self.convert(self._pass.conversion)
        if look not in self._looked:
            model = self._pass.model()
            self._looked.clear()
            self._looked[look] = model
        return self._looked[look]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a file that holds no code: see `onepass.LinearModel`."""
        self._must_be_fitted()
        model = self.convert(self._pass.conversion)
        assert isinstance(model, LinearModel)
        model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OnePassClassifier:
        """A classifier that predicts as the saved one did, with its certificate; it cannot learn on or convert."""
        model = LinearModel.load(path)
        saved = _Saved(model)
        clf = cls(conversion=saved.conversion)
        clf._pass, clf._kept, clf._looked = saved, {}, {}  # type: ignore[assignment]
        clf.classes_, clf.n_features_in_ = np.array(model.classes), model.features
        return clf

    # --- scikit-learn's own questions ---------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_pass" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        with contextlib.suppress(ValueError, TypeError):  # a wrong learner is told of by fit
            tags.classifier_tags.multi_class = named(self.learner).several
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_pass" in state:
            state["_kept"] = {key: value for key, value in self._kept.items() if key != "trace"}
            if not (self.pickle_rows or self.conversion == "suffix" or self.cutoffs == "all"):
                state["_pass"] = self._pass.without_rows()
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> OnePassClassifier:
        twin = object.__new__(type(self))
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def __copy__(self) -> OnePassClassifier:
        return copy.deepcopy(self)  # two classifiers must not learn into one pass


class _Saved:
    """What stands in a loaded classifier where the pass was."""

    rows = 0
    look = None

    def __init__(self, model: LinearModel) -> None:
        self._model = model
        self.conversion = self.certificate().conversion

    def certificate(self) -> Certificate:
        try:
            return Certificate.from_dict(self._model.about["certificate"])
        except (KeyError, TypeError) as error:  # the file's hash is right, and its certificate is none
            raise ModelError(f"its field 'about.certificate' is missing or wrong ({error})") from None

    def model(self, choice: str | Certificate, how: str = "combine") -> LinearModel:
        if how != "combine" or choice not in (self.conversion, self.certificate()):
            raise ConversionError("a loaded model holds no other hypotheses: convert before saving")
        return self._model

    def trace(self) -> Trace:
        raise ConversionError("a loaded model has no trace")

    def threshold_for(self, target: Target) -> Threshold:
        raise ConversionError("a loaded model has no scores of later rows")

    def feed_one(self, X: Any, y: Any) -> bool:
        raise ConversionError("a loaded model cannot learn on: use pickle for that")

    def without_rows(self) -> _Saved:
        return self


def _plain_row(X: Any, features: int) -> bool:
    """Whether X is one row that needs no conversion; what it contains is checked further on, as always."""
    return type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (1, features)


def _distinct(y: Array) -> Array:
    """The labels that are there, in order: whole numbers of a small range are counted, which beats sorting them."""
    if y.dtype.kind in "iu":
        low, high = int(y.min()), int(y.max())
        if high - low < _COUNTED_RANGE and high < 1 << 63:
            counts = np.bincount(y.astype(np.int64, copy=False) - low)
            return (np.flatnonzero(counts) + low).astype(y.dtype)
    return np.unique(y)


def _refuse(unsupported: dict[str, Any]) -> None:
    if "sample_weight" in unsupported:
        raise TypeError("sample_weight is not supported: a certificate speaks of rows that count alike")
    if unsupported:
        raise TypeError(f"unexpected argument {next(iter(unsupported))!r}")
