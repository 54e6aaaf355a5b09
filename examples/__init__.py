"""Small Django apps that use `jobs_app` as projects do: first steps, and five systems that ran jobs before it."""

from __future__ import annotations

ALL = ("first_steps", "storage_checks", "lead_scraper", "welcome_mail", "document_review", "subscriptions")
