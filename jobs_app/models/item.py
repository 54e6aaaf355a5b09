"""Items that remote workers report for a job, one row per key."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class JobItem(JobsModel):
    pk = models.CompositePrimaryKey("job_id", "key")
    job_id = models.UUIDField(_("run"))
    key = models.CharField(_("key"), max_length=200)
    data = models.JSONField(_("data"))
    reported_at = models.DateTimeField(_("reported at"), auto_now_add=True)

    class Meta:
        verbose_name = _("reported item")
        verbose_name_plural = _("reported items")

    def __str__(self) -> str:
        return f"{self.job_id} {self.key}"
