"""How often one token may call this process: a bucket for each, filled evenly."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_BUCKETS = 10_000
BURST_SECONDS = 10.0  # what was not used within this time is not made up for


class Buckets:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: OrderedDict[object, float] = OrderedDict()  # when the bucket of each is full again
        self._lock = threading.Lock()

    def take(self, name: object, per_minute: int) -> float | None:
        """None: it may; else in how many seconds. No number is any number."""
        if not per_minute:
            return None
        step, now = 60.0 / per_minute, self._clock()
        with self._lock:
            ahead = max(0.0, self._free_at.get(name, now) - now) + step
            if (wait := ahead - max(BURST_SECONDS, step)) > 0:
                return wait
            self._free_at[name] = now + ahead
            self._free_at.move_to_end(name)
            if len(self._free_at) > MOST_BUCKETS:
                self._free_at.popitem(last=False)
        return None

    def clear(self) -> None:
        with self._lock:
            self._free_at.clear()


buckets = Buckets()
