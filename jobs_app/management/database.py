"""What a command says when the database is not as it should be."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, OperationalError

from jobs_app.insights.tables import MIGRATE, UNMIGRATED, unmigrated
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.management.exit_codes import DATABASE_UNAVAILABLE, ERROR


def cannot_answer(error: Exception) -> CommandError:
    is_away = isinstance(error, OperationalError | InterfaceError)
    why = str(error).partition("\n")[0]
    text = f"the database could not answer: {why}\nIs it up, and has manage.py migrate been run?"
    return CommandError(text, returncode=DATABASE_UNAVAILABLE if is_away else ERROR)


def require_tables() -> None:
    """Before anything is started: a process that finds no queue must say so and end, not wait for one."""
    connection = jobs_connection()
    try:
        lacking = unmigrated(connection)
    except (DatabaseError, InterfaceError) as error:
        raise cannot_answer(error) from error
    finally:
        if not connection.in_atomic_block:
            connection.close()  # a supervisor has no more use for one
    if lacking:
        raise CommandError(f"{UNMIGRATED}\n{MIGRATE}" % lacking)
