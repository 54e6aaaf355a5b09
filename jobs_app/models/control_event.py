"""What operators did: append-only, with actor, reason and effect."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class ControlEvent(JobsModel):
    at = models.DateTimeField(_("at"), auto_now_add=True)
    actor = models.CharField(_("actor"), max_length=150, blank=True, default="")
    action = models.CharField(_("action"), max_length=40)
    target_kind = models.CharField(_("kind of target"), max_length=20, blank=True, default="")
    target = models.CharField(_("target"), max_length=200, blank=True, default="")
    reason = models.TextField(_("reason"), blank=True, default="")
    moved = models.IntegerField(_("moved"), default=0)
    skipped = models.IntegerField(_("skipped"), default=0)
    detail = models.JSONField(_("detail"), default=dict)

    class Meta:
        verbose_name = _("control event")
        verbose_name_plural = _("control events")
        indexes = (
            models.Index(models.F("at").desc(), models.F("id").desc(), name="jobs_app_event_at"),
            models.Index("target_kind", "target", name="jobs_app_event_target"),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
