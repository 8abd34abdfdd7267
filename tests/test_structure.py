"""A table whose parts contradict each other is refused by every entry, before SciPy or a kernel trusts it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from onepass import DataError, OnePassClassifier, Pass
from onepass.cluster import KMeans, kmeans_plusplus
from onepass.experts import ExpertsClassifier, Hedge
from onepass.io import dump_svmlight
from onepass.learners import Perceptron
from onepass.smooth.estimator import SmoothThresholdClassifier
from onepass.structure import check_structure
from strategies import dyadic

X, Y = dyadic(0, 60, 5)
FITTED = OnePassClassifier().fit(X, Y)
CLUSTERS = KMeans(2, random_state=0).fit(X)
EXPERTS = ExpertsClassifier([("one", SGDClassifier(random_state=0))]).fit(X, Y)
SMOOTH = SmoothThresholdClassifier("linear").fit(X, Y)


def watched(rows, labels=Y):
    Pass(Perceptron(), watch=True).feed(rows, labels)


def compacted(rows, labels=Y):
    Pass(max_trace_memory=2000, n_features=5).feed(rows, labels)


SPARSE = {
    "fit": lambda rows: OnePassClassifier().fit(rows, Y),
    "fit in order": lambda rows: OnePassClassifier(shuffle=False).fit(rows, Y),
    "partial_fit": lambda rows: OnePassClassifier().partial_fit(rows, Y, classes=[-1, 1]),
    "predict": FITTED.predict,
    "decision_function": FITTED.decision_function,
    "feed": lambda rows: Pass().feed(rows, Y),
    "feed a pass that watches": watched,
    "feed a pass that folds": compacted,
    "a model": FITTED.convert("average").predict,
    "a voted model": FITTED.convert("average", "vote").predict,
    "regret": lambda rows: _fed().regret(rows, Y),
    "k-means": lambda rows: KMeans(2, random_state=0).fit(rows),
    "k-means in pieces": lambda rows: KMeans(2, random_state=0).partial_fit(rows),
    "nearest centre": CLUSTERS.predict,
    "seeding": lambda rows: kmeans_plusplus(rows, 2, random_state=0),
    "experts": lambda rows: ExpertsClassifier([("one", SGDClassifier(random_state=0))]).fit(rows, Y),
    "what experts say": EXPERTS.predict,
}
DENSE = SPARSE | {
    "smooth": lambda rows: SmoothThresholdClassifier("linear").fit(rows, Y),
    "smooth, in use": SMOOTH.predict,
}


def _fed():
    run = Pass("margin", radius=2.0, n_features=5)
    run.feed(X, Y)
    return run


def changed(**parts):
    def make(matrix):
        for name, change in parts.items():
            setattr(matrix, name, change(getattr(matrix, name).copy()))
        return matrix

    return make


def put(at, value):
    def change(array):
        array[at] = value
        return array

    return change


def without_last(array):
    return array[:-3]


BROKEN = {
    "indptr beyond the data": changed(indptr=put(5, 10**6)),
    "indptr that falls": changed(indptr=put(5, 3)),
    "indptr that is negative": changed(indptr=put(5, -3)),
    "indptr that begins at 1": changed(indptr=put(0, 1)),
    "indptr that ends too late": changed(indptr=put(-1, 10**6)),
    "indptr cut short": changed(indptr=without_last),
    "indptr of floats": changed(indptr=lambda array: array.astype(float)),
    "data cut short": changed(data=without_last),
    "indices cut short": changed(indices=without_last),
    "both cut short": changed(data=without_last, indices=without_last),
    "indices of two dimensions": changed(indices=lambda array: array.reshape(-1, 1)),
    "an index beyond the width": changed(indices=put(7, 5)),
    "a far index": changed(indices=put(7, 10**8)),
    "a negative index": changed(indices=put(7, -1)),
}


@pytest.mark.parametrize("entry", SPARSE)
def test_a_broken_csr_is_refused_by_every_entry(entry):
    for what, broken in BROKEN.items():
        rows = broken(sp.csr_array(X))
        with pytest.raises(DataError) as error:
            SPARSE[entry](rows)
        assert str(error.value).startswith("X: "), what


def test_rows_beyond_their_own_width_change_nothing():
    """Also where the pass is wider: by its own words the matrix has five columns."""
    wide, rows = Pass(), BROKEN["an index beyond the width"](sp.csr_array(X))
    wide.feed(np.pad(X, ((0, 0), (0, 40))), Y)
    weights = wide.trace().last.tobytes()
    with pytest.raises(DataError, match="feature index 5 is outside the 5 columns that X has"):
        wide.feed(rows, Y)
    with pytest.raises(DataError, match="outside the 5 columns"):
        wide.model().predict(rows)
    assert wide.rows == 60
    assert wide.trace().last.tobytes() == weights


def lil(matrix):
    matrix.data[3] = [1.0] * 10**5
    return matrix


def coo(matrix):
    matrix.coords[0][3] = 10**8
    return matrix


OTHERS = {
    "csc, a row beyond": (sp.csc_array, changed(indices=put(3, 10**8))),
    "csc, indptr": (sp.csc_array, changed(indptr=put(2, 10**6))),
    "bsr, indptr": (lambda A: sp.bsr_array(A, blocksize=(2, 5)), changed(indptr=put(3, 10**6))),
    "bsr, data": (lambda A: sp.bsr_array(A, blocksize=(2, 5)), changed(data=without_last)),
    "bsr, other blocks": (lambda A: sp.bsr_array(A, blocksize=(2, 5)), changed(data=lambda a: a[:, :, :3])),
    "coo, a row beyond": (sp.coo_array, coo),
    "coo, data": (sp.coo_array, changed(data=without_last)),
    "lil, values": (sp.lil_array, lil),
    "dia, offsets": (sp.dia_array, changed(offsets=lambda a: np.arange(1000))),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_broken_formats_are_refused_before_they_are_converted(what):
    form, broken = OTHERS[what]
    for entry in (SPARSE["fit"], SPARSE["feed"], SPARSE["k-means"]):
        rows = broken(form(X))
        with pytest.raises(DataError, match=r"^X: "):
            entry(rows)


def test_a_broken_matrix_is_not_written(tmp_path):
    with pytest.raises(DataError, match="broken indptr"):
        dump_svmlight(tmp_path / "x.svm", BROKEN["indptr beyond the data"](sp.csr_array(X)), Y)
    assert not (tmp_path / "x.svm").exists()


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.bsr_array, sp.coo_array, sp.lil_array])
def test_a_sound_matrix_is_let_through(form):
    check_structure(form(X), indices=True)
    check_structure(sp.dia_array(np.eye(5)))
    longer = sp.csr_array(X)
    longer.data, longer.indices = np.append(longer.data, 7.0), np.append(longer.indices, 7)  # as SciPy leaves them
    check_structure(longer)
    assert FITTED.predict(longer).tolist() == FITTED.predict(X).tolist()


@pytest.mark.parametrize("entry", DENSE)
def test_a_mask_is_a_refusal(entry):
    rows = np.ma.array(X, mask=np.zeros(X.shape, dtype=bool))
    DENSE[entry](rows)  # nothing is masked
    rows[3, 2] = np.ma.masked
    with pytest.raises(DataError, match=r"X: a masked array, 1 of whose values are masked: .*X\.filled"):
        DENSE[entry](rows)


def test_masked_labels_weights_and_advice_are_refused_too():
    masked = np.ma.array(Y, mask=Y > 0)
    for fit in (OnePassClassifier().fit, SmoothThresholdClassifier("linear").fit, Pass().feed):
        with pytest.raises(DataError, match="y: a masked array"):
            fit(X, masked)
    with pytest.raises(DataError, match="sample_weight: a masked array"):
        KMeans(2).fit(X, sample_weight=np.ma.array(np.ones(60), mask=Y > 0))
    with pytest.raises(DataError, match="advice: a masked array"):
        Hedge().run(np.ma.array(np.ones((2, 2)), mask=[[0, 1], [0, 0]]), [1, 1])
    with pytest.raises(DataError, match="outcomes: a masked array"):
        Hedge().run(np.ones((2, 2)), np.ma.array([1, 1], mask=[0, 1]))
