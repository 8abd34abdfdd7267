"""Rows of a table, cell by cell, after its public description; nothing of the program is used here."""

import datetime as dt
import math
import struct

import oracles_io as oracle

NULLS = {"", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?"}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def place(column, value, numbers, bits):
    """Where the value of a column of categories stands."""
    return numbers + oracle.murmur3(value.encode(), oracle.murmur3(column.encode())) % 2**bits


def row(cells, kinds, neutral, bits):
    """{place: value} of one row: cells by column; kinds by column, in order; neutral values of numbers and dates."""
    numbers = [name for name, kind in kinds.items() if kind in ("number", "date")]
    found = {}

    def light(column, value):
        at = place(column, value, len(numbers), bits)
        found[at] = found.get(at, 0.0) + 1.0

    for name, kind in kinds.items():
        text = cells[name].strip()
        if text in NULLS and kind != "words":
            light(name, "")
            if kind == "number" and neutral[name]:
                found[numbers.index(name)] = neutral[name]
        elif kind == "number":
            if float(text):
                found[numbers.index(name)] = float(text)
        elif kind == "date":
            when = dt.datetime.fromisoformat(text)
            days = (when - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
            if days != neutral[name]:
                found[numbers.index(name)] = days - neutral[name]
            light(f"{name} weekday", DAYS[when.weekday()])
            light(f"{name} hour", f"{when.hour:02d}")
        elif kind == "category":
            light(name, text.lower() if text.lower() in ("true", "false") else text)
        else:
            for at, count in words(text, oracle.murmur3(name.encode()), bits).items():
                found[len(numbers) + at] = found.get(len(numbers) + at, 0.0) + math.log2(1 + count)
    return found


def words(text, seed, bits):
    """{place: how often words that fall there stand in the text}."""
    counts = {}
    word = b""
    for byte in [*text.encode(), 32]:
        letter = bytes([byte]).lower()
        if byte >= 128 or letter.isalnum():
            word += letter
        elif word:
            at = oracle.murmur3(word, seed) % 2**bits
            counts[at] = counts.get(at, 0) + 1
            word = b""
    return counts


def borders(values, parts=32):
    """Quantiles i/32 of the values, and of those that are not the most frequent; each the next value that there is."""
    most = max(sorted(set(values)), key=values.count)
    found = set()
    for some in (sorted(values), sorted(value for value in values if value != most)):
        found |= {some[math.ceil(i / parts * (len(some) - 1) - 1e-9)] for i in range(parts)}
    return sorted(found)


def bin(limits, text):
    """How many borders lie at or below the value."""
    return sum(limit <= float(text) for limit in limits)


def leading(text):
    """Sign, exponent modulo 32 and leading three significant bits as one number below 257; 0 for 0."""
    value = float(text)
    if value == 0.0:
        return 0
    fraction, exponent = math.frexp(abs(value))
    return 1 + 128 * (value < 0) + 4 * (exponent % 32) + int(fraction * 8) - 4


def cross(first, second, stretch):
    """Where in a pair's stretch two values stand: each is (column, value), hashed; then both hashes, as eight bytes."""
    hashes = [oracle.murmur3(value.encode(), oracle.murmur3(column.encode())) for column, value in (first, second)]
    return oracle.murmur3(struct.pack("<II", *hashes), 0) * stretch // 2**32


def crossed(column, text, kind, limits):
    """What stands for a value that is crossed: (column, value), of a number its bin among the wide ones."""
    if text in NULLS:
        return column, ""
    if kind == "number":
        return f"{column} bin", str(bin(limits, text))
    return column, text.lower() if text.lower() in ("true", "false") else text
