"""Limits of a queue as operators set them. A row replaces what the settings say about the queue."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class QueueState(JobsModel):
    name = models.CharField(_("queue"), max_length=120, primary_key=True)
    max_running = models.PositiveIntegerField(_("running at most"), null=True, blank=True)
    max_running_per_key = models.PositiveIntegerField(_("running at most per key"), null=True, blank=True)
    max_running_per_process = models.PositiveIntegerField(_("running at most per process"), null=True, blank=True)
    rate_count = models.PositiveIntegerField(_("starts per period at most"), null=True, blank=True)
    rate_seconds = models.FloatField(_("period in seconds"), null=True, blank=True)
    rate_per_key_count = models.PositiveIntegerField(_("starts per period and key at most"), null=True, blank=True)
    rate_per_key_seconds = models.FloatField(_("period per key in seconds"), null=True, blank=True)
    fair_share = models.BooleanField(_("fair share between subjects"), default=False)
    ageing_seconds = models.FloatField(_("seconds of waiting that raise the priority by one"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")

    def __str__(self) -> str:
        return self.name
