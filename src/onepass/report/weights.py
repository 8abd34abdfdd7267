"""The weights that matter most, with the names of their features: light, since `inspect` shows them too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onepass.outputs import NEVER
from onepass.tables.feature_names import FeatureNames
from onepass.tables.plan import TablePlan

HEAVIEST = 20  # weights shown


def heaviest(
    weights: Any, classes: Sequence[Any], name: Callable[[int], str], most: int = HEAVIEST, column: str | None = None
) -> dict[str, Any]:
    """The features with the largest weights, the intercept apart; for several classes, by the largest of each.

    So many at most; with `column` only those that have to do with this column of a table.

    >>> heaviest(np.array([[0.5], [0.0], [-2.0], [1.0]]), ("no", "yes"), "feature {}".format)["features"]
    [{'name': 'feature 1', 'weight': -2.0, 'towards': 'no'}, {'name': 'feature 2', 'weight': 1.0, 'towards': 'yes'}]
    """
    body = np.asarray(weights)[1:]
    size = np.abs(body).max(axis=1, initial=0.0)
    used = int((size > 0.0).sum())
    few = column is None and 0 < most < size.size
    largest = np.argpartition(-size, most - 1)[:most] if few else np.flatnonzero(size)
    order = sorted((int(f) for f in largest if size[f] > 0.0), key=lambda f: (-size[f], f))
    features = []
    if column is not None:
        order = [f for f in order if _has_to_do(name(f), column)]
    for f in order[:most]:
        output = int(np.abs(body[f]).argmax())
        weight = float(body[f, output])
        towards = classes[output] if len(classes) > 2 else classes[-1 if weight > 0.0 else 0]
        features.append({"name": name(f), "weight": weight, "towards": towards})
    intercept = [None if value == NEVER else float(value) for value in np.asarray(weights)[0]]
    return {"features": features, "non_zero": used, "intercept": intercept}


def _has_to_do(name: str, column: str) -> bool:
    """Whether a feature is made of this column, alone or crossed with another.

    >>> _has_to_do("age in [25, 26) × job=cook", "job"), _has_to_do("jobs=2", "job")
    (True, False)
    """
    return any(
        part == column or part.startswith((f"{column}=", f"{column} ", f"{column}:")) for part in name.split(" × ")
    )


def feature_names(reading: dict[str, Any], names: FeatureNames | None = None) -> Callable[[int], str]:
    """From a feature's place to its name: a column or a value of it, or a number where there are no names.

    >>> feature_names({"format": "svmlight"})(0), feature_names({"format": "vw"})(7)
    ('feature 1', 'hashed 7')
    """
    if names is not None:
        return names.at
    form = reading.get("format")
    if form == "svmlight":
        start = 0 if reading.get("zero_based") else 1
        return lambda place: f"feature {place + start}"
    return lambda place: f"hashed {place}" if form == "vw" else f"feature {place}"


def names_in_file(said: dict[str, Any], arrays: dict[str, Any]) -> FeatureNames | None:
    """The names of features that a model file holds."""
    if said.get("table") is None:
        return None
    table = TablePlan.from_dict(said["table"])
    return FeatureNames.from_arrays(table, arrays) if "name_hashes" in arrays else FeatureNames(table)
