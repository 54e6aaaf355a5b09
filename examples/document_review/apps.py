"""The example as an app."""

from __future__ import annotations

from django.apps import AppConfig


class DocumentReviewConfig(AppConfig):
    name = "examples.document_review"
    verbose_name = "Document review"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from examples.document_review import endings

        endings.listen()
