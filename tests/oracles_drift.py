"""The drift alarm and the monitor by their definitions: every start its own bettor, every rank counted anew."""

import math

WORD = (1 << 64) - 1


def mixed(z):
    """splitmix64's output function."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def theta(seed, row):
    golden = 0x9E3779B97F4A7C15
    word = mixed((mixed((seed + golden) & WORD) + row * golden) & WORD)
    return ((word >> 11) + 1) / 2**53


def start_weight(t):
    k = int(math.log2(t))
    return 1 / (2**k * (k + 1) * (k + 2))


def p_values(scores, borders, seed, first, known=()):
    """Of one segment: the share of earlier rows (those `known` among them) in higher bins, ties broken by θ."""
    bag, found = list(known), []
    for i, score in enumerate(scores):
        own = sum(border <= score for border in borders)
        bag.append(own)
        higher, same = sum(b > own for b in bag), sum(b == own for b in bag)
        found.append((higher + theta(seed, first + i) * same) / len(bag))
    return found


def jumping(segments):
    """M after every row, for the p-values of each segment: half of the capital is put in, the share w_t at row t."""
    starts, rows, path = [], 0, []
    for segment in segments:
        starts = [[sum(capital) / 5] * 5 for capital in starts]
        for p in segment:
            rows += 1
            starts.append([0.5 * start_weight(rows) / 5] * 5)
            for capital in starts:
                total = sum(capital)
                for b, bet in enumerate((-1, -0.5, 0, 0.5, 1)):
                    capital[b] = (0.99 * capital[b] + 0.01 * total / 5) * (1 + bet * (p - 0.5))
            kept = 1 - 0.5 * sum(start_weight(t) for t in range(1, rows + 1))
            path.append(kept + sum(map(sum, starts)))
    return path


def against(limit, xs):
    """M after every X against "the mean is at most `limit`": each start has 16 stakes of its own."""
    bets = [0.005 * (0.95 / 0.005) ** (b / 15) for b in range(16)]
    starts, path = [], []
    for t, x in enumerate(xs, 1):
        starts.append([start_weight(t) / 16] * 16)
        for stakes in starts:
            for b, c in enumerate(bets):
                stakes[b] *= (1 - c * (1 - x)) / (1 - c * (1 - limit))
        path.append(1 - sum(start_weight(s) for s in range(1, t + 1)) + sum(map(sum, starts)))
    return path


def counted(name, own, label, prediction):
    """X of a rate of class `own`, or None where the row does not count."""
    if name == "risk":
        return float(label != prediction)
    if name == "miss":
        return float(prediction != own) if label == own else None
    if name == "false alarm":
        return float(prediction == own) if label != own else None
    if name == "precision":
        return float(label != own) if prediction == own else None
    return None if own not in (label, prediction) else float(not label == prediction == own)  # F1
