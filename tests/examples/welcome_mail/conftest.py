"""A mail server with a door, a site that writes to it, and people who join."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from examples.welcome_mail.joining import join
from examples.welcome_mail.mailbox import Mailbox
from jobs_app import get_run
from jobs_app.handles import RunHandle
from jobs_app.models import JobAttempt, Run
from tests.examples.site import Site

Joins = Callable[[str], RunHandle]


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as mailbox:
        threading.Thread(target=mailbox.serve_forever, args=[0.02], daemon=True).start()
        yield mailbox
        mailbox.door.set()
        mailbox.shutdown()


@pytest.fixture
def site(make_site: Callable[..., Site], mailbox: Mailbox) -> Site:
    return make_site("welcome_mail", EMAIL_URL=mailbox.url, EMAIL_TIMEOUT="60")


@pytest.fixture
def joins() -> Joins:
    """Somebody joins; the run that will welcome them."""

    def joins(name: str) -> RunHandle:
        member = join(name, address_of(name))
        return get_run(Run.objects.get(subject=f"member {member.pk}").pk)

    return joins


def address_of(name: str) -> str:
    return f"{name}@example.com".lower()


def attempts_of(run: RunHandle) -> list[JobAttempt]:
    return list(JobAttempt.objects.filter(job_id=run.id).order_by("number"))


def outcomes(run: RunHandle) -> list[str]:
    return [attempt.outcome for attempt in attempts_of(run)]
