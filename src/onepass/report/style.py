"""How every figure looks, and how it is saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onepass.files import replacing

# Okabe and Ito's palette: eight colours that people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
FORMATS = ("png", "svg", "pdf")


@contextmanager
def figure(
    path: str | Path,
    *,
    rows: int = 1,
    columns: int = 1,
    size: tuple[float, float] = (7.0, 4.2),
    heights: Sequence[float] | None = None,
    overwrite: bool = True,
) -> Iterator[Any]:
    """The axes of a new figure (an array of them for several panels), saved to `path` when the block ends.

    Saved atomically and without a clock in the file, so that the same figure is the same bytes. `heights` are those of
    the rows, relative to each other.
    """
    suffix = Path(path).suffix.lstrip(".").lower()
    if suffix not in FORMATS:
        raise ValueError(f"figure: {str(path)!r} must end in one of .{', .'.join(FORMATS)}")
    matplotlib = needing_matplotlib()
    matplotlib.rcParams.update(settings())
    # no pyplot: no global state, no display
    canvas = matplotlib.figure.Figure(figsize=size, dpi=120, layout="constrained")
    yield canvas.subplots(rows, columns, height_ratios=heights)
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix, {})
    with replacing(path, overwrite=overwrite) as file:
        canvas.savefig(file, format=suffix, metadata=metadata)


def needing_matplotlib() -> Any:
    """matplotlib with its figures, or an error that says how to get it."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'onepass[report]'") from error
    return matplotlib


def settings() -> dict[str, Any]:
    """What all figures have in common."""
    from matplotlib.rcsetup import cycler

    return {
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "legend.frameon": False,
        "svg.hashsalt": "onepass",
    }
