"""The demo site as an app, for its commands and static files."""

from __future__ import annotations

from django.apps import AppConfig


class JobsiteConfig(AppConfig):
    name = "jobsite"
    verbose_name = "Demo site"
