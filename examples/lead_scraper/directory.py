"""A directory of businesses that is only simulated: `python -m ...directory --port N`, then for example
`GET /listing?trade=bakeries&city=Bremen&page=1`.

It is as such sites are. It takes its time for a page; entries move while somebody reads, so that the last of a page is
the first of the next; and a page is broken when it is first asked for.
"""

from __future__ import annotations

import threading
import time
from zlib import crc32

from examples.local_server import Answer, Asked, main

PAGES, NEW_ON_EACH = 12, 4
BROKEN_PAGE = 3
PAGE_SECONDS = 2.0
NAMES = ("Ahlers", "Bosch", "Castro", "Diaz", "Egan", "Fell", "Garcia", "Hunt", "Ibsen", "Jansen", "Kerr", "Lund")
TRADES = {"bakeries": "Bakery", "florists": "Flowers", "tailors": "Tailor"}

Entry = dict[str, str]


class Directory:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mended: set[tuple[str, str]] = set()

    def answer(self, asked: Asked) -> Answer:
        trade, city = asked.query.get("trade", ""), asked.query.get("city", "")
        page = int(asked.query.get("page", "1"))
        time.sleep(PAGE_SECONDS)
        if asked.path != "/listing" or trade not in TRADES:
            return Answer(404, {"error": "there is no such page"})
        if page == BROKEN_PAGE and self._is_first_look(trade, city):
            return Answer(500, {"error": "this page is broken"})
        return Answer(200, listing(trade, city, page))

    def _is_first_look(self, trade: str, city: str) -> bool:
        with self._lock:
            is_first = (trade, city) not in self._mended
            self._mended.add((trade, city))
        return is_first


def listing(trade: str, city: str, page: int) -> list[Entry]:
    """The entries of a page; none after the last."""
    first = (page - 1) * NEW_ON_EACH
    return [_entry(trade, city, number) for number in range(first, first + NEW_ON_EACH + 1)] if page <= PAGES else []


def _entry(trade: str, city: str, number: int) -> Entry:
    area = crc32(f"{trade} {city}".encode()) % 9000 + 1000
    return {
        "phone": f"0{area} {number + 1:04}",
        "name": f"{TRADES[trade]} {NAMES[number % len(NAMES)]} {number // len(NAMES) + 1}",
        "trade": trade,
        "city": city,
    }


if __name__ == "__main__":
    main(Directory().answer, "Directory")
