"""In a host that answers each request inside a transaction, this interface does not: a pull would wait in it."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.handlers.base import BaseHandler
from django.db import connection, connections
from django.http import HttpResponse
from django.urls import get_resolver

from jobs_app.api import interface, workers
from jobs_app.models import Job
from tests.api.operations import OPERATIONS
from tests.api.speaking import Speaker
from tests.api.tenants import define


@pytest.fixture
def atomic_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for alias in connections:
        monkeypatch.setitem(connections.settings[alias], "ATOMIC_REQUESTS", True)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether a transaction was open, each time that a pull or a report began."""
    seen: list[bool] = []

    def watched(act: Any) -> Any:
        def work(*arguments: Any, **named: Any) -> Any:
            seen.append(connection.in_atomic_block)
            return act(*arguments, **named)

        return work

    monkeypatch.setattr(workers, "pull", watched(workers.pull))
    monkeypatch.setattr(workers, "report", watched(workers.report))
    return seen


def views() -> dict[str, Any]:
    [api] = [each for each in get_resolver("jobs_app.urls").url_patterns if str(each.pattern) == "api/"]
    return {str(pattern.pattern): pattern.callback for pattern in api.url_patterns}


@pytest.mark.django_db(transaction=True)
def test_pulls_and_reports_have_transactions_of_their_own(atomic_host: None, seen: list[bool]) -> None:
    run, speaker = define("work").enqueue(), Speaker()
    job = speaker.job()
    assert speaker.told(job, done=True)["state"] == "succeeded"
    assert seen == [False, False]
    assert not Job.objects.filter(pk=run.id).exists()


@pytest.mark.django_db(transaction=True)
def test_what_a_report_could_not_store_leaves_what_was_before_it(atomic_host: None) -> None:
    """And what was committed stays so when the answer fails."""

    def broken(run_id: Any, items: Any) -> int:
        raise RuntimeError("no room")

    define("work", sink=broken).enqueue()
    speaker = Speaker()
    speaker.client.raise_request_exception = False
    job = speaker.job()
    answer = speaker.report(job, items=[{"key": "a"}], cursor="2")
    assert answer.status_code == 500
    row = Job.objects.get()
    assert (row.state, row.cursor, str(row.token)) == ("running", "", job["token"])


def test_no_operation_is_wrapped_by_django(atomic_host: None) -> None:
    def plain(request: Any) -> HttpResponse:
        return HttpResponse()

    assert BaseHandler().make_view_atomic(plain) is not plain
    found = views()
    assert len(found) > len({each.path for each in OPERATIONS.values()})
    for view in found.values():
        assert BaseHandler().make_view_atomic(view) is view


def test_this_is_so_for_every_database_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.settings, "elsewhere", {**connection.settings_dict, "ATOMIC_REQUESTS": True})
    view = interface._answering(lambda request: HttpResponse())
    assert BaseHandler().make_view_atomic(view) is view
