"""Text of others, as a log and a database can take it."""

from __future__ import annotations

LOG_BYTES = 64 * 1024


def storable(value: object) -> str:
    """The newest 64 KB, without what no database keeps."""
    try:
        text = str(value)
    except Exception:  # a foreign __str__ must not cost the outcome of a job
        text = f"<{type(value).__name__} that cannot be shown as text>"
    return text.replace("\0", "").encode(errors="replace")[-LOG_BYTES:].decode(errors="ignore")


def one_line(text: object) -> str:
    """What others wrote, as a part of one line of the log."""
    return "".join(char if char.isprintable() else " " for char in str(text))[:500]
