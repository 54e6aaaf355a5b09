"""Requests made up from the description of the interface: whatever they are, it answers as it says it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID
from zlib import crc32

import hypothesis
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from schemathesis import checks

from jobs_app import trigger
from jobs_app.api.shapes import UUID_TEXT
from jobs_app.remote.waiting import room
from tests.api.operations import OPERATIONS
from tests.api.speaking import ROOT, Speaker
from tests.api.tenants import Site, open_site
from tests.lifecycle.rows import take

pytestmark = pytest.mark.django_db(transaction=True)

# The document needs no database, and its operations become tests when this file is read.
schema = schemathesis.openapi.from_wsgi(f"{ROOT}openapi.json", get_wsgi_application())
schema.config.generation.update(with_security_parameters=False)  # each request has its token from the test

# Left out: positive_data_acceptance, since what fits the description may still be a queue that the token is not for, a
# run that has ended or an unknown job type; use_after_free and ensure_resource_availability, since nothing here is
# created and deleted; missing_required_header, since no header is described but that of the token, which ignored_auth
# is about; max_response_time, since machines differ. And negative_data_rejection for queries: on the wire all is text,
# so that `false` names a queue and `0.0` is a whole number.
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.ignored_auth,
    checks.unsupported_method,
]
NAMES = ["red.do", "red.work", "red.slow", "blue.work", "red-subject", "", "failed", "24h", "more", "1", "nowhere"]


@pytest.fixture
def site(transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """With runs in each state, schedules, items and pauses; where nobody waits, and connections are kept."""
    settings.JOBS = {"API_REQUESTS_PER_MINUTE": 0}
    monkeypatch.setattr(room, "wait", lambda choice, seconds, look: look())
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield open_site()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def speaker(site: Site) -> Speaker:
    return Speaker()


def known_to(site: Site) -> dict[str, Sequence[Any]]:
    """What there is, and some that is not, by the name of the parameter that it would be given by."""
    runs = [str(run) for run in (*site.red.runs, *site.blue.runs, UUID(int=0))]
    return {
        "run_id": runs,
        "schedule_id": [site.red.schedule, site.red.paused_schedule, site.blue.schedule, 2**40],
        "jobName": ["red.do", "red.do", "blue.do", "red.doo"],
        **dict.fromkeys(("name", "queue", "job_type", "subject", "state", "window", "attempts", "open"), NAMES),
    }


def leased() -> dict[str, Sequence[Any]]:
    """A job in the hands of a worker, since each report may end the one before; and some that is nobody's."""
    trigger("red.do")
    [job] = take(1, job_types=["red.do"])
    return {"job_id": [*[str(job.id)] * 4, str(UUID(int=0))], "token": [*[str(job.token)] * 5, str(UUID(int=0))]}


def would_do(name: str, value: Any) -> bool:
    """Is what was made up of the right form? What is not must stay as it is, to be refused."""
    if name == "schedule_id":
        return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63
    if name in ("run_id", "job_id", "token"):
        return isinstance(value, str) and re.search(UUID_TEXT, value) is not None
    return isinstance(value, str) and 0 < len(value) < 120


def ask(case: schemathesis.Case, speaker: Speaker, site: Site) -> None:
    """With what there is in the place of what was made up, where it can be: so that requests go further."""
    known = known_to(site) | (leased() if case.operation.path.endswith("report_results") else {})
    number = crc32(repr((case.path_parameters, case.query, case.body)).encode("utf-8", "replace"))
    for given in (case.path_parameters, case.query, case.body):
        for name in known.keys() & (given.keys() if isinstance(given, dict) else set()):
            if would_do(name, given[name]):
                given[name] = known[name][number % len(known[name])]
    checked = CHECKS if case.method == "POST" else [each for each in CHECKS if each != checks.negative_data_rejection]
    case.call_and_validate(headers={"Authorization": f"Bearer {speaker.text}"}, checks=checked)


def answers_as_described(name: str, *, examples: int) -> Callable[..., None]:
    """A test of one operation."""

    @schema.include(operation_id=name).parametrize()
    @hypothesis.settings(max_examples=examples, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
    def test(case: schemathesis.Case, speaker: Speaker, site: Site) -> None:
        ask(case, speaker, site)

    return test


# Each by a name of its own: what runs tests side by side tells them apart by it.
for name in OPERATIONS:
    globals()[f"test_{name}_answers_as_described"] = answers_as_described(name, examples=60)
    globals()[f"test_{name}_answers_as_described_whatever_comes"] = pytest.mark.slow(
        answers_as_described(name, examples=1000)
    )
