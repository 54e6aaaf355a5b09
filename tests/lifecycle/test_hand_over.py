"""A freed key goes straight to the next job where that needs nothing but the key."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.hand_over import Straight, hand_over
from jobs_app.lifecycle.keys import Key
from jobs_app.models import Job, JobAttempt, JobRun
from tests.by_hand import admit_all
from tests.lifecycle.rows import T, at, ended, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db

TYPES = ["work", "other"]
KEYED = {"policy": "singleton", "gate": 2}
STRAIGHT = Straight(["default work"])


def waiting(count: int = 1, key: str = "k", **changes: Any) -> list[UUID]:
    ids = stored(count, **(KEYED | {"key": key} | changes))
    Job.objects.filter(pk__in=ids).update(hold="key")
    return ids


def running(key: str = "k", **changes: Any) -> Any:
    """One job that runs and has the key."""
    [run_id] = stored(**(KEYED | {"key": key} | changes))
    Job.objects.filter(pk=run_id).update(hold="")
    [job] = [job for job in take(100, job_types=TYPES) if job.id == run_id]
    return job


def hold_of(run_id: UUID) -> str:
    return Job.objects.get(pk=run_id).hold


def end(*jobs: Any, straight: Straight | None = STRAIGHT) -> None:
    assert finish(connection, [ended(job) for job in jobs], straight) == {job.id for job in jobs}


def owners() -> Counter[tuple[str, str]]:
    """How many have each key, open or running."""
    return Counter(Job.objects.filter(hold__in=["", "limit"]).values_list("queue", "key"))


@pytest.mark.usefixtures("on_postgres")
def test_the_next_of_a_freed_key_is_open_and_due_at_once() -> None:
    with at(0):
        job = running()
        second, third = waiting(2)
    with at(10):
        end(job)
        opened = Job.objects.get(pk=second)
        assert (opened.hold, opened.run_at) == ("", T + timedelta(seconds=10))
        assert hold_of(third) == "key"
        assert [job.id for job in take()] == [second]


@pytest.mark.usefixtures("on_postgres")
@pytest.mark.parametrize("policy", ["singleton", "exclusive", "stately"])
def test_a_policy_with_one_running_job_per_key_lets_the_next_go_on(policy: str) -> None:
    [run_id] = waiting(policy=policy)
    hand_over(connection, [Key("default", "k")], STRAIGHT)
    assert hold_of(run_id) == ""


@pytest.mark.usefixtures("on_postgres")
def test_the_most_urgent_goes_on() -> None:
    waiting(2)
    [urgent] = waiting(priority=9)
    hand_over(connection, [Key("default", "k")], STRAIGHT)
    assert [job.pk for job in Job.objects.filter(hold="")] == [urgent]
    assert not Job.objects.filter(hold="new").exists()


@pytest.mark.usefixtures("on_postgres")
def test_each_of_several_freed_keys_is_looked_at_by_itself() -> None:
    [here], [_of_no_kind], [elsewhere] = waiting(), waiting(key="l", job_type="other"), waiting(queue="mail")
    keys = [Key("default", "k"), Key("default", "l"), Key("default", "nobody"), Key("mail", "k"), Key("default", "k")]
    hand_over(connection, keys, Straight(["default work", "mail other"]))
    assert hold_of(here) == ""
    assert hold_of(elsewhere) == "new"
    assert Counter(Job.objects.values_list("hold", flat=True)) == {"": 1, "new": 2}


@pytest.mark.usefixtures("on_postgres")
@pytest.mark.parametrize(
    ("changes", "straight"),
    [
        ({"job_type": "other"}, STRAIGHT),
        ({}, Straight(["mail work", "default other", "default  work", "default"])),
        ({"subject": "shop-7"}, Straight(["default work"], ["shop-6", "shop-7"])),
        ({"delay": 60}, STRAIGHT),
        ({"expires_at": T + timedelta(seconds=10)}, STRAIGHT),
        ({"policy": "standard"}, STRAIGHT),
        ({"policy": "short"}, STRAIGHT),
        ({}, Straight()),
    ],
    ids=[
        "another type",
        "another queue",
        "its subject is paused",
        "due later",
        "expired",
        "several per key",
        "one waits per key",
        "nobody goes straight",
    ],
)
def test_who_needs_more_than_the_key_is_only_looked_at_again(changes: dict[str, Any], straight: Straight) -> None:
    with at(0):
        [run_id] = waiting(**changes)
        before = Job.objects.get(pk=run_id).run_at
    with at(10):
        hand_over(connection, [Key("default", "k")], straight)
    job = Job.objects.get(pk=run_id)
    assert (job.hold, job.run_at) == ("new", before)


@pytest.mark.usefixtures("on_postgres")
def test_another_subject_and_a_later_expiry_are_not_in_the_way() -> None:
    with at(0):
        [run_id] = waiting(subject="shop-8", expires_at=T + timedelta(seconds=11))
    with at(10):
        hand_over(connection, [Key("default", "k")], Straight(["default work"], ["shop-7", ""]))
    assert hold_of(run_id) == ""


@pytest.mark.usefixtures("on_postgres")
def test_where_two_types_wait_for_a_key_admission_decides() -> None:
    [mine], [theirs] = waiting(), waiting(job_type="other")
    hand_over(connection, [Key("default", "k")], Straight(["default work", "default other"]))
    assert [hold_of(mine), hold_of(theirs)] == ["new", "new"]


def test_sqlite_has_admission_look_again(is_postgres: bool) -> None:
    if is_postgres:
        pytest.skip("SQLite only")
    job = running()
    [second] = waiting()
    end(job)
    assert hold_of(second) == "new"


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_however_a_job_ends_its_key_goes_on(state: str, is_postgres: bool) -> None:
    job = running()
    [second] = waiting()
    finish(connection, [ended(job, state)], STRAIGHT)
    assert hold_of(second) == ("" if is_postgres else "new")


def test_a_job_that_waits_for_its_next_attempt_has_admission_look_at_the_next() -> None:
    job = running()
    [second] = waiting()
    finish(connection, [ended(job, "queued", delay=60)], STRAIGHT)
    assert hold_of(second) == "new"


@pytest.mark.django_db(transaction=True)
def test_a_report_of_a_lost_lease_frees_nothing() -> None:
    job = running()
    [second] = waiting()
    lost = job._replace(token=UUID(int=7))
    assert finish(connection, [ended(lost)], STRAIGHT) == set()
    assert hold_of(second) == "key"


@pytest.mark.django_db(transaction=True)
def test_an_end_beside_a_holder_that_still_runs_opens_nobody() -> None:
    """The other one passed a gate for the key as well, by a limit of its queue, and had not to be alone."""
    beside = running(policy="standard")
    holder = running()
    [second] = waiting()
    assert finish(connection, [ended(beside, result='"fine"', log="said")], STRAIGHT) == {beside.id}
    assert Job.objects.get(pk=holder.id).state == "running"
    assert hold_of(second) == "new"
    assert JobRun.objects.get().result == "fine"  # nothing is wrong with the report
    assert JobAttempt.objects.get().log_excerpt == "said"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_sessions_that_end_jobs_of_different_keys_do_not_meet() -> None:
    jobs = {key: running(key) for key in "kl"}
    followers = {key: waiting(2, key) for key in "kl"}
    with sessions(2) as (one, other):
        for session, key in ((one, "k"), (other, "l")):
            session.begin()
            session.do(end, jobs[key])  # neither waits for the other
        one.commit()
        other.commit()
    for first, second in followers.values():
        assert [hold_of(first), hold_of(second)] == ["", "key"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_job_that_comes_while_a_key_is_handed_over_waits_for_it() -> None:
    job = running()
    [second] = waiting()
    with sessions(2) as (ender, looker):
        ender.begin()
        ender.do(end, job)
        [late] = stored(**KEYED, key="k", priority=9)
        look = looker.start(admit_all, TYPES)
        looker.until_blocked_or_done(look)
        ender.commit()
        look.result(30)
    admit_all(TYPES)
    assert [hold_of(second), hold_of(late)] == ["", "key"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(4))
def test_at_most_one_job_has_each_key_in_whatever_order_they_end(seed: int) -> None:
    random = Random(seed)
    kinds = [{"job_type": name, "key": key, "priority": random.choice([0, 5])} for name in TYPES for key in "klmn"]
    ids = [stored(**KEYED, **random.choice(kinds))[0] for _ in range(40)]
    in_hand: list[Any] = []
    while JobRun.objects.count() < len(ids):
        if not in_hand or random.random() < 0.3:
            admit_all(TYPES)
        in_hand += take(random.randint(1, 3), job_types=TYPES)
        assert set(owners().values()) <= {1}
        random.shuffle(in_hand)
        leaving, in_hand = in_hand[:2], in_hand[2:]
        end(*leaving, straight=Straight(["default work", *random.choice([[], ["default other"]])]))
        assert set(owners().values()) <= {1}
    assert set(JobRun.objects.values_list("id", flat=True)) == set(ids)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_at_most_one_job_has_each_key_while_several_sessions_end_them_and_look() -> None:
    ids = [stored(**KEYED, key=key)[0] for _ in range(15) for key in "klmn"]
    admit_all(TYPES)

    def work() -> int:
        """Until everything has ended; how many at most had one key."""
        most = 0
        while Job.objects.exists():
            admit_all(TYPES)
            jobs = take(2, job_types=TYPES)
            most = max([most, *owners().values()])
            end(*jobs)
        return most

    with sessions(3) as workers:
        assert [future.result(60) for future in [worker.start(work) for worker in workers]] == [1] * 3
    assert set(JobRun.objects.values_list("id", flat=True)) == set(ids)
