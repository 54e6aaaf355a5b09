"""Who may speak over HTTP: the token itself is never stored, only its hash."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class ApiToken(JobsModel):
    name = models.CharField(_("name"), max_length=120)
    prefix = models.CharField(_("prefix"), max_length=16, unique=True)
    token_hash = models.CharField(_("hash"), max_length=64)
    scopes = models.JSONField(_("scopes"), default=list)
    queues = models.JSONField(_("queues"), default=list, blank=True)
    job_types = models.JSONField(_("job types"), default=list, blank=True)
    created_by = models.CharField(_("created by"), max_length=150, blank=True, default="")
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return self.name
