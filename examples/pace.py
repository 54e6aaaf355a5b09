"""How fast time passes in the examples: where a document says minutes, hours or days, a demo cannot wait for them.

At 60 seconds a minute everything is as the documents say. `EXAMPLES_MINUTE_SECONDS=2` lets an hour pass in two
minutes: rates, waits, timeouts and periods of the examples all follow.
"""

from __future__ import annotations

from django.conf import settings

MINUTE: float = getattr(settings, "EXAMPLES_MINUTE_SECONDS", 60.0)  # seconds
IS_USUAL = MINUTE == 60.0


def minutes(number: float) -> float:
    """So many minutes of the documents, in seconds that pass."""
    return number * MINUTE


def per_hour(rate: float) -> float:
    """A rate of the documents as one of the clock."""
    return rate * 60 / MINUTE
