"""The example as an app."""

from __future__ import annotations

from django.apps import AppConfig


class StorageChecksConfig(AppConfig):
    name = "examples.storage_checks"
    verbose_name = "Storage checks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from examples.storage_checks import gauges

        gauges.show()
