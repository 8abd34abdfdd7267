"""Drawn parts, of which three in a hundred are faulty: sizes, a torque, a temperature, a machine, and a label.

python parts.py 20000 > parts.csv
python parts.py 50000 1 > fresh.csv      # the second number is a seed: other parts
"""

import csv
import sys

import numpy as np

MACHINES = ("north", "south", "west")


def parts(rows, seed=0):
    """Columns by name; a faulty part is a little wider and hotter, takes more torque, and often comes from the west."""
    rng = np.random.default_rng(seed)
    faulty = rng.random(rows) < 0.03
    machine = np.where(faulty & (rng.random(rows) < 0.5), "west", rng.choice(MACHINES, rows))
    return {
        "length": rng.normal(120.0, 0.4, rows).round(2).tolist(),
        "width": rng.normal(30.0 + 0.26 * faulty, 0.2, rows).round(2).tolist(),
        "torque": rng.normal(5.0 + 1.04 * faulty, 0.8, rows).round(2).tolist(),
        "temperature": rng.normal(61.0 + 5.2 * faulty, 4.0, rows).round(1).tolist(),
        "machine": machine.tolist(),
        "state": np.where(faulty, "fault", "fine").tolist(),
    }


if __name__ == "__main__":
    table = parts(*map(int, sys.argv[1:3]))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(table)
    out.writerows(zip(*table.values(), strict=True))
