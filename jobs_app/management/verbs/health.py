"""Is a worker or scheduler of this host alive, or ready? As python -m jobs_app.health, which loads no project."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app import health
from jobs_app.management.output import Output

ASKS_DATABASE = False


def add_arguments(parser: CommandParser) -> None:
    health.add_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    wrong = health.why_not(file=options["file"], url=options["url"], ready=options["ready"])
    if out.as_json:
        out.json({"ok": not wrong, "reason": wrong})
    elif not wrong:
        out.line("ok")
    if wrong:
        raise CommandError(wrong)
