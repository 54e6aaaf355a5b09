"""Lengths of time in words: exact for what somebody declared, rough for what was measured."""

from __future__ import annotations

UNITS = (("d", 86400), ("h", 3600), ("m", 60))


def exact(seconds: float) -> str:
    """Nothing left out: 15s, 1m 30s, 1d 1h, 0.25s."""
    whole, rest = divmod(seconds, 60)
    parts = _parts(int(whole) * 60)
    if rest or not parts:
        parts.append(f"{round(rest, 6):g}s")
    return " ".join(parts)


def rough(seconds: float) -> str:
    """As much as a person takes in: 24ms, 2.5s, 15s, 3m 20s, 2h 5m, 3d 4h."""
    if seconds < 0.9995:
        return f"{round(max(seconds, 0) * 1000)}ms"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    parts = _parts(whole)
    if whole % 60:
        parts.append(f"{whole % 60}s")
    return " ".join(parts[:2])


def _parts(whole: int) -> list[str]:
    """Days, hours and minutes, without those that are zero."""
    parts = []
    for letter, size in UNITS:
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{letter}")
    return parts
