"""Live work: small, hot, gone from here when it ends."""

from __future__ import annotations

from django.db import models, router
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from jobs_app.conf import get_settings
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
    NEW = "new", _("waits for admission")  # looked at when it is due
    KEY = "key", _("waits for its key")  # looked at again when a job with its key ends
    LIMIT = "limit", _("waits for a limit")
    PAUSE = "pause", _("paused")


class Gate(models.IntegerChoices):
    """What a job must pass before it is open to claims."""

    NONE = 0, _("none")
    LIMIT = 1, _("limits")
    KEY = 2, _("its key, then limits")


class Policy(models.TextChoices):
    """How many jobs of one queue may share a key."""

    STANDARD = "standard", _("any number")
    SINGLETON = "singleton", _("one running")
    EXCLUSIVE = "exclusive", _("one queued or running")
    SHORT = "short", _("one queued")
    STATELY = "stately", _("one queued and one running")


ONE_QUEUED = (Policy.SHORT, Policy.STATELY)


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
    key = models.CharField(_("key"), max_length=200, null=True, blank=True)
    attempts = models.IntegerField(_("attempts"), db_default=0)  # claims, but for those put back before they started
    free_attempts = models.IntegerField(_("free attempts"), db_default=0)  # claims that do not count against the limit
    max_attempts = models.IntegerField(_("attempts at most"))
    payload = models.JSONField(_("payload"))
    meta = models.JSONField(_("meta"), default=dict)
    actor = models.CharField(_("enqueued by"), max_length=150, blank=True, db_default="")
    parent = models.UUIDField(_("parent run"), null=True, blank=True)
    timeout_seconds = models.FloatField(_("timeout in seconds"), null=True, blank=True)  # where one was asked for
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
    gate = models.SmallIntegerField(_("gate"), choices=Gate.choices, db_default=Gate.NONE)
    token = models.UUIDField(_("token"), null=True, editable=False)  # proves whose claim it is; a secret
    lease_expires_at = models.DateTimeField(_("lease expires at"), null=True, blank=True)
    cancel_requested = models.BooleanField(_("asked to stop"), db_default=False)
    abort_requested = models.BooleanField(_("to be stopped by force"), db_default=False)
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
            # Whether a schedule has a job that waits or runs: only jobs of schedules are in it.
            models.Index("schedule", name="jobs_app_job_schedule", condition=Q(schedule__isnull=False)),
            # Whether a run was run again: only those that repeat another are in it.
            models.Index("parent", name="jobs_app_job_parent", condition=Q(parent__isnull=False)),
            # Admission: only jobs behind a gate, or parked, are in these.
            models.Index(
                "queue",
                "hold",
                "job_type",
                models.F("priority").desc(),
                "run_at",
                "id",
                name="jobs_app_job_gate",
                condition=Q(state="queued", hold__in=["new", "limit"]),
            ),
            models.Index(
                "queue",
                "subject",
                models.F("priority").desc(),
                "run_at",
                "id",
                name="jobs_app_job_share",
                condition=Q(state="queued", hold="limit"),
            ),
            models.Index(
                "queue",
                "key",
                "job_type",
                models.F("priority").desc(),
                "run_at",
                "id",
                name="jobs_app_job_key",
                condition=Q(state="queued", hold="key"),
            ),
            models.Index("queue", "key", name="jobs_app_job_admitted", condition=Q(gate=2, hold__in=["", "limit"])),
            models.Index("queue", name="jobs_app_job_queue_open", condition=Q(gate__gt=0, hold="")),
            models.Index("job_type", name="jobs_app_job_type_open", condition=Q(gate__gt=0, hold="")),
            models.Index("id", name="jobs_app_job_parked", condition=Q(hold="pause")),
        )
        constraints = (
            models.CheckConstraint(name="jobs_app_job_is_live", condition=Q(state__in=["queued", "running"])),
            models.CheckConstraint(
                name="jobs_app_job_lease_iff_running",
                condition=Q(state="running", lease_expires_at__isnull=False, token__isnull=False)
                | Q(state="queued", lease_expires_at__isnull=True),
            ),
            models.CheckConstraint(
                name="jobs_app_job_running_is_open", condition=Q(state="queued") | Q(state="running", hold="")
            ),
            # Admission keeps these; they are the net below it.
            models.UniqueConstraint(
                "queue",
                "key",
                name="jobs_app_job_one_of_key",
                condition=Q(policy__in=["singleton", "exclusive", "stately"], hold__in=["", "limit"]),
            ),
            # And these decide what a second enqueue gets.
            models.UniqueConstraint("queue", "key", name="jobs_app_job_exclusive", condition=Q(policy="exclusive")),
            models.UniqueConstraint(
                "queue",
                "key",
                name="jobs_app_job_one_queued",
                condition=Q(policy__in=["short", "stately"], state="queued"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.job_type} {self.id}"


def jobs_database() -> str:
    """The alias of the database that holds the jobs."""
    return get_settings().database or router.db_for_write(Job)
