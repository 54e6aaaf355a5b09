"""Pages of the admin that have no table, each an entry of its menu. The first carries the permissions of operators."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class MenuEntry(JobsModel):
    """No table, no rows."""

    class Meta:
        abstract = True


class Dashboard(MenuEntry):
    """One permission per verb. What has a table of its own also has Django's add, change, delete and view."""

    class Meta:
        managed = False
        default_permissions = ()
        verbose_name = _("dashboard")
        verbose_name_plural = _("dashboard")
        permissions = (
            ("view_dashboard", _("Can see jobs, runs, queues, schedules and workers")),
            ("view_payload", _("Can see payloads, results and meta of runs")),
            ("view_log", _("Can see logs and tracebacks of runs")),
            ("trigger_job", _("Can trigger jobs")),
            ("retry_run", _("Can retry runs and run them again")),
            ("cancel_run", _("Can cancel runs and ask running ones to stop")),
            ("abort_run", _("Can stop running runs by force")),
            ("fail_run", _("Can mark runs as failed")),
            ("reconcile_runs", _("Can reconcile stale runs and requeue those of lost workers")),
            ("pause_all", _("Can pause and resume everything")),
            ("pause_queue", _("Can pause and resume queues")),
            ("pause_job_type", _("Can pause and resume job types")),
            ("pause_subject", _("Can pause and resume subjects")),
            ("pause_schedule", _("Can pause and resume schedules")),
            ("scale_queue", _("Can change the limits of queues")),
            ("drain_worker", _("Can drain workers")),
            ("backfill_schedule", _("Can enqueue the slots of the past")),
            ("change_setting", _("Can change settings at run time")),
            ("manage_token", _("Can make and revoke API tokens")),
            ("prune_history", _("Can prune history")),
        )

    def __str__(self) -> str:
        return str(self._meta.verbose_name)


class JobDefinition(MenuEntry):
    name = models.CharField(_("name"), max_length=120, primary_key=True)

    class Meta:
        managed = False
        default_permissions = ()
        verbose_name = _("job type")
        verbose_name_plural = _("job types")

    def __str__(self) -> str:
        return self.name


class Subject(MenuEntry):
    name = models.CharField(_("name"), max_length=200, primary_key=True)

    class Meta:
        managed = False
        default_permissions = ()
        verbose_name = _("subject")
        verbose_name_plural = _("subjects")

    def __str__(self) -> str:
        return self.name
