"""What the answer of a receiver means: delivered, to be sent again, or never."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

AGAIN = frozenset({408, 425, 429})  # beside 5xx
LONGEST_WAIT = 3600.0  # seconds that a receiver may ask for
GONE = 410


class Answer(NamedTuple):
    status: int
    retry_after: str = ""  # the header

    @property
    def is_accepted(self) -> bool:
        return 200 <= self.status <= 299

    @property
    def is_for_later(self) -> bool:
        return self.status in AGAIN or 500 <= self.status <= 599


def advice(status: int) -> str:
    """What to do about an answer after which there is no use in sending it again."""
    if 300 <= status <= 399:
        return "redirects are never followed: let the url of the webhook be the place itself"
    if status == GONE:
        return "the receiver is gone for good: take the webhook out of settings.JOBS['WEBHOOKS']"
    if status in (401, 403):
        return "the receiver refuses the sender: compare the secrets of both sides"
    if status == 404:
        return "the receiver does not know the url: correct it in settings.JOBS['WEBHOOKS']"
    return "the receiver refuses the request: ask those who run it"


def seconds_asked(header: str, now: datetime) -> float | None:
    """The wait that `Retry-After` asks for, as seconds or as a date; None where it says nothing that can be read."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:10]), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0.0, (moment - now).total_seconds()), LONGEST_WAIT)
