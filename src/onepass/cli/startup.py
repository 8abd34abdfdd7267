"""What the program does to start and to read in less time.

Only the program does these things: in a user's Python session, memory and threads belong to the user.
"""

from __future__ import annotations

import ctypes
import gc
import os

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # names of glibc's mallopt


def tune_startup() -> None:
    """Start without what takes a quarter of the time: looking for garbage among modules, and idle threads that spin."""
    gc.set_threshold(100_000, 20, 20)  # what is imported stays; numbers, arrays and text need no collector
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # read when numpy is imported: let idle threads sleep


def finish() -> None:
    """End without looking through all modules once more."""
    gc.freeze()


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
