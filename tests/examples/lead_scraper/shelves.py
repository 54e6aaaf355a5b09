"""A directory whose pages a test writes, holds back and counts; where it writes none they are those of the example."""

from __future__ import annotations

import threading
from collections import defaultdict

from examples.lead_scraper.directory import listing
from examples.local_server import Answer, Asked

PATIENCE_SECONDS = 60  # at most, for a page that is held


class Shelves:
    def __init__(self) -> None:
        self.url = ""  # once it is served
        self.pages: dict[str, list[list[str]]] = {}  # by city: the names on each page
        self.is_down = False
        self.asked: list[tuple[str, int]] = []
        self._open: dict[int, threading.Event] = defaultdict(threading.Event)
        self._held: set[int] = set()

    def hold(self, *pages: int) -> None:
        """Whoever asks for these pages waits."""
        for page in pages:
            self._open[page].clear()
            self._held.add(page)

    def release(self, page: int) -> None:
        self._held.discard(page)
        self._open[page].set()

    def times_asked(self, page: int) -> int:
        return [number for _, number in self.asked].count(page)

    def answer(self, asked: Asked) -> Answer:
        trade, city, page = asked.query["trade"], asked.query["city"], int(asked.query["page"])
        self.asked.append((city, page))
        if page in self._held:
            self._open[page].wait(PATIENCE_SECONDS)
        if self.is_down:
            return Answer(503, {"error": "closed"})
        return Answer(200, self._entries(trade, city, page))

    def _entries(self, trade: str, city: str, page: int) -> list[dict[str, str]]:
        if city not in self.pages:
            return listing(trade, city, page)
        names = [] if page > len(self.pages[city]) else self.pages[city][page - 1]
        return [{"phone": f"phone of {name}", "name": name, "trade": trade, "city": city} for name in names]
