"""A verb that is another command under a name that no other app can own."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser


def add_arguments_of(command: type[BaseCommand], parser: CommandParser) -> None:
    command().add_arguments(parser)
    parser.add_argument("--skip-checks", action="store_true", help="skip system checks")  # as behind its own name


def run_as(command: type[BaseCommand], options: dict[str, Any]) -> None:
    """With its checks, in the place of the one that was asked: a command may end its process only where it has one."""
    asked, made = options["asked"], command()
    made.stdout, made.stderr = asked.stdout, asked.stderr
    made._called_from_command_line = asked._called_from_command_line  # type: ignore[attr-defined]
    made.execute(**options)
