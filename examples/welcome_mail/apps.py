"""The example as an app."""

from __future__ import annotations

from django.apps import AppConfig


class WelcomeMailConfig(AppConfig):
    name = "examples.welcome_mail"
    verbose_name = "Welcome mail"
    default_auto_field = "django.db.models.BigAutoField"
