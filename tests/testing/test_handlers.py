"""`run_job`: one handler, called as a worker would call it, and nothing stored."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from jobs_app import Snooze, current_job, job
from jobs_app.errors import NoCurrentJob, OptionInvalid, PayloadInvalid, UnknownJobType
from jobs_app.models import Job, JobRun
from jobs_app.testing import freeze_clock, run_job


def test_it_needs_no_database() -> None:
    @job
    def add(first: int, second: int = 1) -> int:
        return first + second

    assert run_job(add, {"first": 2}) == 3
    assert run_job("add", {"first": 2, "second": 5}) == 7


def test_the_payload_comes_to_the_handler_as_from_a_worker() -> None:
    @job
    def bill(day: date, amount: Decimal) -> Any:
        return day, amount

    assert run_job(bill, {"day": date(2026, 1, 2), "amount": "1.50"}) == (date(2026, 1, 2), Decimal("1.50"))
    with pytest.raises(PayloadInvalid, match="amount: is missing"):
        run_job(bill, {"day": date(2026, 1, 2)})


def test_the_handler_knows_its_job() -> None:
    @job(meta={"team": "billing"}, max_attempts=3, queue="mail")
    def tell() -> dict[str, Any]:
        me = current_job()
        me.log("here")
        me.progress(1, 2)
        me.check_timeout()
        return {
            "attempt": (me.attempt, me.max_attempts),
            "meta": dict(me.meta),
            "subject": me.subject,
            "queue": me.queue,
            "cursor": me.cursor,
            "actor": me.actor,
            "queued_at": me.queued_at,
        }

    moment = datetime(2030, 1, 1, tzinfo=UTC)
    with freeze_clock(moment):
        found = run_job(tell, attempt=3, cursor="p7", meta={"cost": 2}, subject="s1", actor="ada")

    assert found == {
        "attempt": (3, 3),
        "meta": {"team": "billing", "cost": 2},
        "subject": "s1",
        "queue": "mail",
        "cursor": "p7",
        "actor": "ada",
        "queued_at": moment,
    }
    with pytest.raises(NoCurrentJob):
        current_job()


def test_moments_come_in_utc_as_from_a_worker() -> None:
    @job
    def tell() -> datetime:
        return current_job().queued_at

    with freeze_clock(datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))):
        assert run_job(tell).isoformat() == "2030-01-01T00:00:00+00:00"


def test_options_that_a_definition_carries_are_kept() -> None:
    @job
    def tell() -> tuple[str, str]:
        return current_job().subject, current_job().queue

    assert run_job(tell.options(subject="s1", queue="slow"), subject="s2") == ("s2", "slow")


def test_the_context_comes_as_an_argument_where_it_is_taken() -> None:
    @job(takes_context=True)
    def tell(context: Any, name: str) -> str:
        return f"{name} {context.attempt}"

    assert run_job(tell, {"name": "Ada"}, attempt=2) == "Ada 2"


def test_a_result_that_was_set_counts_more() -> None:
    @job
    def tell() -> str:
        current_job().set_result("set")
        return "returned"

    assert run_job(tell) == "set"


def test_what_the_handler_raises_is_raised() -> None:
    @job
    def wait() -> None:
        raise Snooze(60)

    with pytest.raises(Snooze):
        run_job(wait)


def test_async_handlers() -> None:
    @job
    async def tell(name: str) -> str:
        return f"{name} {current_job().job_type}"

    assert run_job(tell, {"name": "Ada"}) == "Ada tell"


def test_what_is_wrong_is_said() -> None:
    @job
    def ping() -> None: ...

    with pytest.raises(UnknownJobType, match="Did you mean 'ping'"):
        run_job("pong")
    with pytest.raises(OptionInvalid, match="atempt"):
        run_job(ping, atempt=2)  # type: ignore[call-arg]


@pytest.mark.django_db
def test_nothing_is_stored_but_by_the_handler() -> None:
    @job(atomic=True)
    def write(name: str, fails: bool = False) -> bool:
        Group.objects.create(name=name)
        if fails:
            raise LookupError
        return bool(connection.in_atomic_block)

    assert run_job(write, {"name": "kept"})
    with pytest.raises(LookupError), transaction.atomic():
        run_job(write, {"name": "gone", "fails": True})

    assert list(Group.objects.values_list("name", flat=True)) == ["kept"]
    assert not Job.objects.exists()
    assert not JobRun.objects.exists()
