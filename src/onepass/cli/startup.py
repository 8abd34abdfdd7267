"""What a command does before its first kernel, to start and to read in less time.

Only the program does these things: in a user's Python session, numba and memory belong to the user.
"""

from __future__ import annotations

import ctypes
import sys

OPTIONAL = ("scipy", "scipy.linalg", "cffi")  # for np.dot inside kernels, and for C functions: no kernel uses them


def lighten_numba() -> None:
    """Let numba make ready without its optional parts, which take 0.2 s to import; afterwards all is as it was."""
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


TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's mallopt


def keep_memory() -> None:
    """Let the C library keep freed memory for the next block, where it is glibc.

    It would give the memory of every block back to the system, and the next block would get it zeroed, page by page:
    a fifth of the time that reading takes.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(TRIM_THRESHOLD, 512 << 20)
    mallopt(MMAP_THRESHOLD, 32 << 20)
