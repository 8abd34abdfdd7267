"""The experiments of dekel2008, Section 4, on a sample of RCV1 and on the newswire: do they show what they should?

    python benchmarks/reproduce.py [FOLDER] [--quick] [--long] [--convert FOLDER]

FOLDER holds rcv1_v2_sample.topics.svm.xz (labels are line numbers of topics.txt) and topics.txt. It is rewritten in the
form in which RCV1-v2 is distributed (--convert: into a folder to keep, for `onepass reproduce --data`), and read back.

For the Perceptron: is the cutoff model at most 0.002 worse than the average, better than the last hypothesis, and half
as jumpy? Its plain spread over dense prefixes is printed too. For the margin-based Perceptron: what share of the gap
between average and last does the cutoff model close, what decides it? One table multiplies C·ln(m²/δ) in dekel2008's
bound by 1, 1/10, …, 0, which makes it no bound any more, and shows the share that its cutoff would close; one changes
the balance of the classes, and the horizon. --long adds one pair of the newswire with 500,000 rounds, with its rows as
they are, 4 and 16 times as long.
"""

from __future__ import annotations

import argparse
import lzma
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from onepass import Pass
from onepass.certificates import certify
from onepass.cli.commands.reproduce import show
from onepass.conversions import CONVERSIONS
from onepass.datasets import Newswire
from onepass.experiments import Corpus, Design, Problem, newswire, pairs, read, study
from onepass.experiments.protocol import LANDMARKS, Exam, hindsight, prepare_repetition
from onepass.rows import Rows, onto_ball

PRICES = (1.0, 0.1, 0.01, 0.001, 0.0)


def convert(sample: Path, folder: Path) -> Path:
    """The sample as lyrl2004_vectors_sample.dat and rcv1-v2.topics.qrels; documents are numbered from 1."""
    names = dict(line.split() for line in (sample / "topics.txt").read_text().splitlines() if line.strip())
    with (
        lzma.open(sample / "rcv1_v2_sample.topics.svm.xz", "rt") as packed,
        (folder / "lyrl2004_vectors_sample.dat").open("w") as vectors,
        (folder / "rcv1-v2.topics.qrels").open("w") as topics,
    ):
        for number, line in enumerate(packed, start=1):
            labels, _, features = line.partition(" ")
            vectors.write(f"{number}  {features}")
            topics.writelines(f"{names[label]} {number} 1\n" for label in labels.split(",") if label)
    return folder


def prices(corpus: Corpus, repeats: int) -> None:
    """What share of the gap is closed if dekel2008's price is taken for less than it is."""
    corpus = corpus.scaled()
    closed: dict[str, list[list[float]]] = {}
    for problem in pairs(corpus):
        for repeat in range(repeats):
            fed, exam, X, y = prepare_repetition(corpus, problem, "margin", repeat, Design())
            done, m = 0, len(y)
            for size in [*(size for size in LANDMARKS if size < m), m]:
                fed.feed(X[done:size], y[done:size])
                done, trace = size, fed.trace()
                [family] = CONVERSIONS["cutoff"].choices(trace, "hinge")
                C, n = trace.terms.loss_bound, family.rounds
                mean, price = C * family.losses / n, C * math.log(m * m / 0.05)
                bounds = [mean + np.sqrt(2 * p * price * mean / n) + 7 * p * price / n for p in PRICES]
                chosen = [CONVERSIONS["cutoff"].members(trace, int(family.value[np.argmin(bound)])) for bound in bounds]
                last, average, *cut = exam.losses(
                    trace,
                    CONVERSIONS["last"].members(trace, None),
                    CONVERSIONS["average"].members(trace, None),
                    *chosen,
                )
                if average > last:
                    shares = [(average - loss) / (average - last) for loss in cut]
                    closed.setdefault("all" if size == m else f"{size:,}", []).append(shares)
    print("share of the gap closed if dekel2008's C·ln(m²/δ) is multiplied by")
    print("rounds   " + "".join(f"{price:>8g}" for price in PRICES))
    for size, shares in sorted(closed.items(), key=lambda line: len(line[0]) if line[0] != "all" else 99):
        print(f"{size:9s}" + "".join(f"{share:8.0%}" for share in np.mean(shares, axis=0)))
    print()


def steadiness(corpus: Corpus, repeats: int) -> None:
    """The plain standard deviation of the Perceptron's test error over dense prefixes, cutoff's over the last's."""
    [found] = study(corpus, ["perceptron"], Design(repeats=repeats, per_decade=60))
    print("spread of test error over prefixes from a part of m rounds to m, 60 pauses a decade: cutoff / last")
    for curves in found.curves:
        said = []
        for start in (0.1, 0.5, 0.8):
            late = curves.rounds >= start * curves.rounds[-1]
            cutoff, last = (curves.values[name][:, late].std(axis=1).mean() for name in ("cutoff", "last"))
            said.append(f"from {start:g} m: {cutoff / last:.2f}")
        print(f"{curves.problem:13s} {', '.join(said)}")
    print()


def closed_at(corpus: Corpus, problem: Problem, repeats: int, horizon: int | None = None) -> tuple[float, float]:
    """Shares of the gap closed by the best cutoff in hindsight and by betting's, at the end (or at the horizon)."""
    ends = []
    for repeat in range(repeats):
        fed, exam, X, y = prepare_repetition(corpus, problem, "margin", repeat, Design())
        if horizon is not None:
            said = {"radius": fed.radius, "n_features": fed.n_features, "fit_intercept": False}
            fed = Pass("margin", classes=(0, 1), horizon=horizon, **said)
        fed.feed(X[:horizon], y[:horizon])
        trace = fed.trace()
        k = certify(trace, "cutoff", delta=0.05, bound="betting").choice.value
        chosen = (
            CONVERSIONS["last"].members(trace, None),
            CONVERSIONS["average"].members(trace, None),
            CONVERSIONS["cutoff"].members(trace, k),
        )
        ends.append([*exam.losses(trace, *chosen), hindsight(trace, exam)])
    last, average, betting, best = np.mean(ends, axis=0)
    return (average - best) / (average - last), (average - betting) / (average - last)


def causes(corpus: Corpus, repeats: int) -> None:
    """The same problems with one thing changed: the balance of the classes (with controls of the same size), η."""
    corpus, rng = corpus.scaled(), np.random.default_rng(1)
    found: dict[str, list[tuple[float, float]]] = {}

    def note(what: str, problem: Problem, chosen: np.ndarray) -> None:
        part = problem._replace(places=problem.places[chosen], codes=problem.codes[chosen])
        found.setdefault(what, []).append(closed_at(corpus, part, repeats))

    for problem in pairs(corpus):
        rare, common = sorted((np.flatnonzero(problem.codes == code) for code in (0, 1)), key=len)
        rare, common = rng.permutation(rare), rng.permutation(common)
        few = int(0.35 * len(rare))
        for what, chosen in (
            ("classes 50 : 50", np.concatenate([rare, common[: len(rare)]])),
            ("classes 13 : 87", np.concatenate([rare[:few], common[: few * 87 // 13]])),
        ):
            note(what, problem, np.sort(chosen))
            note(f"{what}, control", problem, np.sort(rng.permutation(len(problem.codes))[: len(chosen)]))
        found.setdefault("1,000 rounds, horizon 1,000", []).append(closed_at(corpus, problem, repeats, 1000))
    print("one thing changed, mean over problems: share closed in hindsight, by betting")
    for what, shares in found.items():
        print(f"{what:28s} {np.mean(shares, axis=0)[0]:5.0%} {np.mean(shares, axis=0)[1]:5.0%}")
    print("control: as many documents, classes as they were\n")


def long(rounds: int, pair: tuple[str, str] = ("GCAT", "MCAT"), fresh: int = 10_000) -> None:
    """One long pass: what the number of rounds and the length of the rows do to the share that is closed."""
    wire = Newswire(0)
    X, labels = wire.documents(rounds, rounds + fresh, pair)
    y = (labels == pair[1]).astype(np.int64)
    print(f"newswire, {pair[0]} / {pair[1]}, {rounds:,} rounds; loss rate: rounds with a loss")
    print("length   rounds    last  average loss rate  dekel2008: certified k closed   betting: certified  k closed")
    for scale in (1.0, 4.0, 16.0):
        radius = 21.7 * scale
        run = Pass("margin", classes=pair, radius=radius, horizon=rounds, fit_intercept=False, n_features=X.shape[1])
        test = Exam(onto_ball(Rows(X.indptr.astype(np.int64), X.indices, scale * X.data), radius), y, "hinge")
        done = 0
        for size in [*(10**i for i in range(3, 9) if 10**i < rounds), rounds]:
            for first in range(done, size, 20_000):
                part, truth = wire.documents(first, min(first + 20_000, size), pair)
                run.feed(scale * part, truth)
            done, trace = size, run.trace()
            chosen = [certify(trace, "cutoff", delta=0.05, bound=bound) for bound in ("dekel2008", "betting")]
            cutoffs = [CONVERSIONS["cutoff"].members(trace, certificate.choice.value or 0) for certificate in chosen]
            last, average, *cut = test.losses(
                trace, *(CONVERSIONS[name].members(trace, None) for name in ("last", "average")), *cutoffs
            )
            told = [
                (c.risk, c.choice.value, (average - loss) / (average - last))
                for c, loss in zip(chosen, cut, strict=True)
            ]
            said = "   ".join(f"{risk:19.4f} {k:2d} {share:6.0%}" for risk, k, share in told)
            print(f"{scale:6g} {size:8,} {last:7.4f}  {average:7.4f} {trace.updates / size:9.0%}  {said}", flush=True)
    print()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("--quick", action="store_true", help="few documents, few repetitions")
    options.add_argument("--convert", type=Path, help="write the sample here, as RCV1-v2 is distributed, and stop")
    options.add_argument("--long", action="store_true", help="also one long pass")
    args = options.parse_args()
    if args.convert is not None and args.folder is not None:
        print("wrote", convert(args.folder, args.convert))
        return
    design = Design(repeats=3, per_decade=4) if args.quick else Design()
    corpora = [newswire(6_000 if args.quick else 50_000)]
    if args.folder is None:
        print("the sample of RCV1 is not part of this project: give the folder that holds it\n")
    else:
        with tempfile.TemporaryDirectory() as folder:
            corpora.insert(0, read(convert(args.folder, Path(folder))))
    for corpus in corpora:
        start = time.process_time()
        for result in study(corpus, design=design):
            show(result)
        steadiness(corpus, 2 if args.quick else 3)
        prices(corpus, 1 if args.quick else 10)
        causes(corpus, 2 if args.quick else 5)
        print(f"{time.process_time() - start:.0f} s of processor time\n")
    if args.long:
        long(20_000 if args.quick else 500_000)


if __name__ == "__main__":
    main()
