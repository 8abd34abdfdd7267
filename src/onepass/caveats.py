"""What a pass has been told of its rows: why nothing may be certified of them, and what every certificate assumes."""

from __future__ import annotations

from typing import Any

from onepass.state_checks import need


class Caveats:
    """Reasons to withhold certificates, and things to be said in them; each once, in the order in which they came.

    >>> caveats = Caveats()
    >>> caveats.withhold("rows were chosen by their labels")
    >>> caveats.withhold("rows were chosen by their labels")
    >>> caveats.void, caveats.assumed
    (('rows were chosen by their labels',), ())
    """

    def __init__(self) -> None:
        self.void: tuple[str, ...] = ()
        self.assumed: tuple[str, ...] = ()

    def withhold(self, reason: str) -> None:
        """Something that certificates assume is known to be false."""
        if reason not in self.void:
            self.void = (*self.void, reason)

    def assume(self, text: str) -> None:
        """One more thing that certificates assume."""
        if text not in self.assumed:
            self.assumed = (*self.assumed, text)

    def state(self) -> dict[str, Any]:
        """What changes."""
        return {"void": self.void, "assumed": self.assumed}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.void, self.assumed = state["void"], state["assumed"]

    def check_state(self, state: dict[str, Any]) -> None:
        """Raise CheckpointError unless these are words."""
        for name in ("void", "assumed"):
            need(isinstance(state[name], tuple) and all(isinstance(text, str) for text in state[name]), name)
