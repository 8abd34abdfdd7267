"""RCV1-v2 as it is distributed: token files, vector files, and the topics of each document.

    lyrl2004_tokens_*.dat     records: `.I 2286`, `.W`, lines of words, an empty line
    lyrl2004_vectors_*.dat    a document a line: `2286  864:0.0497 1523:0.0447 …`
    rcv1-v2.topics.qrels      a topic of a document a line: `E11 2286 1`

(Lewis, Yang, Rose and Li, JMLR 5:361-397, 2004.) Each may be compressed, and have more before or behind its name.
A word that stands s times in a document has the value log2(1 + s) there, as in dekel2008, Section 4; vector files keep
their own values. A document counts if it belongs to one of the four top topics, or to none of them (OTHER).
"""

from __future__ import annotations

import fnmatch
import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.errors import DataError
from onepass.io import detect
from onepass.io.opener import open_stream
from onepass.io.sources import Limits, Source
from onepass.rows import Ints, Rows

TOP = ("CCAT", "ECAT", "GCAT", "MCAT")
OTHER = "OTHER"
FILES = {"tokens": "*lyrl2004_tokens*.dat*", "vectors": "*lyrl2004_vectors*.dat*"}
TOPICS = "*rcv1-v2.topics.qrels*"
BATCH = 20_000  # documents counted at a time


class Documents(NamedTuple):
    """Documents with their numbers; `words` names the features of token files."""

    ids: Ints
    rows: Rows
    width: int
    words: tuple[bytes, ...] = ()


class Topics(NamedTuple):
    """Per document of the topics file the set of its top topics, as bits in the order of TOP."""

    bits: dict[int, int]

    def of(self, ids: Ints) -> npt.NDArray[np.str_]:
        """The category of each document; empty where it has several, OTHER where it has none of the four.

        >>> Topics({7: 0b0001, 8: 0b1010}).of(np.array([7, 8, 9])).tolist()
        ['CCAT', '', 'OTHER']
        """
        names = [_category(bits) for bits in range(1 << len(TOP))]
        return np.array(names)[[self.bits.get(number, 0) for number in ids.tolist()]]


def _category(bits: int) -> str:
    chosen = [name for place, name in enumerate(TOP) if bits >> place & 1]
    return OTHER if not chosen else chosen[0] if len(chosen) == 1 else ""


def find(folder: str | os.PathLike[str], kind: str | None = None) -> tuple[str, list[str], str]:
    """(kind, its files by name, the topics file) in a folder; token files before vector files if both are there."""
    there = sorted(str(path) for path in Path(folder).iterdir() if path.is_file() and not path.name.startswith("."))
    if kind not in (None, *FILES):
        raise ValueError(f"kind: one of {', '.join(FILES)} or None expected, got {kind!r}")
    found = {name: _matching(there, FILES[name]) for name in FILES if kind in (None, name)}
    chosen = next((name for name, files in found.items() if files), None)
    topics = _matching(there, TOPICS)
    if chosen is None or not topics:
        missing = " or ".join(FILES[name] for name in found) if chosen is None else TOPICS
        raise DataError(
            f"the folder holds no {missing}",
            source=os.fspath(folder),
            remedy="put the token (or vector) files of RCV1-v2 and rcv1-v2.topics.qrels there, plain or .gz",
        )
    if len(topics) > 1:
        raise DataError(f"two topics files: {topics[0]} and {topics[1]}", remedy="keep one of them")
    return chosen, found[chosen], topics[0]


def _matching(paths: Sequence[str], pattern: str) -> list[str]:
    return [path for path in paths if fnmatch.fnmatch(os.path.basename(path), pattern)]


def read_topics(path: str) -> Topics:
    """The top topics of every document that the file names."""
    places = {name.encode(): 1 << place for place, name in enumerate(TOP)}
    bits: dict[int, int] = {}
    for line, text in _lines(path):
        fields = text.split()
        if not fields:
            continue
        if len(fields) != 3 or fields[2] != b"1":
            raise _bad("`topic document 1` expected", path, line, text)
        number = _number(fields[1], path, line, text)
        bits[number] = bits.get(number, 0) | places.get(fields[0], 0)
    if not bits:
        raise DataError("no topics", source=path)
    return Topics(bits)


def read_tokens(paths: Sequence[str]) -> Documents:
    """All documents of token files; words get numbers in the order in which they are first met."""
    vocabulary: dict[bytes, int] = {}
    seen: dict[int, tuple[str, int]] = {}
    parts = list[Rows]()
    words, ends = array("i"), [0]
    for path in paths:
        before = len(seen)
        for record in _records(path):
            _note(seen, record.number, path, record.line)
            words.extend([vocabulary.setdefault(word, len(vocabulary)) for word in record.words])
            ends.append(len(words))
            if len(ends) > BATCH:
                parts.append(_counted(words, ends))
                words, ends = array("i"), [0]
        if len(seen) == before:
            raise DataError("no documents", source=path)
    parts.append(_counted(words, ends))
    return Documents(np.array(list(seen), dtype=np.int64), _joined(parts), len(vocabulary), tuple(vocabulary))


def read_vectors(paths: Sequence[str]) -> Documents:
    """All documents of vector files; feature 0 is term 1."""
    seen: dict[int, tuple[str, int]] = {}
    parts = list[Rows]()
    with open_stream(list(paths), format="svmlight", unsorted="sort") as stream:
        for chunk in stream:
            rows, labels = chunk.rows, chunk.labels
            assert isinstance(rows, Rows)
            assert labels is not None
            for place, label in enumerate(labels.tolist()):
                line = chunk.origin.line + place
                if not (label >= 0 and label == int(label)):
                    raise DataError(
                        f"document number {label:g}: a whole number expected", source=chunk.origin.path, line=line
                    )
                _note(seen, int(label), chunk.origin.path, line)
            parts.append(rows)
    rows = _joined(parts)
    width = int(rows.indices.max(initial=-1)) + 1
    return Documents(np.array(list(seen), dtype=np.int64), rows, width)


def _note(seen: dict[int, tuple[str, int]], number: int, path: str, line: int) -> None:
    if number in seen:
        where = "{}:line {}".format(*seen[number])
        raise DataError(f"document {number} stands twice, first in {where}", source=path, line=line)
    seen[number] = (path, line)


class _Record(NamedTuple):
    number: int
    line: int
    words: list[bytes]


def _records(path: str) -> Iterator[_Record]:
    """The records of a token file."""
    record: _Record | None = None
    in_text = False
    for line, text in _lines(path):
        fields = text.split()
        if not fields:
            continue
        if fields[0] == b".I":
            if record is not None:
                yield _whole(record, in_text, path)
            if len(fields) != 2:
                raise _bad("`.I document` expected", path, line, text)
            record, in_text = _Record(_number(fields[1], path, line, text), line, []), False
        elif record is None:
            raise _bad("`.I document` expected before anything else", path, line, text)
        elif fields == [b".W"]:
            if in_text:
                raise _bad(f"a second .W in document {record.number}", path, line, text)
            in_text = True
        elif fields[0].startswith(b"."):
            raise _bad("an unknown field: .I and .W are known", path, line, text)
        elif not in_text:
            raise _bad(f"words before the .W of document {record.number}", path, line, text)
        else:
            record.words.extend(fields)
    if record is not None:
        yield _whole(record, in_text, path)


def _whole(record: _Record, in_text: bool, path: str) -> _Record:
    if not in_text:
        raise DataError(
            f"document {record.number} has no .W", source=path, line=record.line, remedy="fetch the file again"
        )
    return record


def _counted(words: array[int], ends: list[int]) -> Rows:
    """log2(1 + how often) of each word of each document."""
    import scipy.sparse

    shape = (len(ends) - 1, 1 + max(words, default=0))
    places = np.array(words, dtype=np.int32)
    counts = scipy.sparse.csr_array((np.ones(places.size), places, np.array(ends, dtype=np.int32)), shape=shape)
    counts.sum_duplicates()
    return Rows(counts.indptr.astype(np.int64), counts.indices.astype(np.int32), np.log2(1.0 + counts.data))


def _joined(parts: list[Rows]) -> Rows:
    if not parts:
        return Rows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    indices = np.concatenate([part.indices[part.indptr[0] : part.indptr[-1]] for part in parts])
    values = np.concatenate([part.values[part.indptr[0] : part.indptr[-1]] for part in parts])
    return Rows(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), indices, values)


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """(number, text) of every line of a plain or compressed file."""
    source = Source(path, None, Limits(), lambda note: None)
    try:
        detect.refuse_strangers(source.head, path)
        detect.refuse_other_line_ends(source.head, path)
        number, rest = 0, b""
        for piece in source.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            for number, text in enumerate(whole, number + 1):  # noqa: B020 - counts on from the last piece
                yield number, text
            if len(rest) > source.limits.max_line:
                raise DataError(f"a line of more than {source.limits.max_line:,} bytes", source=path, line=number + 1)
        if rest:
            yield number + 1, rest
    finally:
        source.close()


def _number(field: bytes, path: str, line: int, text: bytes) -> int:
    if not (field.isdigit() and len(field) < 16):
        raise _bad("a document's number expected", path, line, text)
    return int(field)


def _bad(message: str, path: str, line: int, text: bytes) -> DataError:
    return DataError(message, source=path, line=line, value=text)


def read(folder: str | os.PathLike[str], kind: str | None = None) -> tuple[Documents, npt.NDArray[Any], str]:
    """(documents with one category, their categories, which kind of file) of a folder."""
    kind, files, topics = find(folder, kind)
    named = read_topics(topics)
    documents = (read_tokens if kind == "tokens" else read_vectors)(files)
    categories = named.of(documents.ids)
    return documents, categories, kind
