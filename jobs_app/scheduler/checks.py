"""System checks: schedules and sources that code names and that could never make a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, register

from jobs_app.checks.telling import TAG, error, warning
from jobs_app.conf import get_settings
from jobs_app.errors import PayloadInvalid, SettingsInvalid
from jobs_app.limits import NO_RULES
from jobs_app.registry import JobType, registry
from jobs_app.sources import Source, sources


@register(TAG)
def sources_name_job_types_that_fit(**kwargs: Any) -> list[CheckMessage]:
    return [message for source in sources for message in _faults_of(source)] if _are_settings_readable() else []


@register(TAG)
def schedules_of_code_can_be_enqueued(**kwargs: Any) -> list[CheckMessage]:
    """One that names a subject gets its payload from a source, row by row; without a source it has none."""
    return [_unfitting(each) for each in registry if not _fits(each)] if _are_settings_readable() else []


def _are_settings_readable() -> bool:
    """If not, the check of the settings tells."""
    try:
        get_settings()
    except SettingsInvalid:
        return False
    return True


def _faults_of(source: Source) -> Iterator[CheckMessage]:
    for name in source.job_types:
        job_type = registry.find(name)
        if job_type is None:
            yield error(
                "E007",
                f"The source {source.name} names the job type {name!r}, which is not registered.",
                hint="Correct the name, or define it with @job in a jobs.py of an installed app.",
            )
        elif source.kind == "due" and _policy(job_type) != "exclusive":
            yield error(
                "E008",
                f"The job type {name!r} gets jobs from {source.name}, a source of due things, and is not exclusive.",
                hint="Give it exclusive=True, so that an item has one open job.",
            )


def _policy(job_type: JobType) -> str:
    """Its own, else that of its queue."""
    rules = get_settings().queues.get(job_type.queue, NO_RULES)
    return job_type.policy if job_type.policy != "standard" else rules.policy


def _fits(job_type: JobType) -> bool:
    schedule = job_type.schedule
    if schedule.timetable is None or sources.of(job_type.name, "subjects") is not None:
        return True
    try:
        job_type.schema.dump(schedule.payload or {})
    except PayloadInvalid:
        return False
    return True


def _unfitting(job_type: JobType) -> CheckMessage:
    return warning(
        "W011",
        f"The job type {job_type.name!r} comes back by itself, but its schedule has no payload that fits.",
        hint=f"Name its subjects with @subjects({job_type.name!r}), or give payload= to its @job.",
    )
