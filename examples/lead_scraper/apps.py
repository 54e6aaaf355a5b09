"""The example as an app."""

from __future__ import annotations

from django.apps import AppConfig


class LeadScraperConfig(AppConfig):
    name = "examples.lead_scraper"
    verbose_name = "Lead scraper"
    default_auto_field = "django.db.models.BigAutoField"
