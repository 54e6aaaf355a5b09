"""What a handler gives back, as JSON that can be stored."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from django.utils.duration import duration_iso_string

from jobs_app.conf import get_settings
from jobs_app.errors import PayloadInvalid
from jobs_app.logs import event
from jobs_app.strict_json import dumps
from jobs_app.text import clean

logger = logging.getLogger("jobs_app.worker")


def result_text(job_id: UUID, value: Any) -> str | None:
    """JSON text. The work is done: what cannot be stored is replaced by the reason and costs the job nothing else."""
    if value is None:
        return None
    try:
        return dumps(plain(value), limit=get_settings().max_result_bytes, what="result")
    except (PayloadInvalid, RecursionError) as problem:
        facts = event("result_not_stored", job=str(job_id), error=problem)
        logger.warning("job=%s succeeded; its result is not stored: %s", job_id, problem, extra=facts)
        return dumps({"not_stored": clean(problem)}, limit=10_000)


def plain(value: Any) -> Any:
    """The types that payloads take too, in the same JSON forms."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, timedelta):
        return duration_iso_string(value)
    return value
