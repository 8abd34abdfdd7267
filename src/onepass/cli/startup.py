"""What a command does before its first kernel, to start in half the time."""

from __future__ import annotations

import sys

OPTIONAL = ("scipy", "scipy.linalg", "cffi")  # for np.dot inside kernels, and for C functions: no kernel uses them


def lighten_numba() -> None:
    """Let numba make ready without its optional parts, which take 0.2 s to import; afterwards all is as it was.

    Only the program does this: in a user's Python session numba belongs to the user.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    absent = [name for name in OPTIONAL if name not in sys.modules]
    try:
        for name in absent:
            sys.modules[name] = None  # type: ignore[assignment] # Python's own way to say: cannot be imported
        from numba.core.registry import cpu_target

        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()
    finally:
        for name in absent:
            del sys.modules[name]
