"""Whether all is well, and what needs attention."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from jobs_app.insights.counts import QueueCounts
from jobs_app.insights.dashboard import Now, Schedules, StaleCounts
from jobs_app.insights.processes import Process, Processes, status_of
from jobs_app.insights.queues import QueueLine
from jobs_app.insights.throughput import Ended, Hour, QueueHour
from jobs_app.insights.verdict import Finding, Known, judge
from jobs_app.models import Pause, WorkerState
from tests.lifecycle.rows import T


def process(name: str = "w", *, silent: float = 0, **columns: Any) -> Process:
    seen_at = T - timedelta(seconds=silent)
    row = WorkerState(id=name, started_at=seen_at, seen_at=seen_at, **{"concurrency": 2, "version": "1"} | columns)
    return Process(row, status_of(row, now=T))


CLOCK = process("clock", kind="scheduler")


def queue(
    name: str = "mail",
    *,
    waiting: int = 0,
    wait: float | None = None,
    served: bool = True,
    trend: float | None = None,
) -> QueueLine:
    due_at = None if wait is None else T - timedelta(seconds=wait)
    counts = QueueCounts(queue=name, queued=waiting, oldest_due_at=due_at)
    return QueueLine(counts=counts, at=T, workers=[process()] if served else [], hour=QueueHour(trend=trend))


def known(
    *queues: QueueLine, processes: list[Process] | None = None, pauses: list[Pause] | None = None, **parts: Any
) -> Known:
    found = Processes(at=T, found=[process(), CLOCK] if processes is None else processes)
    now = Now(at=T, queues=list(queues), processes=found, is_capped=False, oldest=None)
    given = {"now": now.under(pauses or []), "schedules": Schedules(), "stale": StaleCounts(at=T), "hour": Hour()}
    return Known(pauses=pauses or [], **given | parts)


def kinds(*given: Any, **parts: Any) -> list[str]:
    return [each.kind for each in judge(known(*given, **parts))]


def only(*given: Any, **parts: Any) -> Finding:
    (found,) = judge(known(*given, **parts))
    return found


def test_nothing_needs_attention_where_all_is_well() -> None:
    assert judge(known(queue(waiting=50, wait=10))) == []


def test_what_could_not_be_read_is_not_judged() -> None:
    nothing = Known(now=None, schedules=None, stale=None, hour=None, pauses=[])
    assert judge(nothing) == []


def test_jobs_wait_and_no_worker_is_alive() -> None:
    found = only(queue(waiting=1, wait=600, served=False), processes=[CLOCK])
    assert (found.kind, found.level, found.page) == ("no_worker", "bad", "workerstate_changelist")
    assert kinds(queue(), processes=[CLOCK]) == []


def test_a_queue_that_nobody_serves() -> None:
    found = only(queue("mail", waiting=1, wait=600, served=False))
    assert (found.kind, found.page, found.arguments) == ("unserved", "queuestate_detail", ("mail",))
    assert "mail" in found.sentence
    assert kinds(queue("mail", served=False)) == []


@pytest.mark.parametrize(("wait", "is_long"), [(120, False), (121, True), (None, False)])
def test_a_queue_that_waits_for_more_than_two_minutes(wait: float | None, is_long: bool) -> None:
    assert kinds(queue(waiting=1, wait=wait)) == (["behind"] if is_long else [])


@pytest.mark.parametrize("scope", ["all", "queue"])
def test_a_queue_that_is_paused_may_wait(scope: str) -> None:
    pause = Pause(scope=scope, name="mail" if scope == "queue" else "", created_at=T)
    told = ["all_paused"] if scope == "all" else []
    assert kinds(queue("mail", waiting=500, wait=4000), pauses=[pause]) == told


@pytest.mark.parametrize(
    ("waiting", "per_minute", "grows"), [(99, 50, False), (1000, 4, False), (1000, 5, True), (1000, None, False)]
)
def test_a_backlog_that_grows_by_a_quarter_an_hour(waiting: int, per_minute: float | None, grows: bool) -> None:
    assert kinds(queue("mail", waiting=waiting, wait=5, trend=per_minute)) == (["growing"] if grows else [])


def test_a_queue_that_is_behind_and_grows_is_told_twice_and_one_that_nobody_serves_once() -> None:
    assert kinds(queue(waiting=1000, wait=500, trend=5)) == ["behind", "growing"]
    assert kinds(queue(waiting=1000, wait=500, trend=5, served=False)) == ["unserved"]


def test_runs_that_stand_still_lead_to_their_page() -> None:
    found = only(stale=StaleCounts(at=T, kinds=Counter(lost=2, stuck=1)))
    assert (found.page, found.level) == ("dashboard_stale", "bad")
    assert "3 runs" in found.sentence


def test_schedules_in_trouble_lead_to_the_list_of_exactly_these() -> None:
    found = judge(known(schedules=Schedules(active=9, overdue=2, disabled=1, failing=4)))
    assert [(each.kind, each.query) for each in found] == [
        ("overdue", {"trouble": "overdue"}),
        ("disabled", {"state": "disabled"}),
        ("failing", {"trouble": "failing"}),
    ]
    assert {each.page for each in found} == {"schedulestate_changelist"}


def test_schedules_are_active_and_no_scheduler_is_alive() -> None:
    active = Schedules(active=1)
    assert kinds(schedules=active, processes=[process()]) == ["no_scheduler"]
    assert kinds(schedules=active) == []
    assert kinds(processes=[process()]) == []


@pytest.mark.parametrize(
    ("succeeded", "failed", "is_high"), [(7, 3, True), (8, 2, False), (0, 9, False), (0, 10, True)]
)
def test_a_type_that_fails_often_leads_to_its_failures_of_the_hour(succeeded: int, failed: int, is_high: bool) -> None:
    found = judge(known(hour=Hour(types={"sync": Ended(succeeded=succeeded, failed=failed)})))
    assert [each.query for each in found] == (
        [{"job_type": "sync", "state": "failed", "window": "1h"}] if is_high else []
    )


def test_a_pause_that_is_older_than_a_day() -> None:
    old = Pause(scope="subject", name="acme", created_at=T - timedelta(hours=25))
    young = Pause(scope="job_type", name="sync", created_at=T - timedelta(hours=23))
    found = only(pauses=[young, old])
    assert (found.kind, found.page, found.arguments) == ("old_pause", "subject_detail", ("acme",))


def test_processes_that_went_silent_are_news_for_a_while() -> None:
    assert kinds(processes=[process(), CLOCK, process("late", silent=40), process("lost", silent=800)]) == ["silent"]
    assert kinds(processes=[process(), CLOCK, process("long ago", silent=2000)]) == []


def test_processes_of_different_versions() -> None:
    found = only(processes=[process("a", version="1.0"), process("b", version="1.1"), CLOCK])
    assert (found.kind, found.level) == ("versions", "warn")
    assert "1, 1.0, 1.1" in found.sentence


def test_the_worst_comes_first() -> None:
    found = judge(known(queue(waiting=1, wait=500), stale=StaleCounts(at=T, kinds=Counter(lost=1))))
    assert [each.level for each in found] == ["bad", "warn"]


def test_sentences_are_made_when_they_are_asked_for_and_numbers_take_their_plural() -> None:
    with translation.override("en"):
        assert only(stale=StaleCounts(at=T, kinds=Counter(lost=1))).sentence == "1 run stands still"
