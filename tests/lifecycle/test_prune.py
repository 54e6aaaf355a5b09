"""Pruning: what is past its retention goes with all that belongs to it, and nothing else does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.conf import parse
from jobs_app.errors import SettingsInvalid
from jobs_app.lifecycle.prune import Pruned, prune
from jobs_app.models import ControlEvent, Job, JobAttempt, JobItem, StatSample, WorkerState
from jobs_app.registry import registry
from tests.lifecycle.history import days_ago, finished, left, parts_of
from tests.lifecycle.rows import T, at, done, one_running, stored

pytestmark = pytest.mark.django_db


def declare(name: str = "work", **options: Any) -> None:
    @job(name=name, **options)
    def handler() -> None: ...


def stays(days: float, state: str = "succeeded", **changes: Any) -> bool:
    """Is a run that ended so long ago still there after pruning?"""
    run = finished(days, state, **changes)
    assert prune(connection, now=T).complete
    return run in left()


@pytest.mark.parametrize(("state", "days"), [("succeeded", 30), ("cancelled", 30), ("failed", 90)])
@pytest.mark.spec("S2.R7")
def test_a_finished_run_is_kept_for_the_days_of_its_state(state: str, days: int) -> None:
    assert stays(days - 0.01, state)
    assert not stays(days + 0.01, state)


def test_how_long_is_a_setting(settings: Any) -> None:
    settings.JOBS = {"RETENTION_DAYS": 2, "RETENTION_FAILED_DAYS": 0.5}
    assert [stays(1), stays(3), stays(0.4, "failed"), stays(1, "failed")] == [True, False, True, False]


def test_zero_days_keep_for_ever(settings: Any) -> None:
    settings.JOBS = {"RETENTION_DAYS": 0}
    assert stays(10_000)
    assert not stays(10_000, "failed")


@pytest.mark.parametrize("days", [-1, 40_000])
def test_days_that_cannot_be_are_refused(days: int) -> None:
    with pytest.raises(SettingsInvalid, match=r"RETENTION_DAYS.*from 0 \(for ever\) to 36500"):
        parse({"RETENTION_DAYS": days})


def test_the_age_counts_from_the_end_and_not_from_the_beginning() -> None:
    assert stays(1, queued_at=days_ago(100))


@pytest.mark.spec("S2.R7")
def test_a_job_type_says_how_long_its_own_runs_are_kept() -> None:
    declare(retention="7d")
    declare("other", retention="60d")
    assert [stays(8), stays(8, "failed"), stays(6, "cancelled")] == [False, False, True]
    assert [stays(59, job_type="other"), stays(61, job_type="other")] == [True, False]


@pytest.mark.spec("S2.R7")
def test_a_job_type_says_it_by_state_and_leaves_the_rest_to_the_settings() -> None:
    declare(retention={"succeeded": "1d", "failed": timedelta(days=200)})
    assert [stays(2), stays(199, "failed"), stays(201, "failed")] == [False, True, False]
    assert [stays(29, "cancelled"), stays(31, "cancelled")] == [True, False]


def test_zero_keeps_the_runs_of_a_job_type_for_ever() -> None:
    declare(retention={"failed": 0})
    assert stays(10_000, "failed")
    assert not stays(31)


@pytest.mark.spec("S2.R7")
def test_the_last_runs_of_a_schedule_are_kept_whatever_their_age() -> None:
    declare(keep_last=2)
    runs = {schedule: [finished(400 - n, schedule=schedule) for n in range(4)] for schedule in (1, 2)}
    few, unscheduled = finished(500, "failed", schedule=3), finished(400)
    assert prune(connection, now=T).runs == 5
    assert left() == {*runs[1][2:], *runs[2][2:], few}
    assert unscheduled not in left()
    newest = finished(1, "failed", schedule=1)
    assert prune(connection, now=T).runs == 1
    assert left() == {runs[1][3], newest, *runs[2][2:], few}


def test_the_last_runs_of_a_schedule_are_not_kept_where_nobody_asked() -> None:
    assert not stays(31, schedule=1)


def test_runs_of_a_type_that_no_process_knows_are_kept_for_a_year_at_least() -> None:
    """It may have asked for longer than the settings, and its workers may only be away."""
    assert [stays(364, job_type="gone"), stays(366, job_type="gone")] == [True, False]


def test_runs_of_a_type_that_only_another_process_knows_are_left_to_it() -> None:
    WorkerState.objects.create(id="w", started_at=T, seen_at=T, job_types=["theirs", "ours"])
    declare("ours")
    with at(30):
        assert stays(1_000, job_type="theirs")
        assert not stays(1_000, job_type="ours")


def test_a_process_that_is_silent_for_three_beats_keeps_nothing_any_more() -> None:
    WorkerState.objects.create(id="w", started_at=T, seen_at=T, beat_seconds=10, job_types=["theirs"])
    with at(31):
        assert stays(29, job_type="theirs")
        assert not stays(1_000, job_type="theirs")


def test_what_belongs_to_a_run_goes_and_stays_with_it() -> None:
    old = [finished(40 + n, attempts=3, items=2) for n in range(5)]
    young = [finished(4 + n, attempts=3, items=2) for n in range(5)]
    assert prune(connection, now=T) == Pruned(runs=5, attempts=15, items=10, complete=True)
    assert parts_of(old) == (0, 0)
    assert parts_of(young) == (15, 10)


def test_nothing_of_a_live_job_goes_however_old_it_is() -> None:
    with at(-200 * 86400):
        running = one_running()
        tried = one_running()
        assert done(tried, "queued", delay=10**7)
        waiting = stored()
    JobItem.objects.create(job_id=running.id, key="k", data={})
    before = set(Job.objects.values_list("id", flat=True))
    assert prune(connection, now=T).total == 0
    assert set(Job.objects.values_list("id", flat=True)) == before == {*waiting, running.id, tried.id}
    assert (JobAttempt.objects.count(), JobItem.objects.count()) == (1, 1)


def test_an_old_run_whose_id_lives_again_stays_with_its_attempts() -> None:
    """Its attempts are the live job's as well."""
    [live] = stored()
    finished(100, id=live)
    other = finished(100)
    assert prune(connection, now=T).runs == 1
    assert left() == {live}
    assert parts_of([live]) == (1, 0)
    assert parts_of([other]) == (0, 0)


def test_control_events_and_samples_have_ages_of_their_own(settings: Any) -> None:
    for days in (100, 400):
        ControlEvent.objects.create(action=f"pause-{days}")
        ControlEvent.objects.filter(action=f"pause-{days}").update(at=days_ago(days))
        StatSample.objects.create(at=days_ago(days), seconds=60, series="finished", value=1)
    StatSample.objects.create(at=days_ago(80), seconds=60, series="finished", value=1)
    assert prune(connection, now=T) == Pruned(events=1, samples=2, complete=True)
    settings.JOBS = {"CONTROL_EVENT_RETENTION_DAYS": 0, "SAMPLE_RETENTION_DAYS": 0}
    assert prune(connection, now=T + timedelta(days=5_000)).total == 0
    assert [event.action for event in ControlEvent.objects.all()] == ["pause-100"]


def test_the_databases_clock_says_how_old_a_run_is() -> None:
    run = finished(29.9)
    with at(0):
        assert prune(connection).runs == 0
    with at(86400):
        assert prune(connection).runs == 1
    assert run not in left()


def test_a_dry_run_counts_and_deletes_nothing() -> None:
    declare(keep_last=1)
    for n in range(1, 7):
        finished(40 + n, attempts=2, items=3, schedule=7)
    StatSample.objects.create(at=days_ago(400), seconds=60, series="finished", value=1)
    counted = prune(connection, now=T, dry_run=True)
    assert counted == Pruned(runs=5, attempts=10, items=15, samples=1, complete=True)
    assert len(left()) == 6
    assert prune(connection, now=T) == counted
    assert len(left()) == 1


def test_an_empty_history_is_no_work() -> None:
    assert prune(connection) == Pruned(complete=True)
    assert not registry.names()
