"""The states that `growth` drains from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.draining import Drain, drain_once
from benchmarks.rig import Rig
from benchmarks.stores import Postgres

FINISHED_FIRST = 10  # really finished jobs, from which the others are cloned
NO_AUTOVACUUM = """
DO $$ DECLARE name regclass; BEGIN
  FOR name IN SELECT relid FROM pg_stat_user_tables LOOP
    EXECUTE 'ALTER TABLE ' || name || ' SET (autovacuum_enabled = false)';
  END LOOP;
END $$
"""
COLUMNS_SQL = """
SELECT string_agg(quote_ident(column_name), ',' ORDER BY ordinal_position) FROM information_schema.columns
 WHERE table_schema = current_schema() AND table_name = 'jobs_app_job'
"""
# Ids in the order of time, as the library makes them, behind those that are there: its index grows at the end.
NEXT_ID = """
(lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint + number / 1000), 12, '0') || '70008000'
 || lpad(to_hex(number), 12, '0'))::uuid
"""


def with_history(rig: Rig, jobs: int, finished: int) -> None:
    """Cloned from a job that the program really finished: to run so many would take hours with some of them."""

    def make() -> None:
        rig.restore_schema()
        rig.fill(FINISHED_FIRST)
        drain_once(rig, Drain(jobs=FINISHED_FIRST))
        for sql in rig.program.history:
            rig.store.run(sql, {"n": finished})
        rig.fill(jobs)

    rig.restore("history", make)


def with_waiting(rig: Rig, jobs: int, waiting: int, name: str, columns: Mapping[str, str]) -> None:
    """Jobs behind the measured ones, cloned from one of them but for these columns."""

    def make() -> None:
        rig.restore_schema()
        rig.fill(jobs)
        assert isinstance(rig.store, Postgres)
        with rig.store.connected() as connection:
            names = connection.execute(COLUMNS_SQL).fetchone()[0].split(",")
            given = {"id": NEXT_ID, "payload": f"jsonb_build_object('n', {jobs} + number)", **columns}
            values = ", ".join(given.get(name, name) for name in names)
            connection.execute(
                f"INSERT INTO jobs_app_job ({', '.join(names)}) SELECT {values}"
                f" FROM (SELECT * FROM jobs_app_job LIMIT 1) AS job, generate_series(0, {waiting} - 1) AS number"
            )

    rig.restore(name.translate({ord(","): None}), make)


def without_statistics(rig: Rig, jobs: int) -> None:
    def make() -> None:
        rig.restore_schema()
        rig.store.run(NO_AUTOVACUUM, {})
        rig.fill(jobs)

    rig.restore("never analyzed", make, analyze=False)


def with_statistics_of_nothing(rig: Rig, jobs: int) -> None:
    def make() -> None:
        rig.restore_schema()
        rig.store.run(NO_AUTOVACUUM, {})
        rig.store.run("ANALYZE", {})
        rig.fill(jobs)

    rig.restore("analyzed empty", make, analyze=False)


@contextmanager
def held_snapshot(postgres: Postgres) -> Iterator[None]:
    with postgres.connected(autocommit=False) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM pg_class")  # the first statement takes the snapshot
        yield
