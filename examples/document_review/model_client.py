"""Talking to the model. Its errors are raised as they come: `jobs_app` knows which of them pass by themselves."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode, urljoin
from urllib.request import Request, urlopen

import environ
from django.core.exceptions import ValidationError

logger = logging.getLogger(__name__)
env = environ.Env()


@dataclass(frozen=True, kw_only=True)
class Question:
    session: str  # one for all the calls of a review, under which the ledger keeps what they cost
    agent: str
    about: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Booked:
    """What the ledger has of a session so far."""

    calls: int
    cost: Decimal


def ask(question: Question, seconds: float) -> dict[str, Any]:
    """Grade, text, thinking and tokens, within so many seconds."""
    logger.info("[AI] %r: asking about %s, for %.3g s at most", question.title, question.about, seconds)
    said = _fetch("v1/reviews", seconds, {**asdict(question), "timeout": seconds})
    if "error" in said:  # in an answer with status 200, which does not tell whether another try would help
        raise ValueError(said["error"])
    if not 0 <= said["grade"] <= 100:
        raise ValidationError(f"a grade is from 0 to 100, not {said['grade']}")
    logger.info("[AI] %r: %s has grade %s", question.title, question.about, said["grade"])
    return {"about": question.about} | {name: said[name] for name in ("grade", "text", "thinking", "tokens")}


def costs_of(sessions: Sequence[str], seconds: float) -> dict[str, Booked]:
    """All of them with one call."""
    found = _fetch("v1/costs?" + urlencode({"sessions": ",".join(sessions)}), seconds)
    return {name: Booked(calls=each["calls"], cost=Decimal(each["cost"])) for name, each in found.items()}


def _fetch(path: str, seconds: float, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = Request(urljoin(env.str("MODEL_URL"), path), data, {"Content-Type": "application/json"})
    with urlopen(request, timeout=seconds) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
