"""How to get the same result again: command, options, versions, and what tells the files from others."""

from __future__ import annotations

import json
from typing import Any

from onepass.report.page import Code, Section, TableBlock, Text


def origin(details: dict[str, Any]) -> Section:
    """The section that ends every page."""
    blocks: list[Any] = []
    if details.get("command"):
        blocks += [Text("The same files and this command give the same numbers, to the last bit:")]
        blocks += [Code(details["command"])]
    data = details.get("data", ())
    if data:
        rows = [[known.get("path") or "–", f"{known['size']:,}", known["ends"]] for known in data]
        columns = ["file", "bytes", "SHA-256 of its first and last 64 KiB"]
        blocks.append(TableBlock("The files that were read", columns, rows, frozenset({"bytes"})))
    settings = details.get("options")
    if settings:
        rows = [[name, _plain(value)] for name, value in sorted(settings.items())]
        blocks.append(TableBlock("Settings, those left alone included", ["name", "value"], rows, folded=True))
    if details.get("versions"):
        numbers = ", ".join(f"{name} {number}" for name, number in details["versions"].items())
        blocks.append(Text(f"Computed by {numbers}."))
    if not blocks:
        blocks.append(Text("This file does not say how it was made."))
    return Section("How to reproduce this", blocks)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
