"""scikit-learn's own tests of k-means, run with `KMeans` and `kmeans_plusplus` of this library in their place."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "kmeans_drop_in.py"


def test_scikit_learns_own_tests_pass_with_these_names_swapped_in():
    if importlib.util.find_spec("sklearn.cluster.tests") is None:
        pytest.skip("this scikit-learn was installed without its tests")
    run = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    passed, of = map(int, re.search(r"(\d+) of (\d+) tests pass", run.stdout).groups())
    assert of - 4 == passed > 150, run.stdout  # the four say why
