"""What a pull hands out, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.conf import get_settings
from jobs_app.models import Job, JobRun, WorkerState
from jobs_app.registry import registry
from jobs_app.remote.desks import Choice, desks
from jobs_app.remote.pulling import Handed, Nothing, Pull, pull
from jobs_app.signals import job_finished, job_started
from jobs_app.worker.ration import Ration
from tests.lifecycle.rows import at, outcomes_of

pytestmark = pytest.mark.django_db


def ask(**changes: Any) -> Handed | Nothing:
    given: dict[str, Any] = {
        "worker_id": "w1@abc",
        "name": "w1",
        "choice": Choice(job_types=frozenset(registry.names())),
    }
    return pull(Pull(**given | changes), is_welcome=lambda: None)


def handed(**changes: Any) -> Handed:
    found = ask(**changes)
    assert isinstance(found, Handed), found
    return found


def test_local_workers_leave_remote_types_alone() -> None:
    from jobs_app.testing import run_jobs

    @job(remote=True)
    def elsewhere() -> None: ...

    run = elsewhere.enqueue()
    assert len(run_jobs().succeeded) == 0
    assert handed().job.id == run.id


def test_a_payload_comes_with_the_defaults_of_its_handler() -> None:
    @job(remote=True)
    def scrape(city: str, pages: int = 3, tags: list[str] = ["a"], when: Any = object()) -> None: ...  # noqa: B006, B008

    scrape.enqueue(city="Kiel")
    assert handed().payload == {"city": "Kiel", "pages": 3, "tags": ["a"]}
    assert Job.objects.get().payload == {"city": "Kiel"}


def test_a_payload_that_no_handler_could_take_goes_to_nobody() -> None:
    @job(remote=True)
    def scrape(city: str) -> None: ...

    bad, good = scrape.enqueue(city="Kiel"), scrape.enqueue(city="Bremen")
    Job.objects.filter(pk=bad.id).update(payload={"town": 7})
    assert handed().job.id == good.id
    run = JobRun.objects.get(pk=bad.id)
    assert (run.state, run.done_reason) == ("failed", "permanent")
    assert "town" in run.error
    assert outcomes_of(bad.id) == ["error"]


@pytest.mark.parametrize("target", [0, -1, True, "5", 2**63, 1.5])
def test_a_target_that_is_no_number_fails_the_run_with_the_reason(target: Any) -> None:
    @job(remote=True, target=lambda payload: target)
    def scrape() -> None: ...

    run = scrape.enqueue()
    assert ask() == Nothing("empty")
    assert "whole number above 0" in JobRun.objects.get(pk=run.id).error


def test_a_target_is_kept_with_the_job() -> None:
    @job(remote=True, target=lambda payload: 2 * payload["pages"])
    def scrape(pages: int = 4) -> None: ...

    scrape.enqueue()
    assert handed().job.target_count == Job.objects.get().target_count == 8


def test_a_type_that_is_switched_off_is_not_handed_out() -> None:
    @job(remote=True, enabled=lambda: True)
    def scrape() -> None: ...

    scrape.enqueue()
    from dataclasses import replace

    registry.register(replace(scrape.job_type, enabled=False))
    assert ask() == Nothing("empty")


def test_where_not_everything_was_looked_at_nobody_hears_that_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    @job(remote=True)
    def scrape() -> None: ...

    monkeypatch.setattr("jobs_app.remote.desks.Ration", Ration)
    desks.clear()
    assert ask() == Nothing("empty")
    desks.of(Choice())._ration.spent(60.0)  # by somebody else: an old open transaction, say
    scrape.enqueue()
    assert ask() == Nothing("busy")


def test_the_lease_of_a_type_counts_within_bounds_unless_the_worker_asks_for_another() -> None:
    @job(remote=True, lease=45)
    def short() -> None: ...

    @job(remote=True, lease=5)
    def tiny() -> None: ...

    short.enqueue()
    assert handed().lease == 45
    tiny.enqueue()
    assert handed().lease == 30
    short.enqueue()
    assert handed(lease=100.0).lease == 100
    assert get_settings().remote_lease_seconds == 180


def test_keys_and_limits_hold_for_remote_workers_too() -> None:
    @job(remote=True, singleton="city")
    def scrape(city: str) -> None: ...

    first = scrape.enqueue(city="Kiel")
    second = scrape.enqueue(city="Kiel")
    other = scrape.enqueue(city="Bremen")
    assert {handed().job.id for _ in range(2)} == {first.id, other.id}
    assert ask() == Nothing("empty")
    from jobs_app.remote.reporting import Told, report

    job_ = Job.objects.get(pk=first.id)
    assert job_.token is not None
    report(Told(job_id=job_.pk, token=job_.token, done=True), lambda queue, job_type: True)
    assert handed().job.id == second.id  # at once: its report came to this process


def test_who_starts_and_who_ends_is_told_to_whoever_listens() -> None:
    told: list[Any] = []

    def started(sender: Any, job: Any, **kwargs: Any) -> None:
        told.append(("started", sender.name, job.id))

    def finished(sender: Any, job: Any, ended: Any, **kwargs: Any) -> None:
        told.append(("finished", sender.name, ended.state))

    @job(remote=True)
    def scrape() -> None: ...

    from jobs_app.remote.reporting import Told, report

    job_started.connect(started)
    job_finished.connect(finished)
    try:
        run = scrape.enqueue()
        job_ = handed().job
        report(Told(job_id=job_.id, token=job_.token, done=True), lambda queue, job_type: True)
    finally:
        job_started.disconnect(started)
        job_finished.disconnect(finished)
    assert told == [("started", "scrape", run.id), ("finished", "scrape", "succeeded")]


def test_a_worker_is_announced_once_and_beats_with_its_next_pulls() -> None:
    with at(0):
        ask()
    with at(1):
        ask()
    row = WorkerState.objects.get()
    assert row.seen_at.second == 0  # two pulls within two seconds are one heartbeat
    from jobs_app.remote import attendance

    attendance.forget()
    with at(60):
        ask(lease=300.0)
    row.refresh_from_db()
    assert (row.seen_at.minute, row.beat_seconds) == (1, 100)


def test_a_pull_costs_the_same_however_much_waits_for_others(django_assert_max_num_queries: Any) -> None:
    @job(remote=True, queue="leads")
    def scrape() -> None: ...

    @job(queue="mail")
    def send() -> None: ...

    send.enqueue_many([{}] * 500)
    scrape.enqueue_many([{}] * 3)
    choice = Choice(queues=("leads",), job_types=frozenset({"scrape"}))
    handed(choice=choice)
    with django_assert_max_num_queries(3):
        handed(choice=choice)


def test_a_window_defers_only_so_many_jobs_in_one_pull(settings: Any) -> None:
    settings.JOBS = {"MAINTENANCE_WINDOWS": "12:00"}

    @job(remote=True)
    def scrape() -> None: ...

    with at(-10):
        scrape.enqueue_many([{}] * 25)
    with at(60):
        assert ask() == Nothing("maintenance", stopped=True)
        assert Job.objects.filter(free_attempts=1).count() == 20
    with at(1300):
        desks.clear()
        assert isinstance(ask(), Handed)
    assert connection.in_atomic_block
