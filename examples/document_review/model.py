"""A model that stands in for a real one: it grades paragraphs, keeps a ledger, and misbehaves where it is told to.

What it does next is a line of moves, one for each call: `429, drop, ok`. A document may carry one in its text, as
`[[429, ok]]`, which each review of it meets from its beginning; or somebody posts one to /control for all that is asked
about texts and titles with certain words. After the last move it answers as usual.

    ok, grade 140       a grade between 60 and 99, or this one
    401, 404, 429, 503  that status; 429 says when to come back
    slow 1.5, hold      so many seconds later; when somebody posts to /control that it may
    drop                hangs up without a word
    error some words    status 200, and an error in the answer
    nothing             status 200, and nothing in the answer
"""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import environ

from examples.local_server import Answer, Asked, main

IN_TEXT = re.compile(r"\[\[(.*?)\]\]")
PRICE = Decimal("0.000015")  # USD for a token
LONGEST_HOLD = 60  # seconds
RETRY_AFTER = "30"  # seconds


class Model:
    """Its calls, its ledger, and what it was told to do next."""

    def __init__(self, booked_after: float) -> None:
        self._booked_after = booked_after  # seconds: the ledger is a system of its own, and late
        self._lock = threading.Lock()
        self._moves: dict[str, deque[str]] = {}  # by session, or by the words that somebody posted
        self._calls: list[dict[str, Any]] = []
        self._bills: dict[str, list[tuple[float, Decimal]]] = defaultdict(list)  # by session: booked when, how much
        self._may_go_on = threading.Event()

    def __call__(self, asked: Asked) -> Answer | None:
        answering = {
            ("POST", "/v1/reviews"): self._review,
            ("GET", "/v1/costs"): self._costs,
            ("GET", "/control"): self._heard,
            ("POST", "/control"): self._control,
        }.get((asked.method, asked.path))
        return Answer(404, {"error": "there is no such page"}) if answering is None else answering(asked)

    def _review(self, asked: Asked) -> Answer | None:
        with self._lock:
            self._calls.append(asked.body)
            move, _, detail = self._next_move(asked.body).partition(" ")
        if move.isdigit():
            return Answer(int(move), {"error": "as told"}, {"Retry-After": RETRY_AFTER} if move == "429" else {})
        if move == "drop":
            return None
        if move in ("error", "nothing"):
            return Answer(200, {"error": detail} if detail else {})
        self._wait(move, detail)
        return self._graded(asked.body, int(detail) if move == "grade" else None)

    def _next_move(self, call: dict[str, Any]) -> str:
        if (found := IN_TEXT.search(call["text"])) and call["session"] not in self._moves:
            self._moves[call["session"]] = _line(found[1])
        for name, moves in self._moves.items():
            if moves and (name == call["session"] or name in call["title"] or name in call["text"]):
                return moves.popleft()
        return "ok"

    def _wait(self, move: str, detail: str) -> None:
        if move == "slow":
            time.sleep(float(detail))
        elif move == "hold":
            self._may_go_on.wait(LONGEST_HOLD)

    def _graded(self, call: dict[str, Any], grade: int | None) -> Answer:
        words = len(call["text"].split())
        tokens = 20 + 2 * words
        usual = 60 + (words + len(call["about"])) % 40
        with self._lock:
            self._bills[call["session"]].append((time.monotonic() + self._booked_after, tokens * PRICE))
        body = {
            "session": call["session"],
            "grade": usual if grade is None else grade,
            "text": f"{call['about']}: {words} words read.",
            "thinking": f"Let me look at the {call['about']} of {words} words.",
            "tokens": tokens,
        }
        return Answer(200, body)

    def _costs(self, asked: Asked) -> Answer:
        """Of each session that is named: what is booked by now."""
        with self._lock:
            now = time.monotonic()
            booked = {
                session: [cost for moment, cost in self._bills.get(session, []) if moment <= now]
                for session in asked.query["sessions"].split(",")
            }
        return Answer(200, {name: {"calls": len(bills), "cost": str(sum(bills))} for name, bills in booked.items()})

    def _heard(self, asked: Asked) -> Answer:
        with self._lock:
            return Answer(200, {"calls": list(self._calls)})

    def _control(self, asked: Asked) -> Answer:
        """`{"about": "some words", "moves": "429, ok"}`, `{"release": true}` or `{"book": true}`."""
        told = asked.body
        with self._lock:
            if "moves" in told:
                self._moves[told["about"]] = _line(told["moves"])
            if told.get("book"):
                for bills in self._bills.values():
                    bills[:] = [(0.0, cost) for _, cost in bills]
        if told.get("release"):
            self._may_go_on.set()
        return Answer(200, {})


def _line(moves: str) -> deque[str]:
    return deque(move.strip() for move in moves.split(","))


def make_model() -> Callable[[Asked], Answer | None]:
    return Model(environ.Env().float("LEDGER_SECONDS", default=5.0))


if __name__ == "__main__":
    main(make_model(), "The model answers at")
