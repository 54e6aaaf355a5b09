"""What an operator stopped, who, why and until when."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class Scope(models.TextChoices):
    ALL = "all", _("everything")
    QUEUE = "queue", _("queue")
    JOB_TYPE = "job_type", _("job type")
    SUBJECT = "subject", _("subject")


class Pause(JobsModel):
    scope = models.CharField(_("scope"), max_length=8, choices=Scope.choices)
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    reason = models.TextField(_("reason"), blank=True, default="")
    actor = models.CharField(_("paused by"), max_length=150, blank=True, default="")
    until = models.DateTimeField(_("until"), null=True, blank=True)
    created_at = models.DateTimeField(_("paused at"), auto_now_add=True)
    parked = models.BooleanField(_("parked"), default=False)  # all jobs that were waiting are held by now

    class Meta:
        verbose_name = _("pause")
        verbose_name_plural = _("pauses")
        constraints = (models.UniqueConstraint("scope", "name", name="jobs_app_pause_unique"),)

    def __str__(self) -> str:
        return " ".join(part for part in (self.get_scope_display(), self.name) if part)
