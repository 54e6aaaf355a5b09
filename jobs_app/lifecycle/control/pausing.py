"""Pauses begin and end: everything, a queue, a job type, a subject."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import values
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Act, Acted, begin
from jobs_app.lifecycle.database import database_now, jobs_connection, write_savepoint
from jobs_app.lifecycle.pause_walks import Walked, open_parked, park_waiting
from jobs_app.lifecycle.pauses import PARKING, in_force
from jobs_app.lifecycle.wakeup import tell_rules_changed
from jobs_app.models import ControlEvent, Pause, Scope
from jobs_app.options import did_you_mean, subject_text
from jobs_app.registry import SYSTEM_QUEUE, registry

PATIENCE_SECONDS = 2.0  # then workers go on with what is left


def pause(scope: str, name: str, actor: Any, reason: str = "", until: datetime | None = None) -> Acted:
    """Let nothing of it start, from now until someone resumes it or `until` has come. What runs goes on."""
    act = begin("pause", f"pause_{scope}", actor, reason)  # a permission for each scope, for both ways
    _require_target(scope, name)
    _require_known(scope, name)
    connection = jobs_connection()
    with write_savepoint(connection):
        acted = _begin(connection, act, Pause(scope=scope, name=name, until=until))
        detail = {"until": until.isoformat()} if until else {}
        event = act.record(connection, scope, name, acted, detail | ({"again": True} if acted.note else {}))
        tell_rules_changed(connection)
    if scope in PARKING:
        _tell(connection, event, acted, _walk(connection, park_waiting))
    return acted


def resume(scope: str, name: str, actor: Any, reason: str = "") -> Acted:
    """End a pause; what it held may start, as far as no other pause holds it."""
    act = begin("resume", f"pause_{scope}", actor, reason)
    _require_target(scope, name)
    connection = jobs_connection()
    with write_savepoint(connection):
        acted = _end(connection, Pause(scope=scope, name=name))
        event = act.record(connection, scope, name, acted, {})
        tell_rules_changed(connection)
    if acted and scope in PARKING:
        _tell(connection, event, acted, _walk(connection, open_parked))
    return acted


def _begin(connection: BaseDatabaseWrapper, act: Act, new: Pause) -> Acted:
    rows, now = _same(connection, new), database_now(connection)
    _require_future(new.until, now)
    values_now = {"reason": act.reason, "actor": act.actor, "until": new.until, "parked": False}
    if rows.filter(in_force(now)).update(**values_now):
        return Acted(moved=[str(new)], note="It was paused before; who, why and until when are replaced.")
    rows.delete()  # one that has ended: what it had parked is covered again
    Pause.objects.using(connection.alias).bulk_create([new], ignore_conflicts=True)
    rows.update(**values_now)  # somebody else may have paused it just now: the last word counts
    return Acted(moved=[str(new)])


def _end(connection: BaseDatabaseWrapper, ending: Pause) -> Acted:
    now = database_now(connection)
    rows = _same(connection, ending).filter(in_force(now))
    # What is parked must be found before the row may go; a pause of lanes has parked nothing.
    ended = rows.update(until=now, parked=True) if ending.scope in PARKING else rows.delete()[0]
    return Acted(moved=[str(ending)]) if ended else Acted(skipped={str(ending): "is not paused"})


def _walk(connection: BaseDatabaseWrapper, walk: Callable[[BaseDatabaseWrapper, float], Walked]) -> Walked:
    """Not inside a host's transaction: it would keep every chunk locked, and all other walks waiting, until it ends."""
    return Walked(more=True) if connection.in_atomic_block else walk(connection, PATIENCE_SECONDS)


def _tell(connection: BaseDatabaseWrapper, event: ControlEvent, acted: Acted, walked: Walked) -> None:
    """How far the act itself came is known only now; the event tells that too."""
    acted.jobs, acted.more = walked.moved, walked.more
    event.detail |= {"jobs": walked.moved, "more": walked.more}
    event.save(using=connection.alias, update_fields=["detail"])


def _same(connection: BaseDatabaseWrapper, pause: Pause) -> Any:
    return Pause.objects.using(connection.alias).filter(scope=pause.scope, name=pause.name)


def _require_future(until: datetime | None, now: datetime) -> None:
    try:
        is_future = until is None or values.moment(until) > now
    except ValueError as problem:
        raise OptionInvalid(f"pause: until={until!r} cannot be used: {problem}.") from None
    if not is_future:
        raise OptionInvalid(f"pause: until={until} has passed already.")


def _require_target(scope: str, name: str) -> None:
    if scope not in Scope.values:
        raise OptionInvalid(f"there is no scope {scope!r} to pause.{did_you_mean(str(scope), Scope.values)}")
    if scope == Scope.ALL:
        if name:
            raise OptionInvalid(f"a pause of everything has no name, not {name!r}.")
        return
    try:
        (partial(subject_text, shortest=1) if scope == Scope.SUBJECT else values.name)(name)
    except ValueError as problem:
        raise OptionInvalid(f"{name!r} cannot be the name of a paused {Scope(scope).label}: {problem}.") from None


def _require_known(scope: str, name: str) -> None:
    """A slip of the pen would pause nothing, and nobody would notice."""
    if scope == Scope.QUEUE and name == SYSTEM_QUEUE:
        raise OptionInvalid(f"{SYSTEM_QUEUE} does the app's own chores and is never paused.")
    if scope == Scope.JOB_TYPE:
        registry.get(name)
