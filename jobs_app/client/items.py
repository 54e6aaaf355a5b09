"""What a handler found, in portions that a server takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST_ITEMS = 1000  # what servers take
MOST_BYTES = 1_000_000  # half of what they take: cursor, message and log go with it

Items = Mapping[str, Any] | Sequence[Mapping[str, Any]]  # {key: data} or [{"key": key, "data": data}]
Item = dict[str, Any]


def by_key(items: Items) -> dict[str, Any]:
    pairs = items.items() if isinstance(items, Mapping) else ((item["key"], item["data"]) for item in items)
    return {str(key): data for key, data in pairs}


def portions(items: Iterable[Item]) -> list[list[Item]]:
    """At least one, which may be empty; an item too large for any goes alone, for the server to refuse."""
    found: list[list[Item]] = [[]]
    room = MOST_BYTES
    for item in items:
        size = len(json.dumps(item, allow_nan=False))
        if found[-1] and (size > room or len(found[-1]) == MOST_ITEMS):
            found.append([])
            room = MOST_BYTES
        found[-1].append(item)
        room -= size
    return found
