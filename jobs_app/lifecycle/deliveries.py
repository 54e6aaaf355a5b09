"""The jobs that tell somebody of runs, as they are stored."""

from __future__ import annotations

import json
from typing import Any

from jobs_app.conf import get_settings
from jobs_app.ids import uuid7
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.limits import NO_RULES
from jobs_app.registry import SYSTEM_QUEUE, gate_in

WEBHOOK = "jobs.webhook"  # the job types
WEBHOOK_OF_FAILURES = "jobs.webhook_failures"
MAIL = "jobs.mail"

QUEUE = "webhooks"  # not that of the app's chores: a slow receiver must not keep them from their one slot
MAX_ATTEMPTS = 10
MAX_ATTEMPTS_OF_MAIL = 30  # over a day: the mail server that is away may be why jobs fail


def to_webhook(job_type: str, webhook: str, payload: dict[str, Any]) -> NewJob:
    """Never refused, whatever the policy of its queue is, and however small payloads have to be. Its key is its
    receiver's, so that a limit per key is one per receiver."""
    subject = f"webhook:{webhook}"
    return NewJob(
        id=uuid7(),
        job_type=job_type,
        queue=QUEUE,
        priority=0,
        max_attempts=MAX_ATTEMPTS,
        payload=json.dumps({"webhook": webhook} | payload),
        subject=subject,
        key=subject,
        gate=gate_in(QUEUE, "standard", get_settings().queues.get(QUEUE, NO_RULES)),
    )


def to_admins(payload: dict[str, Any]) -> NewJob:
    """In the queue that every worker serves, whichever queues it was told to serve."""
    return NewJob(
        id=uuid7(),
        job_type=MAIL,
        queue=SYSTEM_QUEUE,
        priority=0,
        max_attempts=MAX_ATTEMPTS_OF_MAIL,
        payload=json.dumps(payload),
    )
