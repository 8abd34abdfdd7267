"""The rounds at which a stream is looked at: fixed by their number, never by where a chunk happens to end."""

from __future__ import annotations

from onepass._jit import jit


@jit
def look_after(t: int) -> int:
    """The first round after t at which the stream is looked at: a multiple of 2^max(0, ⌊log2⌋ of it − 6), for kernels.

    Fixed by t alone, never by where a chunk happens to end; some 64 looks between t and 2t.
    """
    step = 1
    while (t + 1) >> 7 >= step:
        step *= 2
    return (t + step) // step * step


def next_look(t: int) -> int:
    """The same for everybody else.

    >>> next_look(5), next_look(127), next_look(1000), next_look(1024)
    (6, 128, 1008, 1040)
    """
    step = 1 << max(0, (t + 1).bit_length() - 7)
    return -(-(t + 1) // step) * step


def last_look(t: int) -> int:
    """The last round up to t at which the stream was looked at; 0: there is none.

    >>> last_look(0), last_look(127), last_look(1000)
    (0, 127, 1000)
    >>> last_look(1030)
    1024
    """
    step = 1 << max(0, t.bit_length() - 7)
    return t - t % step
