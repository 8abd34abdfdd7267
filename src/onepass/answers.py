"""What was asked of a pass since its last row: the trace, whether it is sound, and certificates, each made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from onepass.certificates import Certificate, certify
from onepass.certified import Question
from onepass.rows import must_be_finite
from onepass.trace import Trace


class Answers:
    """The answers as they are now; `forget` them when the pass changes in what `now` does not tell."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """What was known holds no longer."""
        self._now: Any = None
        self._trace: Trace | None = None
        self._sound = False
        self._certificates: dict[Question, Certificate] = {}

    def trace(self, now: Any, made: Callable[[], Trace]) -> Trace:
        """The trace, made anew if `now` is another than when it was made."""
        if self._trace is None or self._now != now:
            trace = made()
            self.forget()
            self._now, self._trace = now, trace
            return trace
        return self._trace

    def must_be_sound(self, trace: Trace) -> None:
        """Of weights that are no finite numbers nothing is given away: looked at once, and not in the loop.

        A weight that is no finite number never becomes one again: the last hypothesis tells for all of them.
        """
        if not self._sound:
            must_be_finite(trace.last)
            self._sound = True

    def certificate(self, trace: Trace, question: Question, declared: Question) -> Certificate:
        """The answer to a question; where it is another than the declared one, it says whether its choice is too."""
        if question not in self._certificates:
            found = certify(trace, question.conversion, delta=question.delta, bound=question.bound, loss=question.loss)
            if question != declared:
                own = self.certificate(trace, declared, declared)
                found = replace(found, deployed=(found.conversion, found.choice) == (own.conversion, own.choice))
            self._certificates[question] = found
        return self._certificates[question]
