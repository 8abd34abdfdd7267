"""Readers: files, pipes and compressed streams in, chunks of examples out, in order and in bounded memory.

`open_stream` is the face; a `Chunk` is rows, labels and where they stood. The rooms behind it: formats (the table of
what can be read), sources (bytes), compression, blocks (whole lines), prefetch (threads and order), stream (chunks and
what was met in them), and a module for each family of formats. What is named here is imported when it is asked for, so
that the table of formats can be had without NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onepass._exports import exported

if TYPE_CHECKING:
    from onepass.io.chunk import Chunk, Origin
    from onepass.io.dump import dump_svmlight
    from onepass.io.opener import open_stream
    from onepass.io.position import Position
    from onepass.io.stream import Stream

__all__ = ["Chunk", "Origin", "Position", "Stream", "dump_svmlight", "open_stream"]

_HOME = {
    "Chunk": "chunk",
    "Origin": "chunk",
    "Position": "position",
    "Stream": "stream",
    "dump_svmlight": "dump",
    "open_stream": "opener",
}


def __getattr__(name: str) -> Any:
    return exported(__name__, _HOME, name)
