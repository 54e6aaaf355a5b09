"""The two secrets that travel: API tokens and lease tokens are told to who holds them, and to nobody else."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from jobs_app.models import ApiToken, Job
from tests.api.operations import OPERATIONS, SAMPLES, ask
from tests.api.speaking import Speaker, items
from tests.api.tenants import Site, define

pytestmark = pytest.mark.django_db

LINK = re.compile(r'href="(/admin/jobs_app/[^"#]*)"')
MOST_PAGES = 150


class Spoken:
    """A remote worker's day: all that it was answered, and its secrets."""

    def __init__(self, site: Site) -> None:
        self.speaker = Speaker(name="crawler")
        self.answers: list[Any] = []
        lease = {"job_id": str(site.red.running), "token": str(site.red.lease)}
        for said in (
            {"items": items("a"), "cursor": "2", "message": "on page 2", "idempotency_key": "k"},
            {"items": items("b"), "idempotency_key": "k"},
            {"target_count": "many", "token": site.red.lease.hex, "lease": str(site.red.lease)},
            {"error": "no answer", "log": "tried twice"},
            {"done": True},
        ):
            self.answers.append(self.speaker.report(lease, **said))
        for name in sorted(OPERATIONS):
            answer = ask(self.speaker, name, SAMPLES[name](site.blue))
            if OPERATIONS[name].scope != "pull":  # a pull gives a lease token, to who may have it
                self.answers.append(answer)
        self.answers.append(Speaker("pull").get("runs"))
        Client(headers={"Authorization": f"Bearer {self.speaker.text}x"}).get("/jobs/api/runs")
        self.leases = [
            site.red.lease,
            site.blue.lease,
            *Job.objects.exclude(token=None).values_list("token", flat=True),
        ]

    @property
    def secrets(self) -> list[str]:
        random = self.speaker.text.rpartition("_")[2]
        return [self.speaker.text, random, *(form for each in self.leases for form in (str(each), each.hex))]


@pytest.fixture
def spoken(site: Site, caplog: pytest.LogCaptureFixture) -> Spoken:
    caplog.set_level(logging.DEBUG)
    return Spoken(site)


def found_in(text: str, secrets: list[str]) -> list[str]:
    return [secret for secret in secrets if secret in text]


def test_no_answer_repeats_a_secret(spoken: Spoken) -> None:
    assert {answer.status_code for answer in spoken.answers} >= {200, 403, 409, 422}
    for answer in spoken.answers:
        told = answer.content.decode() + str(dict(answer.headers))
        assert not found_in(told, spoken.secrets), told


def test_no_line_of_a_log_has_a_secret(spoken: Spoken, caplog: pytest.LogCaptureFixture) -> None:
    records = caplog.get_records("setup")
    assert records
    for record in records:
        assert not found_in(f"{record.getMessage()} {vars(record)}", spoken.secrets), record.getMessage()


def rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for model in apps.get_app_config("jobs_app").get_models():
        if model._meta.managed:
            yield from ((model.__name__, row) for row in model._default_manager.values())


def test_the_text_of_a_token_is_stored_nowhere_and_a_lease_token_where_it_is_compared(spoken: Spoken) -> None:
    for table, row in rows():
        if table in ("Job", "JobAttempt"):
            row.pop("token")
        assert not found_in(str(row), spoken.secrets), table


def admin_pages(client: Client) -> Iterator[tuple[str, str]]:
    """From the dashboard along every link, as far as it goes."""
    seen: set[str] = set()
    ahead = [reverse("admin:jobs_app_dashboard_changelist"), reverse("admin:jobs_app_controlevent_changelist")]
    while ahead and len(seen) < MOST_PAGES:
        address = ahead.pop(0)
        if address in seen:
            continue
        seen.add(address)
        answer = client.get(address)
        text = b"".join(answer) if answer.streaming else answer.content
        yield address, text.decode(errors="replace")
        ahead += [link.replace("&amp;", "&") for link in LINK.findall(text.decode(errors="replace"))]


def test_no_page_of_the_admin_shows_a_secret(spoken: Spoken) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    secrets = [*spoken.secrets, *ApiToken.objects.values_list("token_hash", flat=True)]
    pages = dict(admin_pages(client))
    assert len(pages) > 30
    assert any("crawler" in text for text in pages.values())
    for address, text in pages.items():
        assert not found_in(text, secrets), address


def test_a_fault_of_ours_is_logged_without_what_was_sent(site: Site, caplog: pytest.LogCaptureFixture) -> None:

    def broken(job_id: Any, items: Any) -> int:
        raise RuntimeError("the sink leaks")

    define("red.sunk", queue="red.sunk", sink=broken).enqueue()
    speaker = Speaker()
    speaker.client.raise_request_exception = False
    job = speaker.job(queues=["red.sunk"])
    caplog.set_level(logging.DEBUG)
    assert speaker.report(job, items=items("a")).status_code == 500
    told = [f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records]
    assert any("the sink leaks" in line or "Internal Server Error" in line for line in told)
    assert not found_in("".join(told), [speaker.text, job["token"]])
