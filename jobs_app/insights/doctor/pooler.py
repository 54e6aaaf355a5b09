"""Is there a pooler in front of PostgreSQL, and does it let workers hear of new jobs?

Poolers have many names and versions; what they do to a session is the same, so that this looks at what happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.insights.doctor.finding import Fault, Needs, examination, note, warning

HEARD_SECONDS = 2.0  # a server next door takes less than a millisecond
LOCAL_CURSORS = '"DISABLE_SERVER_SIDE_CURSORS": True'


@examination(fine="Sessions are kept: no pooler hands them around.", needs=Needs.DATABASE, only_on="postgresql")
def sessions_shared(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if not are_sessions_shared(connection):
        return
    told = "A pooler in transaction mode is in front of PostgreSQL: a session lasts for one transaction"
    if connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        advice = "Nothing, if workers do not listen; a port in session mode lets them hear of jobs sooner."
        yield note(f"{told}.", advice=advice)
    else:
        advice = f"Add {LOCAL_CURSORS} to {connection.alias!r} in settings.DATABASES, or use a port in session mode."
        yield warning(f"{told}, and cursors of iterator() do not live longer.", advice=advice)


@examination(fine="Workers hear of new jobs.", needs=Needs.DATABASE, only_on="postgresql")
def notifications_lost(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if not get_settings().worker_listen or _are_heard(connection):
        return
    yield warning(
        "A notification did not arrive: workers listen in vain, and find new jobs only when they poll.",
        advice="Connect workers to PostgreSQL itself or to a port in session mode; or set JOBS['WORKER_LISTEN'] to "
        "False (or start them with --no-listen), and choose JOBS['WORKER_POLL_SECONDS'].",
    )


@contextmanager
def open_session(connection: BaseDatabaseWrapper) -> Iterator[BaseDatabaseWrapper]:
    """One of our own beside that of this thread, to the same place."""
    session = connection.copy()
    try:
        yield session
    finally:
        session.close()


def are_sessions_shared(connection: BaseDatabaseWrapper) -> bool:
    """Two sessions that are open at once have two server processes, and keep them. A pooler gives the process that the
    first one is done with to the second; if not, the first gets another while the second holds its own."""
    with open_session(connection) as first, open_session(connection) as second:
        before = _server_process(first)
        second.set_autocommit(False)
        try:
            held = _server_process(second)
            return held == before or _server_process(first) != before
        finally:
            second.rollback()
            second.set_autocommit(True)


def _server_process(session: BaseDatabaseWrapper) -> int:
    with session.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def _are_heard(connection: BaseDatabaseWrapper) -> bool:
    """Sent by another session: a pooler may well tell a session what it said itself."""
    channel = f"jobs_app_doctor_{uuid4().hex}"
    with open_session(connection) as listening, open_session(connection) as speaking:
        with listening.cursor() as cursor:
            cursor.execute(f"LISTEN {channel}")
        with speaking.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, 'heard')", [channel])
        with listening.wrap_database_errors:
            heard = list(listening.connection.notifies(timeout=HEARD_SECONDS, stop_after=1))
        with listening.cursor() as cursor:
            cursor.execute("UNLISTEN *")  # Django's own pool may give the session to somebody else
    return bool(heard)
