"""Checks that options share: each names the option and what it may be."""

from __future__ import annotations


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Check an option that is one of some words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")


def between(name: str, value: int, low: int, high: int) -> None:
    """Check an option that is a whole number between two others."""
    if not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}; got {value!r}")
