"""Job types live by the environment of the demo site, under the names that operators know."""

from __future__ import annotations

import runpy
from typing import Any

import environ
import pytest

from jobs_app import Backoff, job
from jobs_app.conf import get_settings
from jobs_app.presets import TRANSIENT
from jobsite.environment import jobs_from


def jobs_settings(**variables: str) -> dict[str, Any]:
    env = environ.Env()
    env.ENVIRON = variables
    return jobs_from(env)


@pytest.mark.spec("S3.22")
def test_slots_lease_attempts_and_backoff_come_from_the_environment(settings: Any) -> None:
    settings.JOBS = jobs_settings(
        PGBOSS_TEAM_SIZE="5",
        LEASE_SEC_DEFAULT="120",
        MAX_ATTEMPTS_DEFAULT="4",
        BACKOFF_BASE_SEC="60",
        BACKOFF_MAX_SEC="900",
    )

    @job
    def evaluate() -> None: ...

    assert (get_settings().worker_concurrency, get_settings().lease_seconds) == (5, 120)
    assert (evaluate.job_type.max_attempts, evaluate.job_type.backoff) == (4, Backoff(base=60, cap=900))


@pytest.mark.spec("S3.22")
def test_the_transient_preset_stands_whatever_the_environment_says(settings: Any) -> None:
    settings.JOBS = jobs_settings(MAX_ATTEMPTS_DEFAULT="9", BACKOFF_BASE_SEC="1")

    @job(preset="transient")
    def evaluate() -> None: ...

    assert (evaluate.job_type.max_attempts, evaluate.job_type.backoff) == (4, TRANSIENT.backoff)


@pytest.mark.spec("S3.22")
@pytest.mark.parametrize("level", ["error", "warn", "info", "debug"])
def test_the_log_level_is_one_of_four_words(monkeypatch: pytest.MonkeyPatch, level: str) -> None:
    monkeypatch.setenv("DEBUG", "1")
    monkeypatch.setenv("LOG_LEVEL", level)
    assert runpy.run_module("jobsite.settings")["LOGGING"]["root"]["level"] == level.upper()
