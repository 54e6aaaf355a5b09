"""System checks of schedules and sources."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, run_checks

from jobs_app import due, job, subjects


def found() -> dict[str, CheckMessage]:
    return {str(message.id): message for message in run_checks(tags=["jobs_app"])}


def test_a_source_of_an_unknown_job_type_is_told() -> None:
    subjects("deel")(list)
    assert "'deel', which is not registered" in found()["jobs_app.E007"].msg
    job(name="deel", every=60)(lambda: None)
    assert "jobs_app.E007" not in found()


def test_a_source_of_due_things_needs_an_exclusive_job_type(settings: Any) -> None:
    def declare(**options: Any) -> None:
        @job(name="charge", subject="item", queue="money", **options)
        def charge(item: str) -> None: ...

    declare()
    due("charge")(list)
    assert "exclusive=True" in str(found()["jobs_app.E008"].hint)
    settings.JOBS = {"QUEUES": {"money": {"policy": "exclusive"}}}
    assert "jobs_app.E008" not in found()
    settings.JOBS = {}
    declare(exclusive=True)
    assert "jobs_app.E008" not in found()


def test_a_schedule_without_subjects_and_without_a_payload_that_fits_is_told() -> None:
    def declare(**options: Any) -> None:
        @job(name="deal", subject="provider", every=60, **options)
        def deal(provider: str) -> None: ...

    declare()
    assert "@subjects('deal')" in str(found()["jobs_app.W011"].hint)
    declare(payload={"provider": "f01"})
    assert "jobs_app.W011" not in found()
    declare()
    subjects("deal")(list)
    assert "jobs_app.W011" not in found()
