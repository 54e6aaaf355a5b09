"""A webhook that names a job type which nobody defines is found at start."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, run_checks

from jobs_app import job


def found() -> list[CheckMessage]:
    return list(run_checks(tags=["jobs_app"]))


def test_a_misspelt_job_type_is_told_with_the_nearest_one(settings: Any) -> None:
    @job
    def charge_card() -> None: ...

    webhook = {"name": "ops", "url": "https://example.com/", "secret": "sixteen or more characters"}
    settings.JOBS = {"WEBHOOKS": [webhook | {"job_types": ["charge_card"]}]}
    assert found() == []
    settings.JOBS = {"WEBHOOKS": [webhook | {"job_types": ["charge_car", "charge_card"]}]}
    [message] = found()
    assert (message.id, message.level) == ("jobs_app.W020", 30)
    assert "'ops' names the job type 'charge_car'" in message.msg
    assert "Did you mean 'charge_card'?" in str(message.hint)


def test_settings_that_cannot_be_read_are_told_by_their_own_check(settings: Any) -> None:
    settings.JOBS = {"WEBHOOKS": [{"name": "ops"}]}
    assert [message.id for message in found()] == ["jobs_app.E001"]
