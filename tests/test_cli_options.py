"""Options from files and variables, topics of help, versions, errors inside, and `verify`."""

import json
import re
import subprocess
from dataclasses import dataclass

import click
import numpy as np
import pytest
from click.testing import CliRunner

from onepass import LinearModel
from onepass.cli.commands import check
from onepass.cli.commands.help import TOPICS
from onepass.cli.options import option, options_of
from test_cli import X, Y, onepass

CONFIG = """
[train]
learner = "pa"
delta = 0.01
max-trace-memory = "8MB"
ignore = ["a", "b"]
"""


@dataclass(frozen=True)
class Two:
    """As the commands have them."""

    how_many: int = option(type=int, default=3, help="A number.")
    hidden: int = option("--secret", type=int, default=4, show_default=False, help="Another.")


@pytest.mark.parametrize(
    ("only", "shown"), [((), ["--how-many", "[default: 3]", "--secret"]), (("hidden",), ["--secret"])]
)
def test_an_option_is_called_as_its_field_and_shows_its_default(only, shown):
    @click.command()
    @options_of(Two, only=only)
    def command(two):
        click.echo(two)

    text = CliRunner().invoke(command, ["--help"]).output
    assert re.findall(r"--(?!help)[a-z-]+|\[default: \d\]", text) == shown
    assert CliRunner().invoke(command, ["--secret", "5"]).output == f"{Two(hidden=5)}\n"


def effective(folder, *arguments):
    printed = onepass(folder, *arguments, "--print-config").stdout
    return dict(line.split(" = ") for line in printed.splitlines()[1:])


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(folder, monkeypatch):
    (folder / "run.toml").write_text(CONFIG)
    base = ("--config", "run.toml", "train", "data.svm")
    found = effective(folder, *base)
    assert found["delta"] == "0.01"
    assert found["learner"] == '"pa"'
    assert found["max-trace-memory"] == str(8 << 20)
    assert found["ignore"] == '["a", "b"]'
    monkeypatch.setenv("ONEPASS_TRAIN_DELTA", "0.02")
    assert effective(folder, *base)["delta"] == "0.02"
    assert effective(folder, *base, "--delta", "0.03")["delta"] == "0.03"


def test_what_is_printed_can_be_read_and_gives_the_same(folder):
    options = ("train", "data.svm", "--learner", "pa", "--delta", "0.2", "--json")
    (folder / "same.toml").write_text(onepass(folder, *options, "--print-config").stdout)
    (first, second) = (
        json.loads(onepass(folder, *arguments).stdout)
        for arguments in (options, ("--config", "same.toml", "train", "data.svm"))
    )
    assert first == second
    assert first["certificate"]["delta"] == 0.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train]\ndelte = 1", "train has no option 'delte'; did you mean 'delta'?"),
        ("[trian]\ndelta = 1", "[trian] is no command; did you mean 'train'?"),
        ("delta = 1", "[delta] is no command"),
        ("[train", "not TOML"),
        ('[train]\ndelta = "much"', "'much' is not a valid float"),
    ],
)
def test_a_bad_file_is_named(folder, text, message):
    (folder / "bad.toml").write_text(text)
    assert message in onepass(folder, "--config", "bad.toml", "train", "data.svm", code=2).stderr
    assert "nowhere.toml" in onepass(folder, "--config", "nowhere.toml", "train", "data.svm", code=2).stderr


@pytest.mark.parametrize("topic", TOPICS)
def test_topics_are_explained_in_lines_that_fit(folder, topic):
    text = onepass(folder, "help", topic).stdout
    assert max(map(len, text.splitlines())) <= 120
    assert topic in onepass(folder, "help").stdout


def test_the_help_on_certificates_is_true(folder):
    text = TOPICS["certificates"]
    for line in text.splitlines():
        if "> shuffled" in line:
            subprocess.run(["bash", "-c", line], cwd=folder, check=True)
    for name in ("data.svm", "data.csv"):
        before, after = ((folder / file).read_text().splitlines() for file in (name, name.replace("data", "shuffled")))
        assert sorted(before) == sorted(after)
        assert before != after
    assert after[0] == before[0]
    of_model, of_members = (text.split(f'"{word}"')[1].split('"members"')[0] for word in ("model", "members"))
    compared = json.loads(onepass(folder, "compare", "data.svm", "--json").stdout)["conversions"]
    for line in compared:
        assert line["loss"] == "zero_one"
        assert line["conversion"] in (of_model.split("in any loss")[0] if line["covers"] == "model" else of_members)


def test_the_help_on_json_says_what_a_certificate_has(folder):
    certificate = json.loads(onepass(folder, "train", "data.svm", "--json").stdout)["certificate"]
    told = TOPICS["json"].partition("Certificates have: ")[2].partition(".\n")[0].replace("\n", " ").split(", ")
    assert set(certificate) - set(told) == {"compacted"}
    assert set(told) <= set(certificate)
    frozen = certificate["choice"]["value"]
    assert f"frozen at round {frozen:,}," in onepass(folder, "train", "data.svm").stdout
    assert certificate["counted"] == 600 - frozen
    for rate in certificate["rates"]["rates"]:
        assert all(name in rate for name in ("name", "label", "bound", "at_most", "observed", "counted"))


def test_the_help_on_exit_codes_is_true(folder):
    """A missing model is wrong usage, a missing data file bad data."""
    lines = {line.split()[0]: line for line in TOPICS["exit-codes"].splitlines()}
    assert "a model" in lines["2"]
    onepass(folder, "inspect", "nowhere.safetensors", code=2)
    assert "data file that is not there" in lines["3"]
    for command in (("train",), ("check",), ("cluster", "-k", "2"), ("experts",)):
        onepass(folder, *command, "nowhere.csv", code=3)


def test_versions_of_all_parts(folder):
    assert onepass(folder, "--version").stdout.count("\n") == 1
    parts = onepass(folder, "--version", "--verbose").stdout
    assert f"numpy {np.__version__}" in parts
    assert "numba " in parts


def test_an_error_inside_is_one_line_unless_asked_for(folder, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(check, "_text", broken)
    done = onepass(folder, "check", "data.svm", code=1)
    assert "an error inside onepass: ZeroDivisionError: on purpose" in done.stderr
    assert "--debug" in done.stderr
    with pytest.raises(ZeroDivisionError):
        onepass(folder, "check", "data.svm", "--debug")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--learner", "pa", "--conversion", "frozen", "--delta", "0.1", "--no-intercept"),
        ("--conversion", "validation", "--validation-fraction", "0.2", "--seed", "5"),
        ("--learner", "margin", "--radius", "4", "--bound", "dekel2008", "--conversion", "cutoff", "--horizon", "600"),
        ("--max-false-alarm", "0.4"),
        ("--cost", "1,-1=5", "--cost", "-1,1=1", "--positive", "1"),
        ("--classes", "1,-1", "--expected-rows", "700"),
    ],
)
def test_verify_repeats_the_pass(folder, options):
    onepass(folder, "train", "data.svm", "-o", "v.safetensors", "--force", *options)
    assert "intact" in onepass(folder, "verify", "v.safetensors").stdout
    done = onepass(folder, "verify", "v.safetensors", "data.svm")
    assert "data: the same; weights: the same; certificate: the same" in done.stdout


def test_verify_tells_other_data_from_another_model(folder):
    onepass(folder, "train", "data.svm", "-o", "w.safetensors", "--force")
    other = json.loads(onepass(folder, "verify", "w.safetensors", "test.svm", "--json", code=3).stdout)
    assert (other["same_data"], other["same_weights"]) == (False, False)
    model = LinearModel.load(folder / "w.safetensors")
    model.weights[1] += 1.0
    model.save(folder / "forged.safetensors")  # with a hash that fits
    assert "intact" in onepass(folder, "verify", "forged.safetensors").stdout
    done = onepass(folder, "verify", "forged.safetensors", "data.svm", code=4)
    assert "this data gives another model" in done.stderr


def test_models_remember_how_svmlight_was_read(folder):
    lines = [
        f"{int(y)} " + " ".join(f"{i}:{v!r}" for i, v in enumerate(x) if v) for x, y in zip(X.tolist(), Y, strict=True)
    ]
    (folder / "zero.svm").write_text("\n".join(lines) + "\n")
    onepass(folder, "train", "zero.svm", "--zero-based", "-o", "z.safetensors", "--force")
    done = onepass(folder, "predict", "z.safetensors", "zero.svm")
    onepass(folder, "train", "data.svm", "-o", "one.safetensors", "--force")
    assert done.stdout == onepass(folder, "predict", "one.safetensors", "data.svm").stdout
    assert "certificate: the same" in onepass(folder, "verify", "z.safetensors", "zero.svm").stdout


def test_too_few_rows_for_an_automatic_radius_are_named(folder):
    done = onepass(folder, "train", "data.svm", "--learner", "margin", "--radius", "auto", "-o", "n.model", code=1)
    assert (
        "radius='auto' measures the first 1000 rows and learns from the others, but there were only 600" in done.stderr
    )


def test_verbose_says_where_the_time_goes(folder):
    assert " s, reading, certificate" in onepass(folder, "train", "data.svm", "-v").stderr
    assert " s, reading, certificate" not in onepass(folder, "train", "data.svm").stderr


def test_help_of_train_has_sections(folder):
    text = onepass(folder, "train", "--help").stdout
    places = [text.index(f"\n{name}:\n") for name in ("Options", "Learning", "Reading", "Talking")]
    assert places == sorted(places)


def test_colours_can_be_forbidden_and_forced(folder, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    (folder / "advice.csv").write_text("a,b,outcome\n0,1,1\n1,1,1\n0,1,0\n")
    assert "\x1b[" not in onepass(folder, "--color", "never", "experts", "advice.csv").stdout
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in onepass(folder, "--color", "always", "experts", "advice.csv").stdout


@pytest.mark.parametrize("size", ["inf", "nan", "-1MB", "9" * 400, "5TB", "much"])
def test_a_size_is_a_number_of_bytes(folder, size):
    refused = onepass(folder, "train", "data.svm", "--max-memory", size, code=2)
    assert f"'{size}' is not a size such as 500MB" in refused.stderr


def test_a_seed_is_no_negative_number(folder):
    refused = onepass(folder, "train", "data.svm", "--validation-fraction", "0.1", "--seed", "-1", code=2)
    assert "'--seed'" in refused.stderr
