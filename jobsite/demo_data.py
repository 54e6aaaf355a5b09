"""What the demo starts with: someone to log in as, and what each example has to show."""

from __future__ import annotations

import secrets
from importlib import import_module
from types import ModuleType

from django.apps import apps
from django.contrib.auth import get_user_model

ADMIN_NAME = "demo"


def make_admin() -> str:
    """Give the demo's own superuser a new password and return it."""
    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(username=ADMIN_NAME)
    user.is_staff = user.is_superuser = user.is_active = True
    user.set_password(password)
    user.save()
    return password


def demos() -> dict[str, ModuleType]:
    """By the label of its app, the module with which each installed example takes part in the demo."""
    installed = [config for config in apps.get_app_configs() if config.name.startswith("examples.")]
    return {config.label: import_module(f"{config.name}.demo") for config in installed}


def fill() -> None:
    """Let every example have something to do; asked again, one more round of it."""
    for demo in demos().values():
        demo.fill()
