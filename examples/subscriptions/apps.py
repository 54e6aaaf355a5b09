"""The example as an app."""

from __future__ import annotations

from django.apps import AppConfig


class SubscriptionsConfig(AppConfig):
    name = "examples.subscriptions"
    verbose_name = "Subscriptions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from examples.subscriptions import failures

        failures.listen()
