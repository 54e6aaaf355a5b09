"""Maintenance windows of operators, beside those of the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import time
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import values
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.lifecycle.wakeup import tell_rules_changed
from jobs_app.models import MaintenanceWindow
from jobs_app.options import read
from jobs_app.registry import registry
from jobs_app.windows import READERS

KIND = "window"
COLUMNS = {name: reader for name, reader in READERS.items() if name != "name"} | {"enabled": values.flag}
NOT_FOUND = "is no window that an operator made"


def add_window(
    name: str,
    actor: Any,
    reason: str = "",
    *,
    start: str | time,
    minutes: int,
    timezone: str = "UTC",
    days: Sequence[int] = (),
    queues: Sequence[str] = (),
    job_types: Sequence[str] = (),
) -> Acted:
    """Let nothing start in these minutes from `start` by the clocks of the zone, on these days (0 is Monday) or each.

    It covers the queues and the job types named, or else everything.
    """
    act = begin("add", "add_maintenancewindow", actor, reason)
    given = {"start": start, "minutes": minutes, "timezone": timezone}
    columns = _columns(name, given | {"days": days, "queues": queues, "job_types": job_types})
    connection = jobs_connection()
    with write_savepoint(connection):
        rows = MaintenanceWindow.objects.using(connection.alias)
        _, created = rows.get_or_create(name=name, defaults=columns)
        acted = Acted(moved=[name]) if created else Acted(skipped={name: "is there already: change it, or remove it"})
        return _told(connection, act, name, acted, {"window": _as_json(columns)})


def change_window(name: str, actor: Any, reason: str = "", **changes: Any) -> Acted:
    """Change what is named of it, as in `add_window`; `enabled=False` lets it rest until it is enabled again.

    What it has deferred stays deferred.
    """
    act = begin("change", "change_maintenancewindow", actor, reason)
    columns = _columns(name, changes)
    if not columns:
        raise OptionInvalid(f"window {name!r}: what shall change? Known are: {', '.join(COLUMNS)}.")
    connection = jobs_connection()
    with write_savepoint(connection):
        rows = MaintenanceWindow.objects.using(connection.alias).filter(name=name).select_for_update()
        before = rows.values(*columns).first()
        rows.update(**columns)
        acted = Acted(moved=[name]) if before else Acted(skipped={name: NOT_FOUND})
        return _told(connection, act, name, acted, {"window": _as_json(columns), "before": _as_json(before or {})})


def remove_window(name: str, actor: Any, reason: str = "") -> Acted:
    """Let it hold nothing any more. What it has deferred stays deferred."""
    act = begin("remove", "delete_maintenancewindow", actor, reason)
    connection = jobs_connection()
    with write_savepoint(connection):
        rows = MaintenanceWindow.objects.using(connection.alias).filter(name=name)
        before = rows.values(*COLUMNS).first()
        rows.delete()
        acted = Acted(moved=[name]) if before else Acted(skipped={name: NOT_FOUND})
        return _told(connection, act, name, acted, {"before": _as_json(before or {})})


def _columns(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """As a row has them."""
    where = f"window {name!r}"
    read({"name": name}, READERS, OptionInvalid, where)
    chosen = read(given, COLUMNS, OptionInvalid, where)
    for job_type in sorted(chosen.get("job_types", ())):
        registry.get(job_type)  # a slip of the pen would stop nothing, and nobody would notice
    return {column: sorted(value) if isinstance(value, frozenset) else value for column, value in chosen.items()}


def _told(
    connection: BaseDatabaseWrapper, act: Act, name: str, acted: Acted, detail: Mapping[str, Mapping[str, Any]]
) -> Acted:
    act.record(connection, KIND, name, acted, detail)
    tell_rules_changed(connection)
    return acted


def _as_json(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, time) else value for name, value in columns.items()}
