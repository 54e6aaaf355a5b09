"""Whether a job type is switched on."""

from __future__ import annotations

import logging

import pytest

from jobs_app import job
from jobs_app.runtime.enabled import is_enabled


def test_a_switch_is_asked_each_time() -> None:
    answers = [True, False]
    asked = job(name="asked", enabled=lambda: answers.pop(0))(lambda: None)
    assert [is_enabled(asked.job_type), is_enabled(asked.job_type)] == [True, False]


def test_a_switch_that_fails_is_told_once_per_streak(caplog: pytest.LogCaptureFixture) -> None:
    answers = [0, 0, 1, 0, 0]
    broken = job(name="broken", enabled=lambda: bool(1 / answers.pop(0)))(lambda: None)
    with caplog.at_level(logging.ERROR, "jobs_app"):
        assert [is_enabled(broken.job_type) for _ in range(5)] == [False, False, True, False, False]
    assert len(caplog.records) == 2
    assert all(record.exc_info for record in caplog.records)
