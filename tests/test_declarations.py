"""From `@job(...)` to a job type: what was given, then the preset, then the settings; and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from jobs_app import Backoff, job
from jobs_app.declarations import declare
from jobs_app.errors import DefinitionInvalid
from jobs_app.presets import LEASE, PAYMENTS, RATE, TRANSIENT
from jobs_app.registry import JobType
from jobs_app.timetable import Timetable


def report(account: str = "main", pages: int = 1) -> None:
    """Write the report."""


def declared(**options: Any) -> JobType:
    return declare(report, options)


@pytest.mark.spec("S2.3")
def test_a_bare_function_gets_every_default_from_the_settings(settings: Any) -> None:
    settings.JOBS = {"DEFAULT_QUEUE": "slow", "MAX_ATTEMPTS": 7, "BACKOFF_BASE_SECONDS": 5, "BACKOFF_MAX_SECONDS": 50}
    found = declared()
    assert (found.name, found.label, found.queue, found.priority) == ("report", "Report", "slow", 0)
    assert (found.max_attempts, found.backoff) == (7, Backoff(base=5, cap=50))
    assert (found.policy, found.key, found.subject, found.timeout) == ("standard", None, None, None)
    assert found.function is report
    assert found.description == "Write the report."
    assert [field.name for field in found.schema.fields] == ["account", "pages"]


@pytest.mark.spec("S2.4")
def test_what_is_given_is_kept() -> None:
    found = declared(
        name="send-report",
        label="Reports",
        enabled=False,
        queue="mail",
        priority=5,
        max_attempts=4,
        backoff=Backoff(base=60),
        timeout="4m",
        lease=90,
        concurrency=3,
        rate="10/minute",
        retry_on=OSError,
        fail_on=(KeyError,),
        retry_unknown=False,
        retry_timeouts=True,
        retention="30d",
        keep_last=7,
        meta={"team": "billing"},
        isolation="process",
        memory="512MB",
        permission="billing.run_reports",
        every=timedelta(minutes=15),
    )
    assert (found.name, found.label, found.is_enabled, found.queue, found.priority) == (
        "send-report",
        "Reports",
        False,
        "mail",
        5,
    )
    assert (found.max_attempts, found.backoff, found.timeout, found.lease) == (4, Backoff(base=60), 240, 90)
    assert (found.concurrency, found.rate, found.keep_last) == (3, (10, 60), 7)
    assert found.retention == dict.fromkeys(["succeeded", "failed", "cancelled"], timedelta(days=30))
    assert (found.retry_on, found.fail_on) == ((OSError,), (KeyError,))
    assert (found.retry_unknown, found.retry_timeouts) == (False, True)
    assert (found.isolation, found.memory, found.permission) == ("process", 512 * 1024**2, "billing.run_reports")
    assert (found.meta, str(found.schedule.timetable)) == ({"team": "billing"}, "every 15m")


def test_a_label_is_made_of_the_name() -> None:
    assert declared(name="send-welcome_email.v2").label == "Send welcome email v2"


@pytest.mark.spec("S2.4")
def test_enabled_may_be_asked_each_time() -> None:
    answers = iter([True, False])
    found = declared(enabled=lambda: next(answers))
    assert [found.is_enabled, found.is_enabled] == [True, False]


def test_a_preset_fills_what_was_not_given(settings: Any) -> None:
    settings.JOBS = {"MAX_ATTEMPTS": 9}
    found = declared(preset="transient", max_attempts=2)
    assert (found.preset, found.max_attempts) == (TRANSIENT, 2)
    assert (found.backoff, found.timeout) == (TRANSIENT.backoff, TRANSIENT.timeout)
    assert (found.retry_unknown, found.retry_timeouts) == (False, False)
    assert declared(preset=LEASE).max_attempts == LEASE.max_attempts == 5


@pytest.mark.spec("S3.10")
def test_timeouts_are_read_in_every_form() -> None:
    found = declared(variant="account", timeouts={"north": "10m", "south": timedelta(hours=2)}, max_timeout="20m")
    assert (found.variant, found.timeouts, found.max_timeout) == ("account", {"north": 600, "south": 7200}, 1200)
    assert (declared().timeouts, declared().max_timeout) == ({}, None)
    assert (declared(preset="transient").timeout, declared(preset="transient").max_timeout) == (240, 1200)


@pytest.mark.parametrize("options", [{"timeouts": {"north": 60}}, {"variant": "account"}])
def test_timeouts_need_a_variant_and_a_variant_timeouts(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionInvalid, match=r"Give both of them"):
        declared(**options)


def test_a_timeout_above_its_own_maximum_is_refused() -> None:
    with pytest.raises(DefinitionInvalid, match=r"timeout= is 1800 s, and max_timeout= allows 1200 s"):
        declared(preset="transient", timeout="30m")
    assert declared(preset="transient", timeout="30m", max_timeout=None).timeout == 1800
    assert callable(declared(preset="transient", timeout=lambda payload: 1800).timeout)


def test_none_wins_over_a_preset() -> None:
    assert declared(preset="transient", timeout=None).timeout is None


def test_a_preset_policy_holds_for_types_that_have_a_key() -> None:
    assert declared(preset="payments").policy == "standard"
    assert declared(preset="payments", subject="account").policy == PAYMENTS.policy == "exclusive"
    assert declared(preset="rate", key="account").policy == RATE.policy == "singleton"
    assert declared(preset="rate", subject="account", policy="short").policy == "short"


def test_an_unknown_preset_names_the_nearest_one() -> None:
    with pytest.raises(DefinitionInvalid, match=r"there is no preset 'payment'. Did you mean 'payments'"):
        declared(preset="payment")


@pytest.mark.parametrize("policy", ["singleton", "exclusive"])
def test_a_shorthand_sets_policy_and_key(policy: str) -> None:
    def by_account(payload: dict[str, Any]) -> str:
        return str(payload["account"])

    assert (declared(**{policy: True}).policy, declared(**{policy: True}).key) == (policy, None)
    assert (declared(**{policy: "account"}).policy, declared(**{policy: "account"}).key) == (policy, "account")
    assert declared(**{policy: by_account}).key is by_account
    assert (declared(**{policy: False}).policy, declared(**{policy: False}).key) == ("standard", None)
    assert declared(**{policy: True}, key="account").key == "account"


@pytest.mark.parametrize(
    "options",
    [
        {"singleton": True, "exclusive": True},
        {"singleton": True, "policy": "short"},
        {"exclusive": "account", "key": "pages"},
    ],
)
def test_two_policies_or_two_keys_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionInvalid, match="Give one of"):
        declared(**options)


@pytest.mark.parametrize("option", ["subject", "key", "singleton", "variant"])
def test_a_field_that_the_payload_does_not_have_is_refused(option: str) -> None:
    with pytest.raises(DefinitionInvalid, match=r"='acount' is no payload field. Did you mean 'account'"):
        declared(**{option: "acount"})


def test_any_field_may_be_the_subject_of_an_open_payload() -> None:
    def open_report(**rest: str) -> None: ...

    assert declare(open_report, {"subject": "account"}).subject == "account"


def test_a_function_whose_name_cannot_be_stored_needs_another_name() -> None:
    def _hidden() -> None: ...

    with pytest.raises(DefinitionInvalid, match=r"the name '_hidden' cannot be used: .* Give name="):
        declare(_hidden, {})
    assert declare(_hidden, {"name": "hidden"}).name == "hidden"


def test_the_queue_of_the_apps_own_chores_is_no_hosts() -> None:
    with pytest.raises(DefinitionInvalid, match=r"the queue jobs\.system is for the app's own chores.*another queue="):

        @job(queue="jobs.system")
        def work() -> None: ...


def test_a_default_queue_that_cannot_be_stored_is_refused(settings: Any) -> None:
    settings.JOBS = {"DEFAULT_QUEUE": "my queue"}
    with pytest.raises(DefinitionInvalid, match=r"the queue 'my queue' cannot be used"):
        declared()


def test_an_async_function_is_known_as_one_and_cannot_be_atomic() -> None:
    async def fetch() -> None: ...

    assert declare(fetch, {}).is_async
    assert not declared().is_async
    with pytest.raises(DefinitionInvalid, match="atomic=True needs a plain function"):
        declare(fetch, {"atomic": True})


def test_meta_must_be_storable() -> None:
    with pytest.raises(DefinitionInvalid, match="meta"):
        declared(meta={"a": object()})


@pytest.mark.spec("S2.R2")
def test_a_schedule_needs_a_job_that_takes_an_empty_payload() -> None:
    def needs_account(account: str) -> None: ...

    assert declared(every="15m").schedule.timetable == Timetable(every=900)
    assert declare(needs_account, {"every": "15m", "payload": {"account": "a"}}).schedule.payload == {"account": "a"}
    with pytest.raises(DefinitionInvalid, match=r"enqueues it with an empty payload.*account.*Give payload=, or def"):
        declare(needs_account, {"every": "15m"})
    with pytest.raises(DefinitionInvalid, match=r"payload= does not fit.*account"):
        declare(needs_account, {"every": "15m", "payload": {"acount": "a"}})


def test_the_context_is_no_payload_field() -> None:
    def with_context(context: Any, account: str) -> None: ...

    found = declare(with_context, {"takes_context": True})
    assert found.takes_context
    assert [field.name for field in found.schema.fields] == ["account"]


@pytest.mark.spec("S2.3")
def test_an_explicit_schema_takes_the_place_of_the_signature() -> None:
    @dataclass
    class Order:
        number: int

    @job(schema=Order)
    def ship(number: Any) -> None: ...

    assert [(field.name, field.required) for field in ship.job_type.schema.fields] == [("number", True)]


def test_what_needs_or_cannot_have_a_process_of_its_own_is_refused() -> None:
    assert declared(isolation="process", memory="1GB").memory == 1024**3
    with pytest.raises(DefinitionInvalid, match="atomic=True needs isolation='thread'"):
        declared(isolation="process", atomic=True)
    with pytest.raises(DefinitionInvalid, match="memory= needs isolation='process'"):
        declared(memory="1GB")


def test_what_runs_elsewhere_has_neither_a_transaction_nor_a_process_here() -> None:
    assert declared(remote=True).remote
    assert not declared().remote
    for options in ({"atomic": True}, {"isolation": "process"}):
        with pytest.raises(DefinitionInvalid, match="remote=True runs elsewhere"):
            declared(remote=True, **options)


def test_a_target_is_a_field_or_a_callable_and_a_sink_a_function() -> None:
    assert declared(sink=len).sink is len
    assert declared(target=len).target is len
    with pytest.raises(DefinitionInvalid, match="target='wantd' is no payload field"):
        declared(target="wantd")
    with pytest.raises(DefinitionInvalid, match="use a function"):
        declared(sink="shop.leads.store")
