"""Several machines, as one process plays them: every definition of onepass.scale, and its theorem."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest

import oracles
import oracles_scale
from onepass import OnePassClassifier, scale
from onepass.conversions import CONVERSIONS
from onepass.errors import ConversionError, DataError, ScaleError
from onepass.guards.order import LabelTransitions, observe_labels, order_evidence, order_state
from onepass.io import dump_svmlight, open_stream
from onepass.passes import Pass
from onepass.scale import cut, learn
from onepass.scale.summaries import Prefix, merge, summarise
from onepass.scale.versions import refuse_differences
from onepass.trace import combine
from onepass.trace.grid import floor_index
from strategies import csr, dyadic

cutoff = CONVERSIONS["cutoff"].members  # the weights (n_j − k)₊

# --- a pass that starts from an origin --------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [1 << 20, 2_000])
def test_a_pass_from_an_origin_is_the_run_from_there(memory):
    """Dyadic rows and origin: every combination of hypotheses, with rows kept and compacted, bit for bit."""
    X, y = dyadic(3, 300, 5)
    w0 = np.random.default_rng(0).integers(-32, 33, size=6) / 8.0
    kept = Pass("perceptron", conversion="cutoff", classes=[-1, 1], origin=w0[:, None])
    run = Pass("perceptron", conversion="cutoff", classes=[-1, 1], origin=w0[:, None], max_trace_memory=memory)
    kept.feed(csr(X), y)
    for first in range(0, 300, 37):
        run.feed(csr(X[first : first + 37]), y[first : first + 37])
    trace = run.trace()
    assert trace.compacted == (memory == 2_000)
    Z = np.column_stack([np.ones(300), X])
    used, last, margins = oracles_scale.run(Z, y, w0, oracles_scale.perceptron(0)[0])
    np.testing.assert_array_equal(trace.last[:, 0], last)
    for k in (0, 1, 2, 3, 8):
        B = oracles_scale.counted(margins <= 0, k)
        expected = (used * B[:, None]).sum(axis=0) + (k > 0) * w0
        q = cutoff(trace, k)
        np.testing.assert_array_equal(combine(trace, q)[:, 0], expected / (B.sum() + (k > 0)))
        np.testing.assert_array_equal(combine(trace, q), combine(kept.trace(), cutoff(kept.trace(), k)))
    assert run.certificate("longest").choice.value == kept.certificate("longest").choice.value
    np.testing.assert_array_equal(run.model("longest").weights, kept.model("longest").weights)


def test_the_rate_goes_on_from_the_rounds_elapsed():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 4)), rng.choice([-1, 1], size=200)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w0 = np.array([[0.1], [0.2], [-0.3], [0.4]])
    whole = Pass("margin", radius=1.0, fit_intercept=False, classes=[-1, 1], origin=np.vstack([[0.0], w0]), elapsed=50)
    whole.feed(X, y)
    used, last, margins = oracles_scale.run(X, y, w0[:, 0], oracles_scale.margin_perceptron(1.0)(50)[0])
    np.testing.assert_allclose(whole.trace().last[1:, 0], last, atol=1e-12)
    np.testing.assert_array_equal(whole.trace().survival, oracles.survivals(np.maximum(0, 1 - margins)))
    np.testing.assert_allclose(whole.model("average").weights[1:, 0], used.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("bad", [np.zeros((3, 2)), np.zeros(3), np.full((3, 1), np.nan), np.zeros((9, 1))])
def test_an_origin_that_does_not_fit_is_refused(bad):
    with pytest.raises(ValueError, match="origin"):
        Pass(classes=[-1, 1], n_features=4, origin=bad)


# --- chunks of files --------------------------------------------------------------------------------------------------


def svm(path, rows, features=40, seed=0):
    X, y = dyadic(seed, rows, features, zeros=0.8, noise=0.05)
    dump_svmlight(path, csr(X), y)
    return X, y


@pytest.mark.parametrize("step", [1, 7, 50, 333, 10_000])
def test_byte_ranges_hold_every_line_once(tmp_path, step):
    _, y = svm(tmp_path / "a.svm", 30, 6)
    text = (tmp_path / "a.svm").read_bytes()
    (tmp_path / "b.svm").write_bytes(text[:-1])  # no newline at the end
    for name in ("a.svm", "b.svm"):
        labels, rows = [], 0
        for chunk in cut(tmp_path / name, chunk_bytes=step).chunks:
            with open_stream(chunk.path, span=chunk.span, threads=0) as stream:
                for piece in stream:
                    labels += piece.labels.tolist()
                    rows += len(piece.rows.indptr) - 1
        assert labels == y.tolist()
        assert rows == 30


def test_an_error_in_the_middle_of_a_file_has_its_own_line(tmp_path):
    lines = [f"{(-1) ** i} 1:{i}" for i in range(40)]
    lines[29] = "1 1:x"
    (tmp_path / "a.svm").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"a\.svm:line 30, col 5"):
        learn(cut(tmp_path / "a.svm", chunk_bytes=60))


def test_parquet_is_cut_between_row_groups_and_csv_is_not_cut(tmp_path):
    import pyarrow
    from pyarrow import parquet

    X, y = dyadic(2, 400, 3)
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "label": y.astype(float)})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    inputs = cut(tmp_path / "t.parquet", target="label", chunk_bytes=1)
    assert [chunk.span for chunk in inputs.chunks] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    merged = learn(inputs)
    pairs = learn(cut([(X[at : at + 90], y[at : at + 90].astype(float)) for at in range(0, 400, 90)]))
    np.testing.assert_array_equal(merged.model().weights, pairs.model().weights)
    assert merged.certificate() == pairs.certificate()
    assert merged.columns == ("a", "b", "c")
    csv = "a,b,label\n" + "\n".join(f"{x[0]},{x[1]},{label}" for x, label in zip(X, y, strict=True))
    (tmp_path / "t.csv").write_text(csv)
    assert [chunk.span for chunk in cut(tmp_path / "t.csv", target="label", chunk_bytes=10).chunks] == [None]
    with pytest.raises(ValueError, match="span"):
        open_stream(tmp_path / "t.csv", target="label", span=(0, 10))


def test_files_with_other_columns_or_given_twice(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,label\n" + "1,2,0\n2,1,1\n" * 20)
    (tmp_path / "b.csv").write_text("a,c,label\n" + "1,3,0\n2,1,1\n" * 20)
    with pytest.raises(ScaleError, match="chunk 1 has other columns"):
        learn(cut([tmp_path / "a.csv", tmp_path / "b.csv"], target="label"))
    merged = learn(cut([tmp_path / "a.csv", tmp_path / "a.csv"], target="label"))
    assert "same data" in merged.certificate().withheld


def test_a_file_that_changed_is_not_read(tmp_path):
    svm(tmp_path / "a.svm", 100)
    inputs = cut(tmp_path / "a.svm", chunk_bytes=2_000)
    (tmp_path / "a.svm").write_bytes((tmp_path / "a.svm").read_bytes() + b"1 1:1\n")
    with pytest.raises(ScaleError, match=r"chunk 0 \(.*a\.svm, bytes 0 to 2,000\): the file is not the one"):
        learn(inputs)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (((), {}), "data"),
        ((([(np.zeros((2, 1)), [0, 1])],), {"chunk_bytes": 0}), "chunk_bytes"),
        ((([(np.zeros((2, 1)), [0, 1])],), {"zero_based": True}), "zero_based"),
        (((5,), {}), "data"),
    ],
)
def test_inputs_that_are_none(arguments, error):
    given, named = arguments
    with pytest.raises((TypeError, ValueError), match=error):
        cut(*given, **named)


# --- summaries --------------------------------------------------------------------------------------------------------


def summary(number, X, y, **options):
    run = Pass(classes=[-1, 1], **options)
    run.feed(X, y)
    return summarise(run.trace(), number, rows=run.rows, dense=None, columns=None)


def test_a_chunk_twice_is_refused_and_a_gap_is_named():
    X, y = dyadic(1, 100, 4)
    one, two, three = (summary(p, X, y) for p in range(3))
    with pytest.raises(ScaleError, match="chunk 1 is there twice"):
        merge(merge(one, two), two)
    with pytest.raises(ScaleError, match="chunk 1 is missing"):
        merge(one, three)
    with pytest.raises(ScaleError, match="not the order"):
        merge(two, one)
    with pytest.raises(ScaleError, match="other terms"):
        merge(one, summary(1, X, y, radius=2.0))
    prefix = Prefix(0, 4)
    for part in (three, one):
        prefix.add(part)
    assert prefix.summary().last_chunk == 0  # of the longest complete prefix, never of those that finished
    with pytest.raises(ScaleError, match="chunk 1, 3 did not come back"):
        prefix.whole()
    with pytest.raises(ScaleError, match="chunk 2 is there twice"):
        prefix.add(three)
    with pytest.raises(ScaleError, match="chunk 9 is none"):
        prefix.add(summary(9, X, y))


def test_summaries_in_any_order_of_arrival_give_the_same_bits():
    X, y = dyadic(4, 700, 5, noise=0.3)
    parts = [
        summary(p, X[100 * p : 100 * p + 100], y[100 * p : 100 * p + 100], learner="margin", radius=1.7)
        for p in range(7)
    ]
    merged = []
    for order in (range(7), range(6, -1, -1), (3, 1, 0, 6, 2, 5, 4)):
        prefix = Prefix(0, 7)
        for p in order:
            prefix.add(parts[p])
        merged.append(prefix.whole())
    assert merged[0].digest == merged[1].digest == merged[2].digest
    assert len(pickle.dumps(merged[0]._replace(duplicates=None))) < 20_000
    assert len(pickle.dumps(merged[0].duplicates)) < 100_000


def test_the_order_alarm_hears_across_chunks():
    """Krichevsky-Trofimov from pair counts is what `observe_labels` sums row by row; sorted chunks ring it."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], size=500, p=[0.3, 0.7])
    order = order_state(2)
    observe_labels(order, y)
    seen = LabelTransitions(order.pairs, order.seen, 0, 0)
    best = sum(n * math.log(n / 500) for n in order.seen)
    assert order_evidence(seen) == pytest.approx(order.evidence[0] + math.log(order.evidence[1]) - best, abs=1e-8)
    X = rng.normal(size=(400, 3))
    labels = np.repeat([0, 1, 0, 1], 100)
    pairs = [(X[at : at + 100], labels[at : at + 100]) for at in range(0, 400, 100)]
    merged = learn(cut(pairs), classes=[0, 1])
    assert "order" in merged.certificate().withheld
    shuffled = rng.permutation(labels)
    fine = learn(cut([(X[at : at + 100], shuffled[at : at + 100]) for at in range(0, 400, 100)]), classes=[0, 1])
    assert fine.certificate().withheld is None


# --- the run ----------------------------------------------------------------------------------------------------------

CUTOFF = {"conversion": "cutoff"}
OPTIONS = {
    "perceptron": {"learner": "perceptron"} | CUTOFF,
    "adaptive": CUTOFF,
    "average": {"conversion": "average"},
    "longest": {"conversion": "longest"},
    "margin": {"learner": "margin", "radius": 2.0} | CUTOFF,
    "margin, auto": {"learner": "margin", "radius": "auto"} | CUTOFF,
    "pa, compacted": {"learner": "pa", "max_trace_memory": 9_000} | CUTOFF,
    "dekel2008": {"bound": "dekel2008", "horizon": 2_000} | CUTOFF,
    "several": {"learner": "margin", "radius": 2.0, "classes": [0, 1, 2, 3]} | CUTOFF,
    "frozen": {},
    "frozen, auto": {"learner": "margin", "radius": "auto", "expected_rows": 500},
    "frozen, several": {"classes": [0, 1, 2, 3]},
    "frozen, stopped": {"stop_at": 0.45},
    "frozen, threshold": {"max_false_alarm": 0.4},
    "frozen, hinge": {"learner": "margin", "radius": 2.0, "loss": "hinge"},
    "frozen, cost": {"cost": {(-1, 1): 1.0, (1, -1): 5.0}},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_one_chunk_is_the_plain_pass_bit_for_bit(name):
    X, y = dyadic(5, 1500, 8, 4 if "several" in name else 2, noise=0.2)
    plain = Pass(**OPTIONS[name])
    plain.feed(csr(X), y)
    merged = learn(cut([(csr(X), y)]), **OPTIONS[name])
    np.testing.assert_array_equal(merged.model().weights, plain.model().weights)
    one, two = merged.certificate().as_dict(), plain.certificate().as_dict()
    assert one.pop("compacted")  # the members stayed on the worker
    two.pop("compacted")
    assert one == two
    assert merged.stopped == plain.stopped == ("stopped" in name)
    assert merged.model().cut == plain.model().cut
    assert (merged.rows, merged.rounds, merged.mistakes, merged.classes) == (
        plain.rows,
        plain.rounds,
        plain.mistakes,
        plain.classes,
    )


@pytest.mark.parametrize("learner", ["perceptron", "margin"])
@pytest.mark.parametrize("waves", [1, 2, 3])
def test_waves_are_the_runs_by_the_definition(learner, waves):
    """Model and certificate from every hypothesis of every chunk, kept whole."""
    X, y = dyadic(6, 1200, 4, noise=0.1)
    X = X / 4.0
    borders = np.linspace(0, 1200, 4 * waves + 1).astype(int)
    pairs = [(X[a:b], y[a:b]) for a, b in pairwise(borders)]
    options = {"learner": learner, "conversion": "cutoff", "fit_intercept": False, "classes": [-1, 1]}
    options |= {"radius": 2.0} if learner == "margin" else {}
    merged = learn(cut(pairs), waves=waves, **options)
    rule = oracles_scale.perceptron if learner == "perceptron" else oracles_scale.margin_perceptron(2.0)
    sizes, outcome = [len(part) for part in np.array_split(np.arange(4 * waves), waves)], merged.outcome
    parts = oracles_scale.waves(pairs, sizes, outcome.cutoffs, rule, grows=learner == "perceptron")
    begin = outcome.begin - 1
    W, losses, B = (np.concatenate([part[i] for part in parts[begin:]]) for i in range(3))
    expected = (W * B[:, None]).sum(axis=0) / B.sum()
    np.testing.assert_allclose(merged.model().weights[1:, 0], expected, atol=1e-12)
    certificate = merged.certificate()
    assert certificate.counted == B.sum()
    assert certificate.rounds == 1200
    C = 1.0 if learner == "perceptron" else 3.0
    index = floor_index(outcome.cutoffs[0])
    price = (1.0 / ((index + 1) * (index + 2)) if begin == 0 else 1.0) / waves
    assert certificate.risk == pytest.approx(C * oracles.betting(losses[B] / C, 0.05 * price), rel=1e-6)
    assert certificate.empirical == pytest.approx(losses[B].mean(), abs=1e-8)
    if waves > 1:
        bounds = []
        for at in range(waves):
            _, loss, counts = (np.concatenate([part[i] for part in parts[at:]]) for i in range(3))
            share = (1.0 / ((index + 1) * (index + 2)) if at == 0 else 1.0) / waves
            bounds.append(C * oracles.betting(loss[counts] / C, 0.05 * share))
        assert begin == int(np.argmin(bounds))


def test_longest_is_the_longest_of_all_chunks():
    X, y = dyadic(7, 900, 5, noise=0.1)
    pairs = [(X[at : at + 150], y[at : at + 150]) for at in range(0, 900, 150)]
    merged = learn(cut(pairs), conversion="longest", classes=[-1, 1], waves=1)
    best = None
    for number, (rows, labels) in enumerate(pairs):
        run = Pass(classes=[-1, 1])
        run.feed(rows, labels)
        if best is None or run.trace().longest.survival > best[0]:
            best = run.trace().longest.survival, number, run.model("longest").weights, run.trace().longest
    np.testing.assert_array_equal(merged.model().weights, best[2])
    j, p = best[3].number, best[1]
    lost = [1.0 if best[3].margin is not None else 0.0] + [0.0] * (best[0] - 1)
    bound = oracles.betting(lost, 0.05 / ((p + 1) * (p + 2) * (j + 1) * (j + 2)))
    assert merged.certificate().risk == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("conversion", ["frozen", "cutoff"])
def test_progress_speaks_of_the_longest_complete_prefix(conversion):
    X, y = dyadic(8, 800, 5)
    pairs = [(X[at : at + 100], y[at : at + 100]) for at in range(0, 800, 100)]
    seen, asked = [], []

    def watch(progress):
        asked.append(progress.certificate)
        seen.append((progress.done, progress.wave, progress.step, progress.rows, progress.certificate()))

    merged = learn(cut(pairs), waves=2, watch=watch, classes=[-1, 1], conversion=conversion)
    assert [certificate() for certificate in asked] == [line[4] for line in seen]  # whenever it is asked for
    assert [line[0] for line in seen if line[2] == 1] == list(range(1, 9))
    assert [line[3] for line in seen if line[2] == 1] == [100 * done for done in range(1, 9)]
    assert all(line[4].rounds == line[3] for line in seen)
    assert seen[-1][4] == merged.certificate()


def test_empty_chunks_and_a_first_chunk_of_one_label_change_nothing():
    X, y = dyadic(9, 600, 5)
    pairs = [(X[:300], y[:300]), (X[300:], y[300:])]
    plain = learn(cut(pairs))
    nothing = (np.zeros((0, 5)), np.zeros(0))
    first = [nothing, pairs[0], nothing, pairs[1]]
    for waves in (1, 2):
        assert learn(cut(first), waves=waves).rounds == 600
    merged = learn(cut([pairs[0], nothing, pairs[1]]))
    np.testing.assert_array_equal(merged.model().weights, plain.model().weights)
    ordered = learn(cut([(X[:1], y[:1]), (X[1:], y[1:])]))
    assert ordered.classes == (-1, 1)
    with pytest.raises(DataError, match="at least two classes"):
        learn(cut([(X[:5], np.ones(5)), (X[5:9], np.ones(4))]))
    with pytest.raises(DataError, match=r"chunk 1 .*label 7"):
        learn(cut([(X[:300], y[:300]), (X[300:], np.where(y[300:] > 0, 7, -1))]))
    assert learn(cut([(X, np.arange(600) % 3)])).classes == (0, 1, 2)
    with pytest.raises(DataError, match="600 labels in the first rows, and at most 50 may be met"):
        learn(cut([(X, np.arange(600))]))


@pytest.mark.parametrize("conversion", ["last", "suffix", "validation"])
def test_what_cannot_be_merged_says_why(conversion):
    more = {"validation": {"validation_fraction": 0.1}}.get(conversion, {})
    with pytest.raises(ConversionError, match=f"{conversion}: .*Choose frozen, cutoff, average or longest"):
        learn(cut([(np.eye(2), [0, 1])]), conversion=conversion, **more)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"cutoffs": "all"}, "update rows"),
        ({"validation_fraction": 0.1}, "validation_fraction"),
        ({"positive": 7}, "positive"),
        ({"max_false_alarm": 0.1, "classes": [0, 1, 2]}, "threshold"),
        ({"learner": "shifted", "n_features": 2}, "one pass"),
        ({"waves": 0}, "waves"),
        ({"waves": 3}, "waves"),
        ({"delta": 2}, "delta"),
        ({"radius": "auto"}, "larger chunks"),
    ],
)
def test_options_that_do_not_go_together_say_why(options, why):
    with pytest.raises(ValueError, match=why):
        learn(cut([(np.eye(2), [0, 1]), (np.eye(2), [0, 1])]), **options)


def test_a_fitted_classifier_is_a_normal_one(tmp_path):
    X, y = svm(tmp_path / "a.svm", 2_000)
    clf = OnePassClassifier(learner="margin", conversion="cutoff", radius=2.0)
    scale.fit(clf, tmp_path / "a.svm", chunk_bytes=20_000, waves=2)
    assert clf.certificate_.covers == "model"
    assert clf.n_features_in_ == 40
    assert (clf.predict(csr(X)) == y).mean() > 0.7
    clf.save(tmp_path / "m.safetensors")
    loaded = OnePassClassifier.load(tmp_path / "m.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        assert other.certificate_ == clf.certificate_
    assert clf.coef_.shape == (1, 40)
    assert clf.trace_.rounds == 2_000
    with pytest.raises(ConversionError, match="run again with conversion='average'"):
        clf.convert("average")
    with pytest.raises(ConversionError, match="vote"):
        clf.convert("cutoff", how="vote")
    with pytest.raises(ConversionError, match="cannot learn on"):
        clf.partial_fit(X, y)
    assert clf.fit(X, y).certificate_.rounds == 2_000  # a plain fit forgets all that went before


def test_versions_that_differ_are_refused_with_a_table():
    same = {"numpy": "2.1", "onepass": "0.1.0"}
    refuse_differences({"client": same, "a": same})
    with pytest.raises(ScaleError, match="versions differ") as told:
        refuse_differences({"client": same, "a": same, "b": same | {"numpy": "2.0"}, "c": same | {"numpy": "2.0"}})
    assert str(told.value).splitlines()[1:] == ["        numpy", "client  2.1", "b       2.0"]


def test_whatever_is_asked_of_a_merged_run_speaks_of_its_one_model():
    X, y = dyadic(4, 800, 4, noise=0.2)
    for waves in (1, 2):
        run = learn(
            cut([(X[at : at + 200], y[at : at + 200]) for at in range(0, 800, 200)]),
            learner="perceptron",
            conversion="cutoff",
            waves=waves,
            classes=[-1, 1],
        )
        own = run.certificate()
        for asked in ({"delta": 1e-12}, {"delta": 0.9}, {"bound": "dekel2008"}):
            certificate = run.certificate(**asked)
            assert (certificate.choice.value, certificate.counted) == (own.choice.value, own.counted)
            np.testing.assert_array_equal(run.model(certificate).weights, run.model().weights)
            assert run.model(certificate).about["certificate"] == certificate.as_dict()
        with pytest.raises(ConversionError, match="the workers sent the vectors of cutoff"):
            run.certificate("average")
        with pytest.raises(ConversionError, match="given after 200 rounds, and the pass has learned 800"):
            run.model(
                learn(
                    cut([(X[:200], y[:200])]), learner="perceptron", conversion="cutoff", classes=[-1, 1]
                ).certificate()
            )
