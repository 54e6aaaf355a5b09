"""What operators changed of the settings, brought from its rows into this process.

Workers and schedulers ask each second or two, in loops that ask for rules anyway. Processes that only enqueue, or show
pages, have no such loop: they ask when they are used, and at most every few seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import conf
from jobs_app.knobs import settle
from jobs_app.lifecycle.database import apart, jobs_connection
from jobs_app.logs import event
from jobs_app.models import RuntimeSetting

logger = logging.getLogger("jobs_app.lifecycle")

FRESH_SECONDS = 5.0

_said: dict[str, str] = {}  # what was complained about the last time, by the name of the knob


def read_overrides(connection: BaseDatabaseWrapper) -> bool:
    """One small query; True if this process has other settings now than before it."""
    settled = settle(stored_overrides(connection))
    _say_new(settled.problems)
    is_lasting = not (settled.overrides and _is_in_test_case(connection))
    return conf.enforce(settled.overrides, fresh_seconds=FRESH_SECONDS if is_lasting else 0.0)


def stored_overrides(connection: BaseDatabaseWrapper) -> dict[str, Any]:
    """As the rows have them, whether they can be used or not."""
    return dict(RuntimeSetting.objects.using(connection.alias).values_list("name", "value"))


def keep_up() -> None:
    """The same where nobody asked lately. An enqueue or a page never fails for it."""
    if not conf.are_overrides_stale():
        return
    connection = jobs_connection()
    if _is_in_test_case(connection) and not conf.overrides_in_force():
        return  # tests count queries, and know what they changed
    if _would_spoil_a_write(connection):
        return  # whoever asks next outside of such a transaction tells this one too
    try:
        with apart(connection):
            read_overrides(connection)
    except (OperationalError, InterfaceError) as error:
        _put_off()
        text = "the database does not tell what operators changed of the settings: %s"
        logger.debug(text, error, extra=event("overrides_unreadable", error=error))
    except DatabaseError as error:
        _put_off()
        _say_new({"": f"what operators changed of the settings could not be read: {error}"})


def _put_off() -> None:
    """What is known stays in force, and whoever comes next need not ask at once."""
    conf.enforce(conf.overrides_in_force(), fresh_seconds=FRESH_SECONDS)


def _would_spoil_a_write(connection: BaseDatabaseWrapper) -> bool:
    """A host's deferred transaction on SQLite that reads first fails with its first write, if another writer came
    between; and what is about to happen is an INSERT."""
    if connection.vendor != "sqlite" or not connection.in_atomic_block:
        return False
    return connection.transaction_mode in (None, "DEFERRED")  # type: ignore[attr-defined]


def _is_in_test_case(connection: BaseDatabaseWrapper) -> bool:
    """What is read there is rolled back at its end, and nobody says when that was."""
    return any(getattr(block, "_from_testcase", False) for block in connection.atomic_blocks)


def _say_new(problems: Mapping[str, str]) -> None:
    """Once per streak: this is asked each second."""
    for name, problem in problems.items():
        if _said.get(name) != problem:
            text = f"the override of {name} is left out: {problem}" if name else problem
            logger.warning("%s", text, extra=event("override_refused", setting=name, error=problem))
    _said.clear()
    _said.update(problems)
