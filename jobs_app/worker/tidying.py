"""Around each job: a thread's database connections are fit for the next one, and not shared with a forked process."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from jobs_app.logs import event

logger = logging.getLogger("jobs_app.worker")

_installed = False
_inherited: list[BaseDatabaseWrapper] = []
_is_copy = False


class _Here(threading.local):
    """Of one thread. The default is the class's: to look for an attribute that is not there takes 0.9 us, not 0.05."""

    has_connections = False


_here = _Here()


@receiver(connection_created)
def _note(**kwargs: Any) -> None:
    _here.has_connections = True


def has_connections() -> bool:
    """Did this thread ever open one? Asking Django for those it has takes 4 us, as long as the rest of a short job."""
    return _here.has_connections


def is_copy() -> bool:
    """Was this process forked from a worker, by a handler? Comparing process ids takes a system call each time."""
    return _is_copy


def tidy(*, next_waits: bool = False) -> None:
    """Close what is stale or too old, and what a handler left inside a transaction. Raises nothing.

    Django's CONN_MAX_AGE of 0 closes a connection after each request. Where the next job waits already it is kept for
    that one: to open another takes longer than most jobs.
    """
    try:
        for connection in connections.all(initialized_only=True):
            if connection.in_atomic_block:
                _drop(connection)
            elif next_waits and connection.settings_dict["CONN_MAX_AGE"] == 0 and not connection.errors_occurred:
                connection.health_check_done = False  # type: ignore[attr-defined]  # as at the end of a request
            else:
                connection.close_if_unusable_or_obsolete()
    except Exception:  # the next job is worth more than a clean connection
        logger.exception("a database connection could not be tidied up", extra=event("connection_not_tidied"))


def install() -> None:
    """Once per worker process; again does nothing."""
    global _installed, _is_copy
    _is_copy = False
    if not _installed:
        os.register_at_fork(after_in_child=_forget_connections)
        _installed = True


def _forget_connections() -> None:
    """Two processes on one socket garble both. Kept from the garbage collector: closing here would close it there."""
    global _is_copy
    _is_copy = True
    for connection in connections.all(initialized_only=True):
        _inherited.append(connection)
        del connections[connection.alias]


def _drop(connection: BaseDatabaseWrapper) -> None:
    """`close()` alone would leave the next job inside a transaction that is no more."""
    facts = event("transaction_left_open", database=connection.alias)
    logger.warning("a job left a transaction open on %r; it is rolled back", connection.alias, extra=facts)
    del connections[connection.alias]
    if connection.connection is not None:
        connection.connection.close()
