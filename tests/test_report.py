"""The report page: one file, whole, honest, the same bytes each time, and deaf to whatever is written in the data."""

import base64
import copy
import hashlib
import html.parser
import json
import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from chromium import BROWSER, DRIVER, Browser
from onepass import LinearModel
from onepass.errors import DataError
from onepass.io import dump_svmlight
from onepass.report import records
from onepass.report.charts import over_rounds
from onepass.report.fields import KINDS, WrongFieldError, check
from onepass.report.page import Page, render
from onepass.report.svg import drawing
from strategies import dyadic
from test_cli import onepass

ROOT = Path(__file__).resolve().parent.parent
X, Y = dyadic(5, 500, 4, noise=0.05)
EVIL = "<script>document.title='taken'</script>"
NAMES = ('"<img src=x onerror=document.title=1>"', "$x^2$", "</title>&amp;", "d\u202eevil")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    dump_svmlight(folder / "data.svm", X, Y)
    dump_svmlight(folder / "test.svm", X[:100], Y[:100])
    dump_svmlight(folder / "sorted.svm", X[np.argsort(Y)], np.sort(Y))
    (folder / "bad.svm").write_text((folder / "data.svm").read_text() + "1 nonsense\n")
    rows = [",".join([*map(repr, x), EVIL if y > 0 else "$\\alpha$"]) for x, y in zip(X.tolist(), Y, strict=True)]
    (folder / "evil.csv").write_text(",".join([*NAMES, "class"]) + "\n" + "\n".join(rows) + "\n")
    rng = np.random.default_rng(0)
    outcomes = rng.integers(0, 2, 60)
    advice = np.where(rng.random((60, 3)) < [0.1, 0.3, 0.5], 1 - outcomes[:, None], outcomes[:, None])
    lines = [",".join(map(str, [*said, truth])) for said, truth in zip(advice, outcomes, strict=True)]
    (folder / "advice.csv").write_text(f'"{EVIL}",$b$,c,outcome\n' + "\n".join(lines) + "\n")
    points = rng.normal(size=(80, 2)) + 4.0 * rng.integers(0, 2, (80, 1))
    table = "\n".join(",".join(map(repr, row)) for row in points.tolist())
    (folder / "points.csv").write_text(f'"{EVIL}",b\n{table}\n')
    return folder


class Reading(html.parser.HTMLParser):
    """What a parser makes of a page: its tags, names, references and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.wanted, self.texts, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)
            if name == "id":
                self.ids.append(value)
            elif name in ("aria-labelledby", "href"):
                self.wanted += [part.removeprefix("#") for part in value.split()]
            elif "url(#" in (value or ""):
                self.wanted.append(value.partition("url(#")[2].partition(")")[0])
            else:
                assert name not in ("src", "srcset", "action", "data"), (tag, name)

    def handle_data(self, data):
        self.texts.append(data)


def sound(text):
    """The text of a page, after everything that must be so in every page was seen to be so."""
    page = Reading(text)
    assert not {"script", "img", "iframe", "object", "embed", "link", "base", "form", "image"} & set(page.tags)
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert len(page.ids) == len(set(page.ids))
    assert set(page.wanted) <= set(page.ids)
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text
    assert page.tags.count("svg") == page.tags.count("desc") == page.tags.count("figcaption")
    return "".join(page.texts)


@pytest.fixture(scope="module")
def evil(folder):
    """The page of a run on data that would like to be a program."""
    command = ("train", "evil.csv", "--target", "class", "-o", "evil.safetensors")
    done = onepass(folder, *command, "--report", "evil.html")
    assert "wrote evil.html" in done.stdout
    return (folder / "evil.html").read_text()


def test_a_training_page_shows_everything_the_issue_asks_for(evil):
    text = sound(evil)
    for heading in (
        "What is certified, and what is assumed",
        "Certificate and loss over the rounds",
        "Bound against the cutoff k",
        "How long hypotheses lived",
        "Rates and their bounds",
        "Observed ROC curve",
        "How probabilities came true",
        "What each conversion certifies",
        "Conversions",
        "Heaviest weights",
        "How to reproduce this",
    ):
        assert heading in text
    assert "With probability 95 %, at most" in text
    assert "Examples are independent draws from one distribution, in the order fed." in text
    assert "Are the rows exchangeable?" in text
    assert "onepass train --target class evil.csv" in text
    assert re.search(r"The model that is deployed was frozen after round \d+\.", text)
    assert re.search(r"Who always says .* errs in \d+\.\d % of the rows", text)
    assert "With probability 95 % all 6 hold together." in text
    assert "With probability 95 % all true shares lie within their bands." in text
    assert re.search(r"Computed by onepass [\d.]+, python 3", text)
    assert re.search(r"\b[0-9a-f]{64}\b", text)
    assert evil.count("<svg") == 9


def test_what_data_says_is_text_everywhere(evil):
    text = sound(evil)
    assert EVIL in text
    assert "<img src=x onerror=document.title=1>" in text
    assert "$x^2$" in text
    assert "</title>&amp;" in text
    assert "d\\u202eevil" in text
    drawn = "".join(re.findall(r"<svg.*?</svg>", evil, re.DOTALL))
    assert "&lt;img src=x onerror=d" in drawn  # beside a bar
    assert "$x^2$" in drawn


def test_the_same_run_is_the_same_bytes_and_a_page_is_not_overwritten(folder, evil):
    command = ("train", "evil.csv", "--target", "class", "-o", "evil.safetensors")
    refused = onepass(folder, *command, "--report", "evil.html", code=2)
    assert "--force" in refused.stderr
    os.remove(folder / "evil.safetensors")
    assert "evil.html is there already" in onepass(folder, *command, "--report", "evil.html", code=2).stderr
    assert not (folder / "evil.safetensors").exists()
    onepass(folder, *command, "--report", "evil.html", "--force")
    assert (folder / "evil.html").read_text() == evil
    assert "folder" in onepass(folder, "train", "data.svm", "--report", "no/where.html", code=2).stderr


def test_the_command_shown_gives_the_same_page_wherever_options_come_from(folder, monkeypatch):
    (folder / "bare.csv").write_text((folder / "evil.csv").read_text().partition("\n")[2])
    options = ("--delta", "0.2", "--learner", "pa", "--no-header", "--target", "4", "bare.csv")
    typed = json.loads(onepass(folder, "train", *options, "--json", "-q", "--on-error", "stop").stdout)["details"]
    shown = typed["command"].split()
    assert shown[:2] == ["onepass", "train"]
    assert sorted(shown[2:]) == sorted(options)
    monkeypatch.setenv("ONEPASS_TRAIN_DELTA", "0.2")
    again = onepass(
        folder, "train", "bare.csv", "--target", "4", "--no-header", "--learner", "pa", "--json", "-q"
    ).stdout
    assert json.loads(again)["details"] == typed


def test_json_jsonl_model_and_both_make_pages(folder, evil):
    command = ("train", "evil.csv", "--target", "class")
    (folder / "run.json").write_text(onepass(folder, *command, "--json", "-q").stdout)
    onepass(folder, "report", "run.json", "-q")
    same = (folder / "run.html").read_text()
    assert same == evil
    (folder / "run.jsonl").write_text(onepass(folder, *command, "--jsonl", "--log-every", "0.01", "-q").stdout)
    by_line = onepass(folder, "report", "run.jsonl", "-o", "-").stdout
    assert by_line == same
    onepass(folder, "report", "evil.safetensors", "-o", "model.html")
    model = sound((folder / "model.html").read_text())
    assert "The curves over rounds and cutoffs are not in this file" in model
    assert "<img src=x onerror=document.title=1>" in model
    record = json.loads((folder / "run.json").read_text())
    del record["details"]["weights"]
    (folder / "thin.json").write_text(json.dumps(record))
    both = onepass(folder, "report", "thin.json", "evil.safetensors", "-o", "-").stdout
    assert both == same
    assert "--force" in onepass(folder, "report", "run.json", code=2).stderr
    done = json.loads(onepass(folder, "report", "run.json", "--force", "--json").stdout)
    assert done["output"] == "run.html"


def test_what_is_no_run_is_refused_with_its_reason(folder, evil):
    cases = {
        "progress.jsonl": '{"schema": 1, "event": "progress", "rows": 5}\n',
        "list.json": "[1, 2]",
        "other.json": '{"command": "check"}',
        "text.json": "hello",
        "latin.json": None,
        "empty.json": "",
        "deep.json": "[" * 100_000,
        "thin.json": '{"command": "train", "rows": 5}',
    }
    for name, text in cases.items():
        (folder / name).write_bytes(b"\xff\xfe" if text is None else text.encode())
        said = onepass(folder, "report", name, "-o", "-", code=3)
        assert name in said.stderr, said.stderr
        assert said.stdout == ""
    assert "'rounds' is missing" in onepass(folder, "report", "thin.json", "-o", "-", code=3).stderr
    assert "nosuch" in onepass(folder, "report", "nosuch.json", "-o", "-", code=3).stderr
    (folder / "broken.safetensors").write_bytes((folder / "evil.safetensors").read_bytes()[:-8])
    onepass(folder, "report", "broken.safetensors", "-o", "-", code=4)
    record = json.loads(onepass(folder, "train", "data.svm", "--json", "-q").stdout)
    (folder / "stranger.json").write_text(json.dumps(record))
    said = onepass(folder, "report", "stranger.json", "evil.safetensors", "-o", "-", code=3)
    assert "do not belong together" in said.stderr


def test_withheld_and_skipped_are_said(folder):
    onepass(folder, "train", "sorted.svm", "--report", "sorted.html")
    text = sound((folder / "sorted.html").read_text())
    assert "no certificate" in text
    assert "No certificate: the labels come in an order that independent draws would not show" in text
    assert "With probability" not in text
    assert "the certificate is withheld" in text
    assert not re.search(r"certificate 0\.|smallest bound|hold together|holds at every round", text)
    said = onepass(folder, "compare", "sorted.svm", "--report", "sorted-compare.html").stdout
    assert "No certificate" in said
    assert "hold together" not in said + sound((folder / "sorted-compare.html").read_text())
    onepass(folder, "train", "bad.svm", "--on-error", "skip", "--report", "bad.html")
    text = sound((folder / "bad.html").read_text())
    assert "1 bad lines were left out." in text


def test_no_row_learned_still_makes_a_page(folder):
    onepass(folder, "train", "data.svm", "--learner", "margin", "--radius", "auto", "--report", "none.html")
    assert "no row has been learned yet" in sound((folder / "none.html").read_text())


def test_a_page_can_be_had_when_the_updates_were_let_go(folder):
    """Which happens by itself, in long runs."""
    onepass(folder, "train", "data.svm", "--max-trace-memory", "2KB", "--report", "let-go.html")
    text = sound((folder / "let-go.html").read_text())
    assert "certificate and loss over the rounds" in text.lower()
    assert "mathdefault" not in text
    assert "bound against the cutoff" not in text.lower()


def test_the_curve_over_rounds_never_goes_back_where_they_are_counted_anew():
    """The leader of a race may be an entry that learned nothing from the first rows; a restart counts from 0 again."""
    history = {
        "rows": [100, 200, 300, 400],
        "rounds": [100, 200, 44, 144],
        "mistakes": [50, 60, 4, 8],
        "loss": [0.5, 0.3, 4 / 44, 8 / 144],
        "risk": [None, None, 0.5, 0.25],
        "choice": [None, None, 16, 64],
    }
    watched = {"loss": "zero_one", "conversion": "frozen", "bound": "betting", "delta": 0.05}
    shown = over_rounds("f1", history, watched)
    assert [row[0] for row in shown.table.rows] == ["44", "144"]
    assert "Rounds are counted from row 257 on." in shown.caption
    steady = {name: values[:2] for name, values in history.items()}
    plain = over_rounds("f1", steady, watched)
    assert [row[0] for row in plain.table.rows] == ["100", "200"]
    assert "counted from" not in plain.caption


def test_compare_measures_beside_what_is_certified(folder):
    onepass(folder, "compare", "data.svm", "--test", "test.svm", "--report", "compare.html")
    text = sound((folder / "compare.html").read_text())
    assert "all 18 hold together with probability 95 %" in text
    assert "test error" in text


def record_of(folder, file, *options):
    return json.loads(onepass(folder, "train", file, *options, "-o", "page.model", "--force", "--json", "-q").stdout)


@pytest.mark.parametrize("positive", ["1", "-1"])
@pytest.mark.parametrize("target", [(), ("--max-false-alarm", "0.3")])
def test_the_curve_of_the_deployed_model_is_what_its_scores_on_later_rows_say(folder, positive, target):
    record = record_of(folder, "data.svm", "--positive", positive, *target)
    shown, model = record["details"]["deployed"], LinearModel.load(folder / "page.model")
    later = slice(shown["frozen"], None)
    score, yes = model.decision(X)[later] * float(positive), Y[later] == int(positive)
    curve = list(zip(shown["scores"]["false_alarm"], shown["scores"]["miss"], strict=True))
    cuts = [-np.inf, *np.unique(score), np.inf]
    every = {(float((score >= c)[~yes].mean()), float((score < c)[yes].mean())) for c in cuts}
    assert len(curve) == 130
    assert set(curve) <= every
    predicted = model.predict(X)[later] == int(positive)
    own = {"false_alarm": predicted[~yes].mean(), "miss": 1.0 - predicted[yes].mean()}
    assert shown["scores"]["own"] == pytest.approx(own)
    assert shown["rows"] == len(yes) == 500 - shown["frozen"]


def test_reliability_and_baseline_are_counted_from_the_rows(folder):
    record = record_of(folder, "data.svm")
    shown, model = record["details"]["deployed"], LinearModel.load(folder / "page.model")
    found, later = shown["reliability"], slice(shown["frozen"], None)
    assert sum(found["rows"]) == shown["rows"]
    came = sum(n * share for n, share in zip(found["rows"], found["share"], strict=True) if n)
    assert came == pytest.approx((Y[later] > 0).sum())
    told = sum(n * mean for n, mean in zip(found["rows"], found["mean"], strict=True) if n)
    assert told == pytest.approx(model.predict_proba(X[later])[:, 1].sum(), abs=0.1 * shown["rows"])
    most = max((Y[later] > 0).mean(), (Y[later] < 0).mean())  # of the rows that the certificate counts
    assert record["details"]["baseline"]["share"] == pytest.approx(most)
    assert record["details"]["baseline"]["rows"] == shown["rows"]


def test_pages_of_several_classes_targets_and_costs(folder):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 3))
    dump_svmlight(folder / "three.svm", x, x.argmax(axis=1))
    pages = {
        ("three.svm", "--classes", "0,1,2"): ("miss rate of 2", "the predicted class was right"),
        ("data.svm", "--max-miss", "0.4"): ("certified at the declared target", "of the rows of class 1 are called"),
        ("data.svm", "--cost", "1,-1=3", "--cost", "-1,1=1"): ("share of mistakes so far", "the mean cost is at most"),
    }
    for command, words in pages.items():
        onepass(folder, "train", *command, "--report", "kind.html", "--force", "-q")
        text = sound((folder / "kind.html").read_text())
        for word in words:
            assert word in text, (command, word)


def test_a_model_alone_shows_its_rates_and_threshold(folder):
    record_of(folder, "data.svm")
    text = sound(onepass(folder, "report", "page.model", "-o", "-").stdout)
    assert "Rates and their bounds" in text
    assert "Observed ROC curve" not in text
    record_of(folder, "data.svm", "--max-miss", "0.4")
    text = sound(onepass(folder, "report", "page.model", "-o", "-").stdout)
    assert "at most 40 % of the rows of class 1 are called -1" in text


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("certificate", "rates", "rates", 0, "bound"), -0.1, "a number of at least 0"),
        (("certificate", "rates", "delta"), 1.5, "a number between 0 and 1"),
        (("details", "deployed", "scores", "miss", 3), 1.5, "a number from 0 to 1"),
        (("details", "deployed", "scores", "miss", 128), 0.0, "misses that rise"),
        (("details", "deployed", "scores", "miss"), [0.0], "lists of one length"),
        (("details", "deployed", "reliability", "upper", 15), 0.0, "within their bands"),
        (("details", "deployed", "reliability", "share", 15), None, "a share just where there are rows"),
        (("details", "baseline", "share"), "all", "a number from 0 to 1"),
    ],
)
def test_a_forged_record_of_the_deployed_model_is_refused(folder, path, value, words):
    record = record_of(folder, "data.svm")
    records.page_of(record, "x.json")
    with pytest.raises(DataError, match=re.escape(words)):
        records.page_of(changed(record, path, value), "x.json")


def test_a_forged_threshold_is_refused(folder):
    record = record_of(folder, "data.svm", "--max-miss", "0.4")
    records.page_of(record, "x.json")
    forged = changed(record, ("certificate", "threshold", "other_bound"), 7.0)
    with pytest.raises(DataError, match=r"'certificate\.threshold' should be a threshold"):
        records.page_of(forged, "x.json")


@pytest.mark.slow
def test_experts_cluster_and_lab_have_pages(folder):
    for command, words in {
        ("experts", "advice.csv"): ("Who was trusted when", "Regret under its bound", "Nothing is assumed"),
        ("cluster", "points.csv", "-k", "2"): ("The points and their centres", "a proved limit"),
        ("cluster", "points.csv", "--k-range", "2:4"): ("Inertia for every k",),
        ("lab", "figure1", "--replicas", "2", "--alpha", "100"): ("What had to come out", "1.27/α"),
    }.items():
        onepass(folder, *command, "--report", "room.html", "--force", "-q")
        direct = (folder / "room.html").read_text()
        text = sound(direct)
        for word in words:
            assert word in text, (command, word)
        if "k-range" not in " ".join(command) and command[0] != "lab":
            assert EVIL[:20] in text
        force = ("--force",) if command[0] == "lab" else ()
        (folder / "room.json").write_text(onepass(folder, *command, *force, "--json", "-q").stdout)
        assert onepass(folder, "report", "room.json", "-o", "-").stdout == direct


# --- fields -----------------------------------------------------------------------------------------------------------


def places(value, path=()):
    """Every place in a record."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def changed(record, path, value):
    """The record with another value at one place; the rest is shared."""
    if not path:
        return value
    twin = copy.copy(record)
    twin[path[0]] = changed(record[path[0]], path[1:], value)
    return twin


STRANGE = (None, True, -1, 0, 1 << 70, 1e308, float("nan"), "", EVIL, [], {}, [EVIL], [[]])


@pytest.mark.parametrize(
    "command",
    [
        ("train", "data.svm"),
        ("train", "data.svm", "--max-miss", "0.4"),
        ("compare", "data.svm"),
        ("experts", "advice.csv"),
        ("cluster", "points.csv", "-k", "2"),
        ("cluster", "points.csv", "--k-range", "2:3"),
        ("lab", "figure1", "--replicas", "2", "--alpha", "100", "--force"),
    ],
    ids=lambda command: command[0],
)
def test_a_record_changed_anywhere_is_refused_or_drawn_and_never_a_crash(folder, command):
    record = json.loads(onepass(folder, *command, "--json", "-q").stdout)
    shape = KINDS[record["command"]][1]
    accepted, refused = [], 0
    for path in places(record):
        for value in STRANGE if path and path != ("command",) else ():
            other = changed(record, path, value)
            try:
                check(shape, other)
                accepted.append(other)
            except WrongFieldError:
                refused += 1
    assert refused > 100
    rng = np.random.default_rng(0)
    for i in rng.choice(len(accepted), 4, replace=False):
        assert isinstance(records.page_of(accepted[i], "x.json"), Page)


def test_a_wrong_field_is_named(folder):
    record = json.loads(onepass(folder, "train", "data.svm", "--json", "-q").stdout)
    wrong = changed(record, ("details", "history", "loss", 1), "high")
    with pytest.raises(DataError, match=r"'details\.history\.loss\[1\]' should be a number"):
        records.page_of(wrong, "x.json")


# --- pieces -----------------------------------------------------------------------------------------------------------


def test_a_drawing_is_the_same_bytes_and_leaves_settings_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)

    def draw(key):
        with drawing(key, "Title <b>", "Text & more") as shown:
            shown.axes.plot([1, 10], [1, 2], "o--", label=EVIL)
            shown.axes.bar([1, 2], [1, 2], hatch="//")
            shown.legend()
        return shown.markup

    first = draw("f1")
    assert first == draw("f1")
    assert first != draw("f2")
    assert first.replace('"f1-', '"f2-').replace("#f1-", "#f2-").replace(" f1-", " f2-") == draw("f2")
    assert '<title id="f1-title">Title &lt;b&gt;</title>' in first
    assert dict(matplotlib.rcParams) == before


def test_colours_differ_in_lightness_for_those_who_see_no_colour():
    """The two that carry most curves, on either ground, and each against that ground."""
    style = (ROOT / "src/onepass/report/page.css").read_text()
    light, dark = (dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6})", part)) for part in style.split("@media", 2)[:2])

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(a, b):
        a, b = sorted((luminance(a), luminance(b)))
        return (b + 0.05) / (a + 0.05)

    for ground in (light, dark):
        assert contrast(ground["ink"], ground["paper"]) > 7
        assert contrast(ground["soft"], ground["paper"]) > 4.5
        for colour in ("c0", "c1", "c2", "c3"):
            assert contrast(ground[colour], ground["paper"]) > 3, colour


def test_template_and_style_are_in_the_package_and_jinja2_in_the_extra():
    for name in ("page.html", "page.css"):
        assert (ROOT / "src/onepass/report" / name).exists()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert any(need.startswith("jinja2") for need in project["project"]["optional-dependencies"]["report"])
    assert render(Page("a", "b", "c", "d")).startswith('<!DOCTYPE html>\n<html lang="en">')


# --- a real browser ---------------------------------------------------------------------------------------------------

PROBE = """(() => {
  const box = e => e.getBoundingClientRect();
  const inked = e => [...e.querySelectorAll("path, use, text, rect")].filter(p => box(p).width + box(p).height > 0);
  return {
    title: document.title,
    over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    figures: [...document.querySelectorAll("figure svg")].map(e => ({
      width: box(e).width, height: box(e).height, left: box(e).left, right: box(e).right, marks: inked(e).length,
      letter: Math.min(...[...e.querySelectorAll("text")].map(t => box(t).height > 0 ? parseFloat(getComputedStyle(t)
        .fontSize) * box(e).width / e.viewBox.baseVal.width : 99))
    })),
    outside: [...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, svg") && box(e).right >
      document.documentElement.clientWidth + 1).map(e => e.outerHTML.slice(0, 80)),
    scripts: document.scripts.length,
    text: document.body.innerText,
    drawn: [...document.querySelectorAll("svg text")].map(e => e.textContent),
    columns: new Set([...document.querySelectorAll("figure")].map(e => box(e).left)).size,
  };
})()"""


@pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver (Debian: chromium-driver)")
def test_in_a_real_browser_at_both_widths_with_scripts_on_and_off(folder, evil, tmp_path):
    pages = [folder / "evil.html"]
    for command in (("compare", "data.svm"), ("experts", "advice.csv"), ("cluster", "points.csv", "-k", "2")):
        pages.append(folder / f"{command[0]}-shown.html")
        onepass(folder, *command, "--report", pages[-1], "-q")
    with Browser(tmp_path) as browser:
        for path in pages:
            for width, scripts, dark in (
                (400, True, False),
                (1400, True, True),
                (400, False, True),
                (1400, False, False),
            ):
                browser.open(path, width, scripts, dark)
                seen = browser.ask(PROBE)
                assert browser.console() == []
                assert browser.requests() == [path.resolve().as_uri()]
                assert (seen["over"], seen["outside"], seen["scripts"]) == (0, [], 0)
                assert len(seen["figures"]) == path.read_text().count("<svg") > 0
                for figure in seen["figures"]:
                    assert figure["width"] > 300
                    assert figure["height"] > 100
                    assert figure["marks"] > 10
                    assert 0 <= figure["left"] < figure["right"] <= width
                    assert figure["letter"] >= 8.0
                assert seen["columns"] == (1 if width == 400 or len(seen["figures"]) == 1 else 2)
                if path == pages[0]:
                    assert "taken" not in seen["title"]
                    assert EVIL in seen["text"]
                    assert "$x^2$" in seen["drawn"]


@pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs chromium and chromedriver (Debian: chromium-driver)")
def test_the_browser_would_have_noticed(tmp_path):
    """The probes can fail: a page with a script, a picture from elsewhere and a table too wide."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<meta name='viewport' content='width=device-width'><title>x</title><body>"
        "<figure><svg viewBox='0 0 9 9'></svg></figure><p style='width: 999px'>wide</p>"
        "<script>document.title = 'taken'; console.error('no')</script><img src='http://127.0.0.1:9/x.png'>"
    )
    with Browser(tmp_path) as browser:
        browser.open(bad, 400)
        seen = browser.ask(PROBE)
        assert seen["title"] == "taken"
        assert seen["over"] > 0
        assert seen["outside"]
        assert seen["figures"][0]["marks"] == 0
        assert any("no" in line for line in browser.console())
        assert len(browser.requests()) > 1
        browser.open(bad, 400, scripts=False)
        assert browser.ask(PROBE)["title"] == "x"


def test_a_page_of_a_table_names_the_label_and_what_columns_were_taken_for(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{i + 100000},{rng.normal():.3f},{'ab'[i % 2]},{'yn'[int(rng.random() < 0.5)]}" for i in range(600)]
    (tmp_path / "t.csv").write_text("\n".join(["key,size,job,good", *rows, ""]))
    onepass(tmp_path, "train", "t.csv", "--target", "good", "--report", "p.html", "-q")
    shown = (tmp_path / "p.html").read_text()
    assert "column of the labels" in shown
    assert "good" in shown
    for line in ("numbers: size", "categories: job", "key"):
        assert line in shown
