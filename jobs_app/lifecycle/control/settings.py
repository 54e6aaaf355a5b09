"""Overrides of settings, turned by operators while everything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import Settings, settings_of_code, with_overrides
from jobs_app.errors import NotPossible, OptionInvalid, SettingsInvalid
from jobs_app.knobs import KNOBS, NO_LIMIT, Knob, settle
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.lifecycle.locks import try_lock
from jobs_app.lifecycle.overrides import read_overrides, stored_overrides
from jobs_app.lifecycle.wakeup import tell_rules_changed
from jobs_app.models import RuntimeSetting
from jobs_app.options import did_you_mean

KIND = "setting"


def change_setting(name: str, value: Any, actor: Any, reason: str = "") -> Acted:
    """Override one setting, named as in `settings.JOBS` or in lower case, in every process within a few seconds."""
    act = begin("change", "change_setting", actor, reason)
    knob = _knob(name)
    wanted = checked(knob, value)
    connection = jobs_connection()
    with write_savepoint(connection):
        known = _known(connection)
        before = getattr(with_overrides(known), knob.name)
        _require_together(knob, {**known, knob.name: wanted})
        if knob.name in known and before == wanted:
            acted = Acted(skipped={knob.setting: "has this value already"})
        else:
            rows = RuntimeSetting.objects.using(connection.alias)
            rows.update_or_create(name=knob.name, defaults={"value": _as_stored(wanted), "actor": act.actor})
            acted = Acted(moved=[knob.setting])
        return _told(connection, act, knob, acted, before, wanted)


def reset_setting(name: str, actor: Any, reason: str = "") -> Acted:
    """Let code speak again."""
    act = begin("reset", "change_setting", actor, reason)
    knob = _knob(name)
    connection = jobs_connection()
    with write_savepoint(connection):
        known = _known(connection)
        before = getattr(with_overrides(known), knob.name)
        _require_together(knob, {other: value for other, value in known.items() if other != knob.name})
        gone, _ = RuntimeSetting.objects.using(connection.alias).filter(name=knob.name).delete()
        acted = Acted(moved=[knob.setting]) if gone else Acted(skipped={knob.setting: "is as code says already"})
        return _told(connection, act, knob, acted, before, getattr(settings_of_code(), knob.name))


def checked(knob: Knob, value: Any) -> Any:
    """The value as `Settings` has it; OptionInvalid where it is out of range."""
    try:
        return knob.read(value)
    except ValueError as problem:
        raise OptionInvalid(f"{knob.setting}={value!r} cannot be used: {problem}.") from None


def as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _as_stored(value: Any) -> Any:
    return NO_LIMIT if value is None else as_json(value)


def _knob(name: str) -> Knob:
    wanted = str(name).lower()
    if wanted in KNOBS:
        return KNOBS[wanted]
    if wanted in {field.name for field in fields(Settings)}:
        raise OptionInvalid(f"{wanted.upper()} is set in code: settings.JOBS[{wanted.upper()!r}].")
    raise OptionInvalid(f"there is no setting {name!r}.{did_you_mean(wanted, KNOBS)}")


def _known(connection: BaseDatabaseWrapper) -> dict[str, Any]:
    """The overrides that are in force. One change at a time, since all are checked together."""
    if not try_lock(connection, "runtime settings"):
        raise NotPossible("somebody else changes a setting at this moment. Nothing was changed; try again.")
    return settle(stored_overrides(connection)).overrides


def _require_together(knob: Knob, wanted: Mapping[str, Any]) -> None:
    try:
        with_overrides(wanted)
    except SettingsInvalid as problem:
        raise OptionInvalid(f"{knob.setting} would not fit the others: {problem}") from None


def _told(connection: BaseDatabaseWrapper, act: Act, knob: Knob, acted: Acted, before: Any, after: Any) -> Acted:
    act.record(connection, KIND, knob.setting, acted, {"before": as_json(before), "after": as_json(after)})
    tell_rules_changed(connection)
    transaction.on_commit(partial(read_overrides, connection), using=connection.alias, robust=True)
    return acted
