"""When work must not start: windows by time of day."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from jobs_app.models.base import JobsModel
from jobs_app.windows import READERS, Window


class MaintenanceWindow(JobsModel):
    name = models.CharField(_("name"), max_length=120, unique=True)
    start = models.TimeField(_("start"))
    minutes = models.PositiveIntegerField(_("minutes"))
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    days = models.JSONField(_("days of the week"), default=list, blank=True)  # 0 is Monday; empty is every day
    queues = models.JSONField(_("queues"), default=list, blank=True)
    job_types = models.JSONField(_("job types"), default=list, blank=True)
    enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name = _("maintenance window")
        verbose_name_plural = _("maintenance windows")

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """What has no value at all is told by its field."""
        problems = {name: why for name, why in self._read()[1].items() if getattr(self, name) not in (None, "")}
        if problems:
            raise ValidationError(problems)

    def as_window(self) -> Window:
        """ValueError tells each column that cannot be used, and why."""
        chosen, problems = self._read()
        if problems:
            raise ValueError("; ".join(f"{name}={getattr(self, name)!r}: {why}" for name, why in problems.items()))
        return Window(**chosen)

    def _read(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The columns as a window has them, and what is wrong with the others."""
        chosen: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for name, reader in READERS.items():
            try:
                chosen[name] = reader(getattr(self, name))
            except ValueError as problem:
                problems[name] = str(problem)
        return chosen, problems
