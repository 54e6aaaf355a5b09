"""`jobs reconcile`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import ControlEvent, Job, JobRun
from tests.lifecycle.rows import T, at, one_running
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended, user_who_may

pytestmark = pytest.mark.django_db

EXPIRED = "Job stuck in running for 5min - lease: expired (was on worker-1)"
LOST = "Worker crashed or timed out (stalled job recovery, was on gone)"


@pytest.fixture
def stale() -> dict[str, ClaimedJob]:
    """One whose lease ended, and one whose worker is gone; it is five minutes later."""
    with at(0):
        announce(connection, Presence(id="worker-1", beat_seconds=600))
        expired, lost = one_running(), one_running(max_attempts=1)
        Job.objects.filter(pk=lost.id).update(worker_id="gone", lease_expires_at=T + timedelta(hours=1))
    return {"expired": expired, "lost": lost}


def test_a_dry_run_shows_what_and_why(stale: Any) -> None:
    with at(300):
        table, words = jobs("reconcile", "--dry-run")
    assert [line.split(maxsplit=6) for line in table.splitlines()] == [
        ["RUN", "JOB", "TYPE", "KIND", "SINCE", "VERDICT", "NOW   WHY"],
        [str(stale["lost"].id), "work", "lost", "5m", "fail", "kept", LOST],
        [str(stale["expired"].id), "work", "expired", "4m", "30s", "requeue", f"kept  {EXPIRED}"],
    ]
    assert words == "2 stale, 0 moved on.\n"
    assert not ControlEvent.objects.exists()


def test_the_usual_kinds_are_moved_on_and_others_where_they_are_asked_for(stale: Any) -> None:
    with at(300):
        told = jobs_json("reconcile", "--actor", "cli:ann", "--reason", "sweep")
        assert told["moved"] == [str(stale["expired"].id)]
        assert [(one["kind"], one["verdict"], one["moved"], one["why"]) for one in told["stale"]] == [
            ("lost", "fail", False, LOST),
            ("expired", "requeue", True, EXPIRED),
        ]
        table, words = jobs("reconcile", "--kind", "lost", "--kind", "stuck")
    assert "failed" in table
    assert words == "1 stale, 1 moved on.\n"
    assert JobRun.objects.get().error == LOST
    events = ControlEvent.objects.order_by("pk").values_list("action", "reason", "moved")
    assert list(events) == [("reconcile", "sweep", 1), ("reconcile", "", 1)]
    assert ControlEvent.objects.earliest("pk").actor == "cli:ann"


@pytest.mark.parametrize("form", ["table", "json"])
def test_what_a_user_may_not_fail_is_left_with_exit_code_4(stale: Any, form: str) -> None:
    user_who_may("reconcile_runs")
    with at(300):
        answer = ended("reconcile", "--kind", "lost", "--actor", "ann", "--format", form)
    assert (answer.code, str(stale["lost"].id) in answer.data) == (4, True)
    assert answer.words.endswith("1 skipped: 1 needs the permission jobs_app.fail_run.")
    assert not JobRun.objects.exists()


def test_a_user_needs_the_permission_also_to_look(stale: Any) -> None:
    user_who_may("fail_run")
    for more in ((), ("--dry-run",)):
        answer = ended("reconcile", "--actor", "ann", *more)
        assert (answer.code, answer.data) == (1, "")
        assert answer.words == "reconcile: ann has no permission jobs_app.reconcile_runs."


def test_json_of_a_dry_run(stale: Any) -> None:
    with at(300):
        told = jobs_json("reconcile", "--dry-run", "--kind", "lost")
    assert (told["dry_run"], told["moved"], len(told["stale"])) == (True, [], 2)


def test_nothing_stale_is_told_too() -> None:
    assert jobs("reconcile") == ("", "0 stale, 0 moved on.\n")


def test_a_kind_that_cannot_be_moved_is_refused() -> None:
    with pytest.raises(CommandError, match="--kind"):
        jobs("reconcile", "--kind", "unserved")
