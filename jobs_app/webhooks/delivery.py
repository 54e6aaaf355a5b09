"""The jobs that tell one receiver how runs ended, again and again until the receiver has taken it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, TypeAlias
from uuid import UUID

from jobs_app import __version__
from jobs_app.conf import get_settings
from jobs_app.definitions import JobDefinition, job
from jobs_app.errors import Cancel, Directive, Fail, Retry
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.deliveries import MAX_ATTEMPTS, QUEUE, WEBHOOK, WEBHOOK_OF_FAILURES
from jobs_app.logs import event
from jobs_app.models import JobRun
from jobs_app.retry import Backoff
from jobs_app.text import clean, one_line
from jobs_app.webhook_rules import Webhook
from jobs_app.webhooks.addresses import AddressRefused
from jobs_app.webhooks.answers import Answer, advice, seconds_asked
from jobs_app.webhooks.message import COLUMNS, about, body
from jobs_app.webhooks.sending import post
from jobs_app.webhooks.signing import HEADER, signature

logger = logging.getLogger("jobs_app.webhooks")

BACKOFF = Backoff(base=10, cap=3600)
DEPLOYED_BY = 4  # the attempt, over two minutes later, by which every worker should have the settings of a new release
TIMEOUT_SECONDS = 30.0  # for a name that is slow to look up; the rest has a shorter one
USER_AGENT = f"jobs_app/{__version__}"

Handler: TypeAlias = Callable[..., dict[str, int]]
Read: TypeAlias = Callable[[], tuple[str, Mapping[str, Any]]]  # the event and its facts


def delivery(name: str) -> Callable[[Handler], JobDefinition[..., Any]]:
    return job(
        name=name,
        queue=QUEUE,
        max_attempts=MAX_ATTEMPTS,
        backoff=BACKOFF,
        timeout=TIMEOUT_SECONDS,
        retry_timeouts=True,
        takes_context=True,
        retention={"succeeded": "1d"},
        permission="jobs_app.send_webhook",  # nobody has it: a run that ends is told, and nothing else
    )


@delivery(WEBHOOK)
def deliver(context: Any, webhook: str, run: UUID, job_type: str) -> dict[str, int]:
    """Tell the receiver of a webhook how a run ended."""
    return _tell(context, webhook, f"run={run}", lambda: ("run.finished", {"run": about(_run(run))}))


@delivery(WEBHOOK_OF_FAILURES)
def deliver_failures(context: Any, webhook: str, failures: dict[str, Any]) -> dict[str, int]:
    """Tell the receiver of a webhook of all that failed lately."""
    return _tell(context, webhook, f"failures={failures['count']}", lambda: ("runs.failed", failures))


def _tell(context: Any, webhook: str, what: str, read: Read) -> dict[str, int]:
    try:
        told = _webhook(webhook, context.attempt)
        answer = _send(told, *read(), context.id)
        if not answer.is_accepted:
            raise _refusal(told, answer, context.attempt)
    except Directive as problem:
        facts = event("webhook_refused", webhook=webhook, what=what, error=one_line(problem))
        logger.warning("webhook=%s %s delivery=%s: %s", webhook, what, context.id, one_line(problem), extra=facts)
        raise
    facts = event("webhook_delivered", webhook=webhook, what=what, status=answer.status)
    logger.info("webhook=%s %s delivery=%s: answered %s", webhook, what, context.id, answer.status, extra=facts)
    return {"status": answer.status}


def _webhook(name: str, attempt: int) -> Webhook:
    for webhook in get_settings().webhooks:
        if webhook.name == name:
            return webhook
    text = f"this worker knows no webhook named {name!r}: see settings.JOBS['WEBHOOKS']"
    raise Fail(text) if attempt >= DEPLOYED_BY else Retry(text)


def _run(run_id: UUID) -> JobRun:
    found = JobRun.objects.using(jobs_connection().alias).only(*COLUMNS).filter(pk=run_id).first()
    if found is None:
        raise Cancel(f"run {run_id} is not in the history any more, so there is nothing to tell")
    return found


def _send(webhook: Webhook, event: str, facts: Mapping[str, Any], delivery: UUID) -> Answer:
    at = datetime.now(UTC)
    sent = body(event, facts, webhook=webhook.name, delivery=delivery, at=at)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "Jobs-Delivery": str(delivery),
        HEADER: signature(sent, secrets=webhook.secrets, at=int(at.timestamp())),
    }
    try:
        return post(webhook.url, sent, headers, private_allowed=get_settings().webhook_private_addresses)
    except AddressRefused as refused:
        why = "Set settings.JOBS['WEBHOOK_PRIVATE_ADDRESSES'] = True if webhooks may go there"
        raise Fail(f"{refused}. {why}.") from None
    except (OSError, HTTPException) as problem:
        raise Retry(f"{webhook.host}: {_told(problem)}") from None


def _refusal(webhook: Webhook, answer: Answer, attempt: int) -> Directive:
    said = f"{webhook.host} answered {answer.status}"
    if not answer.is_for_later:
        return Fail(f"{said}; {advice(answer.status)}")
    asked = seconds_asked(answer.retry_after, datetime.now(UTC))
    # Not sooner than it would be sent anyway, or a receiver that asks for no wait at all would use up the attempts.
    return Retry(said, after=None if asked is None else max(asked, BACKOFF.delay_after(attempt)))


def _told(problem: OSError | HTTPException) -> str:
    """Without what the receiver sent, which some errors carry."""
    if isinstance(problem, HTTPException):
        return f"its answer is no HTTP ({type(problem).__name__})"
    return clean(f"{type(problem).__name__}: {problem}", 300)
