"""A model that is only simulated: `python -m ...language_model --port N`. It grades paragraphs and keeps a ledger.

A document says in its text how its review shall go, as `[[429, ok, drop]]`: a move for each call, and after the last
one the model answers as usual. Each review of the document meets them from the beginning.

    ok, grade 140       a grade between 60 and 99, or this one
    401, 404, 429, 503  that status
    slow 1.5, hold      so many seconds later; after a POST to /release
    drop                hangs up without a word
    error some words    status 200, and an error in the answer
"""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict, deque
from decimal import Decimal
from typing import Any

import environ

from examples.local_server import Answer, Asked, main

MOVES = re.compile(r"\[\[(.*?)\]\]")
PRICE = Decimal("0.000015")  # USD for a token
LONGEST_HOLD = 60  # seconds
LEDGER_SECONDS = 5.0  # after which a call is in the ledger, which is a system of its own


class Model:
    def __init__(self, ledger_seconds: float = LEDGER_SECONDS) -> None:
        self._ledger_seconds = ledger_seconds
        self._lock = threading.Lock()
        self._calls: list[dict[str, Any]] = []
        self._moves: dict[str, deque[str]] = {}  # by session
        self._bills: dict[str, list[tuple[float, Decimal]]] = defaultdict(list)  # by session: booked when, how much
        self._released = threading.Event()

    def answer(self, asked: Asked) -> Answer | None:
        match asked.method, asked.path:
            case "POST", "/reviews":
                return self._review(asked.body)
            case "GET", "/reviews":
                with self._lock:
                    return Answer(200, list(self._calls))
            case "GET", "/costs":
                return self._costs(asked.query["sessions"].split(","))
            case "POST", "/release":
                self._released.set()
                return Answer(200)
            case "POST", "/book":
                return self._book()
        return Answer(404, {"error": "there is no such page"})

    def _review(self, call: dict[str, Any]) -> Answer | None:
        with self._lock:
            self._calls.append(call)
            move, _, detail = self._next_move(call).partition(" ")
        if move == "drop":
            return None
        if move == "error":
            return Answer(200, {"error": detail})
        if move.isdigit():
            return Answer(int(move), {"error": "as told"})
        if move == "slow":
            time.sleep(float(detail))
        if move == "hold":
            self._released.wait(LONGEST_HOLD)
        return self._graded(call, int(detail) if move == "grade" else None)

    def _next_move(self, call: dict[str, Any]) -> str:
        if (told := MOVES.search(call["text"])) and call["session"] not in self._moves:
            self._moves[call["session"]] = deque(move.strip() for move in told[1].split(","))
        moves = self._moves.get(call["session"])
        return moves.popleft() if moves else "ok"

    def _graded(self, call: dict[str, Any], grade: int | None) -> Answer:
        words = len(call["text"].split())
        tokens = 20 + 2 * words
        with self._lock:
            self._bills[call["session"]].append((time.monotonic() + self._ledger_seconds, tokens * PRICE))
        body = {
            "grade": 60 + (words + len(call["about"])) % 40 if grade is None else grade,
            "text": f"{call['about']}: {words} words read.",
            "thinking": f"Let me look at the {call['about']} of {words} words.",
            "tokens": tokens,
        }
        return Answer(200, body)

    def _costs(self, sessions: list[str]) -> Answer:
        """Of each: what is booked, and whether that is all."""
        with self._lock:
            bills = {session: self._bills.get(session, []) for session in sessions}
            now = time.monotonic()
            booked = {session: [cost for moment, cost in bills[session] if moment <= now] for session in sessions}
        costs = {
            session: {"is_complete": len(found) == len(bills[session]), "cost": str(sum(found))}
            for session, found in booked.items()
        }
        return Answer(200, costs)

    def _book(self) -> Answer:
        with self._lock:
            for bills in self._bills.values():
                bills[:] = [(0.0, cost) for _, cost in bills]
        return Answer(200)


if __name__ == "__main__":
    model = Model(environ.Env().float("LEDGER_SECONDS", default=LEDGER_SECONDS))
    main(model.answer, "Language model")
