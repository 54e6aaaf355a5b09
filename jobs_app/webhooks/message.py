"""What a receiver is told of runs: how they ended and when, never what they carried."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from jobs_app.models import JobRun

AS_THEY_ARE = ("job_type", "queue", "subject", "state", "outcome", "done_reason")
MOMENTS = ("queued_at", "started_at", "finished_at")
COLUMNS = (*AS_THEY_ARE, *MOMENTS, "attempts", "free_attempts", "max_attempts", "error")  # no payload, no result


def body(event: str, facts: Mapping[str, Any], *, webhook: str, delivery: UUID, at: datetime) -> bytes:
    """The request's body, the same bytes that are signed."""
    told = {"event": event, "delivery": str(delivery), "webhook": webhook, "sent_at": _iso(at), **facts}
    return json.dumps(told, separators=(",", ":")).encode()


def about(run: JobRun) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        **{name: getattr(run, name) for name in AS_THEY_ARE},
        "attempts": run.attempts - run.free_attempts,  # those that count
        "max_attempts": run.max_attempts,
        **{name: _iso(getattr(run, name)) for name in MOMENTS},
        "error": run.error,
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()
