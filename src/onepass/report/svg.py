"""Figures for a page: matplotlib's SVG made fit to stand inside HTML.

Text stays text, so that it can be read aloud, searched and shown in the page's own fonts; colours become classes, so
that the page's style sheet can turn them for a dark screen; there is neither a style attribute nor a foreign name in
it, so that the page needs no permission for either. The same figure is the same bytes.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onepass.errors import printable
from onepass.report.page import Figure, TableBlock
from onepass.report.style import COLOURS, needing_matplotlib, settings

SIZE = (5.0, 3.4)  # inches of 72 units: at 400 pixels a letter is still nine of them high
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
INK, PAPER, GREY = "#000000", "#ffffff", "#777777"
INLINE = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a name like $x^2$ is a name
    "axes.formatter.use_mathtext": False,
    "axes.axisbelow": True,
    "font.size": 10.0,
    "hatch.linewidth": 0.8,
    "legend.fontsize": 9.5,
    "legend.handlelength": 2.6,
}


class Drawing:
    """A figure while it is drawn; `markup` is there when it is done."""

    def __init__(self, title: str, figure: Any) -> None:
        self.title, self.figure, self.axes = title, figure, figure.subplots()
        self.markup = ""

    def legend(self, columns: int = 2) -> None:
        """The legend above the figure, where it covers nothing."""
        self.figure.legend(loc="outside upper left", ncols=columns, borderaxespad=0.0, columnspacing=1.4)

    def block(self, caption: str, table: TableBlock | None = None) -> Figure:
        """The figure as a page shows it."""
        return Figure(self.title, caption, self.markup, table)


@contextmanager
def drawing(key: str, title: str, description: str, *, size: tuple[float, float] = SIZE) -> Iterator[Drawing]:
    """A new figure with its axes; its SVG text when the block ends.

    `key` begins every name inside, so that two figures on one page share none; `title` and `description` are for
    those who cannot see it.

    >>> with drawing("f1", "A line", "It rises.") as line:
    ...     _ = line.axes.plot([1, 2], [1, 2], label="<b> $x^2$")
    ...     line.legend()
    >>> "&lt;b&gt; $x^2$</text>" in line.markup, "style=" in line.markup
    (True, False)
    """
    matplotlib = needing_matplotlib()
    with matplotlib.rc_context(settings() | INLINE):
        drawn = Drawing(title, matplotlib.figure.Figure(figsize=size, layout="constrained"))
        yield drawn
        out = io.BytesIO()
        drawn.figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    drawn.markup = _inline(out.getvalue(), key, title, description)


def thousands(axis: Any) -> None:
    """Tick labels as plain numbers (1,000; 20k; 3M), in a logarithmic axis too."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = sorted(axis.get_view_interval())
        few = high < 300.0 * max(low, 1e-300)  # less than two and a half decades: 2 and 5 are labelled too
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


def powers(axis: Any) -> None:
    """Tick labels of evidence, which has any size: 0.01, 1, 1,000, 1e+09. As text: no formula is drawn in a page."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if 1.0 <= value < 1e6 else f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def short(value: float) -> str:
    """A number for a tick.

    >>> [short(value) for value in (0.05, 1, 1000, 20_000, 3e6, 4e9)]
    ['0.05', '1', '1,000', '20k', '3M', '4G']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):,g}{letter}"
    return f"{value:,g}" if abs(value) >= 1 else f"{value:g}"


def _inline(svg: bytes, key: str, title: str, description: str) -> str:
    root = ET.fromstring(svg)
    used = {name for element in root.iter() for name in _references(element)}
    marks = {mark for defs in root.iter(f"{{{_SVG}}}defs") for mark in defs}  # which get their colour where they stand
    for element in root.iter():
        element.tag = element.tag.partition("}")[2]
        element.text = element.text if element.tag == "text" else None
        element.tail = None
        _tidy(element, key, used, element not in marks)
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag == "style" or (child.tag == "defs" and not len(child))]:
            parent.remove(child)
    box = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib |= {"viewBox": box, "role": "img", "aria-labelledby": f"{key}-title {key}-text"}
    for place, (name, tag, text) in enumerate((("title", "title", title), ("text", "desc", description))):
        said = ET.Element(tag, {"id": f"{key}-{name}"})
        said.text = printable(text)
        root.insert(place, said)
    return ET.tostring(root, encoding="unicode")


def _references(element: ET.Element) -> Iterator[str]:
    for value in element.attrib.values():
        if value.startswith("#") and len(value) != 7:
            yield value[1:]
        elif "url(#" in value:
            yield value.partition("url(#")[2].partition(")")[0]


def _tidy(element: ET.Element, key: str, used: set[str], stands: bool) -> None:
    """Style declarations as attributes, palette colours as classes, names that nobody refers to left out."""
    given = dict(element.attrib)
    for declaration in given.pop("style", "").split(";"):
        name, colon, value = declaration.partition(":")
        if colon:
            given[name.strip()] = value.strip()
    element.attrib.clear()
    classes = []
    for name, value in given.items():
        name = name.replace(f"{{{_XLINK}}}", "")
        if name == "id":
            if value not in used:
                continue
            value = f"{key}-{value}"
        elif name in ("fill", "stroke") and value in _PALETTE:
            classes.append(f"{name[0]}{_PALETTE[value]}")
            continue
        elif name in ("font-family", "type") or (name == "transform" and value.startswith("rotate(-0 ")):
            continue
        elif name == "d":
            value = " ".join(value.split())
        elif value.startswith("#") and name == "href":
            value = f"#{key}-{value[1:]}"
        elif "url(#" in value:
            value = value.replace("url(#", f"url(#{key}-")
        element.attrib[name] = value
    if stands and element.tag in ("path", "use") and "fill" not in given:  # black, which matplotlib leaves out
        classes.append("fk")
    if classes:
        element.attrib["class"] = " ".join(classes)


# the classes are f0, s0, … for fill and stroke in a colour, fk, sk for ink, fp, sp for paper, fg, sg for grey
_PALETTE = {colour.lower(): str(i) for i, colour in enumerate(COLOURS)} | {INK: "k", PAPER: "p", GREY: "g"}
