"""When a job type is next due for a subject: one row per (job type, subject, name)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs_app.catch_up import CatchUpRule
from jobs_app.models.base import JobsModel
from jobs_app.timetable import Timetable


class Origin(models.TextChoices):
    CODE = "code", _("code")
    SOURCE = "source", _("source of subjects")
    ADMIN = "admin", _("admin")


class CatchUp(models.TextChoices):
    """What happens to slots that passed while nothing ticked."""

    ALL = "all", _("all, capped")
    ONCE = "once", _("the newest only")
    SKIP = "skip", _("none")


class Overlap(models.TextChoices):
    ALLOW = "allow", _("allow")
    SKIP = "skip", _("skip while one is live")
    QUEUE_ONE = "queue_one", _("queue one")


class ScheduleState(JobsModel):
    job_type = models.CharField(_("job type"), max_length=120)
    subject = models.CharField(_("subject"), max_length=200, blank=True, default="")
    name = models.CharField(_("name"), max_length=120, blank=True, default="")
    origin = models.CharField(_("origin"), max_length=6, choices=Origin.choices, default=Origin.CODE)
    interval_seconds = models.FloatField(_("interval in seconds"), null=True, blank=True)
    cron = models.CharField(_("cron"), max_length=200, blank=True, default="")
    timezone = models.CharField(_("time zone"), max_length=64, blank=True, default="UTC")
    once_at = models.DateTimeField(_("one moment"), null=True, blank=True)
    next_run_at = models.DateTimeField(_("next due at"), null=True, blank=True)
    last_run_at = models.DateTimeField(_("last enqueued at"), null=True, blank=True)
    last_slot = models.DateTimeField(_("last slot"), null=True, blank=True)
    paused = models.BooleanField(_("paused"), default=False)
    retired = models.BooleanField(_("gone from code"), default=False)
    disabled = models.BooleanField(_("switched off by failures"), default=False, db_default=False)
    catch_up = models.CharField(_("catch-up"), max_length=4, choices=CatchUp.choices, default=CatchUp.ONCE)
    catch_up_max = models.PositiveIntegerField(_("catch-up per tick at most"), default=10)
    catch_up_window_seconds = models.FloatField(_("catch-up window in seconds"), null=True, blank=True)
    spread_seconds = models.FloatField(_("catch-up spread in seconds"), default=0)
    jitter_seconds = models.FloatField(_("jitter in seconds"), default=0)
    overlap = models.CharField(_("overlap"), max_length=9, choices=Overlap.choices, default=Overlap.ALLOW)
    payload = models.JSONField(_("payload"), default=dict, blank=True)
    overrides = models.JSONField(_("operator overrides"), default=dict, blank=True)
    skipped_slots = models.BigIntegerField(_("slots without a job"), default=0, db_default=0)
    failures = models.PositiveIntegerField(_("failed ticks in a row"), default=0)
    failing_since = models.DateTimeField(_("failing since"), null=True, blank=True)
    last_error = models.TextField(_("last error"), blank=True, default="")
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        indexes = (
            models.Index(
                "next_run_at",
                "id",
                name="jobs_app_schedule_due",
                condition=Q(paused=False, retired=False, disabled=False, next_run_at__isnull=False),
            ),
            models.Index("subject", name="jobs_app_schedule_subject", condition=~Q(subject="")),
            models.Index("job_type", name="jobs_app_schedule_retired", condition=Q(retired=True)),
        )
        constraints = (
            models.UniqueConstraint("job_type", "subject", "name", name="jobs_app_schedule_unique"),
            models.CheckConstraint(
                name="jobs_app_schedule_one_rule",
                condition=Q(interval_seconds__isnull=False, interval_seconds__gt=0, cron="", once_at=None)
                | (Q(interval_seconds=None, once_at=None) & ~Q(cron=""))
                | Q(interval_seconds=None, cron="", once_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return " ".join(part for part in (self.job_type, self.subject, self.name) if part)

    @property
    def timetable(self) -> Timetable:
        return Timetable(every=self.interval_seconds, cron=self.cron, timezone=self.timezone, at=self.once_at)

    @property
    def catch_up_rule(self) -> CatchUpRule:
        return CatchUpRule(
            policy=self.catch_up,
            most=self.catch_up_max,
            window=self.catch_up_window_seconds,
            spread=self.spread_seconds,
        )
