"""Print pyproject.toml's lower bounds as pip's constraints: `numpy>=2.0` becomes `numpy==2.0`."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in [*project["dependencies"], *(each for name in extras for each in extras[name])]:
    if bound := re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement):
        print(f"{bound[1]}=={bound[2]}")
