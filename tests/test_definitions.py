"""`@job` and what is enqueued with it: checked first, then stored by one statement."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

import jobs_app
from jobs_app import job, trigger
from jobs_app.errors import DefinitionInvalid, JobDisabled, OptionInvalid, PayloadInvalid, UnknownJobType
from jobs_app.models import Job
from jobs_app.registry import registry

Assert = Callable[[int], Any]
LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture
def report() -> Any:
    @job(name="send-report", queue="mail", priority=5, max_attempts=4, meta={"team": "billing"})
    def report(account: str, day: date | None = None, pages: int = 1) -> str:
        """Write the report."""
        return f"{account}: {pages}"

    return report


def test_a_job_is_still_the_plain_function(report: Any) -> None:
    assert report("main", pages=3) == "main: 3"
    assert report.__doc__ == "Write the report."
    assert report.__name__ == "report"
    assert list(inspect.signature(report).parameters) == ["account", "day", "pages"]
    assert repr(report) == "<job send-report>"


@pytest.mark.spec("S2.3")
def test_job_works_bare_and_with_options() -> None:
    @job
    def bare() -> None: ...

    @job(queue="mail")
    def with_options() -> None: ...

    assert (bare.name, bare.job_type.queue) == ("bare", "default")
    assert (with_options.name, with_options.job_type.queue) == ("with_options", "mail")
    assert registry.get("bare") is bare.job_type


def test_an_async_job_is_still_a_coroutine_function() -> None:
    @job
    async def fetch(number: int) -> int:
        return number + 1

    assert asyncio.run(fetch(1)) == 2


@pytest.mark.parametrize("wrong", ["send-report", 7, object()])
def test_only_a_function_can_be_a_job(wrong: Any) -> None:
    with pytest.raises(DefinitionInvalid, match=r"@job stands above a function.*@job\(name=\.\.\.\)"):
        job(wrong)


def test_an_unknown_option_is_answered_with_a_hint() -> None:
    with pytest.raises(DefinitionInvalid, match=r"@job on .*late: there is no option 'quue'\. Did you mean 'queue'\?"):

        @job(quue="mail")  # type: ignore[call-overload, untyped-decorator]
        def late() -> None: ...


@pytest.mark.django_db
@pytest.mark.spec("S2.8", "S3.1")
def test_an_enqueue_is_one_statement_and_needs_no_other_to_tell_about_the_run(
    report: Any, django_assert_num_queries: Assert
) -> None:
    with django_assert_num_queries(1):
        run = report.enqueue(account="main", day=date(2026, 1, 2))
        assert isinstance(run.id, UUID)
        assert (run.job_type, run.status, run.attempts, run.created) == ("send-report", "queued", 0, True)
        assert run.payload == {"account": "main", "day": "2026-01-02"}
    stored = Job.objects.get(pk=run.id)
    assert (stored.state, stored.queue, stored.priority, stored.max_attempts) == ("queued", "mail", 5, 4)
    assert (stored.payload, stored.meta) == (run.payload, {"team": "billing"})
    assert (stored.queued_at, stored.run_at) == (run.queued_at, run.run_at)


@pytest.mark.django_db
@pytest.mark.spec("S2.R1")
def test_options_of_the_call_win_over_those_of_the_type(report: Any) -> None:
    expires_at = LATER + timedelta(days=1)
    run = report.options(
        run_at=LATER,
        priority=-7,
        queue="slow",
        key="k",
        subject="s",
        expires_at=expires_at,
        meta={"ticket": 7},
        max_attempts=2,
        actor="ada",
        parent=UUID(int=9),
    ).enqueue(account="main")
    stored = Job.objects.get(pk=run.id)
    assert (stored.run_at, stored.expires_at, run.status) == (LATER, expires_at, "scheduled")
    assert (stored.priority, stored.queue, stored.key, stored.subject) == (-7, "slow", "k", "s")
    assert (stored.max_attempts, stored.actor, stored.parent) == (2, "ada", UUID(int=9))
    assert stored.meta == {"team": "billing", "ticket": 7}


@pytest.mark.django_db
def test_options_add_up_and_leave_the_job_itself_as_it_was(report: Any) -> None:
    urgent = report.options(priority=9)
    both = urgent.options(delay="1h")
    run = both.enqueue(account="main")
    assert run.run_at - run.queued_at == timedelta(hours=1)
    assert Job.objects.get(pk=run.id).priority == 9
    assert Job.objects.get(pk=report.enqueue(account="main").id).priority == 5
    assert both("main") == "main: 1"


def test_an_unknown_enqueue_option_is_answered_with_a_hint(report: Any) -> None:
    with pytest.raises(OptionInvalid, match=r"job 'send-report': there is no option 'dely'\. Did you mean 'delay'\?"):
        report.options(dely=5)


def test_meta_that_cannot_be_stored_is_refused(report: Any) -> None:
    with pytest.raises(OptionInvalid, match="meta"):
        report.options(meta={"a": float("nan")})


@pytest.mark.django_db
@pytest.mark.spec("S2.R1")
@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({}, "account"),
        ({"account": 7}, "account"),
        ({"account": "main", "pages": "3"}, "pages"),
        ({"account": "main", "page": 3}, "page"),
        ({"account": "main", "day": "tomorrow"}, "day"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_and_nothing_is_stored(
    report: Any, payload: dict[str, Any], named: str, django_assert_num_queries: Assert
) -> None:
    for act in (lambda: report.enqueue(**payload), lambda: trigger("send-report", payload)):
        with django_assert_num_queries(0), pytest.raises(PayloadInvalid, match="job 'send-report': ") as caught:
            act()
        assert list(caught.value.errors) == [named]
    assert not Job.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("value", [float("nan"), "a\x00b", "\ud800", object(), {1: 2}])
def test_a_value_that_no_database_can_hold_is_refused(value: Any) -> None:
    @job
    def keep(value: Any) -> None: ...

    with pytest.raises(PayloadInvalid):
        keep.enqueue(value=value)
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_a_payload_over_the_limit_is_refused(settings: Any, report: Any) -> None:
    settings.JOBS = {"MAX_PAYLOAD_BYTES": 100}
    report.enqueue(account="x" * 50)
    with pytest.raises(PayloadInvalid, match="100"):
        report.enqueue(account="x" * 100)
    assert Job.objects.count() == 1


def test_a_payload_goes_by_name(report: Any) -> None:
    with pytest.raises(PayloadInvalid, match=r"takes its payload by name: enqueue\(field=value"):
        report.enqueue("main")


@pytest.mark.django_db
@pytest.mark.spec("S2.4")
def test_a_disabled_job_is_not_enqueued(django_assert_num_queries: Assert) -> None:
    @job(enabled=lambda: False)
    def off() -> None: ...

    for act in (off.enqueue, lambda: off.enqueue_many([{}]), lambda: trigger("off", {})):
        with django_assert_num_queries(0), pytest.raises(JobDisabled, match="'off' is switched off by its enabled="):
            act()


@pytest.mark.django_db
@pytest.mark.spec("S2.8", "S2.34")
def test_a_trigger_enqueues_by_name(report: Any, django_assert_num_queries: Assert) -> None:
    with django_assert_num_queries(1):
        run = trigger("send-report", {"account": "main", "day": "2026-01-02"}, delay="5m", queue="slow")
    stored = Job.objects.get(pk=run.id)
    assert (stored.actor, stored.queue, stored.payload) == ("", "slow", {"account": "main", "day": "2026-01-02"})
    assert run.status == "scheduled"


@pytest.mark.spec("S2.R1")
def test_a_trigger_of_an_unknown_name_is_refused(report: Any) -> None:
    with pytest.raises(UnknownJobType, match=r"'send-reprt' is not registered\. Did you mean 'send-report'\?"):
        trigger("send-reprt", {})


def test_a_trigger_takes_only_a_mapping(report: Any) -> None:
    with pytest.raises(PayloadInvalid, match="mapping"):
        trigger("send-report", [1])  # type: ignore[arg-type]


@pytest.mark.django_db
def test_a_trigger_may_leave_an_empty_payload_out() -> None:
    @job
    def tidy() -> None: ...

    assert trigger("tidy").payload == {}


@pytest.mark.django_db
def test_subject_and_key_come_from_the_payload() -> None:
    @job(subject="account", key=lambda payload: f"{payload['account']}/{payload['day']}")
    def sync(account: int, day: date) -> None: ...

    stored = Job.objects.get(pk=sync.enqueue(account=7, day=date(2026, 1, 2)).id)
    assert (stored.subject, stored.key) == ("7", "7/2026-01-02")


@pytest.mark.django_db
def test_a_subject_left_out_is_the_default_of_its_field() -> None:
    @job(subject="account")
    def sync(account: str = "main", day: date | None = None) -> None: ...

    @job(subject="day")
    def sync_day(day: date | None = None) -> None: ...

    assert Job.objects.get(pk=sync.enqueue().id).subject == "main"
    assert Job.objects.get(pk=sync_day.enqueue().id).subject == ""


@pytest.mark.django_db
def test_an_empty_value_is_no_key() -> None:
    @job(key="account")
    def sync(account: str) -> None: ...

    assert Job.objects.get(pk=sync.enqueue(account="").id).key is None


@pytest.mark.django_db
def test_an_empty_subject_of_the_call_wins() -> None:
    @job(subject="account")
    def sync(account: str) -> None: ...

    assert Job.objects.get(pk=sync.options(subject="").enqueue(account="main").id).subject == ""


def test_a_subject_that_cannot_be_stored_is_refused() -> None:
    @job(subject="account")
    def sync(account: str) -> None: ...

    with pytest.raises(PayloadInvalid, match=r"its subject .* cannot be used: use text of 0 to 200"):
        sync.enqueue(account="x" * 201)


@pytest.mark.django_db
def test_the_key_of_a_policy_is_the_subject_and_else_the_job_itself() -> None:
    @job(singleton=True, subject="account")
    def sync(account: str = "") -> None: ...

    @job(exclusive=True)
    def reconcile() -> None: ...

    @job
    def plain() -> None: ...

    def policy_and_key(run: Any) -> tuple[str, str | None]:
        stored = Job.objects.get(pk=run.id)
        return stored.policy, stored.key

    assert policy_and_key(sync.enqueue(account="main")) == ("singleton", "main")
    assert policy_and_key(sync.enqueue()) == ("singleton", "sync")
    assert policy_and_key(sync.options(key="k").enqueue(account="main")) == ("singleton", "k")
    assert policy_and_key(reconcile.enqueue()) == ("exclusive", "reconcile")
    assert policy_and_key(plain.enqueue()) == ("standard", None)


def test_every_public_name_is_there() -> None:
    for name in jobs_app.__all__:
        assert getattr(jobs_app, name) is not None
    assert set(jobs_app.__all__) <= set(dir(jobs_app))
    with pytest.raises(AttributeError, match="has no attribute 'jop'"):
        jobs_app.jop  # noqa: B018
