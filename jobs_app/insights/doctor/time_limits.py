"""Does PostgreSQL end sessions or statements of workers that are meant to go on?"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.conf import get_settings
from jobs_app.insights.doctor.finding import Fault, Needs, examination, warning
from jobs_app.registry import registry

# As a session begins with it: reading here has its own limit for a while.
LIMITS = """
SELECT name, reset_val::float / 1000, current_user FROM pg_settings
 WHERE name = ANY(%s) AND reset_val::bigint > 0 ORDER BY name
"""
# A statement that takes longer than a lease comes too late anyway; one that is cut off before might have counted.
WITHIN_LEASE = {
    "statement_timeout": "statements of workers are cut off",
    "idle_in_transaction_session_timeout": "handlers of atomic jobs lose their transaction while they compute",
    "transaction_timeout": "transactions of workers and of atomic jobs are cut off",
}
IDLE = "idle_session_timeout"  # listening is being idle


@examination(fine="The server's time limits let workers work.", needs=Needs.DATABASE, only_on="postgresql")
def time_limits(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    with connection.cursor() as cursor:
        cursor.execute(LIMITS, [[*WITHIN_LEASE, IDLE]])
        found = cursor.fetchall()
    for name, seconds, role in found:
        needed = _needed(name)
        if needed is None or seconds < needed:
            effect = WITHIN_LEASE.get(name, "idle threads of workers lose their connection, and connect again")
            wanted = "0" if needed is None else f"'{needed:g}s'"
            yield warning(
                f"{name} is {seconds:g} s for this role: {effect}.",
                advice=f"Run ALTER ROLE {connection.ops.quote_name(role)} SET {name} = {wanted}; and restart workers.",
            )


def _needed(name: str) -> float | None:
    """Seconds; None: no limit at all will do, and 0 that any will."""
    if name == IDLE:
        return None
    if name == "idle_in_transaction_session_timeout" and not any(job_type.atomic for job_type in registry):
        return 0.0
    return get_settings().lease_seconds
