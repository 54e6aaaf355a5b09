"""Everything that is stored, to see that a refusal changed nothing of it."""

from __future__ import annotations

from typing import Any

from django.apps import apps


def everything_stored() -> dict[str, list[dict[str, Any]]]:
    """Every row of every table of the app."""
    models = [model for model in apps.get_app_config("jobs_app").get_models() if model._meta.managed]
    return {model.__name__: list(model._default_manager.order_by("pk").values()) for model in models}
