"""What the system checks of the app say, by id."""

from __future__ import annotations

from django.core.checks import CheckMessage, run_checks


def found(*, deploying: bool = False) -> dict[str, CheckMessage]:
    messages = run_checks(tags=["jobs_app"], include_deployment_checks=deploying)
    return {str(message.id): message for message in messages}


def found_in_database(*, deploying: bool = False) -> dict[str, CheckMessage]:
    """Where Django is told to ask the database."""
    messages = run_checks(tags=["database"], databases=["default"], include_deployment_checks=deploying)
    return {str(message.id): message for message in messages if str(message.id).startswith("jobs_app.")}
