"""OnePassClassifier: scikit-learn's contract, and ours."""

import copy
import importlib
import pickle
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from onepass import ConversionError, OnePassClassifier, Pass
from onepass.learners import MarginPerceptron, PassiveAggressive, Perceptron
from strategies import csr, cuts, dyadic


@pytest.mark.filterwarnings("ignore:shifted")  # its checks have few rows, and balanced ones
@parametrize_with_checks(
    [
        OnePassClassifier(),
        OnePassClassifier(MarginPerceptron(), radius=1.0),
        OnePassClassifier("pa", conversion="frozen", shuffle=False),
        OnePassClassifier("normalized"),
        OnePassClassifier("shifted"),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", [Perceptron(), MarginPerceptron(), PassiveAggressive(variant=2)])
def test_fit_without_shuffling_is_any_cutting_into_partial_fit(learner):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 6)), rng.choice(["a", "b", "c"], size=400)
    whole = OnePassClassifier(learner, shuffle=False, radius=2.0).fit(csr(X), y)
    for pieces in (3, 60):
        cut = OnePassClassifier(learner, shuffle=False, radius=2.0, expected_rows=400)
        for first, last in pairwise(cuts(pieces, 400, pieces)):
            if last > first:
                cut.partial_fit(csr(X[first:last]), y[first:last], classes=["a", "b", "c"])
        np.testing.assert_array_equal(whole.coef_, cut.coef_)
        np.testing.assert_array_equal(whole.intercept_, cut.intercept_)
        assert whole.certificate_ == cut.certificate_


def test_one_row_at_a_time_is_the_whole():
    """By the short way for one row, with the long way for what it does not take; dense rows, to the last bit."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 5)), rng.choice([0, 1], size=300)
    for options in ({}, {"learner": "margin"}, {"learner": "margin", "radius": 1.0}, {"max_trace_memory": 2_000}):
        whole = OnePassClassifier(shuffle=False, **options).fit(X, y)
        rows = OnePassClassifier(shuffle=False, expected_rows=300, **options)
        for i in range(300):
            rows.partial_fit(X[i : i + 1], y[i : i + 1] if i % 2 else [int(y[i])], classes=[0, 1] if i == 0 else None)
        np.testing.assert_array_equal(whole.coef_, rows.coef_)
        assert whole.certificate_ == rows.certificate_
        np.testing.assert_array_equal(whole.predict(X[:1]), rows.predict(X[:1]))


@pytest.mark.parametrize(
    ("x", "label", "message"),
    [
        ([[np.nan, 0.0, 0.0]], 0, "NaN"),
        ([[np.inf, 0.0, 0.0]], 0, "infinity"),
        ([[1e308, 0.0, 0.0]], 0, "too large"),
        ([[1.0, 0.0]], 0, "2 features"),
        ([[1.0, 0.0, 0.0]], 5, "label 5"),
    ],
)
def test_a_rejected_row_leaves_the_model_bit_identical(x, label, message):
    X, y = dyadic(0, 100, 3)
    clf = OnePassClassifier(shuffle=False).partial_fit(X, (y > 0).astype(int), classes=[0, 1])
    before = pickle.dumps(clf.coef_), str(clf.certificate_)
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(np.array(x), [label])
    assert (pickle.dumps(clf.coef_), str(clf.certificate_)) == before
    assert clf.trace_.rounds == 100


def test_fit_shuffles_the_whole_by_default():
    X, y = dyadic(3, 600, 5, noise=0.0)
    order = np.argsort(y, kind="stable")
    assert OnePassClassifier(shuffle=False).fit(X[order], y[order]).certificate_.withheld
    shuffled = OnePassClassifier().fit(X[order], y[order])
    assert shuffled.certificate_.withheld is None
    other = OnePassClassifier(random_state=1).fit(X[order], y[order])
    assert not np.array_equal(shuffled.coef_, other.coef_)


def test_it_is_a_shell_around_a_pass():
    X, y = dyadic(3, 300, 5)
    clf, run = OnePassClassifier(shuffle=False).fit(X, y), Pass(classes=[-1, 1], n_features=5, expected_rows=300)
    run.feed(X, y)
    np.testing.assert_array_equal(clf.coef_[0], run.model().weights[1:, 0])
    assert clf.certificate_ == run.certificate()
    assert clf.certificate_ is clf.certificate_  # cached by round
    np.testing.assert_array_equal(clf.convert("last").weights, run.trace().last)
    assert clf.trace_.updates == run.trace().updates
    clf.partial_fit(X, y)
    assert clf.certificate_.rounds == 600


def test_pipeline_grid_search_and_clone():
    X, y = dyadic(4, 300, 5, noise=0.02)
    pipe = make_pipeline(MaxAbsScaler(), OnePassClassifier())
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(
        OnePassClassifier(),
        {"learner": ["perceptron", MarginPerceptron(), PassiveAggressive(C=0.1), PassiveAggressive]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert search.best_score_ > 0.7
    twin = clone(OnePassClassifier(PassiveAggressive(C=0.1), delta=0.1))
    assert twin.learner == PassiveAggressive(C=0.1)
    assert "delta=0.1" in repr(twin)


def test_pickles_are_small_go_on_learning_and_keep_rows_only_if_asked():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 10)), rng.choice([0, 1], size=3000)
    cutoff = {"learner": "margin", "conversion": "cutoff", "shuffle": False}
    plain = OnePassClassifier(**cutoff).fit(X, y)
    rows = OnePassClassifier(**cutoff, pickle_rows=True).fit(X, y)
    assert len(pickle.dumps(plain)) < len(pickle.dumps(rows)) / 2
    for clf in (plain, rows):
        before = clf.coef_
        back = pickle.loads(pickle.dumps(clf))
        np.testing.assert_array_equal(back.coef_, before)
        one, two = back.certificate_, clf.certificate_
        assert (one.risk, one.choice) == (two.risk, two.choice)
        assert back.trace_.rounds == clf.trace_.rounds
        back.partial_fit(X[:100], y[:100])
        clf.partial_fit(X[:100], y[:100])
        np.testing.assert_allclose(back.coef_, clf.coef_, atol=1e-12)
    assert pickle.loads(pickle.dumps(rows)).convert("suffix") is not None
    with pytest.raises(ConversionError, match="max_trace_memory"):
        pickle.loads(pickle.dumps(plain)).convert("suffix")


@pytest.mark.parametrize("learner", ["perceptron", "pa", "margin"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))])
def test_a_copy_learns_what_the_original_would_have(learner, copied):
    X, y = dyadic(3, 3000, 6, noise=0.1)
    clf = OnePassClassifier(learner, conversion="cutoff", shuffle=False).partial_fit(
        X[:1000], y[:1000], classes=[-1, 1]
    )
    twin = copied(clf)
    twin.partial_fit(X[1000:], y[1000:])
    assert clf.trace_.rounds == 1000
    clf.partial_fit(X[1000:], y[1000:])
    for conversion in ("last", "average", "cutoff"):
        np.testing.assert_allclose(twin.convert(conversion).weights, clf.convert(conversion).weights, rtol=1e-9)
    assert twin.certificate_.risk == clf.certificate_.risk


@pytest.mark.parametrize("options", [{"conversion": "suffix"}, {"cutoffs": "all"}])
def test_a_pickle_holds_what_its_own_conversion_needs(options):
    X, y = dyadic(3, 300, 6, noise=0.1)
    clf = OnePassClassifier(**options).fit(X, y)
    back = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(back.predict(X), clf.predict(X))
    assert back.certificate_ == clf.certificate_


def test_one_row_takes_labels_as_many_rows_do():
    pandas = pytest.importorskip("pandas")
    X, y = dyadic(3, 300, 6)
    clf = OnePassClassifier().partial_fit(X, y, classes=[-1, 1])
    clf.partial_fit(X[5:6], pandas.Series(y)[5:6])
    with pytest.warns(UserWarning, match="column-vector"):
        clf.partial_fit(X[5:6], y[5:6, None])
    with pytest.raises(ValueError, match="1d array"):
        clf.partial_fit(X[5:6], 1)
    assert clf.trace_.rounds == 302


def test_one_row_that_is_too_much_changes_nothing():
    X, y = dyadic(3, 60, 50, noise=0.5)
    clf = OnePassClassifier(
        learner="perceptron", conversion="cutoff", max_trace_memory=1000, shuffle=False
    ).partial_fit(X[:1], y[:1], classes=[-1, 1])
    for i in range(1, 60):
        before = clf._pass.rounds, clf._pass.mistakes
        try:
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
        except MemoryError:
            break
    assert i < 59
    assert (clf._pass.rounds, clf._pass.mistakes) == before


def test_a_first_call_that_is_refused_fixes_no_classes():
    X, _ = dyadic(3, 300, 6)
    y = np.arange(300) % 3
    clf = OnePassClassifier()
    with pytest.raises(ValueError, match="label 2"):
        clf.partial_fit(X, y, classes=[0, 1])
    assert clf.partial_fit(X, y, classes=[0, 1, 2]).trace_.rounds == 300


def test_the_certificate_is_of_the_model_that_predicts_whatever_set_params_says():
    X, y = dyadic(3, 300, 6, noise=0.1)
    clf = OnePassClassifier(learner="perceptron", conversion="cutoff").fit(X, y)
    weights = clf.coef_
    clf.set_params(conversion="last")
    np.testing.assert_array_equal(clf.coef_, weights)
    assert clf.certificate_.conversion == "cutoff"


def test_a_pickle_leaves_the_original_as_it_was():
    X, y = dyadic(7, 500, 6)
    stored, untouched = (OnePassClassifier(shuffle=False).fit(X, y) for _ in range(2))
    pickle.dumps(stored)
    assert stored.certificate_ == untouched.certificate_
    assert stored.trace_.mistakes == untouched.trace_.mistakes


def test_data_frames_and_text_labels():
    X, y = dyadic(5, 200, 3)
    names = np.where(y > 0, "spam", "ham")
    expected = OnePassClassifier().fit(X, names)
    for module in ("pandas", "polars"):
        library = importlib.import_module(module)
        frame = library.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
        clf = OnePassClassifier().fit(frame, names)
        np.testing.assert_array_equal(clf.coef_, expected.coef_)
        assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
        assert clf.predict(frame).tolist() == expected.predict(X).tolist()


def test_what_it_does_not_take_is_said_clearly():
    X, y = dyadic(5, 50, 3)
    with pytest.raises(TypeError, match="sample_weight is not supported"):
        OnePassClassifier().fit(X, y, sample_weight=np.ones(50))
    with pytest.raises(TypeError, match="sample_weight"):
        OnePassClassifier().partial_fit(X, y, classes=[-1, 1], sample_weight=np.ones(50))
    with pytest.raises(TypeError, match="epochs"):
        OnePassClassifier().fit(X, y, epochs=3)
    with pytest.raises(ValueError, match="classes: "):
        OnePassClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="classes: "):
        OnePassClassifier().partial_fit(X, y, classes=[-1, 1]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="one class"):
        OnePassClassifier().fit(X, np.ones(50))
    with pytest.raises(ValueError, match="validation_fraction: "):
        OnePassClassifier(conversion="validation").fit(X, y)
    assert OnePassClassifier(conversion="frozen").fit(X, y).certificate_.covers == "model"
    with pytest.raises(AttributeError, match="predict_proba"):
        OnePassClassifier(conversion="average").fit(X, y).predict_proba(X)
    with pytest.raises(ValueError, match="false_alarm, miss or precision"):
        OnePassClassifier().fit(X, y).threshold_for()
    with pytest.raises(ValueError, match="max_false_alarm and max_miss"):
        OnePassClassifier(max_false_alarm=0.1, max_miss=0.1).fit(X, y)


def test_stop_at_ends_a_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80_000, 3))
    y = X[:, 0] > 0
    clf = OnePassClassifier(stop_at=0.02).fit(X, y)
    assert clf.certificate_.risk <= 0.02
    assert clf.trace_.rounds < 40_000


def test_a_raw_table_is_told_what_takes_it():
    import pandas as pd

    table, y = pd.DataFrame({"job": ["cook", "poet"] * 20, "age": range(40)}), [0, 1] * 20
    for call in (OnePassClassifier().fit, OnePassClassifier().partial_fit):
        with pytest.raises(ValueError, match=r"could not convert.*\n.*onepass\.train\(table, target=NAME\)"):
            call(table, y)
    fitted = OnePassClassifier().fit(table[["age"]], y)
    with pytest.raises(ValueError, match="feature names") as error:
        fitted.predict(table[["age"]].rename(columns={"age": "years"}))
    assert "onepass.train" not in str(error.value)
    with pytest.raises(ValueError, match=r"^(?!.*onepass\.train)"):
        OnePassClassifier().fit([["cook"], ["poet"]], [0, 1])


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_fit_that_is_refused_leaves_what_was_fitted_before(bad, shuffle):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = np.where(X[:, 0] > 0, 1, -1)
    broken = np.column_stack([X, X[:, 0]])
    broken[2999, 2] = bad
    fitted = OnePassClassifier(shuffle=shuffle).fit(X, y)
    coefficients, certificate = fitted.coef_.copy(), fitted.certificate_
    for rows in (broken, csr(broken)):
        with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
            fitted.fit(rows, y)
        np.testing.assert_array_equal(fitted.coef_, coefficients)
        assert fitted.certificate_ == certificate
        assert fitted.n_features_in_ == 4
    with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
        fitted.partial_fit(broken[:, :4], y)
    np.testing.assert_array_equal(fitted.coef_, coefficients)
    assert not vars(OnePassClassifier()).keys() ^ vars(_refused(broken, y)).keys()


def _refused(X, y):
    """A classifier whose only fit was refused."""
    estimator = OnePassClassifier()
    with pytest.raises(ValueError, match=r"contains NaN|contains infinity"):
        estimator.fit(X, y)
    return estimator


def test_what_is_not_finite_is_refused_behind_a_stop_too():
    X = np.random.default_rng(0).normal(size=(80_000, 3))
    y = (X[:, 0] > 0).astype(int)
    X[-1, 0] = np.nan
    for seed in range(4):
        with pytest.raises(ValueError, match="contains NaN"):
            OnePassClassifier(stop_at=0.4, random_state=seed).fit(X, y)


def test_a_first_piece_that_is_refused_fixes_nothing():
    estimator = OnePassClassifier()
    with pytest.raises(ValueError, match="contains NaN"):
        estimator.partial_fit([[np.nan, 1.0, 2.0]], [1], classes=[0, 1])
    assert vars(estimator).keys() == vars(OnePassClassifier()).keys()
