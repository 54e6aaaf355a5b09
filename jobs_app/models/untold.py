"""Failures that nobody was told of yet: a row for each kind of them that ended together, gone when they are told."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class UntoldFailures(JobsModel):
    """Only ever added and removed: nobody who ends a run waits for another who does."""

    job_type = models.CharField(_("job type"), max_length=120)
    queue = models.CharField(_("queue"), max_length=120)
    error_class = models.CharField(_("error class"), max_length=200, blank=True)
    count = models.PositiveIntegerField(_("count"))
    first_at = models.DateTimeField(_("first at"))
    last_at = models.DateTimeField(_("last at"))
    run_id = models.UUIDField(_("run"))  # the last one, and what it said
    error = models.TextField(_("error"), blank=True)

    class Meta:
        verbose_name = _("untold failures")
        verbose_name_plural = _("untold failures")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.job_type} {self.error_class} {self.count}"
