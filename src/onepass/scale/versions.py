"""Versions: workers whose software differs would give other bits, or none. They are refused, with a table."""

from __future__ import annotations

import importlib.metadata
import platform
from functools import cache

import onepass
from onepass.errors import ScaleError
from onepass.text_table import text_table

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "pyarrow", "dask", "distributed")


@cache
def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def versions() -> dict[str, str]:
    """What results depend on, here."""
    known = {package: _installed(package) for package in PACKAGES}
    return {"onepass": onepass.__version__, "python": platform.python_version(), **known}


def must_match(expected: dict[str, str], where: str = "this worker") -> None:
    """Raise ScaleError with a table if the versions here are not those expected."""
    refuse_differences({"the run": expected, where: versions()})


def refuse_differences(found: dict[str, dict[str, str]]) -> None:
    """Raise ScaleError with a table, if not all have the same versions.

    >>> refuse_differences({"client": {"numpy": "2.1"}, "tcp://10.0.0.2:40001": {"numpy": "2.0"}})
    Traceback (most recent call last):
    onepass.errors.ScaleError: versions differ, and with them the results; install the same everywhere:
                          numpy
    client                2.1
    tcp://10.0.0.2:40001  2.0
    """
    names = list(dict.fromkeys(name for known in found.values() for name in known))
    other = [name for name in names if len({known.get(name, "-") for known in found.values()}) > 1]
    if not other:
        return
    shown, seen = dict[str, dict[str, str]](), set[tuple[str, ...]]()
    for where, known in found.items():  # of many workers that are alike, one stands for all
        line = tuple(known.get(name, "-") for name in other)
        if line not in seen:
            seen.add(line)
            shown[where] = known
    table = [["", *other], *([where, *(known.get(name, "-") for name in other)] for where, known in shown.items())]
    differ = "versions differ, and with them the results; install the same everywhere:"
    raise ScaleError(f"{differ}\n{text_table(table, '<')}")
