"""The environment's names for `settings.JOBS`, and the examples that it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, get_origin, get_type_hints

import environ
from django.core.exceptions import ImproperlyConfigured

import examples
from jobs_app.conf import Settings
from jobs_app.webhook_rules import Webhook

# The names under which operators of earlier systems know these knobs. Any other setting NAME is JOBS_NAME.
VARIABLES = {
    "WORKER_POLL_SECONDS": "JOB_WORKER_POLL_SECONDS",
    "WORKER_CONCURRENCY": "PGBOSS_TEAM_SIZE",
    "LEASE_SECONDS": "LEASE_SEC_DEFAULT",
    "BACKOFF_BASE_SECONDS": "BACKOFF_BASE_SEC",
    "BACKOFF_MAX_SECONDS": "BACKOFF_MAX_SEC",
    "MAX_ATTEMPTS": "MAX_ATTEMPTS_DEFAULT",
    "SCHEDULER_POLL_SECONDS": "JOB_SCHEDULER_POLL_SECONDS",
    "SCHEDULER_ENABLED": "SCHEDULER_ENABLED",
    "CATCH_UP_MAX": "JOB_CATCHUP_MAX_ENQUEUE",
    "SCHEDULE_JITTER_SECONDS": "JOB_ENQUEUE_JITTER_SECONDS",
    "SCHEDULE_PHASE_SECONDS": "JOB_SCHEDULE_PHASE_SECONDS",
    "FINAL_SCRAPE_SECONDS": "SHUTDOWN_FINAL_SCRAPE_DELAY_SECONDS",
    "MAINTENANCE_WINDOWS": "MAINTENANCE_WINDOWS_UTC",
    "MAINTENANCE_WINDOW_MINUTES": "MAINTENANCE_WINDOW_MINUTES",
}


def examples_from(env: environ.Env) -> list[str]:
    """Those that the environment names, if there are such; all of them, if it names none."""
    names: list[str] = env.list("EXAMPLES", default=list(examples.ALL))
    if unknown := sorted(set(names) - set(examples.ALL)):
        raise ImproperlyConfigured(f"EXAMPLES names {', '.join(unknown)}; there are {', '.join(examples.ALL)}.")
    return names


def variable_of(setting: str) -> str:
    return VARIABLES.get(setting, f"JOBS_{setting}")


def jobs_from(env: environ.Env) -> dict[str, Any]:
    """The settings that the environment names; the app has defaults for the others."""
    types = get_type_hints(Settings)
    chosen = {}
    for field in fields(Settings):
        setting = field.name.upper()
        if variable_of(setting) in env.ENVIRON:
            chosen[setting] = env.get_value(variable_of(setting), cast=_cast(types[field.name]))
    return chosen


def _cast(kind: Any) -> Callable[[str], Any]:
    if get_origin(kind) is Mapping or kind == Sequence[Webhook]:
        return json.loads
    if get_origin(kind) is tuple:
        return lambda text: [part.strip() for part in text.split(",") if part.strip()]
    return next((cast for cast in (bool, int, float) if kind in (cast, cast | None)), str)
