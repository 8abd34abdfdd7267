"""Watched models: candidates frozen on the way, and what they make of the rows that come later."""

from onepass.watching.models import WatchedModels, next_freezing

__all__ = ["WatchedModels", "next_freezing"]
