"""Who acts from a terminal, and why: the same two options for every verb that changes something."""

from __future__ import annotations

import getpass
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

SHELL = "cli"


def add_act_arguments(parser: CommandParser) -> None:
    told = f"a user of the site, who needs the permission; {SHELL}:<you>, who may do everything, if left out"
    parser.add_argument("--actor", metavar="NAME", help=told)
    parser.add_argument("--reason", default="", help="why; kept with the control event")


def who_acts(name: str | None) -> Any:
    """A user of the site, whose permissions count; or the name of a shell's user, who has the database anyway."""
    if name is None:
        return default_actor()
    if name == SHELL or name.startswith(f"{SHELL}:"):
        return name
    if not apps.is_installed("django.contrib.auth"):
        raise CommandError(
            f"--actor {name}: users are of django.contrib.auth, which is not in INSTALLED_APPS. "
            f"Leave --actor out, or use a name such as {SHELL}:{name}."
        )
    return _user(name)


def default_actor() -> str:
    """Marked as a name of this machine: it need not be the site's user of that name."""
    try:
        return f"{SHELL}:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):  # a container's user need not have a name
        return SHELL


def _user(name: str) -> Any:
    users = get_user_model()
    found = users._default_manager.filter(**{users.USERNAME_FIELD: name}).first()
    if found is None:
        raise CommandError(
            f"--actor {name}: this site has no such user. Leave --actor out to act as {default_actor()}, "
            f"or use a name such as {SHELL}:{name}."
        )
    return found
