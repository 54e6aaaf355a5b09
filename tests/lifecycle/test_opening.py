"""The gate of limits: what opens, how much of it, and who is asked to wait until when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.admit import Admitted, Asking, Turns, admit
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.locks import try_lock
from jobs_app.lifecycle.rules import Rules
from jobs_app.limits import QueueRules, Rate
from jobs_app.models import Job
from tests.lifecycle.rows import T, at, done, ended, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

TYPES = ["work", "other"]


def let_in(turns: Turns | None = None, asked: dict[str, Any] | None = None, **rules: Any) -> Admitted:
    given: dict[str, Any] = {"job_types": TYPES, "rules": Rules({"default": QueueRules(**rules)})}
    return admit(connection, "default", Asking(**(given | (asked or {}))), turns)


def started(**rules: Any) -> list[UUID]:
    while let_in(**rules).is_more:
        pass
    return [job.id for job in take(100, job_types=TYPES)]


def limited(**options: Any) -> None:
    @job(name="work", **options)
    def work() -> None: ...


def test_several_that_end_together_make_room_for_as_many() -> None:
    ids = stored(10, gate=2, key="k")
    assert started(concurrency_per_key=4) == ids[:4]
    finish(connection, [ended(job) for job in Job.objects.filter(state="running")])  # type: ignore[arg-type]
    assert started(concurrency_per_key=4) == ids[4:8]


def test_a_limit_that_is_raised_is_used_when_the_next_one_ends() -> None:
    ids = stored(10, gate=2, key="k")
    assert started(concurrency_per_key=1) == ids[:1]
    assert done(Job.objects.get(state="running"))  # type: ignore[arg-type]
    assert started(concurrency_per_key=5) == ids[1:6]


@pytest.mark.parametrize("pause", [1, 7, 60])
def test_in_no_period_more_of_a_key_start_than_its_rate_allows_however_late_somebody_looks(pause: int) -> None:
    rate = Rate(10, 10)
    with at(0):
        stored(60, gate=2, key="k")
    moments: list[datetime] = []
    for moment in [0, *range(pause, 100, pause), 101, 102, 103]:
        with at(moment):
            moments += [T + timedelta(seconds=moment)] * len(started(rate_per_key=rate))
    for first in moments:
        assert sum(first <= moment < first + timedelta(seconds=10) for moment in moments) <= rate.starts
    assert len(moments) >= (0.8 * 60 if pause == 1 else 2)


def test_who_waits_for_the_rate_of_a_key_is_not_in_the_way_of_others() -> None:
    with at(0):
        stored(50, gate=2, key="busy")
        [other] = stored(gate=2, key="quiet")
        assert other in started(rate_per_key=Rate(1, 60))
        assert Job.objects.filter(state="running").count() == 2
        assert let_in(rate_per_key=Rate(1, 60)).opened == 0
        assert sorted(Job.objects.values_list("hold", flat=True).distinct()) == ["", "key", "limit"]


def test_the_wait_ends_when_the_rate_of_the_key_lets_the_next_one_start() -> None:
    with at(0):
        stored(3, gate=2, key="k")
        let_in(rate_per_key=Rate(1, 60))
        waits = [let_in(rate_per_key=Rate(1, 60)).wait_seconds for _ in range(2)]
    assert 60 in waits


def test_a_start_that_another_limit_refuses_is_not_counted_against_the_key() -> None:
    with at(0):
        stored(2, gate=2, key="a")
        stored(2, gate=2, key="b")
        assert len(started(rate_per_key=Rate(1, 60), concurrency=1)) == 1
        assert done(Job.objects.get(state="running"))  # type: ignore[arg-type]
        assert len(started(rate_per_key=Rate(1, 60), concurrency=1)) == 1  # of the other key


def test_a_job_without_a_key_has_no_limit_per_key() -> None:
    ids = stored(5, gate=2)
    assert started(rate_per_key=Rate(1, 60), concurrency_per_key=1) == ids


def test_the_rates_of_queue_type_and_key_hold_together() -> None:
    limited(rate="1/minute", rate_per_key="5/minute")
    with at(0):
        work = stored(3, gate=2, key="k")
        others = stored(3, gate=2, key="k", job_type="other")
        assert set(started(rate=Rate(60, 1))) == {work[0], *others}


def test_a_type_that_another_step_is_just_counting_is_looked_at_again(on_postgres: None) -> None:
    limited(concurrency=2)
    stored(1, gate=1)
    with sessions(1) as [other]:
        other.begin()
        assert other.do(try_lock, connection, "type work")
        assert let_in()[:3] == (0, frozenset(), True)
        other.commit()
        assert let_in().opened == 1


def test_what_a_worker_cannot_take_of_one_type_does_not_keep_it_from_the_others() -> None:
    stored(10, gate=1)
    [other] = stored(gate=1, job_type="other")
    asked = {"room": 5, "room_of_type": {"work": 1}}
    assert let_in(asked=asked, concurrency=100).opened == 2
    assert {job.id for job in take(10, job_types=["other"])} == {other}
    assert let_in(asked=asked, concurrency=100).opened == 0


def test_open_jobs_that_a_worker_may_not_claim_do_not_use_up_its_room() -> None:
    """Others opened them, or its own limit per process is reached since."""
    stored(5, gate=1)
    assert let_in(concurrency=100).opened == 5
    [other] = stored(gate=1, job_type="other")
    assert let_in(asked={"room": 3, "room_of_type": {"work": 0}}, concurrency=100).opened == 1
    assert {job.id for job in take(10, job_types=["other"])} == {other}


@pytest.mark.parametrize(
    ("room", "concurrency", "is_cut"), [(0, 9, True), (2, 9, True), (9, 2, False), (9, None, True)]
)
def test_it_tells_whether_more_could_open_with_more_room(room: int, concurrency: int | None, is_cut: bool) -> None:
    stored(5, gate=1)
    assert let_in(asked={"room": room}, concurrency=concurrency, ageing=60).is_cut is is_cut


def test_nothing_that_waits_is_not_cut() -> None:
    stored(5)
    assert let_in(asked={"room": 0}, concurrency=5) == Admitted()


def test_paused_subjects_do_not_use_up_the_turns_of_others() -> None:
    for number in range(20):
        stored(gate=1, subject=f"paused {number:02}")
    [other] = stored(gate=1, subject="z")
    paused = sorted({name for name in Job.objects.values_list("subject", flat=True) if name != "z"})
    assert let_in(asked={"room": 2, "paused_subjects": paused}, fair_share=True).opened == 1
    assert Job.objects.get(hold="").pk == other


def test_turns_go_on_after_the_last_one_and_round_again() -> None:
    for subject in "abc":
        stored(3, gate=1, subject=subject)
    turns, seen = Turns(), ""
    for _ in range(9):
        let_in(turns, {"room": 1}, fair_share=True)
        seen += take()[0].subject
    assert seen == "abcabcabc"


def test_a_type_at_its_limit_does_not_keep_its_subject_from_its_turn() -> None:
    limited(concurrency=1)
    stored(5, gate=1, subject="a")
    stored(1, gate=1, subject="a", job_type="other")
    let_in(asked={"room": 3}, fair_share=True)
    assert sorted(job.job_type for job in take(10, job_types=TYPES)) == ["other", "work"]
