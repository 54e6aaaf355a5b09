"""A chain that is only simulated: a registry of providers, deals and retrievals. `python -m ...chain --port N`.

It keeps evidence of what was asked of whom, and of how much at once.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from examples.local_server import Answer, Asked, main

PATIENCE_SECONDS = 60  # at most, for an answer that is held


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a provider works."""

    seconds: tuple[float, ...] = (0.0,)  # that its deals take, in turn; a retrieval takes a fifth
    fails_every: int = 0  # so many calls, with an error where an answer should be
    is_down: bool = False
    holds: bool = False  # until `release`


def listed(network: str, address: str, number: int, *, active: bool = True, approved: bool = True) -> dict[str, Any]:
    facts = {"network": network, "address": address, "number": str(number)}
    return {**facts, "active": active, "approved": approved}


REGISTRY = [
    listed("main", "f01000", 1),
    listed("main", "f02000", 2),
    listed("main", "f03000", 3),
    listed("main", "f04000", 4, active=False),
    listed("main", "f05000", 5),
    listed("test", "f01000", 1),
]
MANNERS = {
    "main:f01000": Manner(seconds=(2,)),
    "main:f02000": Manner(seconds=(6, 8, 15)),  # slow
    "main:f03000": Manner(seconds=(2,), fails_every=3),
    "test:f01000": Manner(seconds=(1,)),
}


class Chain:
    def __init__(self, registry: list[dict[str, Any]] | None = None, manners: dict[str, Manner] | None = None) -> None:
        self.registry = REGISTRY if registry is None else registry
        self.manners = MANNERS if manners is None else manners
        self.asked: list[tuple[str, str]] = []  # what, and of whom
        self.most_at_once: Counter[str] = Counter()  # by provider, and "" in all
        self._running: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._released = threading.Event()

    def answer(self, asked: Asked) -> Answer:
        match asked.method, asked.path:
            case "GET", "/providers":
                return Answer(200, self.registry)
            case "POST", "/allowances":
                self.asked.append(("allowances", ""))
                return Answer(200, {"allowed": True})
            case "POST", "/deals" | "/retrievals":
                return self._work(asked.path.strip("/"), asked.body["provider"])
        return Answer(404, {"error": "there is no such page"})

    def release(self) -> None:
        self._released.set()

    def _work(self, what: str, provider: str) -> Answer:
        manner = self.manners.get(provider, Manner())
        with self._noted(what, provider) as number:
            if manner.holds:
                self._released.wait(PATIENCE_SECONDS)
            seconds = manner.seconds[number % len(manner.seconds)]
            time.sleep(seconds if what == "deals" else seconds / 5)
        if manner.is_down:
            return Answer(503, {"error": "try again later"})
        if manner.fails_every and number % manner.fails_every == 0:
            return Answer(200, {"error": "the proof does not fit"})
        return Answer(200, {"piece": f"{provider}/{number}"})

    @contextmanager
    def _noted(self, what: str, provider: str) -> Iterator[int]:
        """Which call of this provider it is."""
        with self._lock:
            self.asked.append((what, provider))
            number = sum(1 for _, whom in self.asked if whom == provider)
            self._running.update([provider, ""])
            self.most_at_once |= self._running
        try:
            yield number
        finally:
            with self._lock:
                self._running.subtract([provider, ""])


if __name__ == "__main__":
    main(Chain().answer, "Chain")
