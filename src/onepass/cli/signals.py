"""What Ctrl-C and SIGTERM do to a long command."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onepass.cli.terminal import Messages

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class SignalGate:
    """Ctrl-C or SIGTERM: while a chunk is learned they wait for its end, else they interrupt; a second one ends all."""

    def __init__(self, quiet: bool) -> None:
        self.received = 0  # the signal
        self._waits, self._quiet = False, quiet

    @property
    def status(self) -> int:
        """The exit code that tells of the signal: 130 or 143."""
        return 128 + (self.received or signal.SIGINT)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A stretch that is not to be left in the middle."""
        self._waits = True
        try:
            yield
        finally:
            self._waits = False
        if self.received:
            raise KeyboardInterrupt

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The handler."""
        if self.received:
            for known in SIGNALS:
                signal.signal(known, signal.SIG_DFL)
            raise SystemExit(128 + number)
        self.received = number
        if not self._waits:
            raise KeyboardInterrupt
        if not self._quiet:
            with suppress(OSError):  # not print: it may be in the middle of printing
                os.write(2, b"\nending after this block; once more ends at once\n")


@contextmanager
def gate(quiet: bool) -> Iterator[SignalGate]:
    """Ctrl-C and SIGTERM go to the `SignalGate` while the block runs (in the main thread: no other can)."""
    gate = SignalGate(quiet)
    if threading.current_thread() is not threading.main_thread():
        yield gate
        return
    before = {known: signal.getsignal(known) for known in SIGNALS}
    for known, handler in before.items():
        if handler != signal.SIG_IGN:  # nohup
            signal.signal(known, gate.handle)
    try:
        yield gate
    finally:
        for known, handler in before.items():
            signal.signal(known, handler)


@contextmanager
def exiting(messages: Messages, note: str = "") -> Iterator[SignalGate]:
    """The same, and what is interrupted ends the program, with an exit code that tells by which signal."""
    with gate(messages.quiet) as signals:
        try:
            yield signals
        except KeyboardInterrupt:
            if note:
                messages.note(note)
            raise SystemExit(signals.status) from None
