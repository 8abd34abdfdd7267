"""Drawn customers, a raw table: numbers of several scales, a category, a date, gaps, an identifier, and a label.

python customers.py 12000 > customers.csv
python customers.py 3000 1 > fresh.csv      # the second number is a seed: other customers
"""

import csv
import datetime
import sys

import numpy as np

JOBS = ("cook", "nurse", "poet", "smith", "student")


def customers(rows, seed=0):
    """Columns by name; what was bought depends on job, income, age and the day of the week, and on chance."""
    rng = np.random.default_rng(seed)
    job, age, day = rng.choice(JOBS, rows), rng.integers(18, 80, rows), rng.integers(0, 365, rows)
    income = np.where(job == "student", 9_000, 38_000) * rng.lognormal(0, 0.4, rows)
    visit = [datetime.date(2025, 1, 1) + datetime.timedelta(days=int(number)) for number in day]
    weekend = np.array([date.weekday() >= 5 for date in visit])
    odds = (job == "poet") * 1.5 + (income - 30_000) / 9_000 + weekend * 1.2 - (age > 60) * 1.5 - 0.5
    bought = odds + 0.5 * rng.logistic(size=rows) > 0
    unknown = rng.random(rows) < 0.1
    return {
        "customer": [f"C{number:06d}" for number in range(rows)],
        "age": ["" if gap else str(years) for gap, years in zip(unknown, age, strict=True)],
        "job": job.tolist(),
        "income": income.round().astype(int).tolist(),
        "visit": [date.isoformat() for date in visit],
        "bought": np.where(bought, "yes", "no").tolist(),
    }


if __name__ == "__main__":
    table = customers(*map(int, sys.argv[1:3]))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(table)
    out.writerows(zip(*table.values(), strict=True))
