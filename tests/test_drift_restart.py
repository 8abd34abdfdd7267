"""What is done about drift: a certificate that starts anew while the learner goes on, or one that only tells."""

import json
from dataclasses import replace

import numpy as np
import pytest

from invoking import invoke
from onepass import CheckpointError, ConversionError, LinearModel, Pass
from onepass.certificates.pair import candidate_risk
from onepass.checkpoints.packing import pack, unpack
from onepass.cli.group import program
from onepass.history import History
from onepass.learners import Perceptron
from onepass.looks import next_look
from onepass.scale import cut, learn


def turned(seed, rows, *turns):
    """Labels follow the first column, after the first turn the second, and so on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    teacher = np.searchsorted(turns, np.arange(rows), side="right")
    return X, np.where(X[np.arange(rows), teacher] + 0.3 * rng.normal(size=rows) > 0, 1, -1)


def made(learner="perceptron", **options):
    return Pass(learner, classes=[-1, 1], n_features=4, on_drift="restart", **options)


def fed(X, y, pieces=1, **options):
    run = made(**options)
    for part in np.array_split(np.arange(len(y)), pieces):
        run.feed(X[part], y[part])
    return run


@pytest.mark.parametrize("learner", ["perceptron", "adaptive", "pa"])
def test_a_restart_is_a_fresh_run_from_the_living_hypothesis(learner):
    X, y = turned(1, 5000, 3000)
    run = fed(X, y, learner=learner)
    (ended,) = run.regimes.ended
    assert 3000 < ended.last < 3300
    assert ended.first == 1
    assert abs(ended.since - 3000) < 100
    before = Pass(learner, classes=[-1, 1], n_features=4, on_drift="ignore")
    before.feed(X[: ended.last], y[: ended.last])
    assert before.guards.drifted.alarm <= ended.last == next_look(before.guards.drifted.alarm - 1)
    assert ended.mistakes == before.mistakes
    origin = before.learner_run.carried()
    fresh = Pass(learner, classes=[-1, 1], n_features=4, origin=origin, elapsed=ended.last, delta=0.05 / 6)
    fresh.feed(X[ended.last :], y[ended.last :])
    np.testing.assert_array_equal(run.model().weights, fresh.model().weights)
    own, other = run.certificate(), fresh.certificate()
    for name in ("risk", "delta", "choice", "counted", "empirical", "rounds"):
        assert getattr(own, name) == getattr(other, name)
    assert own.withheld is None
    assert f"the rows from row {ended.last + 1:,} on are meant, after a drift" in own.assumptions


def test_shares_of_delta_add_up_to_it():
    X, y = turned(3, 9000, 3000, 6000)
    run = fed(X, y)
    assert len(run.regimes.ended) == 2
    assert run.certificate().delta == pytest.approx(0.05 / 12)
    assert run.certificate(delta=0.12).delta == pytest.approx(0.01)
    assert made().delta_share == 0.5
    assert sum(1 / ((j + 1) * (j + 2)) for j in range(10_000)) == pytest.approx(1.0, abs=2e-4)
    model = run.model(run.certificate("average"))
    np.testing.assert_array_equal(model.weights, run.model("average").weights)


def test_any_cutting_and_resuming_give_the_same_bits():
    X, y = turned(2, 5000, 1500, 3000)
    whole, pieces, resumed = fed(X, y), fed(X, y, 83), made()
    for part in np.array_split(np.arange(len(y)), 17):
        state, arrays = resumed.state(), {}
        state = unpack(json.loads(json.dumps(pack(state, arrays))), arrays)
        resumed = made()
        resumed.check_state(state)
        resumed.restore(state)
        resumed.feed(X[part], y[part])
    assert len(whole.regimes.ended) >= 2
    for other in (pieces, resumed):
        assert other.regimes.ended == whole.regimes.ended
        assert other.certificate() == whole.certificate()
        np.testing.assert_array_equal(other.model().weights, whole.model().weights)


def test_forged_regimes_are_refused():
    run = fed(*turned(2, 3000, 1500))
    state = run.state()
    run.check_state(state)
    for name, value in (("ended", ()), ("origin", None), ("elapsed", -1), ("ended", ((1, 2, 3),))):
        with pytest.raises(CheckpointError):
            made().check_state(state | {"regimes": state["regimes"] | {name: value}})
    with pytest.raises(CheckpointError):
        Pass("perceptron", classes=[-1, 1], n_features=4).check_state(state)


def test_certificates_of_the_present_hold():
    """After a turn: the certified risk of the model, on fresh rows of the last regime."""
    false = 0
    for seed in range(20):
        X, y = turned(100 + seed, 4000, 1500)
        run = fed(X, y, delta=0.3)
        fresh, truth = turned(500 + seed, 4000, 0)
        false += run.certificate().risk < np.mean(run.model().predict(fresh) != truth)
    assert false <= 6


def test_to_ignore_is_to_tell():
    X, y = turned(1, 4000, 2500)
    run = Pass("perceptron", on_drift="ignore")
    run.feed(X, y)
    certificate = run.certificate()
    assert certificate.withheld is None
    assert "strong evidence against it" in str(certificate)
    assert certificate.drift.alarm > 2500


def test_what_cannot_restart_says_so():
    with pytest.raises(ValueError, match="on_drift: one of"):
        Pass(on_drift="perhaps")
    with pytest.raises(ConversionError, match="no model is watched"):
        Pass(on_drift="restart", conversion="average")
    with pytest.raises(ConversionError, match="cannot go on"):
        Pass("shifted", on_drift="restart", n_features=3)


def on_chunks(X, y, chunks, **options):
    parts = np.array_split(np.arange(len(y)), chunks)
    return learn(cut([(X[part], y[part]) for part in parts]), learner=Perceptron(), classes=[-1, 1], **options)


def test_several_machines_restart_with_a_wave():
    """What is certified after a drift is what the deployed model does on the rows of later waves."""
    X, y = turned(1, 9600, 4500)
    run = on_chunks(X, y, 24, waves=12, on_drift="restart")
    (ended,) = run.regimes.ended
    assert (ended.first, ended.score, ended.since) == (1, "signed", 4401)  # the chunk in which it turns
    assert ended.last in (4800, 5600)  # the end of that wave, or of the next
    certificate, model = run.certificate(), run.model()
    assert certificate.withheld is None
    assert certificate.delta == pytest.approx(0.05 / 6)
    assert (certificate.rounds, run.rounds, run.rows) == (9600 - ended.last, 9600 - ended.last, 9600)
    assert f"the rows from row {ended.last + 1:,} on are meant, after a drift" in certificate.assumptions
    frozen = certificate.choice.value
    assert frozen >= ended.last
    assert certificate.counted == 9600 - frozen
    wrong = model.predict(X[frozen:]) != y[frozen:]
    assert certificate.empirical == pytest.approx(wrong.mean())
    counts, left = run.trace().watched.counts, (9600 - ended.last) // 800  # waves, fewer than nine: one each
    bounds = [candidate_risk(counts, slot, 0.05 / 6 / left) for slot in range(len(counts.frozen))]
    assert certificate.risk == min(bounds)
    assert model.about["regimes"][0]["last"] == ended.last


def test_a_drift_at_the_end_withholds_and_one_chunk_is_a_plain_pass():
    X, y = turned(1, 4000, 3300)
    late = on_chunks(X, y, 4, waves=4, on_drift="restart")
    assert not late.regimes.ended
    assert "the rows drift" in late.certificate().withheld
    whole, alone = fed(X, y), on_chunks(X, y, 1, on_drift="restart")
    assert alone.regimes.ended == whole.regimes.ended != ()
    assert replace(alone.certificate(), compacted=False) == whole.certificate()
    assert on_chunks(X, y, 4, waves=4, on_drift="ignore").certificate().withheld is None


def test_the_history_goes_on():
    X, y = turned(1, 4000, 2500)
    history = History(made())
    history.feed(X, y)
    points = history.finish()
    assert points[-1].rows == 4000
    assert points[-1].rounds == history.run.rounds < 1500
    assert max(at.drift for at in points) > 0.0


def test_the_command_line_restarts_and_shows_the_regimes(tmp_path):
    X, y = turned(1, 4000, 2500)
    lines = [",".join([*map(repr, x), str(label)]) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,d,label", *lines]) + "\n")
    call = ["train", tmp_path / "rows.csv", "--target", "label", "--learner", "perceptron"]
    withheld = invoke(program, [*call, "--report", tmp_path / "w.html"])
    assert "No certificate: the rows drift" in withheld.stdout
    for words in (withheld.stdout, (tmp_path / "w.html").read_text()):
        assert "Then --on-drift restart certifies" in words
        assert "on_drift=" not in words
    more = ["--on-drift", "restart", "-o", tmp_path / "model", "--report", tmp_path / "page.html"]
    found = invoke(program, [*call, *more])
    assert found.exit_code == 0, found.output
    assert "rows 1 to 2," in found.stdout
    assert "With probability 99.1667 %" in found.stdout
    page = (tmp_path / "page.html").read_text()
    assert "Are the rows exchangeable?" in page
    assert "the present, of which the certificate speaks" in page
    assert "Are the rows exchangeable?" in (tmp_path / "w.html").read_text()
    assert len(LinearModel.load(tmp_path / "model").about["regimes"]) == 1
    assert invoke(program, ["verify", tmp_path / "model", tmp_path / "rows.csv"]).exit_code == 0


@pytest.mark.parametrize("turns", [(3000,), (3000, 6000)])
def test_rows_are_numbered_as_they_were_fed_whatever_came_before_the_first_round(turns):
    X, y = turned(1, 3000 * len(turns) + 1000, *turns)
    for on_drift in ("withhold", "restart"):
        run = Pass("perceptron", classes=[-1, 1], n_features=4, uncounted_rows=800, on_drift=on_drift)
        run.feed(X, y)
        since = [regime.since for regime in run.regimes.ended] or [run.certificate().drift.since]
        np.testing.assert_allclose(since, turns[: len(since)], atol=150)
    assert len(since) == len(turns)
    last = Pass("perceptron", classes=[-1, 1], n_features=4, uncounted_rows=800)
    last.feed(X, y)
    found = last.certificate().drift
    assert f"noticed at row {found.alarm:,}, growing from row {found.since:,} on" in last.certificate().withheld
    assert 3000 < found.alarm < 3300
