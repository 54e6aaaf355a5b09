"""What a scheduler counts, and the port on which it is read."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from prometheus_client import REGISTRY

from jobs_app import job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.scheduler.metrics import note_made, note_tick
from jobs_app.scheduler.tick import tick
from tests.scheduler.schedules import NOON, after, schedule


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.django_db
def test_made_failed_and_skipped_slots_are_counted_by_job_type() -> None:
    @job(name="counted-beat")
    def beat(n: int = 0) -> None: ...

    schedule("counted-beat", next_run_at=after(-60))
    schedule("counted-beat", subject="bad", payload={"n": "x"})
    with frozen_clock(NOON):
        ticked = tick(connection)
    before = counted("jobs_scheduler_tick_duration_seconds_count")
    note_made(ticked.made)
    note_tick(ticked, 0.5)
    assert counted("jobs_enqueue_attempts_total", job_type="counted-beat", outcome="success") == 1
    assert counted("jobs_enqueue_attempts_total", job_type="counted-beat", outcome="error") == 1
    assert counted("jobs_slots_skipped_total", job_type="counted-beat") == 4
    assert counted("jobs_schedule_lateness_seconds_sum", job_type="counted-beat") == 0
    assert counted("jobs_scheduler_tick_duration_seconds_count") == before + 1


@pytest.mark.django_db
def test_the_apps_own_chores_are_not_counted(chores: Any) -> None:
    schedule("jobs.prune", next_run_at=after(-60))
    with frozen_clock(NOON):
        ticked = tick(connection)
    assert [made.job_type for made in ticked.made] == ["jobs.prune"]
    before = counted("jobs_enqueue_attempts_total", job_type="jobs.prune", outcome="success")
    note_made(ticked.made)
    note_tick(ticked, 0.5)
    assert counted("jobs_enqueue_attempts_total", job_type="jobs.prune", outcome="success") == before


def test_a_taken_port_is_told(db: None) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f":{port}: .*another --metrics-port"):
            call_command("runscheduler", metrics_port=port)


def test_one_tick_serves_none() -> None:
    with pytest.raises(CommandError, match="leave --metrics-port out"):
        call_command("runscheduler", once=True, metrics_port=9090)
