"""Which work was already asked for: one row per key until it expires."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class IdempotencyKey(JobsModel):
    pk = models.CompositePrimaryKey("scope", "key")
    scope = models.CharField(_("scope"), max_length=160)  # job type, "throttle" and queue, or caller and verb
    key = models.CharField(_("key"), max_length=200)
    run_id = models.UUIDField(_("run"))
    body_hash = models.CharField(_("hash of the body"), max_length=64)
    answer = models.JSONField(_("answer"), null=True)
    created_at = models.DateTimeField(_("created at"))
    expires_at = models.DateTimeField(_("expires at"))

    class Meta:
        verbose_name = _("idempotency key")
        verbose_name_plural = _("idempotency keys")
        indexes = (models.Index("expires_at", name="jobs_app_idempotency_expiry"),)

    def __str__(self) -> str:
        return f"{self.scope} {self.key}"
