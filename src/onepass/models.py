"""Models: what a pass gives away, able to predict and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onepass import model_files
from onepass.certificates.probabilities import Calibration
from onepass.certificates.score_bins import ScoreHistogram
from onepass.errors import ConversionError, DataError, ModelError, printable
from onepass.labels import Label
from onepass.loop import head_of, score
from onepass.rows import LARGEST, AnyRows, Array, Dense, Floats, Ints, count, onto_ball
from onepass.tables.feature_names import FeatureNames
from onepass.tables.frames import is_table
from onepass.tables.plan import TablePlan
from onepass.tables.reading import narrowed, rows_of_table
from onepass.validate import accept, block, blocks, stated_columns, validate_rows

SCORES = 1 << 20  # that are held at a time beyond those asked for: rows times classes


@dataclass(frozen=True, eq=False)
class LinearModel:
    """One weight vector (several classes: one per class) with its intercept.

    Attributes
    ----------
    weights : array of float
        (1 + features, outputs), intercept first; one output for two classes.
    classes : tuple of label
        What it predicts.
    bias : float, default 1.0
        The constant feature: 1, or 0 for a model without intercept.
    radius : float or None, default None
        R: rows outside the ball are scaled onto it. None: no scaling.
    about : dict
        Learner, options, certificate, data: plain values, for reading. Empty where nothing is known.
    cut : float, default 0.0
        Of two classes, the second where the score is above this.
    calibration : Calibration or None, default None
        From scores to probabilities, where the model was watched.
    scores : ScoreHistogram or None, default None
        Those of training on rows it had not learned, where the model was watched.
    table : TablePlan or None, default None
        What the columns of a table are, where the model learned from one.
    names : FeatureNames or None, default None
        What its features are called.

    Examples
    --------
    >>> model = LinearModel(np.array([[-1.0], [2.0]]), ("no", "yes"))
    >>> model.predict([[0.25], [0.75]]).tolist()
    ['no', 'yes']
    """

    weights: Floats  # (1 + features, outputs), intercept first
    classes: tuple[Label, ...]
    bias: float = 1.0
    radius: float | None = None
    about: dict[str, Any] = field(
        default_factory=dict
    )  # learner, options, certificate, data: plain values, for reading
    cut: float = 0.0  # of two classes, the second where the score is above this
    calibration: Calibration | None = None  # from scores to probabilities, where the model was watched
    scores: ScoreHistogram | None = None  # those of training on rows it had not learned, where the model was watched
    table: TablePlan | None = None  # what the columns of a table are, where the model learned from one
    names: FeatureNames | None = None  # what its features are called

    @property
    def features(self) -> int:
        return len(self.weights) - 1

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the model, atomically: see onepass.model_files.

        overwrite  False: a file that is there stays, the model is kept beside it, and an OutputTakenError says where
        """
        said = {"classes": list(self.classes), "bias": self.bias, "radius": self.radius, "about": self.about}
        said |= {"cut": self.cut, "calibration": None if self.calibration is None else self.calibration.as_dict()}
        said |= {} if self.scores is None else {"scores": self.scores.as_dict()}
        said["table"] = None if self.table is None else self.table.as_dict()
        names = {} if self.names is None else self.names.arrays()
        model_files.write(path, said, self.weights, names, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> LinearModel:
        """Read a model that `save` wrote; every size is checked before it is believed, and nothing is executed."""
        said, arrays = model_files.read(path, max_bytes)
        classes, curve, table, names = tuple(said["classes"]), said["calibration"], said.get("table"), None
        try:
            table = None if table is None else TablePlan.from_dict(table)
            if table is not None and len(arrays) > 1:
                names = FeatureNames.from_arrays(table, arrays)
            calibration = None if curve is None else Calibration.from_dict(curve)
            if calibration is not None and calibration.classes != max(2, len(classes)):
                raise ModelError(f"its field 'calibration.classes' is wrong: the model has {len(classes)} classes")
            if calibration is not None and calibration.classes == 2 and calibration.cut not in (None, said["cut"]):
                raise ModelError("its field 'calibration.cut' is wrong: it is not the model's")
            scores = None if said.get("scores") is None else ScoreHistogram.from_dict(said["scores"])
        except ModelError as error:
            raise ModelError(f"{printable(os.fspath(path))}: {error}") from None
        said_of = float(said["bias"]), said["radius"], said["about"], said["cut"]
        return cls(arrays["weights"], classes, *said_of, calibration, scores, table, names)

    def rows_of(self, X: Any) -> Any:
        """The rows that the model learned from tables like this one, without features that it never met; else X itself.

        Columns are found by name, in whatever order; those that the model does not know are left out.
        """
        if self.table is None or not is_table(X):
            return X
        return narrowed(rows_of_table(X, self.table), self.features)

    def decision(self, X: Any) -> Floats:
        """Scores: one per row for two classes (positive: the second class), else one per row and class."""
        one = self._one_row(X)
        if one is not None:
            return one
        head = head_of(self.weights, self.bias)
        rows, canonical = within(self.rows_of(X), self.features)
        scores = np.empty((count(rows), self.weights.shape[1]))
        for first, piece in pieces(rows, canonical, self.radius):
            score(head, piece, scores[first : first + count(piece)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def decisions(self, X: Any) -> Iterator[tuple[slice, Floats]]:
        """(places of rows, their scores as `decision` gives them), a bounded number of scores at a time."""
        yield from self._decisions(*within(self.rows_of(X), self.features))

    def _decisions(self, rows: AnyRows, canonical: bool) -> Iterator[tuple[slice, Floats]]:
        head, outputs = head_of(self.weights, self.bias), self.weights.shape[1]
        for first, piece in pieces(rows, canonical, self.radius, max(1, SCORES // outputs)):
            scores = np.empty((count(piece), outputs))
            score(head, piece, scores)
            yield slice(first, first + len(scores)), scores[:, 0] if outputs == 1 else scores

    def chosen(self, X: Any) -> Ints:
        """The place of every row's class among `classes`; in memory, one number a row and a bounded block of scores."""
        one = self._one_row(X)
        if one is not None:
            return places(one, len(self.classes), self.cut)
        rows, canonical = within(self.rows_of(X), self.features)
        found = np.empty(count(rows), dtype=np.int64)
        for where, scores in self._decisions(rows, canonical):
            found[where] = places(scores, len(self.classes), self.cut)
        return found

    def _one_row(self, X: Any) -> Floats | None:
        """The scores of one dense row that a kernel takes as it is: then nothing else need be looked at."""
        width, outputs = self.features, self.weights.shape[1]
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (1, width)):
            return None
        if not (width and self.radius is None and X.flags.c_contiguous and X.flags.writeable):
            return None
        if not np.abs(X).max() <= LARGEST:
            return None
        scores = np.empty((1, outputs))
        score(head_of(self.weights, self.bias), Dense(X), scores)
        return scores[:, 0] if outputs == 1 else scores

    def predict(self, X: Any) -> Array:
        """The label of every row."""
        return np.asarray(np.array(self.classes)[self.chosen(X)])

    def predict_proba(self, X: Any) -> Floats:
        """How probable each class is, (rows, classes): from the scores of rows that came after the model was frozen."""
        return self.probability(self.decision(X))

    def probability(self, scores: Floats) -> Floats:
        """The same from scores as `decision` gives them."""
        if len(self.classes) == 1:
            return np.ones((len(scores), 1))
        if self.calibration is None:
            raise ConversionError(
                "probabilities are made from the scores of a watched model on later rows: choose conversion='frozen'"
            )
        return self.calibration.probability(scores)


def within(X: Any, features: int) -> tuple[AnyRows, bool]:
    rows = accept(X)
    width, canonical = validate_rows(rows, 1 << 31, stated_columns(X))
    if width > features or (isinstance(rows, Dense) and width < features):
        raise DataError(f"X: {width} features, but the model was trained on {features}")
    return rows, canonical


def pieces(rows: AnyRows, canonical: bool, radius: float | None, most: int = 1 << 62) -> Iterator[tuple[int, AnyRows]]:
    """(number of the first row, kernel-ready rows), at most so many at a time."""
    for begin, end in blocks(rows):
        for first in range(begin, end, most):
            piece = block(rows, first, min(first + most, end), canonical)
            yield first, onto_ball(piece, radius) if radius is not None else piece


def places(scores: Floats, classes: int, cut: float = 0.0) -> Ints:
    """The place of the class that the scores of each row choose; where only one class was ever met, that one's."""
    if scores.ndim == 1:
        return (scores > cut).astype(np.int64) if classes == 2 else np.zeros(len(scores), dtype=np.int64)
    return np.asarray(np.argmax(scores, axis=1), dtype=np.int64)
