"""What a pass may be told, and what is wrong with it if it is told something else."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, field
from typing import Any, TypeGuard

import numpy as np

from onepass.certificates import check
from onepass.errors import ConversionError
from onepass.learners import Setting, named

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
    "max_trace_memory",
    "penalised",
    "validation_fraction",
    "stop_at",
    "order_alarm",
    "repeat_alarm",
    "seed",
)


@dataclass(kw_only=True, eq=False, repr=False)
class Options:
    """The options of `Pass`, which explains them, checked."""

    learner: Any = field(default=None, kw_only=False)
    classes: InitVar[Any] = None
    conversion: str = "average"
    cutoffs: str = "grid"
    bound: str = "betting"
    delta: float = 0.05
    loss: str | None = None
    radius: float | str | None = None
    horizon: int | None = None
    fit_intercept: bool = True
    n_features: int | None = None
    max_features: int = 1 << 24
    max_trace_memory: int = 256 << 20
    penalised: str | None = None
    validation_fraction: float = 0.0
    stop_at: float | None = None
    order_alarm: bool = True
    repeat_alarm: bool = True
    seed: int = 0
    origin: InitVar[Any] = None
    elapsed: int = 0

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
            ("max_trace_memory", 0),
            ("seed", 0),
            ("elapsed", 0),
        ):
            if (value := getattr(self, name)) is not None or name not in ("horizon", "n_features"):
                setattr(self, name, _whole(name, value, least))
        self.learner.rule(Setting(features=self.n_features))  # says what is wrong with the learner's own parameters
        if self.max_features >= 1 << 31:
            raise ValueError(f"max_features: below 2^31 expected, got {self.max_features}")
        if not self.learner.keeps_rows and (self.cutoffs == "all" or self.conversion in ("longest", "suffix")):
            raise ConversionError(
                f"{type(self.learner).__name__} keeps no update rows (x − T changes with every row): choose the "
                "conversion last, average or cutoff on the grid, or penalised"
            )
        if self.conversion == "penalised" and self.penalised is None:
            self.penalised = "average"
        if self.penalised not in (None, "average", "hypothesis"):
            raise ValueError(f"penalised: 'average', 'hypothesis' or None expected, got {self.penalised!r}")
        if not 0.0 <= self.validation_fraction < 1.0:
            raise ValueError(f"validation_fraction: at least 0 and below 1 expected, got {self.validation_fraction!r}")
        if self.conversion == "validation" and not self.validation_fraction:
            raise ValueError("validation_fraction: above 0 expected for conversion='validation'")
        if self.stop_at is not None and not self.stop_at > 0.0:
            raise ValueError(f"stop_at: a positive number expected, got {self.stop_at!r}")


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _whole(name: str, value: Any, least: int) -> int:
    if not (is_number(value) and least <= value < 1 << 63 and value == int(value)):
        raise ValueError(f"{name}: a whole number of at least {least} and below 2^63 expected, got {value!r}")
    return int(value)
