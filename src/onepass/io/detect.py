"""What a file is, from its first bytes, then its name, then its first lines."""

from __future__ import annotations

import os
import re

from onepass.errors import Argument, DataError
from onepass.io.compression import SUFFIX
from onepass.io.formats import FORMATS

STRANGERS = (
    (rb"\s*<(!doctype|html|\?xml|head|body)", "an HTML or XML page", "fetch the data itself"),
    (rb"\x80[\x02-\x05]", "a Python pickle, which could run code", "save it as .npz or Parquet"),
    (rb"PK(\x03\x04|\x05\x06)", "a zip archive", "unpack it"),
    (rb"%PDF-", "a PDF document", "export the data as CSV"),
    (rb"\x89HDF\r\n", "an HDF5 file", "export the data as Parquet"),
    (rb"SQLite format 3\0", "an SQLite database", "export the table as CSV"),
    (rb"\x1f\x8b|BZh[1-9]1AY|\xfd7zXZ\0|\x28\xb5\x2f\xfd", "compressed once more", "decompress it once"),
)
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_VW = re.compile(rb"(?:" + _NUMBER + rb"(?:\s+" + _NUMBER + rb"){0,2})?\s*'?[^\s|:]*\|")
_SVMLIGHT = re.compile(rb"[^\s:]+(?:\s+qid:\d+)?(?:\s+\d+:\S+)+\s*(?:#.*)?$")
_LABEL = re.compile(_NUMBER + rb"\s*(?:#.*)?$")


def detect(head: bytes, name: str) -> str:
    """The format of a text or binary file that starts with `head`.

    >>> detect(b"1 3:0.5 7:1\\n", "data.txt"), detect(b"1 |a x:2\\n", "-"), detect(b"PAR1....", "data.csv")
    ('svmlight', 'vw', 'parquet')
    """
    binary = by_magic(head, name)
    if binary is not None:
        return binary
    refuse_strangers(head, name)
    for found, known in FORMATS.items():
        if _suffix(name) in known.suffixes:
            return found
    refuse_other_line_ends(head, name)
    text = guess(head)
    if text is None and head.strip():
        raise DataError("cannot tell the format from the first lines", source=name, remedy=Argument("format"))
    return text or "svmlight"  # an empty file: whatever it was to be, it has no examples


def by_magic(head: bytes, name: str) -> str | None:
    """The format that is no text and begins like this."""
    if head.startswith(b"PK\x03\x04"):
        archive = _suffix(name) == ".npz" or re.match(rb".{26}..\w+\.npy", head, re.DOTALL)
        return "npz" if archive else None
    return next((found for found, known in FORMATS.items() if known.binary and head.startswith(known.magic)), None)


def _suffix(name: str) -> str:
    """The end of a file's name, without that of its compression."""
    stem, suffix = os.path.splitext(name.lower())
    return os.path.splitext(stem)[1] if suffix in SUFFIX else suffix


def refuse_strangers(head: bytes, path: str) -> None:
    """Raise if this is something else altogether: a web page, a pickle, an archive, UTF-16."""
    for pattern, what, remedy in STRANGERS:
        if re.match(pattern, head, re.IGNORECASE):
            raise DataError(f"this looks like {what}", source=path, remedy=remedy)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head[:4096].count(0) > len(head[:4096]) // 4:
        raise DataError(
            "this looks like UTF-16, or is no text at all",
            source=path,
            remedy="convert it to UTF-8, e.g. iconv -f UTF-16",
        )


def refuse_other_line_ends(head: bytes, path: str) -> None:
    """Raise for text whose lines end in CR only."""
    if b"\r" in head and b"\n" not in head:
        raise DataError(
            "the lines end in CR only, as on very old computers",
            source=path,
            remedy="convert the line ends, e.g. tr '\\r' '\\n'",
        )


def lines_of(head: bytes) -> str | None:
    """The format with one example a line that the first lines are surely written in: a number a line is not enough.

    >>> lines_of(b"1 3:0.5\\n-1 7:1\\n"), lines_of(b"1\\n-1\\n"), lines_of(b"1,2\\n")
    ('svmlight', None, None)
    """
    found = guess(head)
    return found if found in ("vw", "jsonl") or (found == "svmlight" and b":" in head) else None


def guess(head: bytes) -> str | None:
    """The text format that the first lines are written in, None if they fit none."""
    lines = [line.strip() for line in head.split(b"\n")[:50]]
    lines = [line for line in lines if line and not line.startswith(b"#")][:20]
    if not lines:
        return None
    if all(line.startswith(b"{") for line in lines):
        return "jsonl"
    whole = lines[:-1] or lines  # the last one may be cut
    if all(_VW.match(line) for line in whole):
        return "vw"
    if all(_SVMLIGHT.match(line) or _LABEL.match(line) for line in whole):
        return "svmlight"
    if any(b"\t" in line for line in lines):
        return "tsv"
    if any(b"," in line or b";" in line or b"|" in line for line in lines):
        return "csv"
    fields = {len(line.split()) for line in whole}  # separated by spaces
    return "csv" if len(whole) > 1 and len(fields) == 1 and fields.pop() > 1 and b":" not in whole[0] else None
