"""Whether a job type is switched on, asked again and again without filling the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from jobs_app.logs import event
from jobs_app.registry import JobType

logger = logging.getLogger("jobs_app.runtime")

_failing: WeakSet[Callable[..., Any]] = WeakSet()  # functions whose switch failed when last asked


def is_enabled(job_type: JobType) -> bool:
    """A type that cannot say counts as off, and the others go on. Told once per streak of failures."""
    try:
        enabled = job_type.is_enabled
    except Exception:
        if job_type.function not in _failing:
            text = "job type %s: its enabled= failed; it counts as off while it cannot be told"
            logger.exception(text, job_type.name, extra=event("enabled_failed", job_type=job_type.name))
        _failing.add(job_type.function)
        return False
    _failing.discard(job_type.function)
    return enabled
