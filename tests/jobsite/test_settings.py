"""The demo site's settings follow the environment."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from jobs_app.conf import parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings_with(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Read the settings file as a new process with only these variables would."""

    def read(**variables: str) -> dict[str, Any]:
        for name in list(os.environ):
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return runpy.run_module("jobsite.settings")

    return read


def without_a_key(*command: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name not in ("SECRET_KEY", "DEBUG")}
    environment = {**known, "DJANGO_SETTINGS_MODULE": "jobsite.settings"}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("kind", ["wsgi", "asgi"])
def test_without_a_secret_key_the_site_refuses_to_start(kind: str) -> None:
    refused = without_a_key("-c", f"import jobsite.{kind}")
    assert refused.returncode == 1
    assert "Set SECRET_KEY in the environment, or DEBUG=1 to try the site out." in refused.stderr


def test_commands_need_none() -> None:
    slots = ["--cron", "30 2 * * *", "--timezone", "Europe/Paris", "--from", "2026-10-23T00:00:00Z", "--count", "12"]
    shown = without_a_key("manage.py", "jobs", "preview", *slots, "--format", "json")
    assert shown.returncode == 0, shown.stderr
    told = [slot["at"] for slot in json.loads(shown.stdout)]
    summer = [f"2026-10-{day}T00:30:00+00:00" for day in (23, 24, 25)]
    winter = [f"2026-10-{day}T01:30:00+00:00" for day in range(26, 32)]
    assert told == [*summer, *winter, *(f"2026-11-0{day}T01:30:00+00:00" for day in (1, 2, 3))]


def test_debug_is_off_unless_asked_for(settings_with: Any) -> None:
    assert settings_with(SECRET_KEY="x")["DEBUG"] is False


def test_debug_makes_a_new_secret_key_for_each_process(settings_with: Any) -> None:
    assert settings_with(DEBUG="1")["SECRET_KEY"] != settings_with(DEBUG="1")["SECRET_KEY"]


def test_the_database_is_a_sqlite_file_that_processes_can_share(settings_with: Any) -> None:
    database = settings_with(DEBUG="1")["DATABASES"]["default"]

    assert database["ENGINE"] == "django.db.backends.sqlite3"
    assert database["NAME"].endswith("db.sqlite3")
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert database["OPTIONS"]["timeout"] == 20
    assert "journal_mode=WAL" in database["OPTIONS"]["init_command"]
    assert "synchronous=NORMAL" in database["OPTIONS"]["init_command"]


def test_database_url_names_another_database(settings_with: Any) -> None:
    database = settings_with(DEBUG="1", DATABASE_URL="postgresql://ann:pw@db.example:5433/shop")["DATABASES"]["default"]

    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["USER"], database["HOST"], database["PORT"], database["NAME"]) == (
        "ann",
        "db.example",
        5433,
        "shop",
    )


def test_operators_find_the_knobs_under_their_known_names(settings_with: Any) -> None:
    jobs = settings_with(
        DEBUG="1",
        JOB_WORKER_POLL_SECONDS="2.5",
        PGBOSS_TEAM_SIZE="5",
        LEASE_SEC_DEFAULT="180",
        BACKOFF_BASE_SEC="10",
        BACKOFF_MAX_SEC="600",
        MAX_ATTEMPTS_DEFAULT="7",
        JOB_SCHEDULER_POLL_SECONDS="60",
        SCHEDULER_ENABLED="false",
    )["JOBS"]

    assert jobs == {
        "WORKER_POLL_SECONDS": 2.5,
        "WORKER_CONCURRENCY": 5,
        "LEASE_SECONDS": 180,
        "BACKOFF_BASE_SECONDS": 10,
        "BACKOFF_MAX_SECONDS": 600,
        "MAX_ATTEMPTS": 7,
        "SCHEDULER_POLL_SECONDS": 60,
        "SCHEDULER_ENABLED": False,
        "METRICS_PUBLIC": True,
    }
    assert parse(jobs).lease_seconds == 180


def test_what_the_environment_leaves_open_stays_with_the_app_but_the_demo_looks_for_slots_more_often(
    settings_with: Any,
) -> None:
    assert settings_with(SECRET_KEY="s")["JOBS"] == {"SCHEDULER_POLL_SECONDS": 5.0, "METRICS_PUBLIC": False}


def test_on_a_developers_machine_anybody_may_read_the_metrics(settings_with: Any) -> None:
    assert settings_with(DEBUG="1")["JOBS"]["METRICS_PUBLIC"]


@pytest.mark.parametrize("level", ["error", "warn", "info", "debug"])
def test_the_log_level_comes_from_the_environment(settings_with: Any, level: str) -> None:
    assert settings_with(DEBUG="1", LOG_LEVEL=level)["LOGGING"]["root"]["level"] == level.upper()


def test_an_example_that_there_is_not_is_told_with_those_that_there_are(settings_with: Any) -> None:
    assert "examples.subscriptions" in settings_with(EXAMPLES="subscriptions")["INSTALLED_APPS"]
    with pytest.raises(ImproperlyConfigured, match="EXAMPLES names subscription; there are first_steps"):
        settings_with(EXAMPLES="subscription")
