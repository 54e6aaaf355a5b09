"""Who is alive and what it serves."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class WorkerKind(models.TextChoices):
    WORKER = "worker", _("worker")
    SCHEDULER = "scheduler", _("scheduler")
    REMOTE = "remote", _("remote worker")


class WorkerState(JobsModel):
    """One process, under an id that is random per boot. `seen_at` is its heartbeat, in database time;
    `beat_seconds` says how soon the next one was promised."""

    id = models.CharField(_("id"), max_length=100, primary_key=True)
    kind = models.CharField(_("kind"), max_length=9, choices=WorkerKind.choices, default=WorkerKind.WORKER)
    name = models.CharField(_("name"), max_length=100, blank=True, default="")
    host = models.CharField(_("host"), max_length=255, blank=True, default="")
    pid = models.IntegerField(_("process"), default=0)
    version = models.CharField(_("version"), max_length=64, blank=True, default="")
    queues = models.JSONField(_("queues"), default=list)
    excluded = models.JSONField(_("excluded queues"), default=list)
    job_types = models.JSONField(_("job types"), default=list)
    concurrency = models.IntegerField(_("slots"), default=0)
    busy = models.IntegerField(_("busy slots"), default=0)
    rss_bytes = models.BigIntegerField(_("memory"), default=0)
    draining = models.BooleanField(_("draining"), default=False)
    drain_requested = models.BooleanField(_("asked to drain"), default=False)
    beat_seconds = models.FloatField(_("seconds between heartbeats"), default=10)
    started_at = models.DateTimeField(_("started at"))
    seen_at = models.DateTimeField(_("last seen at"))

    class Meta:
        verbose_name = _("worker")
        verbose_name_plural = _("workers")

    def __str__(self) -> str:
        return self.name or self.id
