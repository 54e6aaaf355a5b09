"""One run, live or finished, read where it was written and told in the right word."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs_app import job
from jobs_app.insights import runs
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.presets import PRESETS
from tests.lifecycle.rows import done, stored, take

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "attempts", "due_in", "status"),
    [
        ("queued", 0, 0, "queued"),
        ("queued", 0, -60, "queued"),
        ("queued", 0, 60, "scheduled"),
        ("queued", 1, 60, "retrying"),
        ("queued", 1, -60, "retrying"),
        ("running", 1, -60, "running"),
        ("succeeded", 1, -60, "succeeded"),
        ("failed", 4, -60, "failed"),
        ("cancelled", 0, 60, "cancelled"),
    ],
)
@pytest.mark.spec("S2.7")
def test_the_status_refines_queued_and_no_other_state(state: str, attempts: int, due_in: float, status: str) -> None:
    run_at = NOW + timedelta(seconds=due_in)
    assert runs.status_of(state=state, attempts=attempts, run_at=run_at, now=NOW) == status


@pytest.mark.parametrize("preset", PRESETS)
def test_the_label_is_the_word_of_the_preset(preset: str) -> None:
    @job(preset=preset)
    def labelled() -> None: ...

    assert runs.label_of("labelled", "retrying") == PRESETS[preset].labels["retrying"]


@pytest.mark.spec("S3.15")
def test_the_transient_preset_speaks_of_a_retry_as_running() -> None:
    @job(preset="transient")
    def evaluate() -> None: ...

    statuses = ("queued", "running", "retrying", "succeeded", "failed", "cancelled")
    labels = [runs.label_of("evaluate", status) for status in statuses]
    assert labels == ["PENDING", "RUNNING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]


def test_the_label_of_a_type_that_is_gone_is_the_status() -> None:
    assert runs.label_of("gone", "retrying") == "retrying"


@pytest.mark.django_db
def test_a_run_is_told_by_the_clock_that_decides() -> None:
    @job
    def later() -> None: ...

    with frozen_clock(NOW):
        run = later.options(delay="1h").enqueue()
        assert (run.queued_at, run.run_at) == (NOW, NOW + timedelta(hours=1))
        found: Any = runs.get(run.id)
        assert found.read_at == NOW
        assert run.refresh().status == "scheduled"
    with frozen_clock(NOW + timedelta(hours=2)):
        assert run.refresh().status == "queued"


@pytest.mark.django_db
def test_of_a_slot_that_was_made_anew_after_it_had_ended_the_live_run_is_read() -> None:
    [run_id] = stored()
    done(take()[0])
    stored(1, id=run_id)
    assert runs.get(run_id).state == "queued"
