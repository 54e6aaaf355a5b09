"""System check: a webhook that waits for a job type which nobody defines would never be told of anything."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register

from jobs_app.checks.telling import TAG, warning
from jobs_app.conf import get_settings
from jobs_app.errors import SettingsInvalid
from jobs_app.options import did_you_mean
from jobs_app.registry import registry


@register(TAG)
def webhooks_name_job_types_that_exist(**kwargs: Any) -> list[CheckMessage]:
    """A warning: what a project no longer defines may still end."""
    try:
        webhooks = get_settings().webhooks
    except SettingsInvalid:
        return []  # told by the check of the settings
    return [
        warning(
            "W020",
            f"The webhook {webhook.name!r} names the job type {name!r}, which is not registered.",
            hint=f"Correct it in settings.JOBS['WEBHOOKS'].{did_you_mean(name, registry.names())}",
        )
        for webhook in webhooks
        for name in sorted(webhook.job_types)
        if name not in registry
    ]
