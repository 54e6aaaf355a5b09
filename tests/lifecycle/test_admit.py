"""What may start of the jobs that share a key, a limit or a rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.admit import Admitted, Asking, Turns, admit
from jobs_app.lifecycle.recover import recover
from jobs_app.lifecycle.rules import Rules
from jobs_app.limits import QueueRules, Rate
from jobs_app.models import Job, JobRun
from jobs_app.registry import registry
from tests.lifecycle.rows import at, done, new_job, stored, take

pytestmark = pytest.mark.django_db

TYPES = ["work", "other"]


def let_in(queue: str = "default", *, room: int = 500, turns: Turns | None = None, **rules: Any) -> Admitted:
    queues = {queue: QueueRules(**rules)} if rules else {}
    return admit(connection, queue, Asking(job_types=TYPES, rules=Rules(queues), room=room), turns)


def started(**rules: Any) -> list[UUID]:
    """Admit, then claim everything that is open."""
    let_in(**rules)
    return [job.id for job in take(100, job_types=TYPES)]


def holds() -> list[str]:
    return list(Job.objects.order_by("id").values_list("hold", flat=True))


def keyed(count: int = 1, **changes: Any) -> list[UUID]:
    return stored(count, **({"policy": "singleton", "key": "k", "gate": 2} | changes))


def test_of_one_key_only_the_most_urgent_starts() -> None:
    [_later], [urgent] = keyed(), keyed(priority=5)
    assert started() == [urgent]
    assert started() == []
    assert holds() == ["key", ""]


def test_the_next_of_a_key_starts_when_the_first_has_ended() -> None:
    first, second, third = keyed(3)
    let_in()
    [running] = take()
    assert running.id == first
    assert done(running)
    assert started() == [second]
    assert holds() == ["", "key"]
    assert Job.objects.get(hold="key").pk == third


def test_several_types_of_a_queue_share_a_key() -> None:
    [deal], [retrieval] = keyed(), keyed(job_type="other")
    assert started() == [deal]
    [running] = Job.objects.filter(state="running")
    assert running.pk == deal
    assert holds() == ["", "key"]
    assert retrieval


def test_another_key_and_another_queue_are_not_in_the_way() -> None:
    [first], [other_key], [other_queue] = keyed(), keyed(key="l"), keyed(queue="mail")
    let_in("mail")
    assert set(started()) == {first, other_key, other_queue}


def test_a_job_that_goes_back_to_wait_gives_up_its_key() -> None:
    with at(0):
        first, second = keyed(2)
        let_in()
        [running] = take()
        assert done(running, "queued", delay=60)
        assert started() == [second]
    with at(61):
        assert started() == []  # its own turn again, but the key is taken
        assert Job.objects.get(pk=first).hold == "key"


def test_a_key_is_free_when_the_lease_of_its_holder_was_recovered() -> None:
    with at(0):
        _lost, second = keyed(2)
        let_in()
        take()
    with at(31):
        recover(connection)
        Job.objects.exclude(pk=second).update(run_at=Job.objects.get(pk=second).run_at.replace(year=2027))
        assert started() == [second]


def test_jobs_due_later_do_not_take_the_key() -> None:
    with at(0):
        [_later], [now] = keyed(delay=60), keyed()
        assert started() == [now]
        assert holds() == ["new", ""]


@pytest.mark.parametrize(("rules", "limit"), [({"concurrency": 2}, 2), ({"concurrency_per_key": 3}, 3)])
def test_a_queue_runs_so_many_at_once(rules: dict[str, int], limit: int) -> None:
    ids = stored(10, gate=2 if "concurrency_per_key" in rules else 1, key="k")
    assert started(**rules) == ids[:limit]
    assert started(**rules) == []
    running = list(Job.objects.filter(state="running").order_by("id"))
    assert done(running[0])  # type: ignore[arg-type]
    assert started(**rules) == ids[limit : limit + 1]


def test_a_worker_opens_no_more_than_it_has_room_for() -> None:
    stored(10, gate=1)
    assert let_in(room=3, concurrency=100).opened == 3
    assert let_in(room=3, concurrency=100).opened == 0
    take(2)
    assert let_in(room=3, concurrency=100).opened == 2


@pytest.fixture
def limited() -> Iterator[Any]:
    @job(name="work", concurrency=2)
    def work() -> None: ...

    yield work
    registry.unregister("work")


def test_a_type_runs_so_many_at_once_over_all_queues(limited: Any) -> None:
    stored(3, gate=1)
    stored(3, gate=1, queue="mail")
    others = stored(2, job_type="other", gate=1)
    let_in()
    let_in("mail")
    taken = take(100, job_types=TYPES)
    assert sum(job.job_type == "work" for job in taken) == 2
    assert {job.id for job in taken if job.job_type == "other"} == set(others)


def test_a_rate_lets_so_many_start_in_any_period() -> None:
    with at(0):
        ids = stored(10, gate=1)
        assert started(rate=Rate(2, 60)) == ids[:1]
        assert let_in(rate=Rate(2, 60)).wait_seconds == 30
    with at(29):
        assert started(rate=Rate(2, 60)) == []
    with at(30):
        assert started(rate=Rate(2, 60)) == ids[1:2]
    with at(90):
        assert started(rate=Rate(2, 60)) == ids[2:3]


def test_a_rate_per_key_spaces_the_jobs_of_each_key() -> None:
    with at(0):
        first = [stored(gate=2, key=key)[0] for key in "ab"]
        stored(10, gate=2, key="a")
        assert set(started(rate_per_key=Rate(1, 60))) == set(first)
        assert started(rate_per_key=Rate(1, 60)) == []
    with at(60):
        assert len(started(rate_per_key=Rate(1, 60))) == 1
    with at(119):
        assert len(started(rate_per_key=Rate(1, 60))) == 0
    with at(121):
        assert len(started(rate_per_key=Rate(1, 60))) == 1


def test_subjects_take_turns() -> None:
    flood = stored(50, gate=1, subject="flood")
    small = stored(2, gate=1, subject="small")
    turns = Turns()
    seen: list[UUID] = []
    for _ in range(6):
        let_in(room=1, turns=turns, fair_share=True)
        seen += [job.id for job in take(10)]
    assert [run_id for run_id in seen if run_id in small] == small
    assert seen.index(small[1]) <= 3
    assert [run_id for run_id in seen if run_id in flood] == flood[:4]


def test_who_waits_long_comes_before_who_is_more_urgent() -> None:
    with at(0):
        [low] = stored(gate=1, priority=0)
    with at(600):
        [high] = stored(gate=1, priority=5)
        assert let_in(room=1, ageing=60).opened == 1
        assert [job.id for job in take(10)] == [low]
        assert high


def test_what_expired_while_it_waited_is_not_let_in() -> None:
    with at(0):
        [late] = keyed(expires_at=new_job().run_at)
        assert late


def test_a_short_key_gives_way_to_the_one_that_waits() -> None:
    [first] = stored(policy="short", key="k")
    [running] = take()
    [second] = stored(policy="short", key="k")
    assert second != first
    assert done(running, "queued", policy="short")
    run = JobRun.objects.get()
    assert (run.id, run.state, run.done_reason, run.outcome) == (first, "cancelled", "superseded", "error")
    assert run.result == {"superseded_by": str(second)}
