"""Where the rules of a queue come from."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.lifecycle.rules import NO_LIMITS, Rules, limits_of, read_rules
from jobs_app.limits import NO_RULES, Limits, QueueRules, Rate
from jobs_app.models import Job, QueueState
from jobs_app.registry import SYSTEM_QUEUE
from tests.lifecycle.rows import stored

pytestmark = pytest.mark.django_db

ROW = {
    "max_running": 5,
    "max_running_per_key": 4,
    "max_running_per_process": 3,
    "rate_count": 2,
    "rate_seconds": 60,
    "rate_per_key_count": 1,
    "rate_per_key_seconds": 30,
    "fair_share": True,
    "ageing_seconds": 90,
}


def test_a_queue_that_nobody_spoke_of_has_no_rules() -> None:
    assert read_rules(connection).of_queue("mail") == NO_RULES


def test_the_row_of_an_operator_replaces_the_limits_of_the_settings_and_not_the_policy(settings: Any) -> None:
    settings.JOBS = {"QUEUES": {"mail": {"concurrency": 9, "policy": "singleton"}, "calls": {"rate": "1/second"}}}
    QueueState.objects.create(name="mail", max_running_per_key=2)
    rules = read_rules(connection)
    assert rules.of_queue("mail") == QueueRules(policy="singleton", concurrency_per_key=2)
    assert rules.of_queue("calls") == QueueRules(rate=Rate(1, 1))


def test_a_row_gives_every_rule() -> None:
    QueueState.objects.create(name="mail", **ROW)
    assert read_rules(connection).of_queue("mail") == QueueRules(
        concurrency=5,
        concurrency_per_key=4,
        concurrency_per_process=3,
        rate=Rate(2, 60),
        rate_per_key=Rate(1, 30),
        fair_share=True,
        ageing=90,
    )


@pytest.mark.parametrize(("count", "seconds"), [(None, 60), (5, None), (0, 60), (5, 0)])
def test_half_a_rate_is_none(count: int | None, seconds: float | None) -> None:
    QueueState.objects.create(name="mail", rate_count=count, rate_seconds=seconds)
    assert read_rules(connection).of_queue("mail").rate is None


def test_the_limits_of_a_type_are_those_it_declares() -> None:
    @job(name="work", concurrency=2, rate_per_key="1/second")
    def work() -> None: ...

    assert limits_of("work") == Limits(concurrency=2, rate_per_key=Rate(1, 1))
    assert limits_of("gone from the code") is NO_LIMITS


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"max_running": 5},
        {"max_running_per_key": 5},
        {"max_running_per_process": 5},
        {"rate_count": 5, "rate_seconds": 60},
        {"rate_per_key_count": 5, "rate_per_key_seconds": 60},
        {"fair_share": True},
        {"ageing_seconds": 60},
    ],
)
@pytest.mark.parametrize("policy", ["standard", "short", "singleton"])
def test_an_enqueue_stores_the_gate_that_a_claim_will_ask_for(policy: str, row: dict[str, Any]) -> None:
    """Else the claim would send it back once, which costs a round for each."""
    QueueState.objects.create(name="default", **row)
    asked = read_rules(connection).gate_of("default", "work", policy)
    stored(policy=policy, key="k", gate=2 if policy == "singleton" else 0)
    assert Job.objects.get().gate == asked


def test_the_apps_own_chores_are_exempt_from_limits() -> None:
    rules = Rules({SYSTEM_QUEUE: QueueRules(concurrency=1)})
    assert rules.of_queue(SYSTEM_QUEUE) == QueueRules()
    assert rules.gate_of(SYSTEM_QUEUE, "work", "standard") == 0
    assert rules.gate_of(SYSTEM_QUEUE, "work", "singleton") == 2
