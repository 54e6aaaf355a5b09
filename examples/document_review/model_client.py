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
USUAL_URL = "http://127.0.0.1:8106/"


@dataclass(frozen=True, kw_only=True)
class Question:
    session: str  # one for all calls of a review, under which the ledger keeps what they cost
    title: str
    about: str
    text: str


def ask(question: Question, seconds: float) -> dict[str, Any]:
    """Grade, text, thinking and tokens, within so many seconds."""
    logger.info("[AI] %r: asking about %s, for %.3g s at most", question.title, question.about, seconds)
    said = _fetch("reviews", seconds, {**asdict(question), "timeout": seconds})
    if "error" in said:  # in an answer with status 200, which does not tell whether another try would help
        raise ValueError(said["error"])
    if not 0 <= said["grade"] <= 100:
        raise ValidationError(f"a grade is from 0 to 100, not {said['grade']}")
    logger.info("[AI] %r: %s has grade %s", question.title, question.about, said["grade"])
    return said


def costs_of(sessions: Sequence[str], seconds: float) -> dict[str, Decimal]:
    """Of those that are booked completely. One call asks for all."""
    told = _fetch("costs?" + urlencode({"sessions": ",".join(sessions)}), seconds)
    return {session: Decimal(booked["cost"]) for session, booked in told.items() if booked["is_complete"]}


def _fetch(path: str, seconds: float, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    url = urljoin(env.str("MODEL_URL", default=USUAL_URL), path)
    request = Request(url, data, {"Content-Type": "application/json"})
    with urlopen(request, timeout=seconds) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
