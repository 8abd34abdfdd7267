"""Whether the kernels that a command needs are compiled already: found by their files, without importing the compiler.

numba keeps an index for each kernel, `module.kernel-LINE.pyXY.nbi`, in NUMBA_CACHE_DIR, beside the source or in the
user's cache. Where there is none, all is to be compiled, and the user should know at once why nothing seems to happen.
An index of another version of the source is not told from this one's: then it is said when a first chunk takes long.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from onepass.cli.terminal import Messages

SECONDS = 10  # that compiling for a first `train` takes, about
KERNELS = {"Adaptive": "adapting.adapt", "ShiftedPerceptron": "shifting._learn"}  # what takes longest
OTHERS = "loop.learn"


def are_missing(learner: str) -> bool:
    """Whether the kernels of the learner, named by its class, are to be compiled."""
    return not os.environ.get("NUMBA_DISABLE_JIT") and not _is_there(KERNELS.get(learner, OTHERS))


class Patience:
    """Says that kernels are being compiled where a first chunk takes long and that is why."""

    def __init__(self, messages: Messages) -> None:
        self._messages, self._ended = messages, threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """The first chunk is fed; of later ones nothing is said."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._wait, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """It was fed."""
        self._ended.set()

    def _wait(self) -> None:
        from onepass._jit import compiling

        while not self._ended.wait(0.5):
            if compiling():
                self._messages.note("compiling kernels (once) …")
                return


def tell_if_missing(messages: Messages, learner: str = "Adaptive") -> bool:
    """Say at once why it will take long; whether it will."""
    missing = are_missing(learner)
    if missing:
        messages.note(f"compiling kernels (once, about {SECONDS} s) …")
    return missing


def _is_there(kernel: str) -> bool:
    pattern = f"{kernel}-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    return any(any(folder.glob(pattern)) for folder in _folders())


def _folders() -> list[Path]:
    """Where numba may keep what it compiles of this package."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [place for place in Path(given).glob("*") if place.is_dir()]
    package = Path(__file__).resolve().parent.parent
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "numba"
    return [package / "runs" / "__pycache__", package / "__pycache__", *(one for one in home.glob("*") if one.is_dir())]
