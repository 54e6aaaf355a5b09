"""However a run ends, the delivery to its webhooks is stored with that end, or neither of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.errors import LeaseLost
from jobs_app.lifecycle import control
from jobs_app.lifecycle.deliveries import QUEUE, WEBHOOK
from jobs_app.lifecycle.finish import finish, finish_within
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Gate, Job, JobRun
from jobs_app.testing import run_jobs
from tests.lifecycle.rows import T, at, done, ended, one_running, stored, tables, take

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "sixteen or more characters"


def webhook(name: str = "ops", **options: Any) -> dict[str, Any]:
    return {"name": name, "url": f"https://{name}.example/", "secret": SECRET} | options


@pytest.fixture
def configure(settings: Any) -> Callable[..., None]:
    def configure(*webhooks: dict[str, Any], **others: Any) -> None:
        settings.JOBS = {"WEBHOOKS": list(webhooks), **others}

    return configure


@pytest.fixture
def ops(configure: Callable[..., None]) -> None:
    configure(webhook())


def told() -> list[tuple[str, UUID]]:
    """Which webhook is to be told of which run."""
    payloads = Job.objects.filter(job_type=WEBHOOK).order_by("id").values_list("payload", flat=True)
    return [(payload["webhook"], UUID(payload["run"])) for payload in payloads]


def told_runs() -> set[UUID]:
    return {run for _, run in told()}


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_a_report_of_a_worker_leaves_a_delivery(ops: None, state: str) -> None:
    one = one_running(subject="tenant 7", payload='{"card": "4111"}')
    assert done(one, state)
    delivery = Job.objects.get()
    assert (delivery.job_type, delivery.queue, delivery.state, delivery.hold) == (WEBHOOK, QUEUE, "queued", "")
    assert (delivery.subject, delivery.max_attempts, delivery.policy) == ("webhook:ops", 10, "standard")
    assert delivery.payload == {"webhook": "ops", "run": str(one.id), "job_type": "work"}


def test_an_attempt_that_is_not_the_last_is_not_told(ops: None) -> None:
    assert done(one_running(), "queued", error="not yet")
    assert told() == []
    [again] = take()
    assert done(again)
    assert told() == [("ops", again.id)]


def test_a_job_that_failed_by_recovery(ops: None) -> None:
    with at(0):
        lost, given_back = one_running(max_attempts=1), one_running(max_attempts=2)
    with at(31):
        recover(connection)
    assert JobRun.objects.get().done_reason == "lost"
    assert told_runs() == {lost.id}
    assert Job.objects.filter(pk=given_back.id).exists()


def test_a_job_that_expired(ops: None) -> None:
    with at(-10):
        [late] = stored(expires_at=T)
    with at(1):
        recover(connection)
    assert JobRun.objects.get().done_reason == "expired"
    assert told_runs() == {late}


def test_a_job_that_an_operator_cancels_while_it_waits_and_while_it_runs(ops: None) -> None:
    running = one_running()
    [waiting] = stored()
    control.cancel([waiting, running.id], "ada")
    assert told_runs() == {waiting}
    assert done(running, "queued", error="stopped")
    assert JobRun.objects.get(pk=running.id).state == "cancelled"
    assert told_runs() == {waiting, running.id}


def test_a_job_that_an_operator_marks_failed(ops: None) -> None:
    lost, [waiting] = one_running(), stored()
    control.fail([lost.id, waiting], "ada", "it is gone")
    assert told_runs() == {lost.id, waiting}


def test_a_job_that_reconciliation_ends(ops: None) -> None:
    with at(0):
        lost = one_running(max_attempts=1)
    with at(60):
        control.reconcile("ada", apply=("expired",))
    assert JobRun.objects.get().state == "failed"
    assert told_runs() == {lost.id}


def test_a_job_that_gives_way_to_another_one_with_its_key(ops: None) -> None:
    first = one_running(policy="short", key="k")
    stored(policy="short", key="k")
    assert done(first, "queued", error="not yet", policy="short")
    assert JobRun.objects.get().done_reason == "superseded"
    assert told_runs() == {first.id}


def test_a_job_behind_a_key(ops: None) -> None:
    stored(2, policy="singleton", key="k", gate=Gate.KEY)
    Job.objects.filter(pk=Job.objects.order_by("id")[0].pk).update(hold="")
    [first] = take()
    assert done(first, gate=Gate.KEY)
    assert told_runs() == {first.id}


def test_an_atomic_job(ops: None) -> None:
    @job(atomic=True)
    def pay() -> None: ...

    run = pay.enqueue()
    run_jobs(job_types=pay)
    assert told() == [("ops", run.id)]


def test_a_batch_of_mixed_endings_is_told_in_one_go(configure: Callable[..., None]) -> None:
    configure(webhook("all"), webhook("alarm", states=["failed"]))
    stored(9)
    jobs = take(9)
    states = ["succeeded", "failed", "queued", "cancelled", "succeeded", "failed", "queued", "succeeded"]
    reports = [ended(one, state) for one, state in zip(jobs, states, strict=False)]
    reports.append(ended(jobs[8]._replace(token=uuid4()), "failed"))  # lost meanwhile: not its end to tell
    with CaptureQueriesContext(connection) as queries:
        assert finish(connection, reports) == {one.id for one in jobs[:8]}
    assert sum("INSERT INTO jobs_app_job " in query["sql"] for query in queries) == 1
    over = {one.id: state for one, state in zip(jobs, states, strict=False) if state != "queued"}
    assert {run for name, run in told() if name == "all"} == set(over)
    assert {run for name, run in told() if name == "alarm"} == {run for run, state in over.items() if state == "failed"}
    assert len(told()) == 8


def test_one_bad_row_is_told_once_as_the_others_are(ops: None) -> None:
    stored(5)
    jobs = take(5)
    reports = [ended(one) for one in jobs]
    reports[3] = ended(jobs[3], "failed", error="a\0b", result="NaN")
    assert finish(connection, reports) == {one.id for one in jobs}
    assert sorted(told()) == sorted(("ops", one.id) for one in jobs)


def test_job_types_and_queues_that_a_webhook_does_not_name_are_not_told(configure: Callable[..., None]) -> None:
    configure(webhook("money", job_types=["charge"], queues=["money"]), webhook("mail", queues=["mail"]))
    charge = one_running(job_type="charge", queue="money")
    assert finish(connection, [ended(charge), ended(one_running(queue="money")), ended(one_running())])
    assert told() == [("money", charge.id)]


def test_the_apps_own_jobs_are_not_told(ops: None, chores: Any) -> None:
    one = one_running(job_type=WEBHOOK, queue=QUEUE)
    assert done(one, "failed")
    assert done(one_running(job_type="jobs.prune", queue="jobs.system"))
    assert told() == []


def test_the_same_report_again_tells_nothing_again(ops: None) -> None:
    one = one_running()
    assert done(one)
    assert not done(one)
    assert told() == [("ops", one.id)]


def test_an_end_that_is_rolled_back_is_not_told(ops: None) -> None:
    one = one_running()
    before = tables()
    with transaction.atomic():
        finish(connection, [ended(one)])
        assert told() == [("ops", one.id)]
        transaction.set_rollback(True)
    assert tables() == before


def test_a_commit_that_never_came_leaves_neither_of_them(ops: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one = one_running()
    before = tables()

    def never() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(connection, "_commit", never)
    with pytest.raises(OperationalError):
        finish(connection, [ended(one)])
    monkeypatch.undo()
    connection.close()
    assert tables() == before
    assert done(one)
    assert told() == [("ops", one.id)]


def test_an_end_that_cannot_be_told_is_none(ops: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one = one_running()
    before = tables()

    def refuse(*given: Any) -> None:
        raise OperationalError("disk full")

    monkeypatch.setattr("jobs_app.lifecycle.announce.enqueue", refuse)
    with pytest.raises(OperationalError):
        done(one)
    assert tables() == before


def test_an_atomic_job_that_lost_its_lease_tells_nothing(ops: None) -> None:
    one = one_running()
    with pytest.raises(LeaseLost), transaction.atomic():
        finish_within(connection, ended(one._replace(token=uuid4())))
    assert told() == []


def test_small_payloads_and_the_policy_of_the_queue_cost_no_delivery(configure: Callable[..., None]) -> None:
    rules = {QUEUE: {"policy": "exclusive", "concurrency_per_key": 1}}
    configure(webhook(), MAX_PAYLOAD_BYTES=10, QUEUES=rules)
    stored(3)
    assert len(finish(connection, [ended(one) for one in take(3)])) == 3
    assert len(told()) == 3
    assert set(Job.objects.values_list("policy", "gate", "key")) == {("standard", Gate.KEY, "webhook:ops")}


def statements_of(act: Callable[[], Any]) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        act()
    return [query["sql"] for query in queries]


def reports_of(count: int, state: str = "succeeded") -> list[Any]:
    stored(count)
    return [ended(one, state, gate=Gate.NONE) for one in take(count)]


def test_where_no_webhook_is_named_a_batch_takes_no_statement_more(settings: Any, is_postgres: bool) -> None:
    reports = reports_of(20)
    # One message on PostgreSQL; on SQLite BEGIN, the attempts, the runs and the removal, COMMIT.
    assert len(statements_of(lambda: finish(connection, reports))) == (1 if is_postgres else 5)


def test_nor_where_none_may_want_it(configure: Callable[..., None], is_postgres: bool) -> None:
    configure(webhook(states=["failed"]))
    reports = reports_of(20)
    assert len(statements_of(lambda: finish(connection, reports))) == (1 if is_postgres else 5)
    failures = reports_of(20, "failed")
    statements = statements_of(lambda: finish(connection, failures))
    assert sum("INSERT INTO jobs_app_job " in sql for sql in statements) == 1
    assert len(told()) == 20


def test_one_that_wants_no_such_job_costs_a_look(configure: Callable[..., None]) -> None:
    configure(webhook(job_types=["other"]))
    reports = reports_of(20)
    statements = statements_of(lambda: finish(connection, reports))
    assert not any("INSERT INTO jobs_app_job " in sql for sql in statements)
    assert told() == []
