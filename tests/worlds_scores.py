"""Streams of scores whose truth is known, and an adversary who stops and chooses with hindsight.

A world says how often the positive class comes and how each class's scores fall into the 129 bins; so every rate of
every border is known. A run counts rows of several candidates at many looks. The adversary sees the whole run and takes
the look and the candidate at which the claim is most likely to be false: no stopping rule can do worse to it.
"""

from typing import NamedTuple

import numpy as np

from onepass.certificates.probabilities import GROUPS, calibrate
from onepass.certificates.target import Confidence, Target
from onepass.certificates.threshold_choice import DECLARED, choose_threshold

BINS = np.arange(129)
LOOKS = np.unique((32 * 1.15 ** np.arange(47)).astype(int))  # 32, 36, …, 19,800 rows
BETS = np.geomspace(1e-4, 0.999, 64)
CANDIDATES = 8


class World(NamedTuple):
    share: float  # of the positive class, which is the second
    negative: np.ndarray  # (129): how its scores fall
    positive: np.ndarray
    borders: np.ndarray


def edge(limit, bins):
    """Bins from the safe side on: a fifth of the limit, one bin that takes the rate just past it, the rest."""
    mass, quarter = np.zeros(129), len(bins) // 4
    mass[bins[:quarter]] = 0.2 * limit / quarter
    mass[bins[quarter]] = 0.8001 * limit
    mass[bins[quarter + 1 :]] = (1.0 - mass.sum()) / (len(bins) - quarter - 1)
    return mass


def lump(rate, bins):
    """The rate in the first bin, and the rest in the last: it is the same at all borders between."""
    mass = np.zeros(129)
    mass[bins[0]], mass[bins[-1]] = rate, 1.0 - rate
    return mass


def world(kind, limit, share, ties=False):
    """Where a claim of this kind is hardest to keep. Of precision: scores that tell nothing, and a limit just above."""
    bins = BINS[::8] if ties else BINS
    borders = np.arange(128.0) // (8 if ties else 1)
    if kind == "precision":
        even = np.zeros(129)
        even[bins] = 1.0 / len(bins)
        return World(share, even, even, borders)
    if kind == "miss":
        return World(share, lump(0.30003, bins[::-1]), edge(limit, bins), borders)
    return World(share, edge(limit, bins[::-1]), lump(0.30003, bins), borders)


def counts(world, rng, candidates=CANDIDATES):
    """(looks, candidates, 2, 129): what had come at each look. The rows are the same for all, the scores are not."""
    found = np.zeros((len(LOOKS), candidates, 2, 129), dtype=np.int64)
    for i, rows in enumerate(np.diff(LOOKS, prepend=0)):
        positives = rng.binomial(rows, world.share)
        found[i, :, 0] = rng.multinomial(rows - positives, world.negative, size=candidates)
        found[i, :, 1] = rng.multinomial(positives, world.positive, size=candidates)
    return found.cumsum(axis=0)


def called(bins):
    """(…, 128): how many rows each border's rule calls positive, per class: those in the bins above it."""
    return bins.sum(axis=-1, keepdims=True) - np.cumsum(bins, axis=-1)[..., :-1]


def truth(world):
    """(false alarm, miss, precision) of each border."""
    alarm, hit = called(world.negative), called(world.positive)
    with np.errstate(invalid="ignore", divide="ignore"):
        precise = world.share * hit / (world.share * hit + (1.0 - world.share) * alarm)
    return {"false alarm": alarm, "miss": 1.0 - hit, "precision": precise}


def wealth(wrong, rows, mu):
    """ln of what 64 gamblers have on average who bet that the rate is below mu."""
    e = wrong[..., None] * np.log1p(-BETS) - rows[..., None] * np.log1p(-BETS * mu)
    return np.logaddexp.reduce(e, axis=-1) - np.log(64)


def evidence(seen, kind):
    """(mistakes, rows) of each border's rule, at every look and for every candidate."""
    alarms, hits = (called(seen[..., c, :]) for c in (0, 1))
    negatives, positives = (np.broadcast_to(seen[..., c, :].sum(axis=-1, keepdims=True), hits.shape) for c in (0, 1))
    return {
        "false alarm": (alarms, negatives),
        "miss": (positives - hits, positives),
        "precision": (alarms, alarms + hits),
    }[kind]


def where_most(values):
    """(look, candidate) of the largest."""
    return np.unravel_index(np.argmax(values), values.shape)[:2]


def first_false(rates, target):
    """The borders of which a claim would be false: of a rate that rises along them, the first is enough."""
    if target.kind == "precision":
        return np.array([b for b in DECLARED if rates[b] < target.limit])
    false = np.flatnonzero(rates > target.limit)
    return false[-1:] if target.kind == "false alarm" else false[:1]


def false_claims(world, target, confidence, rng, candidates=CANDIDATES):
    """(whether the target's claim, whether the other rate's was false) at the worst of all looks and candidates."""
    seen, true = counts(world, rng, candidates), truth(world)
    least = target.kind == "precision"
    wrong, rows = evidence(seen, target.kind)
    false = first_false(true[target.kind], target)
    limit = 1.0 - target.limit if least else target.limit
    other = "false alarm" if target.kind == "miss" else "miss"
    safest = {"false alarm": 127, "miss": 0, "precision": 127}[target.kind]
    at_safest = 1.0 - true["precision"][127] if least else true[target.kind][safest]
    other_wrong, other_rows = (part[..., 64] for part in evidence(seen, other))
    places = {
        where_most(wealth(wrong[..., false], rows[..., false], limit)),
        where_most(wealth(wrong[..., safest], rows[..., safest], at_safest)),
        where_most(wealth(other_wrong, other_rows, 0.3)),
        (len(LOOKS) - 1, 0),
    }
    failed = [False, False]
    for place in places:
        found = choose_threshold(seen[place], world.borders, target, confidence)
        claimed = target.limit if found.reached else found.nearest
        rate = true[target.kind][found.index]
        failed[0] |= bool(rate < claimed if least else rate > claimed)
        failed[1] |= bool(true[other][found.index] > found.other_bound)
    return failed


def own_bounds_fail(world, delta, rng):
    """Whether "each border's own bound" was false of some border at some look."""
    wrong, rows = evidence(counts(world, rng, 1), "false alarm")
    rates = truth(world)["false alarm"]
    return bool((wealth(wrong, rows, rates[:, None]) >= np.log(1.0 / delta)).any())


def limit_of(kind, share):
    """A limit that is near what the world has."""
    return {"false alarm": 0.05, "miss": 0.2, "precision": min(0.999, 1.0001 * share)}[kind]


def failures(kind, share, delta, runs, *, ties=False, price=1.0 / CANDIDATES, seed=0):
    """(runs in which the target's claim failed, in which the other rate's did)."""
    limit = limit_of(kind, share)
    rng = np.random.default_rng([seed, int(1000 * share), int(1000 * delta), len(kind), ties])
    streams, target = world(kind, limit, share, ties), Target(kind, limit)
    confidence = Confidence(delta, delta, price)
    return np.sum([false_claims(streams, target, confidence, rng) for _ in range(runs)], axis=0).tolist()


# --- the band of probabilities ----------------------------------------------------------------------------------------


def band_fails(world, delta, rng, price=1.0 / CANDIDATES):
    """Whether a group's true share lay outside its band, at the worst of all looks, candidates and groups."""
    seen = counts(world, rng)
    parts = np.split(BINS, np.array(GROUPS) + 1)
    grouped = np.stack([seen[..., group].sum(axis=-1) for group in parts], axis=-1)
    came, rows = grouped[:, :, 1], grouped.sum(axis=2)
    mass = np.array([[world.negative[group].sum(), world.positive[group].sum()] for group in parts])
    mass *= [1.0 - world.share, world.share]
    share = mass[:, 1] / mass.sum(axis=1)
    failed = False
    for wrong, mu in ((came, share), (rows - came, 1.0 - share)):
        place = where_most(wealth(wrong, rows, mu[:, None]))
        band = calibrate(seen[place], world.borders).reliability(seen[place], world.borders, delta * price)
        failed |= bool(((share < band.lower) | (share > band.upper)).any())
    return failed


def band_failures(share, delta, runs, price=1.0 / CANDIDATES):
    """Runs in which the band failed. Scores fall evenly and tell nothing."""
    rng = np.random.default_rng([1, int(1000 * share), int(1000 * delta)])
    return sum(band_fails(world("precision", 0.5, share), delta, rng, price) for _ in range(runs))
