"""Draw the pictures that README.md and the site show: `python docs/pictures.py`.

figures/certificate.svg is the first example's, with its text as text; the badges say what pyproject.toml says.
"""

import os
import re
import runpy
import tomllib
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BADGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{name}: {value}">
<title>{name}: {value}</title>
<rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="#0072b2"/>
<g fill="#fff" font-family="sans-serif" font-size="11" text-anchor="middle">
<text x="{at}" y="14">{name}</text><text x="{beside}" y="14">{value}</text></g></svg>
"""


def badges() -> dict[str, str]:
    """What each badge says, from the project's own file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = re.search(r'__version__ = "(.*)"', (ROOT / "src/onepass/__init__.py").read_text())[1]
    pythons = [one.rpartition(" ")[2] for one in project["classifiers"] if "Python :: 3." in one]
    return {"version": version, "licence": project["license"], "python": f"{pythons[0]} – {pythons[-1]}"}


def badge(name: str, value: str) -> str:
    """A small picture of two words."""
    left, right = (12 + 7 * len(text) for text in (name, value))
    size = {"width": left + right, "left": left, "right": right, "at": left / 2, "beside": left + right / 2}
    return BADGE.format(name=name, value=value, **size)


def main() -> None:
    import matplotlib

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "onepass", "font.family": "sans-serif"})
    drawn = runpy.run_path(str(ROOT / "examples" / "newswire.py"))["figure"]
    drawn.savefig(HERE / "figures" / "certificate.svg", metadata={"Date": None}, facecolor="white")
    for name, value in badges().items():
        (HERE / "figures" / f"badge-{name}.svg").write_text(badge(name, value))


if __name__ == "__main__":
    main()
