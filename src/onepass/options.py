"""What a pass may be told, and what is wrong with it if it is told something else."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field
from typing import Any, TypeGuard

import numpy as np

from onepass.certificates import check, target_of
from onepass.certificates.rates import positive_of
from onepass.conversions import conversion_named
from onepass.costs import Costs, cost_of, costs_of
from onepass.errors import ConversionError
from onepass.labels import MOST, Label, Labels, sortable
from onepass.learners import Setting, has_own_rate, named

ON_DRIFT = ("withhold", "restart", "ignore")  # what to do when the drift alarm rings
OPTIONS = (  # what it takes, beside learner and classes, to make the pass
    "conversion",
    "cutoffs",
    "bound",
    "delta",
    "loss",
    "radius",
    "horizon",
    "fit_intercept",
    "n_features",
    "max_features",
    "max_classes",
    "max_trace_memory",
    "max_watch_memory",
    "watch",
    "expected_rows",
    "positive",
    "cost",
    "max_false_alarm",
    "max_miss",
    "min_precision",
    "validation_fraction",
    "stop_at",
    "order_alarm",
    "repeat_alarm",
    "on_drift",
    "seed",
    "uncounted_rows",
)


@dataclass(kw_only=True, eq=False, repr=False)
class Options:
    """The options of `Pass`, which explains them, checked."""

    learner: Any = field(default=None, kw_only=False)
    classes: InitVar[Any] = None
    conversion: str = "frozen"
    cutoffs: str = "grid"
    bound: str = "betting"
    delta: float = 0.05
    loss: str | None = None
    radius: float | str | None = None
    horizon: int | None = None
    fit_intercept: bool = True
    n_features: int | None = None
    max_features: int = 1 << 24
    max_classes: int = MOST
    max_trace_memory: int = 256 << 20
    max_watch_memory: int = 256 << 20
    watch: bool | None = None
    expected_rows: int | None = None
    positive: Label | None = None
    cost: Any = None
    max_false_alarm: float | None = None
    max_miss: float | None = None
    min_precision: float | None = None
    validation_fraction: float = 0.0
    stop_at: float | None = None
    order_alarm: bool = True
    repeat_alarm: bool = True
    on_drift: str = "withhold"
    seed: int = 0
    origin: InitVar[Any] = None
    elapsed: int = 0
    uncounted_rows: int = 0

    def __post_init__(self, classes: Any, origin: Any) -> None:
        for name in OPTIONS:  # models and checkpoints write them down as plain values
            if isinstance(value := getattr(self, name), np.generic):
                setattr(self, name, value.item())
        self.learner = named(self.learner)
        self.fit_intercept = bool(self.fit_intercept)
        check(self.conversion, self.delta, self.bound)
        if self.cutoffs not in ("grid", "all"):
            raise ValueError(f"cutoffs: 'grid' or 'all' expected, got {self.cutoffs!r}")
        radius = self.radius
        if not (radius is None or radius == "auto" or (is_number(radius) and 0.0 < radius < math.inf)):
            raise ValueError(f"radius: a positive number, 'auto' or None expected, got {self.radius!r}")
        for name, least in (
            ("horizon", 1),
            ("n_features", 1),
            ("max_features", 1),
            ("max_classes", 2),
            ("max_trace_memory", 0),
            ("max_watch_memory", 0),
            ("expected_rows", 1),
            ("seed", 0),
            ("elapsed", 0),
            ("uncounted_rows", 0),
        ):
            if (value := getattr(self, name)) is not None or name not in ("horizon", "n_features", "expected_rows"):
                setattr(self, name, _whole(name, value, least))
        self.learner.rule(Setting(features=self.n_features))  # says what is wrong with the learner's own parameters
        if self.max_features >= 1 << 31:
            raise ValueError(f"max_features: below 2^31 expected, got {self.max_features}")
        if not self.learner.keeps_rows and (self.cutoffs == "all" or self.conversion in ("longest", "suffix")):
            raise ConversionError(
                f"{type(self.learner).__name__} keeps no update rows (x − T changes with every row): choose the "
                "conversion frozen, last, average or cutoff on the grid"
            )
        if self.watch is None:
            self.watch = self.conversion == "frozen"
        if not isinstance(self.watch, bool):
            raise ValueError(f"watch: True, False or None expected, got {self.watch!r}")
        if self.conversion == "frozen" and not self.watch:
            raise ValueError("watch: conversion='frozen' deploys a watched model: leave watch out")
        self.target = target_of(self.max_false_alarm, self.max_miss, self.min_precision)
        if self.target is not None and self.conversion != "frozen":
            raise ConversionError(f"a {self.target} is kept by a watched model: choose the conversion frozen")
        self._check_cost(classes)
        if not 0.0 <= self.validation_fraction < 1.0:
            raise ValueError(f"validation_fraction: at least 0 and below 1 expected, got {self.validation_fraction!r}")
        if self.conversion == "validation" and not self.validation_fraction:
            raise ValueError("validation_fraction: above 0 expected for conversion='validation'")
        self._check_drift()
        if self.stop_at is not None and not self.stop_at > 0.0:
            raise ValueError(f"stop_at: a positive number expected, got {self.stop_at!r}")

    @property
    def bias(self) -> float:
        """The constant feature: 1 with an intercept, 0 without."""
        return 1.0 if self.fit_intercept else 0.0

    @property
    def widest(self) -> int:
        """How many features there may be."""
        return self.n_features or self.max_features

    def costs(self, labels: Labels) -> Costs | None:
        """What was declared of costs, by the numbers of these labels."""
        return None if self.cost is None else costs_of(self.cost, labels.classes)

    def _must_be_meant(self, labels: Labels) -> None:
        """Raise unless `positive`, and a threshold, can speak of these labels."""
        if self.positive is not None and len(labels.classes) >= 2:
            if len(labels.classes) > 2:
                raise ValueError(f"positive: one of two classes is meant, and here are {len(labels.classes)}")
            positive_of(labels.classes, self.positive)
        if self.target is not None and labels.count > 2:
            raise ValueError(f"a {self.target}: a threshold cuts the scores of two classes; here are {labels.count}")

    def _check_drift(self) -> None:
        if self.on_drift not in ON_DRIFT:
            raise ValueError(f"on_drift: one of {', '.join(ON_DRIFT)} expected, got {self.on_drift!r}")
        if self.on_drift != "restart":
            return
        if not self.watch:
            raise ConversionError("on_drift: nothing is tested where no model is watched: choose conversion='frozen'")
        if not self.learner.keeps_rows or has_own_rate(self.learner.rule(Setting(features=self.n_features))):
            raise ConversionError(f"on_drift: {self.learner!r} cannot go on from what another run has learned")
        if self.validation_fraction:
            raise ConversionError("on_drift: a restart and validation_fraction do not go together: leave one out")

    def _check_cost(self, classes: Any) -> None:
        if self.cost is None:
            return
        self.cost = cost_of(self.cost)
        rule = conversion_named(self.conversion)
        if not (rule.watched or rule.ensemble):
            raise ConversionError(
                "cost: it is certified of a watched model, or of an ensemble's members: choose the conversion frozen"
            )
        if rule.ensemble and any(value for label, prediction, value in self.cost if label == prediction):
            raise ConversionError(
                "cost: of an ensemble's members only mistakes are counted, and here what is right costs something: "
                "choose the conversion frozen"
            )
        if self.target is not None:
            raise ValueError("cost: a threshold's target and costs are two aims: declare one of them")
        labels = {label for label, _, _ in self.cost}
        if classes is not None and set(np.asarray(classes).tolist()) != labels:
            raise ValueError(f"cost: it speaks of {sorted(labels, key=sortable)}, and classes are {list(classes)}")


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _whole(name: str, value: Any, least: int) -> int:
    if not (is_number(value) and least <= value < 1 << 63 and value == int(value)):
        raise ValueError(f"{name}: a whole number of at least {least} and below 2^63 expected, got {value!r}")
    return int(value)
