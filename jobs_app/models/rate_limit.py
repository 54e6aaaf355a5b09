"""When a rate limit lets the next start through: one row, moved by compare-and-set."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class RateLimit(JobsModel):
    pk = models.CompositePrimaryKey("scope", "key")
    scope = models.CharField(_("scope"), max_length=260)
    key = models.CharField(_("key"), max_length=200)
    next_free_at = models.DateTimeField(_("next free at"))

    class Meta:
        verbose_name = _("rate limit")
        verbose_name_plural = _("rate limits")
        indexes = (models.Index("next_free_at", name="jobs_app_rate_age"),)

    def __str__(self) -> str:
        return f"{self.scope} {self.key}"
