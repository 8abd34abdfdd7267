"""What the readers should give, written as plainly as it can be said. Imports nothing of ours."""

import math
import re


def svmlight(text, base=1):
    """[(label, {index: value})] of well-formed svmlight text."""
    examples = []
    for line in text.decode().replace("\r\n", "\n").split("\n"):
        words = line.split("#")[0].split()
        if words:
            pairs = [word.split(":") for word in words[1:] if not word.startswith("qid:")]
            examples.append((float(words[0]), {int(i) - base: float(v) for i, v in pairs}))
    return examples


def murmur3(data, seed=0):
    """MurmurHash3_x86_32, after its public description."""
    h, tail = seed, len(data) % 4
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data) - tail, 4)]
    for i, k in enumerate([*words, int.from_bytes(data[len(data) - tail :], "little")]):
        k = k * 0xCC9E2D51 % 2**32
        h ^= (k << 15 | k >> 17) % 2**32 * 0x1B873593 % 2**32
        if i < len(words):
            h = ((h << 13 | h >> 19) % 2**32 * 5 + 0xE6546B64) % 2**32
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    return h ^ h >> 16


def vw_hash(name, seed=0):
    """Vowpal Wabbit's rule for a name: a number is itself, on top of the seed."""
    return int(name) + seed if re.fullmatch(rb"[0-9]+", name) else murmur3(name, seed % 2**32)


def vw_features(namespaces, bits):
    """{index: value} of [(name, weight, [(feature, value)])]."""
    row = {}
    for name, weight, features in namespaces:
        seed, nameless = vw_hash(name) if name else 0, 0
        for feature, value in features:
            index = (vw_hash(feature, seed) if feature else seed + nameless) % 2**bits
            nameless += not feature
            if value * weight:
                row[index] = row.get(index, 0.0) + value * weight
    return row


def bag_of_words(text, bits):
    """{index: log2(1 + count)} of the words of a text."""
    counts = {}
    lowered = bytes(b + 32 if 65 <= b <= 90 else b for b in text.encode())
    for word in re.findall(rb"[0-9a-z\x80-\xff]+", lowered):
        index = murmur3(word) % 2**bits
        counts[index] = counts.get(index, 0) + 1
    return {index: math.log2(1 + count) for index, count in counts.items()}
