"""Django's mail settings, as each release of it wants them."""

from __future__ import annotations

from typing import Any

import django

ADMINS: Any = ["ada@example.com"] if django.VERSION >= (6, 0) else [("Ada", "ada@example.com")]


def send_by(settings: Any, backend: str) -> None:
    if django.VERSION >= (6, 1):
        settings.MAILERS = {"default": {"BACKEND": backend}}
    else:
        settings.EMAIL_BACKEND = backend
