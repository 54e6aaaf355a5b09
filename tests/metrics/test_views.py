"""The web's pages for monitoring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.metrics.gauges import database_gauges
from jobs_app.models import ApiToken
from jobs_app.tokens import new_token
from tests.metrics.scraping import Page

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_gauges, "_next", float("-inf"))


def bearer(text: str) -> Any:
    return {"Authorization": f"Bearer {text}"}


def test_nobody_reads_metrics_without_being_allowed_to(client: Client) -> None:
    reader = control.create_token("reader", "ann", scopes=["read", "operate"]).text
    for headers in ({}, bearer("none"), bearer(reader), {"Authorization": "Basic x"}):
        answer = client.get("/jobs/metrics", headers=headers)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')
        assert "--scopes metrics" in answer.content.decode()


def test_a_token_for_it_opens_metrics_and_nothing_else(client: Client) -> None:
    @job(name="counted")
    def counted() -> None: ...

    counted.enqueue()
    text = control.create_token("prometheus", "ann", scopes=["metrics"]).text
    answer = client.get("/jobs/metrics", headers=bearer(text))
    assert answer.status_code == 200
    page = Page(answer.content.decode())
    assert page.value("jobs_queued", job_type="counted") == 1
    assert page.value("jobs_enqueue_attempts_total", job_type="counted", outcome="success") == 1
    assert ApiToken.objects.get().last_used_at is not None
    assert text.encode() not in answer.content
    assert client.get("/jobs/api/runs", headers=bearer(text)).status_code == 403
    control.revoke_token(ApiToken.objects.get().prefix, "ann")
    assert client.get("/jobs/metrics", headers=bearer(text)).status_code == 401


def test_who_may_see_the_dashboard_may_look(client: Client) -> None:
    user = User.objects.create_user("ann")
    client.force_login(user)
    assert client.get("/jobs/metrics").status_code == 401
    user.user_permissions.add(Permission.objects.get(codename="view_dashboard"))
    assert client.get("/jobs/metrics").status_code == 200


def test_where_it_is_public_it_answers_everybody(client: Client, settings: Any) -> None:
    settings.JOBS = {"METRICS_PUBLIC": True}
    assert client.get("/jobs/metrics").status_code == 200
    assert client.post("/jobs/metrics").status_code == 405


def test_gauges_are_there_also_where_many_web_processes_count(
    client: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JOBS = {"METRICS_PUBLIC": True}
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    page = Page(client.get("/jobs/metrics").content.decode())
    assert page.value("jobs_stale_runs") == 0


def test_alive_is_told_without_the_database_and_ready_with_it(client: Client) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert client.get("/jobs/livez").content == b"ok\n"
    assert len(asked) == 0
    assert client.get("/jobs/readyz").content == b"ok\n"
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE jobs_app_runtimesetting RENAME TO away")  # taken back with the test
    with transaction.atomic():
        answer = client.get("/jobs/readyz")
        transaction.set_rollback(True)
    assert (answer.status_code, answer.content) == (503, b"the database does not answer, or is not migrated\n")


@pytest.mark.parametrize("path", ["livez", "readyz", "metrics"])
def test_no_transaction_and_no_login_page_stands_before_them(client: Client, settings: Any, path: str) -> None:
    view = resolve(f"/jobs/{path}").func
    assert view._non_atomic_requests == {"default"}  # type: ignore[attr-defined]
    settings.JOBS = {"METRICS_PUBLIC": True}
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert client.get(f"/jobs/{path}").status_code == 200
    assert client.get("/jobs/api/runs").status_code == 401  # a token is asked for, and not a password


def test_without_a_database_nobody_can_show_a_token(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE jobs_app_apitoken RENAME TO away")
    with transaction.atomic():
        answer = client.get("/jobs/metrics", headers=bearer(new_token().text))
        transaction.set_rollback(True)
    assert answer.status_code == 503
