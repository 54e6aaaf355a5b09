"""Limits of a queue as operators set them, in place of what the settings say about it."""

from __future__ import annotations

from typing import Any

from jobs_app import values
from jobs_app.conf import get_settings
from jobs_app.errors import OptionInvalid
from jobs_app.lifecycle.control.acting import Acted, begin
from jobs_app.lifecycle.database import jobs_connection, write_savepoint
from jobs_app.lifecycle.rules import columns_of
from jobs_app.lifecycle.wakeup import tell_rules_changed
from jobs_app.limits import NO_RULES, READERS, QueueRules
from jobs_app.models import QueueState
from jobs_app.options import read
from jobs_app.registry import SYSTEM_QUEUE

RULES = {name: reader for name, reader in READERS.items() if name != "policy"}  # that one is a matter of code


def limit_queue(name: str, actor: Any, reason: str = "", **limits: Any) -> Acted:
    """Change these limits of a queue, named as in `settings.JOBS["QUEUES"]`; None lifts one.

    The others stay as they are. It holds for what is enqueued from now on, and for what is claimed.
    """
    act = begin("limit", "scale_queue", actor, reason)
    _require_queue(name)
    if not limits:
        raise OptionInvalid(f"queue {name!r}: which limit? Known are: {', '.join(RULES)}.")
    changed = columns_of(_read(name, limits))
    connection = jobs_connection()
    with write_savepoint(connection):
        rows = QueueState.objects.using(connection.alias)
        start = columns_of(_of_settings(get_settings().queues.get(name, NO_RULES)))
        rows.update_or_create(name=name, defaults=changed, create_defaults=start | changed)
        acted = Acted(moved=[name])
        act.record(connection, "queue", name, acted, {"limits": changed})
        tell_rules_changed(connection)
    return acted


def unlimit_queue(name: str, actor: Any, reason: str = "") -> Acted:
    """Let the settings speak again."""
    act = begin("unlimit", "scale_queue", actor, reason)
    _require_queue(name)
    connection = jobs_connection()
    with write_savepoint(connection):
        gone, _ = QueueState.objects.using(connection.alias).filter(name=name).delete()
        acted = Acted(moved=[name]) if gone else Acted(skipped={name: "has no limits of its own"})
        act.record(connection, "queue", name, acted, {})
        tell_rules_changed(connection)
    return acted


def _require_queue(name: str) -> None:
    try:
        values.name(name)
    except ValueError as problem:
        raise OptionInvalid(f"{name!r} cannot be the name of a queue: {problem}.") from None
    if name == SYSTEM_QUEUE:
        raise OptionInvalid(f"{SYSTEM_QUEUE} does the app's own chores and has no limits.")


def _read(queue: str, limits: dict[str, Any]) -> dict[str, Any]:
    lifted = {name: NO_RULE_OF[name] for name, value in limits.items() if value is None and name in RULES}
    given = {name: value for name, value in limits.items() if name not in lifted}
    return lifted | read(given, RULES, OptionInvalid, f"queue {queue!r}")


def _of_settings(rules: QueueRules) -> dict[str, Any]:
    return {name: getattr(rules, name) for name in RULES}


NO_RULE_OF = _of_settings(NO_RULES)
