"""Live work: small, hot, gone from here when it ends."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs_app.ids import uuid7
from jobs_app.models.base import JobsModel


class State(models.TextChoices):
    QUEUED = "queued", _("queued")  # waits for its run_at, then for a free worker
    RUNNING = "running", _("running")  # claimed by exactly one worker, until its lease ends
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")  # no attempts left, or not worth another
    CANCELLED = "cancelled", _("cancelled")


LIVE = (State.QUEUED, State.RUNNING)
FINISHED = (State.SUCCEEDED, State.FAILED, State.CANCELLED)


class Hold(models.TextChoices):
    """Why a queued job may not be claimed."""

    OPEN = "", _("open")
    KEY = "key", _("waits for its key or limit")
    PAUSE = "pause", _("paused")


class Policy(models.TextChoices):
    """How many jobs of one queue may share a key."""

    STANDARD = "standard", _("any number")
    SINGLETON = "singleton", _("one running")
    EXCLUSIVE = "exclusive", _("one queued or running")
    SHORT = "short", _("one queued")
    STATELY = "stately", _("one queued and one running")


class RunColumns(JobsModel):
    """What a run carries through its whole life, live or finished."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=State.choices)
    job_type = models.CharField(_("job type"), max_length=120)
    queue = models.CharField(_("queue"), max_length=120)
    subject = models.CharField(_("subject"), max_length=200, blank=True, db_default="")
    priority = models.SmallIntegerField(_("priority"), db_default=0)
    run_at = models.DateTimeField(_("due at"))
    queued_at = models.DateTimeField(_("queued at"))
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    slot_at = models.DateTimeField(_("slot"), null=True, blank=True)
    schedule = models.BigIntegerField(_("schedule"), null=True, blank=True)
    policy = models.CharField(_("policy"), max_length=10, choices=Policy.choices, db_default=Policy.STANDARD)
    key = models.CharField(_("key"), max_length=200, null=True, blank=True)  # noqa: DJ001: null is "no key" in its index
    attempts = models.IntegerField(_("attempts"), db_default=0)  # claims; only grows
    free_attempts = models.IntegerField(_("free attempts"), db_default=0)  # claims that do not count against the limit
    max_attempts = models.IntegerField(_("attempts at most"))
    payload = models.JSONField(_("payload"))
    meta = models.JSONField(_("meta"), default=dict)
    actor = models.CharField(_("enqueued by"), max_length=150, blank=True, db_default="")
    parent = models.UUIDField(_("parent run"), null=True, blank=True)
    cursor = models.TextField(_("cursor"), blank=True, db_default="")
    progress_count = models.BigIntegerField(_("progress"), db_default=0)
    result_count = models.BigIntegerField(_("results"), db_default=0)
    target_count = models.BigIntegerField(_("target"), null=True, blank=True)
    progress_message = models.CharField(_("progress message"), max_length=500, blank=True, db_default="")
    last_progress_at = models.DateTimeField(_("last progress"), null=True, blank=True)
    worker_id = models.CharField(_("worker"), max_length=100, blank=True, db_default="")
    first_started_at = models.DateTimeField(_("first started at"), null=True, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)  # of the last attempt

    class Meta:
        abstract = True


class Job(RunColumns):
    """One piece of work, queued or running. Only `lifecycle/` changes its state."""

    hold = models.CharField(_("hold"), max_length=6, choices=Hold.choices, blank=True, db_default=Hold.OPEN)
    token = models.UUIDField(_("token"), null=True, editable=False)  # proves whose claim it is; a secret
    lease_expires_at = models.DateTimeField(_("lease expires at"), null=True, blank=True)
    cancel_requested = models.BooleanField(_("asked to stop"), db_default=False)
    last_error = models.TextField(_("last error"), blank=True, db_default="")

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        indexes = (
            # The claim reads this in order, lane by lane; rows that are running or held are not in it.
            models.Index(
                "queue",
                models.F("priority").desc(),
                "run_at",
                "id",
                name="jobs_app_job_claim",
                condition=Q(state="queued", hold=""),
            ),
            # Recovery reads O(running) rows.
            models.Index("lease_expires_at", name="jobs_app_job_lease", condition=Q(state="running")),
            models.Index(
                "expires_at", name="jobs_app_job_expiry", condition=Q(state="queued", expires_at__isnull=False)
            ),
        )
        constraints = (
            models.CheckConstraint(name="jobs_app_job_is_live", condition=Q(state__in=["queued", "running"])),
            models.CheckConstraint(
                name="jobs_app_job_lease_iff_running",
                condition=Q(state="running", lease_expires_at__isnull=False, token__isnull=False)
                | Q(state="queued", lease_expires_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.job_type} {self.id}"
