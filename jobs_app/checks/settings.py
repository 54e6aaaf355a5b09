"""Checks of what `settings.JOBS` and Django's own settings say, without a look at any database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, register
from django.db import connections

from jobs_app.checks.telling import TAG, error, silenced_with, warning
from jobs_app.conf import Settings, get_settings
from jobs_app.errors import SettingsInvalid

GROWING = ("RETENTION_DAYS", "RETENTION_FAILED_DAYS", "SAMPLE_RETENTION_DAYS")  # what they keep grows with the work


@register(TAG)
def settings_are_valid(**kwargs: Any) -> list[CheckMessage]:
    try:
        alias = get_settings().database
    except SettingsInvalid as problem:
        return [error("E001", str(problem), hint="Correct the name or the value in settings.JOBS.")]
    if alias is None or alias in connections.settings:
        return []
    sentence = f"settings.JOBS['DATABASE'] is {alias!r}, which is not in settings.DATABASES."
    return [error("E002", sentence, hint=f"Use one of {', '.join(sorted(connections.settings))}, or add the database.")]


@register(TAG)
def time_zones_are_on(**kwargs: Any) -> list[CheckMessage]:
    if django_settings.USE_TZ:
        return []
    sentence = "settings.USE_TZ is False: moments without a time zone cannot say when a job is due."
    return [error("E003", sentence, hint="Set USE_TZ = True.")]


@register(TAG, deploy=True)
def jobs_are_left_to_workers(**kwargs: Any) -> list[CheckMessage]:
    settings = _readable()
    if settings is None or not settings.eager:
        return []
    sentence = "settings.JOBS['EAGER'] is on: whoever enqueues a job runs it, and waits for it."
    return [warning("W006", sentence, hint="It is for development. Switch it off, and start manage.py runworker.")]


@register(TAG)
def leases_outlast_looks(**kwargs: Any) -> list[CheckMessage]:
    settings = _readable()
    return [] if settings is None else list(_pairs_that_cannot_work(settings))


@register(TAG, deploy=True)
def history_ends(**kwargs: Any) -> list[CheckMessage]:
    settings = _readable()
    endless = [] if settings is None else [name for name in GROWING if not getattr(settings, name.lower())]
    if not endless:
        return []
    sentence = f"settings.JOBS has 0 for {', '.join(endless)}: what has ended stays for ever, and tables only grow."
    hint = f"Give a number of days, or keep_last= and retention= of job types. {silenced_with('W014')}"
    return [warning("W014", sentence, hint=hint)]


def _pairs_that_cannot_work(settings: Settings) -> Iterator[CheckMessage]:
    """A lease says how soon a killed worker's job runs again. Who looks more rarely makes that untrue."""
    lease = settings.lease_seconds
    for name, seconds, looks in (
        ("WORKER_POLL_SECONDS", settings.worker_poll_seconds, "an idle worker looks for jobs"),
        ("RECOVER_SECONDS", settings.recover_seconds, "leases that are over are looked for"),
    ):
        if lease <= seconds:
            yield warning(
                "W013",
                f"settings.JOBS['LEASE_SECONDS'] is {lease:g}, but {looks} every {seconds:g} seconds: the job of a "
                "killed worker waits for that, whatever its lease was.",
                hint=f"Raise LEASE_SECONDS above {name}, several times as long; or lower {name}.",
            )


def _readable() -> Settings | None:
    """None where they are too wrong to be read, which the first check tells."""
    try:
        return get_settings()
    except SettingsInvalid:
        return None
