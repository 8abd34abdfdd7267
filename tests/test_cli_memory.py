"""What a run may need is said before it starts, is an upper bound, and can be forbidden."""

import re
import subprocess
import sys

import numpy as np
import pytest

from onepass.cli import memory
from test_cli import onepass, process


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows that teach nothing, each with features of its own: updates in every other round, and a long trace."""
    folder = tmp_path_factory.mktemp("memory")
    rng = np.random.default_rng(0)
    with open(folder / "noise.svm", "w") as file:
        for _ in range(40):
            features = np.sort(rng.integers(1, 1 << 20, (1000, 30)), axis=1)
            for label, row in zip(rng.choice([-1, 1], 1000).tolist(), features.tolist(), strict=True):
                file.write(f"{label} " + " ".join(f"{f}:1" for f in dict.fromkeys(row)) + "\n")
    (folder / "wide.svm").write_text(f"1 {(1 << 24) + 1}:1\n-1 1:1\n1 2:1\n")
    (folder / "small.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    return folder


@pytest.mark.parametrize(
    "options",
    [
        ("--max-trace-memory", "256MB"),
        ("--max-trace-memory", "64MB", "--conversion", "cutoff"),
        ("--max-watch-memory", "20MB", "--learner", "perceptron"),
        ("--bits", "14", "--max-trace-memory", "4MB"),
        ("--bits", "16", "--max-trace-memory", "4MB", "--conversion", "frozen", "--learner", "pa"),
    ],
    ids=" ".join,
)
def test_what_a_run_may_need_is_more_than_it_takes(folder, options):
    process(folder, "train", "noise.svm", *options, "-q")  # what compiling takes is not counted
    done = process(folder, "train", "noise.svm", "--max-features", 1 << 20, *options, "-v", "-o", "m", "--force")
    assert done.returncode == 0, done.stderr
    may = int(re.search(r"this run may need ([\d,]+) MB at most", done.stderr)[1].replace(",", ""))
    took = int(re.search(r", (\d+) MB at most$", done.stderr, re.MULTILINE)[1])
    assert took <= may
    assert may <= 3 * took  # nor is it a number that says nothing


def test_a_run_that_may_need_more_is_refused_with_the_number_and_the_remedy(folder):
    done = onepass(folder, "train", "noise.svm", "--max-memory", "500MB", "-o", "none.safetensors", code=2)
    assert re.search(
        r"may need [\d,]+ MB at most \(program .* [\d,]+ features\), and --max-memory allows 500 MB", done.stderr
    )
    assert not (folder / "none.safetensors").exists()
    done = onepass(folder, "train", "noise.svm", "--max-memory", "50MB", code=2)
    assert re.search(r"allows 50 MB: too little for any model; allow [\d,]+ MB", done.stderr)


@pytest.mark.parametrize("features", [(), ("--bits", "14")])
def test_the_remedy_is_one(folder, features):
    process(folder, "train", "noise.svm", *features, "-q")  # what compiling takes is not counted

    def train(limit, *remedy):
        kept = ("--learner", "perceptron", "--conversion", "cutoff")
        return process(folder, "train", "noise.svm", "--max-memory", limit, *kept, *features, *remedy)

    found = re.search(r"program ([\d,]+) MB, reading ([\d,]+) MB", train("50MB").stderr)
    program, reading = (int(number.replace(",", "")) for number in found.groups())
    limit = f"{program + reading + 130}MB"
    refused = train(limit)
    assert refused.returncode == 2
    tries = re.findall(r"(--bits) (\d+)|(--max-trace-memory) (\d+MB)", refused.stderr.split("try ")[-1])
    assert len(tries) == (1 if features else 2)
    assert train(limit, *[word for found in tries for word in found if word]).returncode == 0


def test_what_was_read_already_is_no_part_of_the_program(folder):
    (folder / "one.svm").write_text("1 1:1\n")
    files = ["one.svm", *["noise.svm"] * 5]
    said = [process(folder, "train", file, "--max-memory", "50MB").stderr for file in files]
    program = [int(re.search(r"program ([\d,]+) MB", words)[1].replace(",", "")) for words in said]
    assert max(program) - min(program) <= 12  # MB; how far ahead the threads have come differs by more


def test_what_the_program_that_started_us_took_is_not_counted():
    ours = "from onepass.cli.training import peak_memory; print(peak_memory())"
    starter = f"import subprocess, sys; kept = b'x' * (1 << 30); subprocess.run([sys.executable, '-c', {ours!r}])"
    done = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=True)
    assert 0 < float(done.stdout) < 512


def test_a_small_table_needs_little(folder):
    done = onepass(folder, "train", "small.csv", "--race", "off", "--max-memory", "4GB", "-v")
    assert "trace 0 MB; 2 features" in done.stderr


def test_workers_have_limits_of_their_own(folder):
    done = onepass(folder, "train", "noise.svm", "--workers", "2", "--max-memory", "4GB", code=2)
    assert "--max-memory is for one process" in done.stderr


@pytest.mark.parametrize("options", [("--max-features", 1 << 25), ("--bits", "25")])
def test_more_features_than_usual_can_be_allowed(folder, options):
    done = onepass(folder, "train", "wide.svm", *options)
    assert "3 rows, 16,777,217 features" in done.stdout
    done = onepass(folder, "train", "wide.svm", code=3)
    assert "--bits 24 or --max-features" in done.stderr


def need(program=200, weights=1024, trace=768, bounds=("--bits",)):
    return memory.Need(program << 20, 100 << 20, weights << 20, trace << 20, 1 << 24, weights >> 4, bounds)


@pytest.mark.parametrize(
    ("bounds", "tries"),
    [
        (("--bits",), "--bits 19 for fewer weights, and "),
        (("--max-features",), "--max-features 688127 for fewer weights, and "),
    ],
)
def test_the_remedy_names_options_that_the_format_has(bounds, tries):
    assert memory._remedy(need(bounds=bounds), 400 << 20) == f"try {tries}--max-trace-memory 14MB for a shorter trace"


def test_dense_rows_have_the_features_they_have():
    assert memory._remedy(need(weights=60, bounds=()), 400 << 20) == "try --max-trace-memory 8MB for a shorter trace"
    assert memory._remedy(need(weights=90, bounds=()), 400 << 20) == "too little for any model; allow 1,174 MB"


@pytest.mark.parametrize("name", ["small.vw", "words.jsonl"])
def test_a_format_takes_the_options_that_it_is_told_to_try(folder, name):
    (folder / "small.vw").write_text("1 | a b\n0 | c\n")
    (folder / "words.jsonl").write_text('{"t": "a", "y": 1}\n{"t": "b", "y": 0}\n')
    options = ["train", name, "--classes", "0,1,2,3,4,5,6,7,8,9"]
    options += ["--target", "y", "--text-column", "t"] if name == "words.jsonl" else []
    said = onepass(folder, *options, "--max-memory", "50MB", code=2).stderr
    taken = [int(re.search(rf"{part} ([\d,]+) MB", said)[1].replace(",", "")) for part in ("program", "reading")]
    refused = onepass(folder, *options, "--max-memory", f"{sum(taken) + 60}MB", code=2).stderr
    tries = re.findall(r"(--bits|--max-features) (\d+)", refused)
    assert len(tries) == 1
    onepass(folder, *options, *tries[0])


def test_a_file_that_becomes_wider_than_its_first_rows_is_held_to_the_limit(folder):
    lines = ["1 1:1", "-1 2:1"] * 400_000
    (folder / "wide.svm").write_text("\n".join([*lines, "1 9000000:1"]) + "\n")
    first = onepass(folder, "train", "wide.svm", "-v").stderr
    needs = [int(number.replace(",", "")) for number in re.findall(r"may need ([\d,]+) MB", first)]
    assert len(needs) == 2
    assert needs[0] < needs[1]
    refused = onepass(folder, "train", "wide.svm", "--max-memory", f"{(needs[0] + needs[1]) // 2}MB", code=2)
    assert "9,000,000 features" in refused.stderr
