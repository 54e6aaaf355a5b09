"""`runscheduler`, wherever another app owns that name."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobs_app.management.commands.runscheduler import Command
from jobs_app.management.delegating import add_arguments_of, run_as
from jobs_app.management.output import Output

__doc__ = Command.help

ASKS_DATABASE = False  # not before it listens to signals
HAS_FORMATS = False


def add_arguments(parser: CommandParser) -> None:
    add_arguments_of(Command, parser)


def handle(options: dict[str, Any], out: Output) -> None:
    run_as(Command, options)
