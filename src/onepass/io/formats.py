"""The table of formats: how each is known, who reads it, and what can be done with it.

A new format is a reader (see `Reader` in stream.py) and its entry here. Nothing heavy is imported, so that the command
line can name the formats at once; a reader is imported when it is used, since only the tabular ones need pyarrow.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Format:
    """What a file may be.

    reader: its class, by module of `onepass.io`. suffixes: of file names. magic: how a file begins that is no text.
    spanned: whether a plain file can be read from the middle. table: whether it has named columns. hashed: whether
    features are places of hashes, as many as `bits` says; else they have numbers of their own.
    """

    reader: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    spanned: bool = False
    table: bool = False
    hashed: bool = False

    @property
    def binary(self) -> bool:
        """Whether it has rows in place of lines, which cannot be bad one by one."""
        return bool(self.magic)

    def load(self) -> Any:
        """The reader's class, a dataclass of its options."""
        module, kind = self.reader.split(".")
        return getattr(importlib.import_module(f"onepass.io.{module}"), kind)

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the reader's options.

        >>> FORMATS["vw"].options
        ('bits', 'labelled')
        """
        return tuple(field.name for field in fields(self.load()) if field.init)


FORMATS = {
    "svmlight": Format("svmlight.Svmlight", (".svm", ".svmlight", ".libsvm"), spanned=True),
    "vw": Format("vw.VowpalWabbit", (".vw",), spanned=True, hashed=True),
    "csv": Format("delimited.Csv", (".csv",), table=True, hashed=True),
    "tsv": Format("delimited.Tsv", (".tsv", ".tab"), table=True, hashed=True),
    "jsonl": Format("json_lines.JsonLines", (".jsonl", ".ndjson"), spanned=True, table=True, hashed=True),
    "parquet": Format("tabular.Parquet", (".parquet", ".pq"), (b"PAR1",), spanned=True, table=True, hashed=True),
    "arrow": Format(
        "tabular.Arrow",
        (".arrow", ".arrows", ".feather", ".ipc"),
        (b"ARROW1", b"\xff\xff\xff\xff"),  # the second begins a stream: a continuation marker, then the schema
        table=True,
        hashed=True,
    ),
    "npy": Format("arrays.Npy", (".npy",), (b"\x93NUMPY",)),
    "npz": Format("arrays.Npz", (".npz",), (b"PK\x03\x04",)),
}
