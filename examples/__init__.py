"""Small Django apps that use `jobs_app` as projects do: first steps, and five systems that ran jobs before it."""

from __future__ import annotations

from django.core.exceptions import ImproperlyConfigured

ALL = ("first_steps", "storage_checks", "lead_scraper", "welcome_mail", "document_review", "subscriptions")


def chosen(names: list[str]) -> list[str]:
    """The same, if there are such."""
    if unknown := sorted(set(names) - set(ALL)):
        raise ImproperlyConfigured(f"EXAMPLES names {', '.join(unknown)}; there are {', '.join(ALL)}.")
    return names
