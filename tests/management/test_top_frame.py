"""One frame of `jobs top`: what it says, and that it fits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs_app.insights.counts import EndedCounts, QueueCounts
from jobs_app.insights.dashboard import Now, Schedules, StaleCounts
from jobs_app.insights.live_view import LiveView
from jobs_app.insights.processes import Process, Processes, status_of
from jobs_app.insights.queues import QueueLine
from jobs_app.insights.throughput import Hour, QueueHour
from jobs_app.insights.verdict import Known
from jobs_app.management.top_frame import frame, share
from jobs_app.models import Job, Run, WorkerState
from tests.lifecycle.rows import T

RUN = UUID(int=7)


def process(name: str = "w", *, silent: float = 0, **columns: Any) -> Process:
    seen_at = T - timedelta(seconds=silent)
    row = WorkerState(id=name, name=name, started_at=seen_at, seen_at=seen_at, **{"concurrency": 4} | columns)
    return Process(row, status_of(row, now=T))


def queue(name: str, *, waiting: int = 0, wait: float | None = None, **counts: int) -> QueueLine:
    due_at = None if wait is None else T - timedelta(seconds=wait)
    hour = QueueHour(per_minute_in=2.0, per_minute_out=1.5)
    found = QueueCounts(queue=name, queued=waiting, oldest_due_at=due_at, **counts)
    return QueueLine(counts=found, at=T, workers=[process()], hour=hour)


def view(*queues: QueueLine, processes: list[Process] | None = None, **parts: Any) -> LiveView:
    found = Processes(at=T, found=[process("w", busy=3)] if processes is None else processes)
    now = Now(at=T, queues=list(queues), processes=found, is_capped=False, oldest=None)
    known = Known(now=now, schedules=Schedules(), stale=StaleCounts(at=T), hour=Hour(), pauses=[])
    ended = EndedCounts(since=T, states={"succeeded": 9, "failed": 4, "cancelled": 0}, is_capped=False)
    return LiveView(**{"known": known, "ended": ended, "running": [], "failed": []} | parts)


def texts(shown: LiveView | None, *, width: int = 120, height: int = 50, **more: Any) -> list[str]:
    return [line.text for line in frame(shown, width=width, height=height, every=2, **more)]


def test_everything_at_a_glance() -> None:
    job = Job(id=RUN, job_type="send", subject="shop-7", worker_id="w", started_at=T - timedelta(seconds=90))
    failed = Run(
        id=RUN, job_type="rates", subject="", finished_at=T - timedelta(hours=1), error="ValueError: no\nrates"
    )
    shown = view(queue("mail", waiting=5, wait=10, running=3, retrying=1), running=[job], failed=[failed])
    assert texts(shown) == [
        "Jobs as of 2026-01-01 12:00:00Z, read every 2s",
        "All is well.",
        "6 waiting, 3 running, 1 retrying, 4 failed in the last hour, 2.0 in/min, 1.5 out/min",
        "",
        "QUEUE  WAITING  RUNNING  OLDEST WAIT  IN/MIN  OUT/MIN  STATE",
        "mail         6        3  10s          2.0     1.5      active",
        "",
        "PROCESS  KIND    STATUS  BUSY  SEEN     QUEUES",
        "w        worker  alive   3/4   0ms ago  all",
        "",
        "RUNNING  SUBJECT  FOR     ON  RUN",
        f"send     shop-7   1m 30s  w   {RUN}",
        "",
        "FAILED  SUBJECT  AGO  RUN                                   ERROR",
        f"rates   -        1h   {RUN}  ValueError: no\\nrates",
    ]


def test_where_it_waits_longest_comes_first_then_where_most_wait() -> None:
    shown = view(
        queue("a", waiting=1), queue("b", waiting=9), queue("c", waiting=1, wait=5), queue("d", waiting=3, wait=70)
    )
    assert [each.name for each in shown.queues] == ["d", "c", "b", "a"]


def test_the_busiest_of_those_that_live_come_first() -> None:
    found = [process("lost", silent=500, busy=9), process("idle"), process("busy", busy=2)]
    told = texts(view(processes=found))
    assert [line.split()[0] for line in told[told.index("") + 2 :]] == ["busy", "idle", "lost"]


def test_the_verdict_is_told_in_its_tone_the_worst_first() -> None:
    shown = view(
        queue("mail", waiting=1, wait=600), *(queue(f"q{n}", waiting=1, wait=500) for n in range(3)), processes=[]
    )
    lines = frame(shown, width=120, height=50, every=2)
    assert lines[1] == ("No worker is alive, and jobs wait", "bad")
    assert lines[2] == ("Queue mail waits for 10m; more than 2m is long", "warn")
    assert lines[4] == ("and 2 more: jobs status --check tells them all", "warn")


def test_what_could_not_be_read_is_said_and_not_told_as_none() -> None:
    known = Known(now=None, schedules=None, stale=None, hour=None, pauses=[])
    told = texts(LiveView(known=known, ended=None, running=None, failed=None))
    assert told[1:] == [
        "Not everything could be read in time.",
        "- waiting, - running, - retrying, - failed in the last hour, - in/min, - out/min",
    ]


def test_a_database_that_is_away_is_said_above_what_was_known() -> None:
    told = frame(view(queue("mail")), width=120, height=50, every=2, problem="The database could not answer: refused")
    assert told[1] == ("The database could not answer: refused", "bad")
    assert "mail" in " ".join(line.text for line in told)
    assert "All is well" not in " ".join(line.text for line in told)
    assert texts(None, problem="The database could not answer: refused") == [
        "Jobs, read every 2s",
        "The database could not answer: refused",
    ]


def crowd() -> LiveView:
    """More of everything than any terminal has lines, and names wider than it."""
    long = "x" * 300
    return view(
        *(queue(f"queue-{number}-{long}", waiting=number) for number in range(80)),
        processes=[process(f"worker-{number}") for number in range(80)],
        running=[Job(id=RUN, job_type="send", subject=long, started_at=T) for _ in range(50)],
        failed=[
            Run(id=RUN, job_type="rates", subject="", finished_at=T - timedelta(hours=1), error=long) for _ in range(50)
        ],
    )


@pytest.mark.parametrize("height", [1, 2, 3, 5, 6, 9, 12, 15, 16, 24, 50, 400])
@pytest.mark.parametrize("width", [1, 20, 80, 250])
def test_it_fits_any_terminal(width: int, height: int) -> None:
    lines = frame(crowd(), width=width, height=height, every=2)
    assert len(lines) <= height
    assert max(len(line.text) for line in lines) <= width


def test_every_section_has_its_part_and_says_how_much_is_left_out() -> None:
    told = texts(crowd(), width=80, height=24)
    assert len(told) == 24
    headers = [line for line in told if line.startswith(("QUEUE (", "PROCESS (", "RUNNING (", "FAILED ("))]
    assert "OLDEST WAIT" in headers[0]  # behind a long name
    assert [header.split(")")[0] for header in headers] == [
        "QUEUE (3 of 80",
        "PROCESS (4 of 80",
        "RUNNING (3 of 50",
        "FAILED (3 of 50",
    ]


@pytest.mark.parametrize(
    ("wanted", "room", "given"),
    [
        ([2, 3], 9, [2, 3]),
        ([2, 30, 30], 22, [2, 10, 10]),
        ([30, 2, 30], 23, [10, 2, 11]),
        ([5], 3, [3]),
        ([], 3, []),
    ],
)
def test_what_the_small_ones_leave_goes_to_the_others(wanted: list[int], room: int, given: list[int]) -> None:
    assert share(wanted, room) == given
