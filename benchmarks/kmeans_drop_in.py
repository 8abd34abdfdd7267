"""How many of scikit-learn's own k-means tests pass with KMeans and kmeans_plusplus of this library in their place.

    python benchmarks/kmeans_drop_in.py [-k EXPRESSION]

They are read from the installed scikit-learn and kept nowhere. Tests of MiniBatchKMeans are left out, since nothing
here claims to be that. Ends with 1 if a test fails that is not in EXCUSED.
"""

import argparse
import ast
import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

FIXTURES = """
import numpy as np
import pytest

@pytest.fixture
def global_random_seed():
    return 42

@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    return request.param
"""
PRIVATE = "calls KMeans._init_centroids, a private method"
EXCUSED = {  # tests/test_cluster.py tests the same by public names
    "test_sample_weight_init[random]": PRIVATE,
    "test_sample_weight_init[k-means++]": PRIVATE,
    "test_sample_weight_zero[random]": PRIVATE,
    "test_sample_weight_zero[k-means++]": PRIVATE,
}


def swapped(source):
    """The test file with one more import after all the others."""
    lines = source.splitlines()
    last = max(node.end_lineno for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom)))
    lines.insert(last, "from onepass.cluster import KMeans, kmeans_plusplus")
    return "\n".join(lines) + "\n"


def outcomes(file, chosen, folder):
    """The names of the tests that passed and of those that did not."""
    (folder / "conftest.py").write_text(FIXTURES, encoding="utf-8")
    (folder / "test_swapped.py").write_text(swapped(file.read_text(encoding="utf-8")), encoding="utf-8")
    asked = ["-q", "--rootdir", str(folder), "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "-k", chosen]
    command = [sys.executable, "-m", "pytest", *asked, "--junitxml", "outcome.xml", "test_swapped.py"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not (folder / "outcome.xml").exists():
        raise RuntimeError(run.stdout + run.stderr)
    cases = list(ET.parse(folder / "outcome.xml").getroot().iter("testcase"))
    failed = {case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None}
    return {case.get("name") for case in cases} - failed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="only tests that match, as pytest has it")
    chosen = parser.parse_args().k
    found = importlib.util.find_spec("sklearn.cluster.tests")
    if found is None or not (file := Path(found.submodule_search_locations[0], "test_k_means.py")).exists():
        sys.exit("this scikit-learn was installed without its tests")
    others = "not MiniBatch and not minibatch" + (f" and ({chosen})" if chosen else "")
    with tempfile.TemporaryDirectory() as folder:
        passed, failed = outcomes(file, others, Path(folder))
    version = importlib.metadata.version("scikit-learn")
    print(f"scikit-learn {version}: {len(passed)} of {len(passed) + len(failed)} tests pass")
    for name in sorted(failed):
        print(f"  {name}: {EXCUSED.get(name, 'FAILS')}")
    sys.exit(int(not failed <= set(EXCUSED)))


if __name__ == "__main__":
    main()
