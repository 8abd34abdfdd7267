"""One HTML file: what a page is made of, and how it is rendered.

A page is a value: a headline, facts, and sections of blocks. It is rendered by one template with escaping always on, so
that whatever comes from data is text; it holds its own style and figures, asks for nothing outside itself, and forbids
scripts. The same page is the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from onepass import __version__
from onepass.errors import printable


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Warn:
    """A paragraph that must not be missed."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of short texts."""

    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Text to be copied."""

    text: str


@dataclass(frozen=True)
class TableBlock:
    """Rows of texts; columns whose name is in `numbers` are set flush right. `folded`: shown when asked for."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()
    marked: frozenset[int] = frozenset()  # rows to bring out
    folded: bool = False


@dataclass(frozen=True)
class Figure:
    """A drawing with its caption, and its numbers as a table for those who want or need them."""

    title: str
    caption: str
    svg: str
    table: TableBlock | None = None


@dataclass(frozen=True)
class Half:
    """Blocks that share one of two columns, where the screen has room for two."""

    blocks: Sequence[Any]


@dataclass(frozen=True)
class Section:
    """A heading with what stands under it."""

    title: str
    blocks: Sequence[Any]


@dataclass(frozen=True)
class Page:
    """Everything that one file shows."""

    kicker: str
    title: str
    number: str
    meaning: str
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = field(default_factory=tuple)


def render(page: Page) -> str:
    """The page as HTML.

    >>> text = render(Page("train", "<script>alert(1)</script>", "0.05", "risk"))
    >>> "&lt;script&gt;alert(1)&lt;/script&gt;" in text, "<script>" in text
    (True, False)
    """
    style = _resource("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return str(_template().render(page=page, style=style, style_hash=digest, version=__version__)).strip() + "\n"


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError("a report page needs jinja2: pip install 'onepass[report]'") from error
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["plain"] = printable
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["svg"] = Markup  # only for what svg.py made
    return environment.from_string(_resource("page.html"))


def _resource(name: str) -> str:
    return (resources.files("onepass.report") / name).read_text(encoding="utf-8")
