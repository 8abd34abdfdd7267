"""TableEncoder: the encoding of tables as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from onepass.rows import Array, Rows
from onepass.tables.encoding import Encoded, encode
from onepass.tables.feature_names import FeatureNames
from onepass.tables.finding import Declared, find_plan
from onepass.tables.frames import array_of, bad_cell, batch_of, batches_of, first_rows, is_table, rows_at_once
from onepass.tables.plan import CellError, TablePlan
from onepass.tables.reading import joined, places_of


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers, categories, texts and dates of a table as sparse rows: what `onepass.train` makes of them.

    X is a DataFrame (pandas, polars), a pyarrow Table, RecordBatch or RecordBatchReader, whatever has
    `__arrow_c_stream__`, or an array, whose columns are called x0, x1, …. `fit` and `partial_fit` read streams batch
    by batch. The output has the numbers, then the hashed features that were met while it was fitted, in the order of
    their places; others are left out.

    Behind an encoder that was fitted on the rows that a model learns from, a certificate holds only if the kind of
    every column was declared, and none is a date (from when it counts is found): else rows that it counts have decided
    how they are read. `kinds_declared_` says which it is. (`onepass.train` needs no declaration: it counts none of the
    rows that decided.)

    Parameters
    ----------
    numeric, categorical, text, date, ignore : list of str or int, or None, default None
        Columns, by name or place, that are numbers, categories, texts or dates, or are left out, whatever they look
        like. None: none is declared. What the others are is decided by the first 256 rows that are fitted.
    missing : str, default "indicator"
        "indicator": a missing value (null, NaN, NA, ?, empty) is a feature of its own, in texts nothing. A missing
        number besides stands at the median of its column in the first 256 rows that are fitted, but at 0 where
        `numeric` declares the column: no row is looked at then. "zero": a missing value is nothing. "error": it is
        refused, except in texts.
    bits : int, default 18
        Categories and words are hashed into 2^bits places.

    Attributes
    ----------
    plan_ : TablePlan
        What each column is.
    kinds_declared_ : bool
        Whether that was all declared.
    n_features_in_ : int
        Columns.
    feature_names_in_ : array
        Their names, where they have some.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"job": ["cook", "poet", "cook", None], "age": [31.0, 27.5, None, 60.0]})
    >>> encoder = TableEncoder(categorical=["job"], numeric=["age"]).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'job=poet', 'age missing', 'job=cook', 'job missing']
    >>> encoder.transform(table).toarray()
    array([[31. ,  0. ,  0. ,  1. ,  0. ],
           [27.5,  1. ,  0. ,  0. ,  0. ],
           [ 0. ,  0. ,  1. ,  1. ,  0. ],
           [60. ,  0. ,  0. ,  0. ,  1. ]])
    >>> TableEncoder(categorical=["job"]).fit(table).transform(table).toarray()[2]  # not declared: age has its median
    array([31.,  0.,  1.,  1.,  0.])
    >>> encoder.kinds_declared_
    True
    """

    plan_: TablePlan
    _met: npt.NDArray[np.bool_]  # which places of features were met
    _known: FeatureNames

    def __init__(
        self,
        numeric: Any = None,
        categorical: Any = None,
        text: Any = None,
        date: Any = None,
        ignore: Any = None,
        missing: str = "indicator",
        bits: int = 18,
    ) -> None:
        self.numeric = numeric
        self.categorical = categorical
        self.text = text
        self.date = date
        self.ignore = ignore
        self.missing = missing
        self.bits = bits

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Find what the columns are, and which features there are, forgetting all that went before."""
        for name in ("plan_", "kinds_declared_", "feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Meet the features of more rows; what the columns are is decided by the rows of the first call."""
        first = not self.__sklearn_is_fitted__()
        names, batches = self._batches(X, reset=first)
        if first:
            sample, batches = first_rows(names, batches)
            plan = self._plan(names, sample)
            met, known = np.zeros(plan.width, np.bool_), FeatureNames(plan)
            met[: len(plan.numbers)] = True
        else:
            plan, met, known = self.plan_, self._met.copy(), self._known
        for found in _encoded(names, batches, plan, known):
            met[found.rows.indices] = True
            for one in found.met:
                known.meet(one)
        self.plan_, self.kinds_declared_ = plan, plan.looked_at == 0
        self._met, self._known = met, known
        self._names = [column.name for column in plan.columns]
        return self

    def transform(self, X: Any) -> Any:
        """The rows of X, a scipy.sparse.csr_array of the features that were met."""
        import scipy.sparse

        check_is_fitted(self)
        names, batches = self._batches(X, reset=False)
        rows = joined([found.rows for found in _encoded(names, batches, self.plan_, None)])
        keep = self._met[rows.indices]
        ends = np.concatenate([[0], np.cumsum(keep)])[rows.indptr]
        places = np.cumsum(self._met, dtype=np.int32) - 1
        kept = Rows(ends, places[rows.indices[keep]], rows.values[keep])
        shape = (len(ends) - 1, int(self._met.sum()))
        return scipy.sparse.csr_array((kept.values, kept.indices, kept.indptr), shape=shape)

    def fit_transform(self, X: Any, y: Any = None, **unsupported: Any) -> Any:
        """Fit, then transform the same rows, which must be there twice."""
        if is_table(X) and not hasattr(X, "__len__") and not hasattr(X, "columns"):
            raise TypeError("X: a stream can be read once: `fit` one, and `transform` another of the same rows")
        return super().fit_transform(X, y, **unsupported)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """What the features of the output are called: `age`, `job=cook`, `text: "word"`.

        Names are for reading: two features may have one name, where column names hold an equals sign.
        """
        check_is_fitted(self)
        own = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if own is not None and not np.array_equal(given, own):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(given) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_})"
                )
        return np.array([self._known.at(place) for place in np.flatnonzero(self._met).tolist()], dtype=object)

    # --- rows in ------------------------------------------------------------------------------------------------------

    def _plan(self, names: list[str], sample: list[Any]) -> TablePlan:
        """What the columns are, by the first rows and what was declared."""
        if self.missing not in ("indicator", "zero", "error"):
            raise ValueError(f"missing: 'indicator', 'zero' or 'error' expected, got {self.missing!r}")
        if not (isinstance(self.bits, int | np.integer) and 1 <= self.bits <= 30):
            raise ValueError(f"bits: a whole number from 1 to 30 expected, got {self.bits!r}")
        declared = Declared(
            numeric=_listed("numeric", self.numeric),
            categorical=_listed("categorical", self.categorical),
            text=_listed("text", self.text),
            date=_listed("date", self.date),
            ignore=_listed("ignore", self.ignore),
            missing=self.missing,
            bits=int(self.bits),
            labelled=None,
        )
        return find_plan(names, sample, declared, "")

    def _batches(self, X: Any, reset: bool) -> tuple[list[str], Iterator[Any]]:
        """(names of the columns, batches of rows); scikit-learn's own checks for what it knows."""
        if not is_table(X):
            X = validate_data(self, X, dtype=None, ensure_all_finite=self.missing == "error", reset=reset)
            names = [f"x{place}" for place in range(X.shape[1])] if reset else self._names
            return names, _of_array(X, names)
        names, _, batches = batches_of(X)
        if hasattr(X, "columns") and hasattr(X, "shape"):  # a frame, in memory
            validate_data(self, X, skip_check_array=True, reset=reset)
        elif reset:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        return names, batches

    # --- scikit-learn's own questions ---------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "plan_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _listed(option: str, columns: Any) -> tuple[Any, ...]:
    if isinstance(columns, str):
        raise TypeError(f"{option} must be a list of columns, not one string")
    return () if columns is None else tuple(columns)


def _encoded(
    names: list[str], batches: Iterator[Any], plan: TablePlan, known: FeatureNames | None
) -> Iterator[Encoded]:
    at, done = places_of(names, plan), 0
    for batch in batches:
        try:
            yield encode({name: batch.column(place) for name, place in at.items()}, plan, known)
        except CellError as error:
            raise bad_cell(error, done) from None
        done += batch.num_rows


def _of_array(X: Array, names: list[str]) -> Iterator[Any]:
    """Batches of an array, whatever it holds."""
    import pyarrow

    rows = rows_at_once(X.shape[1])
    for start in range(0, len(X), rows):
        part = X[start : start + rows]
        plain = part.dtype.kind in "biuf"
        columns = (part[:, place] for place in range(part.shape[1]))
        arrays = [
            pyarrow.array(column) if plain else array_of(column.tolist(), name)
            for name, column in zip(names, columns, strict=True)
        ]
        yield batch_of(names, arrays)
