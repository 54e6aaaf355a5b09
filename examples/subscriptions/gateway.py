"""A payment gateway that is only simulated, but remembers keys as a real one does: `python -m ...gateway --port N`.

A charge with a key that it knows is not made again; the answer is that of the first time. Whoever is called Broke is
declined, and whoever is called Flaky finds it down at the first try of each charge. `POST /behaviour` says it of
others, by name: `decline` them, be `down` for them so many times, `hold` the answer after a charge, or `hang_up` once
after it.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from examples.local_server import Answer, Asked, main

PATIENCE_SECONDS = 60  # at most, for an answer that is held


class Gateway:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._charges: dict[str, dict[str, Any]] = {}  # by key
        self._tries: Counter[str] = Counter()  # by key
        self._behaviour: dict[str, dict[str, Any]] = {}  # by payer
        self._released = threading.Event()

    def answer(self, asked: Asked) -> Answer | None:
        match asked.method, asked.path:
            case "POST", "/charges":
                return self._charge(asked.headers.get("idempotency-key", ""), asked.body)
            case "GET", "/charges":
                with self._lock:
                    return Answer(200, list(self._charges.values()))
            case "POST", "/behaviour":
                return self._behave(asked.body)
        return Answer(404, {"error": "there is no such page"})

    def _behave(self, told: dict[str, Any]) -> Answer:
        with self._lock:
            self._behaviour |= told.get("payers", {})
        if told.get("release"):
            self._released.set()
        return Answer(200, {})

    def _charge(self, key: str, wanted: dict[str, Any]) -> Answer | None:
        if not key:
            return Answer(400, {"error": "a charge needs an Idempotency-Key"})
        with self._lock:
            behaviour = self._behaviour.setdefault(wanted["payer"], {"decline": wanted["payer"].startswith("Broke")})
            self._tries[key] += 1
            if refusal := self._refusal(behaviour, key, wanted["payer"]):
                return refusal
            charge = self._remembered(key, wanted)
            hangs_up = behaviour.pop("hang_up", False)
        if behaviour.get("hold"):
            self._released.wait(PATIENCE_SECONDS)
        return None if hangs_up else Answer(200, charge)

    def _refusal(self, behaviour: dict[str, Any], key: str, payer: str) -> Answer | None:
        if behaviour.get("down", 0) > 0 or (payer.startswith("Flaky") and self._tries[key] == 1):
            behaviour["down"] = behaviour.get("down", 0) - 1
            return Answer(503, {"error": "try again later"})
        if behaviour.get("decline"):
            return Answer(402, {"error": f"the card of {payer} was declined"})
        return None

    def _remembered(self, key: str, wanted: dict[str, Any]) -> dict[str, Any]:
        if key in self._charges:
            self._charges[key]["repeats"] += 1
        else:
            reference = f"ch_{len(self._charges) + 1}"
            self._charges[key] = {"key": key, "reference": reference, "repeats": 0, **wanted}
        return self._charges[key]


if __name__ == "__main__":
    main(Gateway().answer, "Payment gateway")
