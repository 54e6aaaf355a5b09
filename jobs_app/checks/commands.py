"""Check of the names of our commands, which belong to the first app that has them."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register
from django.core.management import get_commands

from jobs_app.checks.telling import TAG, warning

COMMANDS = {"runworker": "jobs worker", "runscheduler": "jobs scheduler", "jobs": ""}  # each with its other name


@register(TAG)
def commands_are_ours(**kwargs: Any) -> list[CheckMessage]:
    owners = {name: get_commands().get(name) for name in COMMANDS}
    return [
        warning(
            "W001",
            f"manage.py {name} is the command of {owner}, not of jobs_app.",
            hint=(f"Use manage.py {other}, which is the same; or put" if other else "Put")
            + f" 'jobs_app' above {owner!r} in INSTALLED_APPS: the first app with a command owns its name.",
        )
        for (name, owner), other in zip(owners.items(), COMMANDS.values(), strict=True)
        if owner not in (None, "jobs_app")
    ]
