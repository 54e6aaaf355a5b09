"""An operator's override of a knob of `settings.JOBS`."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel


class RuntimeSetting(JobsModel):
    name = models.CharField(_("name"), max_length=64, primary_key=True)
    value = models.JSONField(_("value"))
    actor = models.CharField(_("changed by"), max_length=150, blank=True, default="")
    updated_at = models.DateTimeField(_("changed at"), auto_now=True)

    class Meta:
        verbose_name = _("runtime setting")
        verbose_name_plural = _("runtime settings")

    def __str__(self) -> str:
        return self.name
