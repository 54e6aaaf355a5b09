"""The settings in force: what code says, what operators changed of it, who did, when and why."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Max

from jobs_app.conf import Settings, settings_of_code, with_overrides
from jobs_app.knobs import KNOBS, Knob, settle
from jobs_app.lifecycle.control.settings import KIND
from jobs_app.models import ControlEvent, RuntimeSetting


@dataclass(frozen=True, kw_only=True)
class KnobState:
    """One knob, as of now."""

    knob: Knob
    value: Any  # in force wherever it was heard of
    in_code: Any
    is_overridden: bool
    problem: str  # why the override that is stored is not in force
    actor: str
    changed_at: datetime | None
    event: ControlEvent | None  # the last act of an operator on it

    @property
    def reason(self) -> str:
        return self.event.reason if self.event else ""


def knob_states(connection: BaseDatabaseWrapper) -> list[KnobState]:
    """All that can be turned, as the rows say, whatever this process has heard of. Three small queries."""
    rows = {row.name: row for row in RuntimeSetting.objects.using(connection.alias)}
    settled = settle({name: row.value for name, row in rows.items()})
    in_force, events = with_overrides(settled.overrides), _last_events(connection)
    return [
        KnobState(
            knob=knob,
            value=getattr(in_force, knob.name),
            in_code=getattr(settings_of_code(), knob.name),
            is_overridden=knob.name in rows,
            problem=settled.problems.get(knob.name, ""),
            actor=rows[knob.name].actor if knob.name in rows else "",
            changed_at=rows[knob.name].updated_at if knob.name in rows else None,
            event=events.get(knob.setting),
        )
        for knob in KNOBS.values()
    ]


def set_in_code() -> list[tuple[str, Any]]:
    """What only a deploy changes, by its name in `settings.JOBS`."""
    settings = settings_of_code()
    return [(each.name.upper(), getattr(settings, each.name)) for each in fields(Settings) if each.name not in KNOBS]


def _last_events(connection: BaseDatabaseWrapper) -> dict[str, ControlEvent]:
    """Of each knob; found by the index on targets, among events of settings only."""
    events = ControlEvent.objects.using(connection.alias).filter(target_kind=KIND, moved__gt=0)
    newest = events.filter(target__in=[knob.setting for knob in KNOBS.values()]).values("target").annotate(Max("pk"))
    found = events.in_bulk([row["pk__max"] for row in newest])
    return {event.target: event for event in found.values()}
