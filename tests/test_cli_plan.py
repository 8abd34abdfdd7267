"""`onepass plan`: what it says, to people and programs, and what it refuses."""

import json

import pytest

from invoking import invoke
from onepass.certificates import LearningPlan, rows_needed
from onepass.cli.commands.plan import command

KNOWN = ("--radius", 1, "--best-loss", 0.1)


def test_it_says_how_many_rows():
    done = invoke(command, [*KNOWN, "--target", 0.2, "--no-intercept"])
    assert done.exit_code == 0
    assert "1,964  by betting" in done.stdout
    assert "7,974  by dekel2008" in done.stdout
    assert "100  on average" in done.stdout


def test_it_says_the_same_as_json():
    found = json.loads(invoke(command, [*KNOWN, "--target", 0.2, "--delta", 0.01, "--json"]).stdout)
    plan = LearningPlan(0.1, 1.0, delta=0.01)
    assert found["rows"] == {bound: rows_needed(plan, 0.2, bound) for bound in ("betting", "dekel2008", "expected")}
    assert found["delta"] == 0.01
    none = json.loads(invoke(command, [*KNOWN, "--target", 0.05, "--json"]).stdout)
    assert set(none["rows"].values()) == {None}


def test_it_says_the_risk_after_so_many_rows():
    done = invoke(command, [*KNOWN, "--horizon", 10_000, "--no-intercept"])
    assert "0.1412  by betting" in done.stdout
    assert "0.1863  by dekel2008" in done.stdout
    assert "0.1100  on average" in done.stdout
    assert "no loss is larger" in invoke(command, [*KNOWN, "--horizon", 10]).stdout
    assert "no number is enough" in invoke(command, [*KNOWN, "--target", 0.05]).stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([*KNOWN], "--target or --horizon"),
        ([*KNOWN, "--target", 0.2, "--horizon", 9], "--target or --horizon"),
        (["--radius", 0, "--best-loss", 0.1, "--target", 0.2], "radius"),
        (["--radius", "nan", "--best-loss", 0.1, "--target", 0.2], "radius"),
        (["--radius", 1, "--best-loss", -1, "--target", 0.2], "best_loss"),
        ([*KNOWN, "--target", "nan"], "target"),
        ([*KNOWN, "--target", 0.2, "--delta", 1], "delta"),
        ([*KNOWN, "--horizon", 3], "horizon"),
        ([*KNOWN, "--horizon", 10**30], "horizon"),
        (["--radius", 1, "--target", 0.2], "--best-loss"),
    ],
)
def test_wrong_usage_is_named(arguments, named):
    done = invoke(command, arguments)
    assert done.exit_code == 2
    assert named in done.stderr
