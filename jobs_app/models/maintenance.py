"""When work must not start: windows by time of day."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class MaintenanceWindow(JobsModel):
    name = models.CharField(_("name"), max_length=120, unique=True)
    start = models.TimeField(_("start"))
    minutes = models.PositiveIntegerField(_("minutes"))
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    days = models.JSONField(_("days of the week"), default=list, blank=True)  # 0 is Monday; empty is every day
    queues = models.JSONField(_("queues"), default=list, blank=True)
    job_types = models.JSONField(_("job types"), default=list, blank=True)
    enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name = _("maintenance window")
        verbose_name_plural = _("maintenance windows")

    def __str__(self) -> str:
        return self.name
