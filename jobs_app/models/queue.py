"""Policy and limits of a queue, where they differ from the job types' own."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel
from jobs_app.models.job import Policy


class QueueState(JobsModel):
    name = models.CharField(_("queue"), max_length=120, primary_key=True)
    policy = models.CharField(_("policy"), max_length=10, choices=Policy.choices, default=Policy.STANDARD)
    max_running = models.PositiveIntegerField(_("running at most"), null=True, blank=True)
    max_running_per_key = models.PositiveIntegerField(_("running at most per key"), null=True, blank=True)
    rate_count = models.PositiveIntegerField(_("starts per period at most"), null=True, blank=True)
    rate_seconds = models.FloatField(_("period in seconds"), null=True, blank=True)
    fair_share = models.BooleanField(_("fair share between subjects"), default=False)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")

    def __str__(self) -> str:
        return self.name
