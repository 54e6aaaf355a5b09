"""What a job is about to be stored as: its key, its policy, its gate."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app import job
from jobs_app.definitions import JobDefinition
from jobs_app.drafts import Drafts
from jobs_app.errors import OptionInvalid, PayloadInvalid
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.options import read_enqueue


def defined(**options: Any) -> JobDefinition[..., Any]:
    @job(**{"name": "work"} | options)
    def work(provider: str = "", region: str = "eu") -> None: ...

    return work


def drafted(definition: JobDefinition[..., Any], payload: dict[str, Any] | None = None, **options: Any) -> NewJob:
    return Drafts(definition.job_type, read_enqueue(options, "work")).draft(payload or {})[0]


def test_a_plain_job_has_no_key_and_passes_no_gate() -> None:
    plain = drafted(defined())
    assert (plain.policy, plain.key, plain.gate) == ("standard", None, 0)


def test_the_key_is_the_subject_unless_the_type_or_the_caller_says_otherwise() -> None:
    of_subject = defined(subject="provider", policy="singleton")
    assert drafted(of_subject, {"provider": "f01"}).key == "f01"
    assert drafted(of_subject, {"provider": "f01"}, subject="f02").key == "f02"
    of_field = defined(subject="provider", policy="singleton", key="region")
    assert drafted(of_field, {"provider": "f01", "region": "us"}).key == "us"
    assert drafted(of_field, {"provider": "f01"}).key == "eu"  # the default of a field that is not given
    assert drafted(of_field, {"provider": "f01"}, key="mine").key == "mine"
    of_both = defined(key=lambda payload: f"{payload['provider']} {payload['region']}", exclusive=True)
    assert drafted(of_both, {"provider": "f01", "region": "us"}).key == "f01 us"


@pytest.mark.parametrize("options", [{"policy": "exclusive"}, {"throttle": 60}, {"debounce": 60}])
def test_without_a_subject_all_jobs_of_the_type_share_one_key(options: dict[str, Any]) -> None:
    assert drafted(defined(**options)).key == "work"
    assert drafted(defined(**options, key="provider"), {"provider": ""}).key == "work"


def test_a_key_that_is_too_long_is_refused() -> None:
    with pytest.raises(PayloadInvalid, match=r"its key 'x+' cannot be used"):
        drafted(defined(key="provider", policy="singleton"), {"provider": "x" * 201})


@pytest.mark.parametrize("option", ["subject", "key"])
def test_a_payload_that_the_types_own_callable_cannot_read_is_refused(option: str) -> None:
    definition = defined(**{option: lambda payload: payload["nation"]})
    with pytest.raises(PayloadInvalid, match=f"job 'work': its {option} cannot be told.*KeyError: 'nation'") as refusal:
        drafted(definition, {"provider": "f01"})
    assert isinstance(refusal.value.__cause__, KeyError)


def test_the_policy_is_the_types_own_or_that_of_the_queue(settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"calls": {"policy": "singleton"}}}
    assert drafted(defined(queue="calls")).policy == "singleton"
    assert drafted(defined(), queue="calls").policy == "singleton"
    assert drafted(defined(queue="calls", policy="short")).policy == "short"
    assert drafted(defined()).policy == "standard"


@pytest.mark.parametrize(
    ("policy", "debounced"),
    [("standard", "short"), ("short", "short"), ("singleton", "stately"), ("stately", "stately")],
)
def test_a_debounced_job_waits_alone_under_its_key(policy: str, debounced: str) -> None:
    draft = drafted(defined(policy=policy, debounce="5s"))
    assert (draft.policy, draft.delay) == (debounced, 5.0)
    assert Drafts(defined(debounce=5).job_type, {}).on_conflict == "replace"


def test_debounce_and_exclusive_exclude_each_other() -> None:
    with pytest.raises(OptionInvalid, match="Use policy='stately'"):
        drafted(defined(policy="exclusive"), debounce=5)


@pytest.mark.parametrize(
    ("of_type", "of_queue", "gate"),
    [
        ({}, {}, 0),
        ({"policy": "short"}, {}, 0),
        ({"policy": "singleton"}, {}, 2),
        ({"concurrency": 3}, {}, 1),
        ({"rate": "3/minute"}, {}, 1),
        ({"concurrency_per_key": 3}, {}, 2),
        ({"concurrency_per_process": 3}, {"concurrency_per_process": 3}, 0),
        ({}, {"concurrency": 3}, 1),
        ({}, {"fair_share": True}, 1),
        ({"concurrency": 3}, {"rate_per_key": "3/minute"}, 2),
        ({}, {"policy": "stately"}, 2),
    ],
)
def test_the_gate_is_what_type_and_queue_ask_for(
    settings: Any, of_type: dict[str, Any], of_queue: dict[str, Any], gate: int
) -> None:
    settings.JOBS = {"QUEUES": {"calls": of_queue}}
    assert drafted(defined(queue="calls", **of_type)).gate == gate


def test_the_apps_own_chores_pass_no_gate_but_that_of_their_key(settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"jobs.system": {"concurrency": 1}}}
    assert drafted(defined(name="jobs.own", queue="jobs.system", rate="1/hour")).gate == 0
    assert drafted(defined(name="jobs.own", queue="jobs.system", policy="singleton")).gate == 2


def test_the_queue_of_the_apps_own_chores_takes_no_other_jobs() -> None:
    with pytest.raises(OptionInvalid, match=r"the queue jobs\.system is for the app's own chores"):
        defined().options(queue="jobs.system")
