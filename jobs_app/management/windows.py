"""Maintenance windows as the command line tells them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobs_app.windows import Open


def open_data(opened: Iterable[Open]) -> list[dict[str, Any]]:
    return [
        {
            "name": window.name,
            "start": span.start,
            "end": span.end,
            "queues": sorted(window.queues),
            "job_types": sorted(window.job_types),
        }
        for window, span in opened
    ]


def open_text(opened: Open) -> str:
    window, end = opened.window, opened.span.end.isoformat(timespec="seconds")
    named = [f"queue {name}" for name in sorted(window.queues)]
    named += [f"job type {name}" for name in sorted(window.job_types)]
    return f"In the maintenance window {window.name} until {end}: {', '.join(named) or 'everything'}"
