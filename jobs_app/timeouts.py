"""How long one job may run: as asked for at its enqueue, as listed for its variant, or as its type says up to a cap."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jobs_app import values
from jobs_app.conf import Settings
from jobs_app.payloads import Payload, field_of

if TYPE_CHECKING:
    from jobs_app.registry import JobType


def timeout_for(
    job_type: JobType, read_payload: Callable[[], Payload], asked: float | None, settings: Settings
) -> float | None:
    """Seconds; None: as long as it takes. The payload is read only where the type wants to see it.

    What somebody wrote down for one job or one variant is meant as it stands. A maximum caps the rest, and gives no
    timeout to a type that has none. Raises what the type's own callables raise.
    """
    if asked is not None:
        return asked
    if job_type.timeouts:
        listed = job_type.timeouts.get(variant_of(job_type, read_payload()))
        if listed is not None:
            return listed
    usual = job_type.timeout
    if callable(usual):
        chosen = usual(read_payload())
        usual = None if chosen is None else values.period(chosen)
    return _capped(usual, _most(job_type, settings))


def longest_timeout(job_type: JobType, settings: Settings) -> float:
    """Seconds that any of its jobs may take, as far as its type tells; 0 where it does not."""
    most = _most(job_type, settings)
    usual = most if callable(job_type.timeout) else _capped(job_type.timeout, most)
    return max([usual or 0.0, *job_type.timeouts.values()])


def variant_of(job_type: JobType, payload: Payload) -> str:
    """Which of its kinds of work this payload is; '' where the type makes no difference."""
    found = field_of(job_type, job_type.variant, payload)
    return "" if found is None else str(found)


def passed_text(elapsed: float, limit: float) -> str:
    return f"timed out after {round(elapsed, 1):g} s (limit {round(limit, 3):g} s)"


def _most(job_type: JobType, settings: Settings) -> float | None:
    return settings.max_timeout_seconds if job_type.max_timeout is None else job_type.max_timeout


def _capped(seconds: float | None, most: float | None) -> float | None:
    return seconds if seconds is None or most is None else min(seconds, most)
