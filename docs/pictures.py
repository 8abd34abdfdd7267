"""Draw the pictures that README.md and the site show: `python docs/pictures.py`.

figures/certificate.svg is the first example's, with its text as text.
"""

import os
import runpy
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")
HERE = Path(__file__).resolve().parent


def main() -> None:
    import matplotlib

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "onepass", "font.family": "sans-serif"})
    drawn = runpy.run_path(str(HERE.parent / "examples" / "newswire.py"))["figure"]
    drawn.savefig(HERE / "figures" / "certificate.svg", metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
