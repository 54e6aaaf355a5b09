"""Finished runs, append-only, and the view that shows live and finished runs as one list."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs_app.models.attempt import Outcome
from jobs_app.models.job import FINISHED, Hold, RunColumns

BY_TIME = ("queued_at", "id")


class Ending(RunColumns):
    """How a run ended."""

    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome.choices, blank=True, db_default="")
    done_reason = models.CharField(_("reason"), max_length=24, blank=True, db_default="")
    error = models.TextField(_("error"), blank=True, db_default="")
    result = models.JSONField(_("result"), null=True, blank=True)

    class Meta:
        abstract = True


class JobRun(Ending):
    """One finished run. Written once, by the statement that removes the job."""

    finished_at = models.DateTimeField(_("finished at"))

    class Meta:
        verbose_name = _("finished run")
        verbose_name_plural = _("finished runs")
        indexes = (
            # Lists read one of these from where a page ends, so that page a thousand costs what the first one does. All
            # are read from the end: what is new goes to the end of an index for less than to its beginning.
            models.Index(*BY_TIME, name="jobs_app_run_newest"),
            models.Index("job_type", *BY_TIME, name="jobs_app_run_type_newest"),
            models.Index("subject", *BY_TIME, name="jobs_app_run_subject", condition=~Q(subject="")),
            models.Index(*BY_TIME, name="jobs_app_run_failed", condition=Q(state="failed")),
            # Whether a run was run again; one that repeats no other is not in it.
            models.Index("parent", name="jobs_app_run_parent", condition=Q(parent__isnull=False)),
            # The last runs of a schedule; one that belongs to none is not in it.
            models.Index("schedule", "id", name="jobs_app_run_schedule", condition=Q(schedule__isnull=False)),
        )
        constraints = (models.CheckConstraint(name="jobs_app_run_is_finished", condition=Q(state__in=list(FINISHED))),)

    def __str__(self) -> str:
        return f"{self.job_type} {self.id}"


class Run(Ending):
    """A run under its id, whether it is live (`Job`) or finished (`JobRun`). Read only."""

    finished_at = models.DateTimeField(_("finished at"), null=True)
    hold = models.CharField(_("hold"), max_length=6, choices=Hold.choices)
    lease_expires_at = models.DateTimeField(_("lease expires at"), null=True)
    cancel_requested = models.BooleanField(_("asked to stop"))

    class Meta:
        managed = False
        db_table = "jobs_app_run"
        verbose_name = _("run")
        verbose_name_plural = _("runs")

    def __str__(self) -> str:
        return f"{self.job_type} {self.id}"
