"""What can go wrong, drawn once.

    OnepassError
    ├── DataError(ValueError)        rows or labels that cannot be learned from
    ├── LimitError(MemoryError)      the answer would need more memory than was allowed
    ├── ConversionError(ValueError)  a conversion or certificate that this pass cannot give, and what to do
    └── StoppedError(RuntimeError)   the pass has reached stop_at and takes no more rows

Wrong arguments raise plain ValueError or TypeError with the argument's name.
"""

from __future__ import annotations


class OnepassError(Exception):
    """Root of all errors that onepass raises on purpose."""


class DataError(OnepassError, ValueError):
    """Rows or labels that cannot be learned from; nothing was changed by them."""


class LimitError(OnepassError, MemoryError):
    """More memory would be needed than was allowed; the message has the number and the remedy."""


class ConversionError(OnepassError, ValueError):
    """A conversion or certificate that this pass cannot give; the message says what to do."""


class StoppedError(OnepassError, RuntimeError):
    """The pass has reached its target and takes no more rows."""
