"""What was read a moment ago, kept for everybody in this process: fifty open tabs cost what one does."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")

KEPT_SECONDS = 4.5  # a little less than the shortest time after which a page reads itself anew


@dataclass(frozen=True)
class Kept(Generic[T]):
    value: T
    read_at: float  # by the monotonic clock
    is_new: bool = False  # who asks has read it just now


class Snapshots:
    """By name. Only values that are the same for everybody: nothing of a user, a language, a time zone."""

    def __init__(self, seconds: float = KEPT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._kept: dict[object, Kept[Any]] = {}
        self._reading: dict[object, threading.Lock] = defaultdict(threading.Lock)

    def get(self, name: object, read: Callable[[], T]) -> Kept[T]:
        """What was read lately, else what `read` gives now. Who comes meanwhile waits for it and reads nothing."""
        with self._reading[name]:
            kept = self._kept.get(name)
            if kept is not None and self.age(kept) < self._seconds:
                return kept
            began = self._clock()
            fresh = Kept(read(), began)
            self._kept[name] = fresh
            return Kept(fresh.value, began, is_new=True)

    def age(self, kept: Kept[Any]) -> float:
        """In seconds."""
        return self._clock() - kept.read_at

    def clear(self) -> None:
        self._kept.clear()


snapshots = Snapshots()
