"""Readers: files, pipes and compressed streams in, chunks of examples out, in order and in bounded memory.

`open_stream` is the face; a `Chunk` is rows, labels and where they stood. The rooms behind it: sources (bytes),
compression, blocks (whole lines), ahead (threads and order), stream (chunks and what was met in them), and a module for
each family of formats.
"""

from onepass.io.chunk import Chunk, Origin
from onepass.io.dump import dump_svmlight
from onepass.io.formats import open_stream
from onepass.io.stream import Position, Stream

__all__ = ["Chunk", "Origin", "Position", "Stream", "dump_svmlight", "open_stream"]
