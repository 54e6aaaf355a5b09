"""The job that mails the administrators what failed, again and again until the mail server has taken it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from django.core.mail import mail_admins
from django.db import connections
from django.urls import NoReverseMatch, reverse

from jobs_app.conf import get_settings
from jobs_app.definitions import job
from jobs_app.errors import Retry
from jobs_app.lifecycle.deliveries import MAIL, MAX_ATTEMPTS_OF_MAIL
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.retry import Backoff

SECONDS = 30.0  # for the mail server. Django waits for ever, unless EMAIL_TIMEOUT says otherwise
TYPES_IN_SUBJECT = 3


@job(
    name=MAIL,
    queue=SYSTEM_QUEUE,
    max_attempts=MAX_ATTEMPTS_OF_MAIL,
    backoff=Backoff(base=10, cap=3600),
    timeout=2 * SECONDS,
    retry_timeouts=True,
    retention={"succeeded": "1d"},
    permission="jobs_app.send_mail",  # nobody has it: what fails is told, and nothing else
)
def mail_failures(failures: dict[str, Any]) -> None:
    """Mail those whom Django's ADMINS names what failed lately."""
    within(SECONDS, lambda: mail_admins(subject(failures), "\n".join(lines(failures)) + "\n"))


def subject(failures: dict[str, Any]) -> str:
    counts: Counter[str] = Counter()
    for group in failures["groups"]:
        counts[group["job_type"]] += group["count"]
    told = [f"{name} ({count:,})" for name, count in counts.most_common(TYPES_IN_SUBJECT)]
    more = ["others"] if len(counts) > len(told) or failures["other_groups"] else []
    return f"{_jobs(failures)} failed: {', '.join(told + more)}"


def lines(failures: dict[str, Any]) -> Iterator[str]:
    yield f"{_jobs(failures)} failed for good."
    for group in failures["groups"]:
        yield ""
        yield from _lines_of(group)
    if others := failures["other_groups"]:
        yield f"\nAnd {others:,} other kinds of failures."
    pause = get_settings().notify_every_seconds
    yield f"\nFurther failures are told together, {pause:g} seconds from now at the earliest."


def within(seconds: float, act: Callable[[], Any]) -> None:
    """Do it in a thread of its own, which is left alone if it takes longer: the slot in which this runs is that of all
    chores, and no other way bounds the time of every mail backend."""
    errors: list[Exception] = []

    def work() -> None:
        try:
            act()
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()  # a backend may have stored the mail

    thread = threading.Thread(target=work, name="jobs-mail", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise Retry(f"the mail server did not take it within {seconds:g} seconds")
    if errors:
        raise errors[0]


def _jobs(failures: dict[str, Any]) -> str:
    count = failures["count"]
    return f"{'more than ' if failures['is_more'] else ''}{count:,} {'job' if count == 1 else 'jobs'}"


def _lines_of(group: dict[str, Any]) -> Iterator[str]:
    times = "once" if group["count"] == 1 else f"{group['count']:,} times"
    yield " ".join(filter(None, [f"{group['job_type']}, {times}:", group["error_class"]]))
    if group["error"]:
        yield f"    {group['error']}"
    moments = sorted({_moment(group["first_at"]), _moment(group["last_at"])})
    yield f"    at {' to '.join(moments)} UTC"
    yield f"    {_place(group['run'])}"


def _moment(iso: str) -> str:
    return iso[:19].replace("T", " ")


def _place(run: str) -> str:
    """Where more about it is to be found."""
    if site := get_settings().site_url.rstrip("/"):
        with suppress(NoReverseMatch):  # a project without the admin
            return f"{site}{reverse('admin:jobs_app_run_detail', args=[run])}"
    return f"manage.py jobs show {run}"
