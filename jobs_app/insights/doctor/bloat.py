"""Does PostgreSQL clean up behind the jobs? A row that ended stays in the way of claims until it does.

All of it reads statistics and catalogues, which are as small with ten million runs as with none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app import durations
from jobs_app.insights.doctor.finding import FEW, Fault, Needs, examination, few, warning
from jobs_app.insights.tables import table_names

DEAD_PER_LIVE = 2  # and some more, as a small table may be all dead for a moment
SPARE_ROWS = 1000
OLD_SECONDS = 600.0
OLD_TRANSACTIONS = 1_000_000  # that a slot in use may lag behind

OURS = "(SELECT to_regclass(name) FROM unnest(%(tables)s::text[]) AS name)"
DEAD = f"""
SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables
 WHERE relid IN {OURS} AND n_dead_tup > %(factor)s * (n_live_tup + %(spare)s) ORDER BY n_dead_tup DESC
"""
SWITCHES = "SELECT name FROM pg_settings WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off' ORDER BY name"
SWITCHED_OFF = f"""
SELECT relname FROM pg_class
 WHERE oid IN {OURS}
   AND EXISTS (SELECT FROM pg_options_to_table(reloptions)
                WHERE option_name = 'autovacuum_enabled' AND NOT option_value::boolean) ORDER BY relname
"""
# Sessions of other databases hold nothing back here. Those of other users show their age to members of
# pg_read_all_stats only.
SESSIONS = """
SELECT pid, application_name, state, extract(epoch FROM clock_timestamp() - xact_start)::float
  FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
   AND xact_start <= clock_timestamp() - make_interval(secs => %(seconds)s) ORDER BY xact_start
"""
PREPARED = """
SELECT gid, extract(epoch FROM clock_timestamp() - prepared)::float FROM pg_prepared_xacts
 WHERE database = current_database() AND prepared <= clock_timestamp() - make_interval(secs => %(seconds)s)
 ORDER BY prepared
"""
SLOTS = """
SELECT slot_name, active, age(xmin) FROM pg_replication_slots
 WHERE xmin IS NOT NULL AND (NOT active OR age(xmin) > %(transactions)s) ORDER BY age(xmin) DESC
"""


@examination(fine="No table has many dead rows.", only_on="postgresql")
def dead_rows(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    given = {"factor": DEAD_PER_LIVE, "spare": SPARE_ROWS}
    if found := _rows(connection, DEAD, **given):
        told = few([f"{name} ({dead} dead, {live} live)" for name, dead, live in found])
        advice = (
            "Run VACUUM ANALYZE on each. If the numbers stay, see old_transactions and autovacuum_off; if they come "
            "back, set autovacuum_vacuum_scale_factor = 0.01 on the table."
        )
        yield warning(f"Tables have many more dead rows than live ones: {told}.", advice=advice)


@examination(fine="Autovacuum is on.", needs=Needs.DATABASE, only_on="postgresql")
def autovacuum_off(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    for (name,) in _rows(connection, SWITCHES):
        advice = f"Run ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf();"
        yield warning(f"{name} is off on the server: nothing cleans up behind the jobs.", advice=advice)
    if tables := [name for (name,) in _rows(connection, SWITCHED_OFF)]:
        advice = f"Run ALTER TABLE {tables[0]} RESET (autovacuum_enabled); for each."
        yield warning(f"Autovacuum is switched off for {few(tables)}.", advice=advice)


@examination(fine="No transaction is open for long.", needs=Needs.DATABASE, only_on="postgresql")
def old_transactions(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    found = _rows(connection, SESSIONS, seconds=OLD_SECONDS)
    for pid, application, state, seconds in found[:FEW]:
        told = (
            f"Session {pid} ({application or 'without a name'}) has a transaction open for {durations.rough(seconds)}"
        )
        yield warning(
            f"{told} ({state}): until it ends, no dead row since then can be cleaned up.",
            advice=f"Find out what it does; SELECT pg_terminate_backend({pid}); ends it.",
        )
    if len(found) > FEW:
        advice = "SELECT * FROM pg_stat_activity ORDER BY xact_start; shows them."
        yield warning(f"{len(found) - FEW} more sessions have a transaction open for long.", advice=advice)


@examination(fine="No prepared transaction is left behind.", needs=Needs.DATABASE, only_on="postgresql")
def prepared_transactions(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if found := _rows(connection, PREPARED, seconds=OLD_SECONDS):
        told = few([f"{gid} ({durations.rough(seconds)} old)" for gid, seconds in found])
        sentence = f"Prepared transactions were never ended: {told}. Until then no dead row can be cleaned up."
        yield warning(sentence, advice="Run COMMIT PREPARED or ROLLBACK PREPARED with the name of each.")


@examination(fine="No replication slot holds back the clean-up.", needs=Needs.DATABASE, only_on="postgresql")
def replication_slots(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if found := _rows(connection, SLOTS, transactions=OLD_TRANSACTIONS):
        told = few([f"{name} ({'in use' if active else 'unused'}, {age} transactions)" for name, active, age in found])
        advice = "Bring the replica back; where there is none any more, SELECT pg_drop_replication_slot(name);"
        yield warning(f"Replication slots hold back the clean-up of dead rows: {told}.", advice=advice)


def _rows(connection: BaseDatabaseWrapper, sql: str, **given: Any) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"tables": table_names()} | given)
        return cursor.fetchall()
