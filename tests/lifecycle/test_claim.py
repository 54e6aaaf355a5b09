"""queued -> running: who gets what, in which order, and that nobody gets it twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.heartbeat import Progress, save_progress
from jobs_app.lifecycle.lanes import Start
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Hold, Job, JobRun
from tests.lifecycle.rows import T, all_lanes, at, attempts_of, done, ended, new_job, stored, tables, take, taken_ids
from tests.lifecycle.sessions import sessions

PLANNER = ["nestloop", "indexscan", "indexonlyscan", "tidscan", "material", "memoize", "hashagg", "gathermerge"]


@pytest.mark.django_db
@pytest.mark.spec("S1.2", "S1.7", "S2.10")
def test_a_claim_sets_state_attempt_token_and_lease_in_one_step() -> None:
    with at(0):
        [run_id] = stored()
    before = Job.objects.values().get()
    token = uuid4()
    with at(60):
        [claimed] = take(worker_id="host-1-abc", token=token, lease=30)
    changed = {name: value for name, value in Job.objects.values().get().items() if value != before[name]}
    moment = T + timedelta(seconds=60)
    assert changed == {
        "state": "running",
        "worker_id": "host-1-abc",
        "token": token,
        "attempts": 1,
        "started_at": moment,
        "first_started_at": moment,
        "lease_expires_at": moment + timedelta(seconds=30),
    }
    assert (claimed.id, claimed.token, claimed.attempts, claimed.started_at) == (run_id, token, 1, moment)


@pytest.mark.django_db
def test_a_worker_learns_everything_it_needs_from_the_claim() -> None:
    parent = uuid4()
    with at(0):
        enqueue(
            [
                new_job(
                    subject="s", key="k", meta='{"a": 1}', actor="ada", parent=parent, slot_at=T, payload='{"x": [1]}'
                )
            ]
        )
    Job.objects.update(cursor="page-3", progress_count=3, result_count=2, target_count=9, free_attempts=0)
    with at(1):
        [job] = take()
    assert isinstance(job, ClaimedJob)
    assert job.payload.replace(" ", "") == '{"x":[1]}'
    assert job.meta.replace(" ", "") == '{"a":1}'
    assert (job.subject, job.key, job.actor, job.parent, job.slot_at) == ("s", "k", "ada", parent, T)
    assert (job.cursor, job.progress_count, job.result_count, job.target_count) == ("page-3", 3, 2, 9)
    assert (job.queued_at, job.run_at, job.started_at) == (T, T, T + timedelta(seconds=1))


@pytest.mark.django_db
@pytest.mark.spec("S2.12")
def test_the_first_start_stays_when_a_later_attempt_starts() -> None:
    with at(0):
        [run_id] = stored()
    with at(10):
        [job] = take()
    with at(20):
        assert done(job, "queued")
        [job] = take()
    assert done(job)
    run = JobRun.objects.get(pk=run_id)
    assert run.first_started_at == T + timedelta(seconds=10)
    assert run.started_at == T + timedelta(seconds=20)


@pytest.mark.django_db
@pytest.mark.spec("S2.2", "S4.6")
def test_the_order_is_priority_then_due_time_then_id() -> None:
    with at(0):
        late, early = stored(delay=2) + stored(delay=1)
        first, second, third = stored(3)
        urgent = stored(priority=100, delay=3)
        lazy = stored(priority=-100)
    with at(5):
        assert taken_ids(10) == [*urgent, first, second, third, early, late, *lazy]


@pytest.mark.django_db
def test_a_short_batch_is_the_front_of_the_order() -> None:
    ids = stored(7)
    assert [taken_ids(3) for _ in range(4)] == [ids[:3], ids[3:6], ids[6:], []]


@pytest.mark.django_db
@pytest.mark.spec("S1.24", "S4.6", "S4.12")
def test_only_what_is_due_is_claimed() -> None:
    with at(0):
        [due], [later] = stored(), stored(delay=10)
    with at(9.999):
        assert taken_ids() == [due]
    with at(10):
        assert taken_ids() == [later]


@pytest.mark.parametrize("hold", [Hold.KEY, Hold.PAUSE])
@pytest.mark.django_db
def test_what_is_held_is_not_claimed(hold: str) -> None:
    [held], [free] = stored(), stored()
    Job.objects.filter(pk=held).update(hold=hold)
    assert taken_ids() == [free]
    Job.objects.update(hold=Hold.OPEN)
    assert taken_ids() == [held]


@pytest.mark.django_db
@pytest.mark.spec("S2.9")
def test_a_worker_claims_only_types_it_knows_and_the_others_stay_unspent() -> None:
    unknown = stored(3, job_type="of-the-next-release")
    known = stored(2)
    assert taken_ids(2) == known
    assert take(2) == []
    assert take(job_types=[]) == []
    waiting = Job.objects.filter(state="queued")
    assert {(job.id, job.attempts) for job in waiting} == {(run_id, 0) for run_id in unknown}


@pytest.mark.django_db
def test_what_expired_before_it_could_start_is_not_claimed() -> None:
    with at(0):
        [soon], [_never] = stored(expires_at=T + timedelta(seconds=10)), stored()
    with at(10):
        assert soon not in taken_ids()
    with at(0):
        [in_time] = stored(expires_at=T + timedelta(seconds=10))
    with at(9.999):
        assert in_time in taken_ids()


@pytest.mark.django_db
def test_only_the_lanes_asked_for_are_read() -> None:
    mail, other = stored(queue="mail"), stored(queue="other")
    assert taken_ids(starts=[Start("mail", 0)]) == mail
    assert taken_ids(starts=[Start("mail", 0), Start("other", 5)]) == []
    assert taken_ids(starts=[]) == []
    assert taken_ids(starts=[Start("other", 0)]) == other


@pytest.mark.django_db
def test_lanes_are_emptied_in_the_order_given() -> None:
    low, high, other = stored(3), stored(3, priority=5), stored(3, queue="other")
    starts = [Start("other", 0), Start("default", 5), Start("default", 0)]
    assert taken_ids(4, starts=starts) == [*other, high[0]]
    assert taken_ids(4, starts=starts) == [*high[1:], *low[:2]]


@pytest.mark.django_db
def test_a_type_may_have_a_lease_of_its_own() -> None:
    with at(0):
        stored(job_type="short"), stored(job_type="long"), stored(job_type="plain")
        take(job_types=["short", "long", "plain"], lease=30, leases={"short": 5, "long": 600.5, "absent": 1})
    leases = {job.job_type: (job.lease_expires_at - T).total_seconds() for job in Job.objects.all()}
    assert leases == {"short": 5, "long": 600.5, "plain": 30}


@pytest.mark.django_db
@pytest.mark.spec("S1.3", "S1.8", "S1.9", "S1.24", "S2.32", "A1.4")
def test_while_a_lease_is_valid_nobody_else_can_claim_and_after_it_anybody_can() -> None:
    with at(0):
        stored()
        [first] = take(lease=180, worker_id="silent")
    save_progress(connection, [Progress(first.id, first.token, "page-7", 7, 5, None, "")])
    with at(179):
        recover(connection)
        assert take(worker_id="other") == []
    with at(181):
        recover(connection)
        [second] = take(worker_id="other")
    assert (second.id, second.attempts, second.cursor) == (first.id, 2, "page-7")
    assert second.token != first.token
    before = tables()
    with at(182):
        assert not done(first)
        assert not done(first, "queued", error="late")
    assert tables() == before


@pytest.mark.django_db
def test_claimed_ahead_is_never_what_has_a_single_attempt() -> None:
    [single], [plain] = stored(max_attempts=1), stored()
    assert taken_ids(retryable_only=True) == [plain]
    assert taken_ids() == [single]


@pytest.mark.django_db
@pytest.mark.spec("S1.21", "A1.2")
def test_attempts_never_repeat_a_number_whatever_happened_between() -> None:
    [run_id] = stored(max_attempts=10)
    numbers = []
    for free in (False, True, False):
        [job] = take()
        numbers.append((job.attempts, job.counted_attempts))
        assert done(job, "queued", free=free)
    [job] = take()
    assert [*numbers, (job.attempts, job.counted_attempts)] == [(1, 1), (2, 2), (3, 2), (4, 3)]
    assert [attempt.number for attempt in attempts_of(run_id)] == [1, 2, 3]


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("A1.5", "S2.23")
def test_of_two_claims_at_once_one_gets_the_job() -> None:
    [run_id] = stored()
    with sessions(2) as [one, other]:
        one.begin()
        first = one.do(taken_ids)
        second = other.start(taken_ids)
        other.until_blocked_or_done(second)
        one.commit()
        assert (first, second.result(timeout=60)) == ([run_id], [])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_claim_passes_rows_that_another_session_has_locked() -> None:
    ids = stored(4)
    with sessions(1) as [other]:
        other.begin()
        assert other.do(taken_ids, 2) == ids[:2]
        assert taken_ids(10) == ids[2:]
        other.rollback()
    assert taken_ids(10) == ids[:2]


@pytest.mark.parametrize("off", [*([node] for node in PLANNER), PLANNER[:4], PLANNER])
@pytest.mark.django_db
@pytest.mark.usefixtures("on_postgres")
def test_no_plan_makes_a_claim_take_more_than_its_limit(off: list[str]) -> None:
    ids = stored(40, priority=3) + stored(40)
    with connection.cursor() as cursor:
        for node in off:
            cursor.execute(f"SET LOCAL enable_{node} = off")
    assert [taken_ids(7) for _ in range(3)] == [ids[:7], ids[7:14], ids[14:21]]
    assert Job.objects.filter(state="running").count() == 21


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S4.25")
def test_claimers_at_once_share_the_jobs_and_keep_their_limits() -> None:
    ids = stored(300, priority=1) + stored(300)

    def work_off() -> list[list[UUID]]:
        batches = []
        while jobs := take(7):
            batches.append([job.id for job in jobs])
            finish(connection, [ended(job) for job in jobs])
        return batches

    with sessions(6) as claimers:
        results = [future.result(timeout=120) for future in [claimer.start(work_off) for claimer in claimers]]
    batches = [batch for result in results for batch in result]
    assert max(map(len, batches)) == 7
    assert sorted(run_id for batch in batches for run_id in batch) == sorted(ids)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_claim_that_loses_its_connection_says_so_as_django_does() -> None:
    stored()

    def cut_off() -> list[ClaimedJob]:
        starts = all_lanes()
        connection.connection.close()
        return take(starts=starts)

    with sessions(1) as [session], pytest.raises(OperationalError):
        session.do(cut_off)


@pytest.mark.django_db
@pytest.mark.usefixtures("on_postgres")
def test_the_clock_of_the_host_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:

    class NoClock:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"datetime.{name} was asked")

    monkeypatch.setattr("jobs_app.lifecycle.database.datetime", NoClock())
    stored()
    [job] = take()
    recover(connection)
    assert done(job, "queued", delay=60)
    assert take() == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgres")
def test_a_row_that_changed_since_the_claim_began_is_no_error_whatever_the_hosts_isolation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = stored(2)
    # The pin comes first in its transaction, and here it waits for another session, which changes a row meanwhile.
    monkeypatch.setattr("jobs_app.lifecycle.cursors.PIN_PLAN", "SELECT pg_advisory_xact_lock(4711)")
    with sessions(2) as [host, other]:
        host.do(execute, "SET default_transaction_isolation = 'repeatable read'")
        other.begin()
        other.do(execute, "SELECT pg_advisory_xact_lock(4711)")
        claiming = host.start(take)
        host.until_blocked(claiming)
        other.do(lambda: Job.objects.filter(id=first).update(hold=Hold.PAUSE))
        other.commit()
        assert [job.id for job in claiming.result(timeout=60)] == [second]


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
