"""JSON lines, one object a line: a table whose columns are the members, or the words of one member alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onepass.errors import DataError
from onepass.io.blocks import Load, TextBlock, Work, blocks
from onepass.io.columns import TableOptions
from onepass.io.layout import Examples, Layout, layout_of
from onepass.io.lines import BadLine, LineError, Parsed
from onepass.io.sources import Source
from onepass.rows import Dense
from onepass.tables.plan import LOOKED_AT, CellError

NOTHING = Examples(Dense(np.zeros((0, 0))), None)


@dataclass(frozen=True)
class JsonLines(TableOptions):
    """The format with the options of every table: target, categorical and the others name members of the objects.

    A member that an object lacks is missing there; one that no object of the first rows has is not used.
    """

    splits = True

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Blocks of lines."""
        if not source.see(1 << 20).strip():
            return
        layout = self._layout(source)
        for load in blocks(source):
            yield Work(load.consumed, partial(self._parse, load, layout, skip))

    def _layout(self, source: Source) -> Layout:
        """By the first objects: of the first block, whatever its size."""
        objects = list[dict[str, Any]]()
        for line in source.see(1 << 20).split(b"\n"):
            with suppress(LineError):
                found = read_line(line)
                if found is not None:
                    objects.append(found)
            if len(objects) == LOOKED_AT:
                break
        if not objects:
            self._tell(source)
        names = list(dict.fromkeys(name for one in objects for name in one))
        if not names:
            raise DataError("no JSON object with members in the first lines", source=source.path)
        sample = [_array([one.get(name) for one in objects]) for name in names]
        return layout_of(names, sample, self, source.path, source.note)

    def _tell(self, source: Source) -> None:
        """What is wrong with the first line, where none is right."""
        for number, line in enumerate(source.see(1 << 20).split(b"\n")):
            try:
                read_line(line)
            except LineError as fault:
                raise DataError(
                    fault.message,
                    source=source.path,
                    line=number + 1,
                    column=fault.column,
                    value=line,
                    remedy=fault.remedy,
                ) from None

    def _parse(self, load: Load, layout: Layout, skip: bool) -> Parsed:
        block: TextBlock = load.block()
        lines = block.text[: block.size].tobytes().split(b"\n")[:-1]
        objects, places, bad = list[dict[str, Any]](), list[int](), list[BadLine]()
        for number, line in enumerate(lines):
            try:
                found = read_line(line)
            except LineError as fault:
                bad.append(BadLine(number, line, fault))
                if not skip:
                    break
                continue
            if found is not None:
                objects.append(found)
                places.append(number)
        rows = self._examples(objects, layout, places, lines, bad, skip)
        return Parsed(
            rows.rows, rows.labels, len(lines), bad, 0, block.start, block.stop, np.array(places, np.int64), rows.met
        )

    def _examples(
        self,
        objects: list[dict[str, Any]],
        layout: Layout,
        places: list[int],
        lines: list[bytes],
        bad: list[BadLine],
        skip: bool,
    ) -> Examples:
        """All of them together; where that fails, without those that fail alone."""
        try:
            return self._read(objects, layout) if objects else NOTHING
        except CellError:
            good = list[int]()
            for i, one in enumerate(objects):
                try:
                    self._read([one], layout)
                    good.append(i)
                except CellError as cell:
                    bad.append(BadLine(places[i], lines[places[i]], LineError(cell.message, None, cell.remedy)))
                    if not skip:
                        return NOTHING
            bad.sort(key=lambda one: one.line)
            objects, places[:] = [objects[i] for i in good], [places[i] for i in good]
            return self._read(objects, layout) if objects else NOTHING

    def _read(self, objects: list[dict[str, Any]], layout: Layout) -> Examples:
        columns = {place: _array([one.get(layout.names[place]) for one in objects]) for place in layout.used}
        return layout.examples(columns)


def read_line(line: bytes) -> dict[str, Any] | None:
    """The members of a line's object, None if it is blank. Raises LineError.

    >>> read_line(b'{"spam": true, "body": "Win now"}')
    {'spam': True, 'body': 'Win now'}
    """
    if not line.strip():
        return None
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise LineError("not UTF-8", error.start + 1, "convert it, e.g. iconv -f LATIN1 -t UTF-8") from error
    except json.JSONDecodeError as error:
        raise LineError(f"not JSON: {error.msg}", error.colno) from error
    except (RecursionError, ValueError) as error:
        raise LineError("not JSON that can be read: too deep, or a number with too many digits") from error
    if not isinstance(record, dict):
        raise LineError("a line must hold one JSON object")
    return {name.strip(): value for name, value in record.items()}


def _array(values: list[Any]) -> Any:
    """A member's values as an Arrow array: numbers, truths, or text; what is neither as its JSON."""
    import pyarrow

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds:
        return pyarrow.array([None if value is None else _float(value) for value in values], pyarrow.float64())
    if kinds == {bool}:
        return pyarrow.array(values, pyarrow.bool_())
    if kinds & {dict, list}:
        return pyarrow.array([None if value is None else [0] for value in values], pyarrow.list_(pyarrow.int8()))
    return pyarrow.array([value if value is None else _text(value) for value in values], pyarrow.string())


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()  # half of a surrogate pair
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else json.dumps(value)
