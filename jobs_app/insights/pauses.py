"""What is paused, by whom and why."""

from __future__ import annotations

from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.pauses import in_force
from jobs_app.models import Pause


def newest(connection: BaseDatabaseWrapper, now: datetime, *, limit: int = 100) -> list[Pause]:
    """The pauses in force, newest first."""
    return list(Pause.objects.using(connection.alias).filter(in_force(now)).order_by("-created_at", "-pk")[:limit])
