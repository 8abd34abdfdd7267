"""TableEncoder: scikit-learn's own checks, and the same encoding as `train`."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from onepass import DataError, OnePassClassifier, Pass, TableEncoder, train
from onepass.tables.finding import Declared, find_plan
from onepass.tables.reading import rows_of_table


@parametrize_with_checks(
    [TableEncoder(), TableEncoder(missing="zero", bits=6), TableEncoder(missing="error"), TableEncoder(categorical=[0])]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def people(rows, seed=0):
    """A table of every kind, with holes."""
    rng = np.random.default_rng(seed)
    job, age = rng.choice(["cook", "poet", "smith"], rows), rng.integers(-80, 80, rows) / 8.0
    frame = pd.DataFrame(
        {
            "job": job,
            "age": age,
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, rows), unit="s"),
            "said": [
                " ".join(rng.choice(["so", "good", "fine", "bad", "very"], 6)) + f" n{i % 50}" for i in range(rows)
            ],
            "member": rng.random(rows) < 0.5,
            "id": np.arange(rows),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "job"] = None
    frame.loc[rng.random(rows) < 0.1, "age"] = np.nan
    return frame, np.where((age > 0) ^ (job == "poet"), "yes", "no")


def dense(rows, width):
    return scipy.sparse.csr_array(
        (rows.values, rows.indices, rows.indptr), shape=(len(rows.indptr) - 1, width)
    ).toarray()


FRAME, Y = people(700)
KINDS = {"categorical": ["job", "member"], "numeric": ["age"], "date": ["since"], "text": ["said"], "ignore": ["id"]}
DECLARED = {name: columns for name, columns in KINDS.items() if name != "date"} | {"ignore": ["id", "since"]}


@pytest.mark.parametrize("missing", ["indicator", "zero"])
def test_it_is_the_encoding_of_a_plan_without_the_features_never_met(missing):
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    encoder = TableEncoder(bits=8, missing=missing).fit(FRAME)
    declared = Declared(bits=8, missing=missing, labelled=None)
    plan = find_plan(table.column_names, [column.combine_chunks() for column in table.columns], declared, "")
    assert encoder.plan_ == plan
    whole = dense(rows_of_table(table, plan), plan.width)
    met = np.flatnonzero((whole != 0.0).any(axis=0) | (np.arange(plan.width) < len(plan.numbers)))
    assert encoder.transform(FRAME).toarray().tobytes() == np.ascontiguousarray(whole[:, met]).tobytes()
    assert encoder.transform(FRAME).dtype == np.float64


def test_names_say_what_each_feature_is():
    encoder = TableEncoder().fit(FRAME)
    names = encoder.get_feature_names_out().tolist()
    assert names[:2] == ["age", "since"]
    known = {
        "job=cook",
        "job=poet",
        "job missing",
        "age missing",
        "member=true",
        'said: "good"',
        "since weekday=Monday",
    }
    assert known <= {*names}
    assert len(names) == encoder.transform(FRAME).shape[1]
    column = encoder.transform(FRAME)[:, [names.index("job=cook")]].toarray()[:, 0]
    assert column.tolist() == (FRAME["job"] == "cook").astype(float).tolist()


def test_frames_streams_and_arrays_of_the_same_rows_are_alike():
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    wanted = TableEncoder().fit(FRAME)
    rows = wanted.transform(FRAME).toarray().tobytes()
    for source in (pl.from_pandas(FRAME), table, FRAME.astype({"job": "category"}), FRAME.astype(object)):
        encoder = TableEncoder().fit(source)
        assert encoder.transform(source).toarray().tobytes() == rows
        assert encoder.get_feature_names_out().tolist() == wanted.get_feature_names_out().tolist()
        assert encoder.feature_names_in_.tolist() == [*FRAME.columns]
    encoder = TableEncoder().fit(table.to_reader(max_chunksize=13))
    assert encoder.transform(table.to_reader(max_chunksize=29)).toarray().tobytes() == rows
    assert encoder.transform(table.select([*reversed(table.column_names)]).to_reader()).toarray().tobytes() == rows
    with pytest.raises(TypeError, match="can be read once"):
        encoder.fit_transform(table.to_reader())
    with pytest.warns(UserWarning, match="valid feature names"):
        assert wanted.transform(FRAME.to_numpy()).toarray().tobytes() == rows


def test_partial_fit_in_pieces_is_fit_where_the_first_piece_decides():
    wanted = TableEncoder().fit(FRAME)
    encoder = TableEncoder()
    for start, stop in ((0, 300), (300, 301), (301, 700)):
        encoder.partial_fit(FRAME[start:stop])
    assert encoder.transform(FRAME).toarray().tobytes() == wanted.transform(FRAME).toarray().tobytes()
    assert encoder.get_feature_names_out().tolist() == wanted.get_feature_names_out().tolist()
    again = pickle.loads(pickle.dumps(encoder))
    assert again.transform(FRAME).toarray().tobytes() == wanted.transform(FRAME).toarray().tobytes()
    fewer = clone(encoder).fit(FRAME[:300])
    assert fewer.transform(FRAME).shape[1] <= wanted.transform(FRAME).shape[1]


def test_declared_kinds_are_told_from_found_ones():
    assert TableEncoder(**DECLARED).fit(FRAME).kinds_declared_
    assert not TableEncoder().fit(FRAME).kinds_declared_
    assert not TableEncoder(**{**DECLARED, "text": None}).fit(FRAME).kinds_declared_
    assert not TableEncoder(**KINDS).fit(FRAME).kinds_declared_  # from when a date counts is found


def test_behind_declared_kinds_a_classifier_learns_what_train_learns():
    """Features have other numbers, and weights are the same."""
    encoder = TableEncoder(**DECLARED)
    pipeline = make_pipeline(encoder, OnePassClassifier(shuffle=False)).fit(FRAME, Y)
    result = train(FRAME.assign(y=Y), target="y", expected_rows=len(Y), **DECLARED)
    assert result.run.uncounted_rows == 0
    assert pipeline.predict(FRAME).tolist() == result.model.predict(FRAME).tolist()
    assert pipeline[-1].certificate_.risk == result.certificate.risk
    heavy = {result.model.names.at(place): weight for place, weight in enumerate(result.model.weights[1:, 0]) if weight}
    names = encoder.get_feature_names_out()
    assert {name: weight for name, weight in zip(names, pipeline[-1].coef_[0], strict=True) if weight} == heavy


@pytest.mark.parametrize(
    ("options", "stands"),
    [({}, 4.0), ({"numeric": ["age"]}, 0.0), ({"missing": "zero"}, 0.0), ({"categorical": ["job"]}, 4.0)],
)
def test_a_missing_number_stands_at_the_median_where_its_kind_was_found_and_at_0_where_declared(options, stands):
    frame = pd.DataFrame({"age": [1.0, 4.0, None, 9.0] * 64 + [500.0] * 600, "job": ["cook", "poet"] * 428})
    encoder = TableEncoder(**options).fit(frame)
    row = dict(zip(encoder.get_feature_names_out(), encoder.transform(frame).toarray()[2], strict=True))
    assert row["age"] == stands
    assert row.get("age missing") == (None if options.get("missing") == "zero" else 1.0)


def test_a_missing_text_is_nothing_and_no_error():
    frame = pd.DataFrame({"said": ["so it is", "as it was", None], "size": [1.0, 2.0, 4.0]})
    for missing in ("indicator", "error"):
        encoder = TableEncoder(text=["said"], missing=missing).fit(frame)
        assert not any("missing" in name for name in encoder.get_feature_names_out())
        assert encoder.transform(frame).toarray()[2].tolist()[1:] == [0.0] * (encoder.transform(frame).shape[1] - 1)


def test_values_never_met_are_nothing_and_arrays_have_numbered_columns():
    encoder = TableEncoder().fit(np.array([["a", 1.5], ["b", 2.5], ["a", None]], dtype=object))
    assert encoder.get_feature_names_out().tolist() == ["x1", "x0=a", "x0=b", "x1 missing"]
    assert encoder.transform(np.array([["c", 0.5]], dtype=object)).toarray().tolist() == [[0.5, 0.0, 0.0, 0.0]]
    encoder = TableEncoder(missing="zero").fit([[1.5, np.nan], [0.5, 2.0]])
    assert encoder.transform([[np.nan, 3.0]]).toarray().tolist() == [[0.0, 3.0]]


@pytest.mark.parametrize(
    ("encoder", "X", "error", "message"),
    [
        (TableEncoder(bits=0), FRAME, ValueError, "bits: a whole number from 1 to 30"),
        (TableEncoder(missing="drop"), FRAME, ValueError, "missing: 'indicator'"),
        (TableEncoder(numeric="age"), FRAME, TypeError, "numeric must be a list"),
        (TableEncoder(numeric=["ege"]), FRAME, DataError, "did you mean 'age'"),
        (TableEncoder(numeric=["age"], text=["age"]), FRAME, DataError, "cannot be both"),
        (TableEncoder(ignore=[*FRAME.columns]), FRAME, DataError, "no column to learn from"),
        (TableEncoder(missing="error"), FRAME, DataError, "row .*has no value"),
        (TableEncoder(), pa.table({"a": pa.array([], pa.int8())}), DataError, "no rows"),
        (TableEncoder(), [[np.inf, 1.0], [0.0, 2.0]], DataError, "row 0: column 'x0' holds inf"),
    ],
)
def test_what_cannot_be_encoded_is_said(encoder, X, error, message):
    with pytest.raises(error, match=message):
        encoder.fit(X)


def test_columns_that_are_not_there_are_listed():
    encoder = TableEncoder().fit(pa.Table.from_pandas(FRAME, preserve_index=False).to_reader())
    with pytest.raises(DataError, match="columns job, since are not there"):
        encoder.transform(pa.Table.from_pandas(FRAME[["age", "said", "member"]], preserve_index=False).to_reader())
    with pytest.raises(ValueError, match="feature names should match"):
        TableEncoder().fit(FRAME).transform(FRAME.drop(columns="job"))


def test_the_pass_takes_what_it_gives():
    run = Pass()
    run.feed(TableEncoder().fit_transform(FRAME), Y)
    assert run.rows == len(Y)
