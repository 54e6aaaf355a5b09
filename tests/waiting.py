"""Waiting on a fact instead of on the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(fact: Callable[[], T], *, seconds: float = 30, every: float = 0.1) -> T:
    """Ask until the answer is true and give it; fail after `seconds`, which is a limit and not a pause."""
    deadline = time.monotonic() + seconds
    while not (answer := fact()):
        assert time.monotonic() < deadline, f"not true within {seconds} s: {fact.__qualname__}"
        time.sleep(every)
    return answer
