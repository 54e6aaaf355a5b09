"""Who acts from a terminal, and why: the same two options for every verb that changes something."""

from __future__ import annotations

import getpass

from django.core.management.base import CommandParser


def add_act_arguments(parser: CommandParser) -> None:
    parser.add_argument("--actor", default=default_actor(), help="who asks; %(default)s if left out")
    parser.add_argument("--reason", default="", help="why; kept with the control event")


def default_actor() -> str:
    """Marked as a name of this machine: it need not be the site's user of that name."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):  # a container's user need not have a name
        return "cli"
