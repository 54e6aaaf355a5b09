"""Text from anywhere made safe to store and to print."""

from __future__ import annotations

import re

# NUL cannot be stored by PostgreSQL, lone surrogates not by UTF-8; the other control characters garble terminals.
UNSTORABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SURROGATES = re.compile(r"[\ud800-\udfff]")
# And these change the order in which the rest of a text is shown, so that it may look like another one.
NOT_SHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
NOT_ONE_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def clean(text: object, limit: int = 1000) -> str:
    """Storable text of at most `limit` characters; what is longer ends with "..."."""
    cleaned = _storable(text)
    if len(cleaned) <= limit:
        return cleaned
    return cleaned[: max(0, limit - 3)] + "..."[:limit]


def clean_block(text: object, limit: int) -> str:
    """Storable text of at most `limit` bytes of UTF-8. The end is kept: logs and tracebacks say most there."""
    cleaned = _storable(text)
    encoded = cleaned.encode()
    if len(encoded) <= limit:
        return cleaned
    room = limit - len(_cut_mark(len(encoded)))
    if room <= 0:
        return _tail(encoded, limit).decode()
    tail = _tail(encoded, room)
    return _cut_mark(len(encoded) - len(tail)) + tail.decode()


def one_line(text: object) -> str:
    """Text as one line of a log: line ends and control characters are shown as escapes, so none can be forged."""
    return NOT_ONE_LINE.sub(_escaped, _text_of(text))


def visible(text: object) -> str:
    """Text as a page shows it: as it is, but for what no page can show, or be shown by; that is told as escapes."""
    return NOT_SHOWN.sub(_escaped, _text_of(text))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _storable(text: object) -> str:
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", UNSTORABLE.sub("", _text_of(text)))


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception:  # a foreign __str__ must not cost the outcome of a job
        return f"<{type(value).__name__} that cannot be shown as text>"


def _cut_mark(count: int) -> str:
    return f"[... {count} bytes cut]\n"


def _tail(encoded: bytes, size: int) -> bytes:
    """The last `size` bytes, less what would begin inside a character."""
    return encoded[len(encoded) - size :].decode(errors="ignore").encode()
