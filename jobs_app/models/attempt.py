"""The attempts log: one row for each claim of a job by a worker."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class Outcome(models.TextChoices):
    SUCCESS = "success", _("success")
    ERROR = "error", _("error")
    TIMEOUT = "timeout", _("timeout")
    LOST = "lost", _("lost")  # the lease expired: killed worker, dead host, cut network
    CRASHED = "crashed", _("crashed")
    INTERRUPTED = "interrupted", _("interrupted")  # the worker shut down; not spent
    DEFERRED = "deferred", _("deferred")  # met a maintenance window; not spent
    SNOOZED = "snoozed", _("snoozed")  # the handler asked to come back later; not spent
    CANCELLED = "cancelled", _("cancelled")


class JobAttempt(JobsModel):
    """One try. The key is (job, number): numbers never repeat, and one index less is written per job."""

    pk = models.CompositePrimaryKey("job_id", "number")
    job_id = models.UUIDField(_("run"))
    number = models.IntegerField(_("number"))
    token = models.UUIDField(_("token"), editable=False)
    worker_id = models.CharField(_("worker"), max_length=100, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True)
    finished_at = models.DateTimeField(_("finished at"))
    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome.choices)
    success = models.BooleanField(_("success"))
    error_class = models.CharField(_("error class"), max_length=200, blank=True, db_default="")
    message = models.TextField(_("message"), blank=True, db_default="")
    traceback = models.TextField(_("traceback"), blank=True, db_default="")
    log_excerpt = models.TextField(_("log"), blank=True, db_default="")

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")

    def __str__(self) -> str:
        return f"{self.job_id} #{self.number} {self.outcome}"
