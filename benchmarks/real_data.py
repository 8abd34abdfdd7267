"""Certified and test error on real data: a9a, a sample of RCV1, SMS spam.

    python benchmarks/real_data.py FOLDER

FOLDER holds a9a/a9a.svm.gz and a9a.t.svm.gz, rcv1/rcv1_v2_sample.topics.svm.xz with binary_labels.txt.gz, and
sms_spam/SMSSpamCollection.tsv.gz. All rows are put in random order; where there is no test file, a fifth is set aside.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse

from onepass import Pass
from onepass.io import open_stream


def read(path: Path, **options):
    """All rows of a file as one matrix, and their labels."""
    parts, labels = [], []
    with open_stream(path, **options) as stream:
        for chunk in stream:
            rows = chunk.rows
            shape = (len(rows.indptr) - 1, 1 << 20)
            parts.append(scipy.sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=shape))
            labels.append(chunk.labels)
    return scipy.sparse.vstack(parts).tocsr(), np.concatenate(labels)


def rcv1(folder: Path):
    """The sample with its binary labels; rows that belong to both sides are left out."""
    labels = gzip.decompress((folder / "binary_labels.txt.gz").read_bytes()).decode().split()
    with tempfile.NamedTemporaryFile("wt", suffix=".svm") as plain:
        with lzma.open(folder / "rcv1_v2_sample.topics.svm.xz", "rt") as packed:
            for label, line in zip(labels, packed, strict=True):
                if label != "0":
                    plain.write(label + line[line.index(" ") :])
        plain.flush()
        return read(Path(plain.name))


def split(X, y):
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(y) * 4 // 5
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, nargs="?")
    folder = options.parse_args().folder
    if folder is None:
        print("the data sets are not part of this project: give the folder that holds them")
        return
    X, y = read(folder / "a9a" / "a9a.svm.gz")
    order = np.random.default_rng(0).permutation(len(y))
    problems = {
        "a9a": (X[order], y[order], *read(folder / "a9a" / "a9a.t.svm.gz")),
        "rcv1": split(*rcv1(folder / "rcv1")),
        "sms_spam": split(
            *read(folder / "sms_spam" / "SMSSpamCollection.tsv.gz", format="tsv", target=0, text_column=1, header=False)
        ),
    }
    print("data         rows learner     conversion certified  of            test error test hinge")
    for name, (X, y, X_test, y_test) in problems.items():
        longest = float(np.sqrt(X.multiply(X).sum(axis=1)).max())
        for learner, scale in (("perceptron", 1.0), ("margin", 10.0 / min(longest, 10.0))):
            radius = scale * longest if learner == "margin" else None
            for conversion in ("cutoff", "frozen"):
                run = Pass(learner, radius=radius, conversion=conversion)
                run.feed(scale * X, y)
                model, certificate = run.model(conversion), run.certificate(conversion)
                sign = np.where(y_test == run.classes[1], 1, -1)
                margin = sign * model.decision(scale * X_test)
                hinge = f"{np.maximum(0, 1 - margin).mean():10.4f}" if certificate.loss == "hinge" else ""
                of = f"{'0-1' if certificate.loss == 'zero_one' else 'hinge'}, {certificate.covers}"
                shown = f"{certificate.risk:9.4f}" if certificate.withheld is None else " withheld"
                what = f"{name:9s} {len(y):7,} {learner:11s} {conversion:10s}"
                print(f"{what} {shown}  {of:13s} {(margin <= 0).mean():10.4f} {hinge}")


if __name__ == "__main__":
    main()
