"""Pauses as rows, and what they hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from jobs_app.models import Job, Pause
from tests.lifecycle.rows import T


def paused(name: str = "shop-7", **columns: Any) -> Pause:
    return Pause.objects.create(scope="subject", name=name, **columns)


def end(pause: Pause, at_second: float) -> None:
    """As an operator does it, without the work that follows."""
    Pause.objects.filter(pk=pause.pk).update(until=T + timedelta(seconds=at_second), parked=True)


def holds(**wanted: Any) -> list[str]:
    return list(Job.objects.filter(**wanted).order_by("pk").values_list("hold", flat=True))
