"""The example as an app."""

from __future__ import annotations

from django.apps import AppConfig


class FirstStepsConfig(AppConfig):
    name = "examples.first_steps"
    verbose_name = "First steps"
    default_auto_field = "django.db.models.BigAutoField"
