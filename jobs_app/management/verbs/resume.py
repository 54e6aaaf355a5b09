"""End a pause: what it held may start, as far as no other pause holds it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobs_app.lifecycle import control
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.output import Output
from jobs_app.management.pause_acts import SCHEDULE, SCOPES, add_target_arguments, schedule_id, target_of, tell


def add_arguments(parser: CommandParser) -> None:
    add_target_arguments(parser)
    add_act_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    what, name = target_of(options)
    by = (options["actor"], options["reason"])
    if what == SCHEDULE:
        acted = control.resume_schedule(schedule_id(name), *by)
    else:
        acted = control.resume(SCOPES[what], name, *by)
    tell(acted, "goes on", "opened", out)
