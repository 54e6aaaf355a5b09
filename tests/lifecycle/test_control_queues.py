"""Limits of a queue by hand: changed one by one, lifted, and given back to the settings."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle import control
from jobs_app.lifecycle.rules import read_rules
from jobs_app.limits import QueueRules, Rate
from jobs_app.models import ControlEvent, Job, QueueState
from tests.lifecycle.rows import stored

pytestmark = pytest.mark.django_db

DECLARED = {"QUEUES": {"mail": {"policy": "singleton", "concurrency": 5, "rate": "10/minute"}}}


def rules() -> QueueRules:
    return read_rules(connection).of_queue("mail")


def test_a_limit_holds_for_what_is_enqueued_from_now_on() -> None:
    assert control.limit_queue("mail", "ann", "provider is slow", concurrency=2).moved == ["mail"]
    [run_id] = stored(1, queue="mail")
    assert (Job.objects.get().gate, Job.objects.get().hold) == (1, "limit")
    assert control.cancel(run_id, "ann")


def test_every_rule_has_a_place() -> None:
    control.limit_queue(
        "mail",
        "ann",
        concurrency=9,
        concurrency_per_key=2,
        concurrency_per_process=3,
        rate="10/minute",
        rate_per_key=(1, 5),
        fair_share=True,
        ageing="5m",
    )
    assert rules() == QueueRules(
        concurrency=9,
        concurrency_per_key=2,
        concurrency_per_process=3,
        rate=Rate(10, 60),
        rate_per_key=Rate(1, 5),
        fair_share=True,
        ageing=300.0,
    )


@override_settings(JOBS=DECLARED)
def test_what_is_not_named_stays_as_it_was() -> None:
    control.limit_queue("mail", "ann", concurrency=2)
    assert rules() == QueueRules(policy="singleton", concurrency=2, rate=Rate(10, 60))
    control.limit_queue("mail", "ann", rate=None, fair_share=True)
    assert rules() == QueueRules(policy="singleton", concurrency=2, fair_share=True)
    control.limit_queue("mail", "ann", concurrency=None, fair_share=None)
    assert rules() == QueueRules(policy="singleton")


@override_settings(JOBS=DECLARED)
def test_unlimit_lets_the_settings_speak_again() -> None:
    control.limit_queue("mail", "ann", concurrency=2)
    assert control.unlimit_queue("mail", "ann", "fixed").moved == ["mail"]
    assert rules().concurrency == 5
    assert control.unlimit_queue("mail", "ann").skipped == {"mail": "has no limits of its own"}


def test_an_event_tells_what_was_set() -> None:
    control.limit_queue("mail", "ann", "provider is slow", concurrency=2, rate="10/minute")
    event = ControlEvent.objects.get()
    assert (event.action, event.target_kind, event.target, event.reason) == (
        "limit",
        "queue",
        "mail",
        "provider is slow",
    )
    assert event.detail == {"limits": {"max_running": 2, "rate_count": 10, "rate_seconds": 60.0}}


@pytest.mark.parametrize(
    ("name", "limits", "why"),
    [
        ("mail", {}, "which limit"),
        ("mail", {"concurency": 2}, "Did you mean 'concurrency'"),
        ("mail", {"concurrency": 0}, "whole number from 1"),
        ("mail", {"rate": "often"}, "cannot be used"),
        ("mail", {"policy": "singleton"}, "no option 'policy'"),
        ("", {"concurrency": 2}, "cannot be the name of a queue"),
        ("jobs.system", {"concurrency": 2}, "has no limits"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_hint(name: str, limits: dict[str, Any], why: str) -> None:
    with pytest.raises(OptionInvalid, match=why):
        control.limit_queue(name, "ann", **limits)
    assert not QueueState.objects.exists()
    assert not ControlEvent.objects.exists()
