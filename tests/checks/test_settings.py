"""What the settings say, before any database is asked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.checks import run_checks

from tests.checks.looking import found


def test_a_sound_project_hears_nothing() -> None:
    assert found() == {}


def test_wrong_settings_are_an_error(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECOND": 30}
    assert list(found(deploying=True)) == ["jobs_app.E001"]
    assert "LEASE_SECONDS" in found()["jobs_app.E001"].msg


def test_an_unknown_database_is_an_error(settings: Any) -> None:
    settings.JOBS = {"DATABASE": "elsewhere"}
    assert list(found()) == ["jobs_app.E002"]
    assert "default" in str(found()["jobs_app.E002"].hint)


def test_naive_time_is_an_error(settings: Any) -> None:
    settings.USE_TZ = False
    assert str(found()["jobs_app.E003"].hint).startswith("Set USE_TZ = True.")


def test_eager_jobs_are_a_warning_where_a_site_is_deployed(settings: Any) -> None:
    settings.JOBS = {"EAGER": True}
    assert found() == {}
    assert list(found(deploying=True)) == ["jobs_app.W006"]


@pytest.mark.parametrize(
    ("lease", "poll", "recover", "told"),
    [
        (30, 0.5, 4, []),
        (30, 60, 4, ["WORKER_POLL_SECONDS"]),
        (4, 0.5, 4, ["RECOVER_SECONDS"]),
        (1, 5, 60, ["WORKER_POLL_SECONDS", "RECOVER_SECONDS"]),
    ],
)
def test_a_lease_that_ends_before_anybody_looks_is_a_warning(
    lease: float, poll: float, recover: float, told: list[str], settings: Any
) -> None:
    settings.JOBS = {"LEASE_SECONDS": lease, "WORKER_POLL_SECONDS": poll, "RECOVER_SECONDS": recover}
    messages = [message for message in run_checks(tags=["jobs_app"]) if message.id == "jobs_app.W013"]
    assert [re.findall(r"or lower (\w+)", str(message.hint))[0] for message in messages] == told
    assert all(f"'LEASE_SECONDS'] is {lease}" in message.msg for message in messages)


@pytest.mark.parametrize("name", ["RETENTION_DAYS", "RETENTION_FAILED_DAYS", "SAMPLE_RETENTION_DAYS"])
def test_history_without_an_end_is_a_warning_where_a_site_is_deployed(name: str, settings: Any) -> None:
    settings.JOBS = {name: 0}
    assert found() == {}
    message = found(deploying=True)["jobs_app.W014"]
    assert f"has 0 for {name}: " in message.msg
    assert "SILENCED_SYSTEM_CHECKS = ['jobs_app.W014']" in str(message.hint)


def test_control_events_may_stay_for_ever(settings: Any) -> None:
    """They are few, and some must keep them."""
    settings.JOBS = {"CONTROL_EVENT_RETENTION_DAYS": 0}
    assert found(deploying=True) == {}
