"""One word for a queue."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.insights.counts import QueueCounts
from jobs_app.insights.queue_states import state_of
from jobs_app.insights.queues import QueueLine
from jobs_app.models import Pause
from tests.lifecycle.rows import T

ALL_AT_ONCE = {"queued": 1000, "is_paused": True, "is_served": False, "wait": 500.0, "trend": 50.0}
UNKNOWN = {"is_paused": False, "is_served": True, "wait": None, "trend": None}


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (ALL_AT_ONCE, "paused"),
        (ALL_AT_ONCE | {"is_paused": False}, "unserved"),
        ({"is_served": False}, "unserved"),
        (ALL_AT_ONCE | {"is_paused": False, "is_served": True}, "behind"),
        ({"queued": 1, "wait": 120.1}, "behind"),
        ({"queued": 1, "wait": 120.0}, "active"),
        ({"queued": 1000, "trend": 5.0}, "growing"),
        ({"queued": 1000, "trend": 4.0}, "active"),
        ({"queued": 99, "trend": 50.0}, "active"),
        ({"queued": 1000}, "active"),
        ({"running": 1}, "active"),
        ({"scheduled": 1}, "active"),
        ({}, "idle"),
    ],
)
def test_the_worst_is_what_is_told(given: dict[str, Any], word: str) -> None:
    counts = QueueCounts(queue="mail", **{name: given[name] for name in given if name not in UNKNOWN})
    assert state_of(counts, **{name: given.get(name, unknown) for name, unknown in UNKNOWN.items()}) == word


@pytest.mark.parametrize(
    ("scope", "name", "held"),
    [
        ("all", "", {"mail", "other"}),
        ("queue", "mail", {"mail"}),
        ("job_type", "mail", set()),
        ("subject", "mail", set()),
    ],
)
def test_a_queue_is_paused_by_itself_or_with_everything(scope: str, name: str, held: set[str]) -> None:
    pause = Pause(scope=scope, name=name, created_at=T)
    lines = [QueueLine(counts=QueueCounts(queue=each), at=T) for each in ("mail", "other", "jobs.system")]
    assert {line.name for line in lines if line.under([pause]).state == "paused"} == held
    assert all(line.under([pause]).under([]).state != "paused" for line in lines)
