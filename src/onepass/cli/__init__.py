"""The command-line program. Little stands here, since Ctrl-C may come while the rest is still being imported."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in onepass/__init__.py
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs the command and exits with its code."""
    if sys.stderr is None:  # closed (2>&-): no file that is opened later must take its place
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the end
    program_itself = arguments is None
    try:
        from onepass.cli import startup

        if program_itself:
            startup.tune_startup()
        from onepass.cli.group import run

        status = run(list(sys.argv[1:] if arguments is None else arguments))
        if program_itself:
            startup.finish()
    except KeyboardInterrupt:
        sys.stderr.write("onepass: interrupted\n")
        status = 130
    sys.exit(status)
