"""Pauses as the command line tells them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobs_app.management.output import shown
from jobs_app.models import Pause

NAMES = ("scope", "name", "reason", "actor", "until", "created_at")


def pauses_data(pauses: Iterable[Pause]) -> list[dict[str, Any]]:
    return [{name: getattr(each, name) for name in NAMES} for each in pauses]


def pause_text(each: Pause) -> str:
    until = "" if each.until is None else f" until {shown(each.until)}"
    by = f" by {each.actor}" if each.actor else ""
    return f"Paused{by}{until}: {each}{f' ({each.reason})' if each.reason else ''}"
