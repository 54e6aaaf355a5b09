"""What every table of the app has in common: the database it lives in."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.db import models

from jobs_app.conf import get_settings


class JobsManager(models.Manager[Any]):
    """Reads and writes where `settings.JOBS["DATABASE"]` says, else where the routers say."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().using(self._db or get_settings().database)


class JobsModel(models.Model):
    objects: ClassVar[models.Manager[Self]] = JobsManager()

    class Meta:
        abstract = True
