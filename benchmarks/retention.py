"""Batched deletes against dropped partitions: what each costs where rows come in, and what it leaves behind.

History comes in cycles of simulated days. Once `keep` cycles are full, each cycle adds runs and takes the oldest away.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.signals import setting_changed
from django.db import connection

from benchmarks.databases import Databases, own_databases, run

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CYCLE = timedelta(days=1)
PER_STATEMENT = 200  # runs that one report of a worker stores
FAILED_SHARE = 0.05
JOB_TYPES = [f"shop.orders.work-{n}" for n in range(5)]
TABLES = {"jobs_app_jobrun": "id", "jobs_app_jobattempt": "job_id"}

HEADINGS = [
    "shape",
    "runs/s stored",
    "beside pruning",
    "runs/s pruned",
    "slowest ms",
    "vacuum s",
    "bytes a run when full",
    "at the end",
    "lookup us",
]
JOB = """
INSERT INTO jobs_app_job (id, state, job_type, queue, run_at, queued_at, started_at, first_started_at, attempts,
                          max_attempts, payload, meta, worker_id)
VALUES (gen_random_uuid(), 'queued', 'template', 'default', now(), now(), now(), now(), 1, 5,
        '{"order": 1234567, "text": "as much as a payload mostly has"}', '{}', 'host-4711-' || gen_random_uuid())
"""
PARTITIONED = """
ALTER TABLE {table} RENAME TO {table}_plain;
CREATE TABLE {table} (LIKE {table}_plain INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY ({key}))
 PARTITION BY RANGE ({by})
"""
RUN_INDEXES = """
CREATE INDEX ON jobs_app_jobrun (job_type, queued_at DESC);
CREATE INDEX ON jobs_app_jobrun (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX ON jobs_app_jobrun USING brin (finished_at)
"""
SIZE = """
SELECT sum(pg_table_size(c.oid)), sum(pg_indexes_size(c.oid)) FROM pg_class AS c
 WHERE c.relkind = 'r' AND c.relname ~ '^jobs_app_(jobrun|jobattempt)(_d|$)'
"""


@dataclass
class Shape:
    """One way to keep history, and what was measured of it."""

    name: str
    prepare: Callable[[Shape, argparse.Namespace], None] = lambda shape, options: None
    vacuum_at: float = 0.2  # dead rows as a share of the table, as autovacuum counts
    failed_kept: int = 1  # times as long as the others
    partition_by: dict[str, str] = field(default_factory=dict)
    prunes: bool = True
    insert_rates: list[float] = field(default_factory=list)
    prune_rates: list[float] = field(default_factory=list)
    bytes_per_run: list[tuple[float, float]] = field(default_factory=list)
    slowest_ms: float = 0.0
    vacuum_seconds: float = 0.0
    lookup_us: float = 0.0
    rate_beside: float = 0.0
    dead: int = 0
    known: list[UUID] = field(default_factory=list)  # some ids of the last cycle


def with_index_by_age(shape: Shape, options: argparse.Namespace) -> None:
    run("CREATE INDEX ON jobs_app_jobrun (job_type, state, finished_at)")


def with_partitions(shape: Shape, options: argparse.Namespace) -> None:
    run("DROP VIEW jobs_app_run")
    for table, id_column in TABLES.items():
        by = shape.partition_by[table]
        key = {"jobs_app_jobrun": ["id"], "jobs_app_jobattempt": ["job_id", "number"]}[table]
        columns = key if by == id_column else [*key, by]  # a unique key must have the column of the partitions
        run(PARTITIONED.format(table=table, key=", ".join(columns), by=by))
        for number in range(options.cycles):
            low, high = (bound(by, BEGIN + CYCLE * n) for n in (number, number + 1))
            run(f"CREATE TABLE {table}_d{number} PARTITION OF {table} FOR VALUES FROM ('{low}') TO ('{high}')")
    run(RUN_INDEXES)


BY_ID = dict(TABLES)
BY_TIME = dict.fromkeys(TABLES, "finished_at")


def shapes() -> list[Shape]:
    return [
        Shape("nothing pruned", prunes=False),
        Shape("nothing pruned, index on (type, state, end)", with_index_by_age, prunes=False),
        Shape("deletes, vacuum at 20 % dead"),
        Shape("deletes, vacuum at 5 % dead", vacuum_at=0.05),
        Shape("deletes, vacuum at 5 % dead, failed kept 3 x", vacuum_at=0.05, failed_kept=3),
        Shape("partitions by id", with_partitions, partition_by=BY_ID),
        Shape("partitions by finished_at", with_partitions, partition_by=BY_TIME),
    ]


def bound(by: str, moment: datetime) -> str:
    return moment.isoformat() if by == "finished_at" else str(id_at(moment, 0))


def id_at(moment: datetime, tail: int) -> UUID:
    """Sorts by time, as the ids of runs do."""
    return UUID(int=(int(moment.timestamp() * 1000) << 80) | tail)


def insert_statement(shape: Shape) -> str:
    """What stores finished runs, without the removal of their jobs."""
    from jobs_app.lifecycle.moves import ATTEMPT, FROM_JOB, RUN

    given = {"id": "given.id", "job_type": "given.kind", "queued_at": "given.at", "run_at": "given.at"}
    columns = ", ".join(f"{given.get(name, 'job.' + name)} AS {name}" for name in FROM_JOB)
    sql = f"""
WITH gone AS (
  SELECT {columns}, job.started_at, given.id AS end_token, given.end_state, 'success' AS end_outcome,
         '' AS end_done_reason, given.at AS end_started_at, given.at AS end_finished_at, '' AS end_error,
         '{{"ok": true}}'::jsonb AS end_result, '' AS error_class, '' AS traceback, '' AS log
    FROM jobs_app_job AS job
   CROSS JOIN unnest(%s::uuid[], %s::text[], %s::text[], %s::timestamptz[]) AS given(id, end_state, kind, at)),
tried AS ({ATTEMPT.format(gone="gone", latest="greatest")}),
kept AS ({RUN.format(gone="gone", latest="greatest")})
SELECT count(*) FROM gone"""
    if shape.partition_by == BY_TIME:
        sql = sql.replace("(job_id, number) DO", "(job_id, number, finished_at) DO")
        sql = sql.replace("CONFLICT (id)", "CONFLICT (id, finished_at)")
    return sql


def batches(cycle: int, count: int) -> Iterator[tuple[list[Any], ...]]:
    choose = random.Random(cycle)
    for first in range(0, count, PER_STATEMENT):
        moments = [BEGIN + CYCLE * (cycle + n / count) for n in range(first, min(count, first + PER_STATEMENT))]
        yield (
            [id_at(moment, choose.getrandbits(80)) for moment in moments],
            ["failed" if choose.random() < FAILED_SHARE else "succeeded" for _ in moments],
            [choose.choice(JOB_TYPES) for _ in moments],
            moments,
        )


def insert(shape: Shape, cycle: int, count: int) -> list[UUID]:
    statement, rows = insert_statement(shape), list(batches(cycle, count))
    began = time.perf_counter()
    for row in rows:
        run(statement, row)
    shape.insert_rates.append(count / (time.perf_counter() - began))
    return [row[0][0] for row in rows]


def take_away(shape: Shape, cycle: int, options: argparse.Namespace) -> None:
    began = time.perf_counter()
    count = drop(cycle - options.keep) if shape.partition_by else delete(shape, cycle)
    shape.prune_rates.append(count / (time.perf_counter() - began))


def drop(cycle: int) -> int:
    [(count,)] = run(f"SELECT count(*) FROM jobs_app_jobrun_d{cycle}")  # not what is measured, but little
    for table in TABLES:
        run(f"DROP TABLE {table}_d{cycle}")
    return count


def delete(shape: Shape, cycle: int) -> int:
    from jobs_app.lifecycle.prune import prune

    def timed(execute: Any, *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            shape.slowest_ms = max(shape.slowest_ms, (time.perf_counter() - began) * 1000)

    with connection.execute_wrapper(timed):
        pruned = prune(connection, now=BEGIN + CYCLE * (cycle + 1))
    shape.dead += pruned.runs
    return pruned.runs


def vacuum(shape: Shape) -> None:
    began = time.perf_counter()
    for table in TABLES:
        run(f"VACUUM (ANALYZE, TRUNCATE false) {table}")
    shape.vacuum_seconds += time.perf_counter() - began
    shape.dead = 0


def begin(shape: Shape, options: argparse.Namespace) -> None:
    shape.prepare(shape, options)
    run(JOB)
    for table in [] if shape.partition_by else TABLES:
        run(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")  # done by hand, so that no run differs by luck


def go_through(shape: Shape, cycle: int, options: argparse.Namespace) -> None:
    settings.JOBS = {"RETENTION_DAYS": options.keep, "RETENTION_FAILED_DAYS": options.keep * shape.failed_kept}
    setting_changed.send(None, setting="JOBS")
    shape.known = insert(shape, cycle, options.runs)
    if shape.prunes and cycle >= options.keep:
        take_away(shape, cycle, options)
    if shape.dead > shape.vacuum_at * options.runs * options.keep:
        vacuum(shape)
    [(kept,)] = run("SELECT count(*) FROM jobs_app_jobrun")
    [(heap, indexes)] = run(SIZE)
    shape.bytes_per_run.append((heap / kept, indexes / kept))


def end(shape: Shape, options: argparse.Namespace) -> None:
    shape.lookup_us = look_up(shape.known)
    if shape.slowest_ms:
        shape.rate_beside = insert_beside_pruning(shape, options)
    print(told(shape, options), flush=True)


def insert_beside_pruning(shape: Shape, options: argparse.Namespace) -> float:
    """Runs stored in a second while all that is there is pruned, as the janitor does it."""
    from jobs_app.lifecycle.prune import prune
    from jobs_app.runtime.janitor import BREATH_SECONDS

    stop, long_after = threading.Event(), BEGIN + CYCLE * (options.cycles + 4 * options.keep)

    def prune_until_stopped() -> None:
        prune(connection, now=long_after, go_on=lambda: not stop.wait(BREATH_SECONDS))
        connection.close()

    pruner = threading.Thread(target=prune_until_stopped)
    pruner.start()
    insert(shape, options.cycles + 5 * options.keep, options.runs)
    stop.set()
    pruner.join()
    return shape.insert_rates.pop()


def look_up(known: list[UUID]) -> float:
    took = []
    for run_id in known * 20:
        began = time.perf_counter()
        run("SELECT state FROM jobs_app_jobrun WHERE id = %s", [run_id])
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1_000_000


def told(shape: Shape, options: argparse.Namespace) -> str:
    full, last = shape.bytes_per_run[options.keep - 1], shape.bytes_per_run[-1]
    steady = shape.insert_rates[options.keep :]
    cells = [
        shape.name,
        f"{statistics.median(steady):,.0f}",
        f"{shape.rate_beside:,.0f}" if shape.rate_beside else "-",
        f"{statistics.median(shape.prune_rates):,.0f}" if shape.prune_rates else "-",
        f"{shape.slowest_ms:.0f}" if shape.slowest_ms else "-",
        f"{shape.vacuum_seconds:.1f}" if shape.vacuum_seconds else "-",
        f"{full[0]:.0f} + {full[1]:.0f}",
        f"{last[0]:.0f} + {last[1]:.0f}",
        f"{shape.lookup_us:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def compare(databases: Databases, options: argparse.Namespace) -> None:
    """All shapes take turns at each cycle, so that whatever else the machine does is the same to all of them."""
    chosen = [shape for shape in shapes() if options.only in shape.name]

    def for_each(act: Callable[[Shape], None]) -> None:
        for number, shape in enumerate(chosen):
            databases.use(str(number))
            act(shape)

    for number in range(len(chosen)):
        databases.make(str(number))
    for_each(lambda shape: begin(shape, options))
    for cycle in range(options.cycles):
        for_each(lambda shape, cycle=cycle: go_through(shape, cycle, options))
    print(f"| {' | '.join(HEADINGS)} |\n{'|---' * len(HEADINGS)}|")
    for_each(lambda shape: end(shape, options))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="runs of a cycle")
    parser.add_argument("--keep", type=int, default=12, help="cycles that are kept")
    parser.add_argument("--cycles", type=int, default=36)
    parser.add_argument("--only", default="", help="shapes with this in their name")
    options = parser.parse_args()
    with own_databases() as databases:
        compare(databases, options)


if __name__ == "__main__":
    main()
