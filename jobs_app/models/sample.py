"""Roll-ups for charts: one number of one series at one moment."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class StatSample(JobsModel):
    at = models.DateTimeField(_("at"))
    seconds = models.IntegerField(_("width in seconds"))
    series = models.CharField(_("series"), max_length=40)
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    value = models.FloatField(_("value"))
    count = models.BigIntegerField(_("count"), default=1)

    class Meta:
        verbose_name = _("sample")
        verbose_name_plural = _("samples")
        indexes = (models.Index("at", name="jobs_app_sample_at"),)
        constraints = (models.UniqueConstraint("series", "name", "seconds", "at", name="jobs_app_sample_unique"),)

    def __str__(self) -> str:
        return f"{self.series} {self.name} {self.at:%Y-%m-%d %H:%M:%S}"
