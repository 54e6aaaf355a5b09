"""What the demo starts with."""

from __future__ import annotations


def fill() -> None:
    """Nothing yet."""
