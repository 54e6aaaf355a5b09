"""What a tick costs beside 10,000, 100,000 and 1,000,000 schedules, and what eight schedulers at once make of one.

A tick must cost what its due rows cost, whatever else the table holds; and more schedulers must never take longer.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

from benchmarks.databases import Databases, own_databases, run

SIZES = (10_000, 100_000, 1_000_000)
MEBIBYTE = 1024 * 1024

FILL = """
INSERT INTO jobs_app_schedulestate (job_type, subject, name, origin, interval_seconds, cron, timezone, next_run_at,
       paused, retired, catch_up, catch_up_max, spread_seconds, jitter_seconds, overlap, payload, overrides, failures,
       last_error, created_at, updated_at)
SELECT 'tick', 'tenant-' || n, '', 'source', 3600, '', 'UTC',
       CASE WHEN n %% (%(size)s / %(due)s) = 0 THEN now() - interval '1 second' ELSE now() + interval '1 day' END,
       false, false, 'all', 10, 10800, 0, 'allow', jsonb_build_object('tenant', 'tenant-' || n), '{}', 0, '',
       now(), now()
  FROM generate_series(0, %(size)s - 1) AS n
"""
READ = """
SELECT pg_stat_get_tuples_returned(c.oid) + sum(coalesce(pg_stat_get_tuples_returned(i.indexrelid), 0)),
       pg_stat_get_blocks_fetched(c.oid) + sum(pg_stat_get_blocks_fetched(i.indexrelid))
  FROM pg_class AS c JOIN pg_index AS i ON i.indrelid = c.oid WHERE c.relname = 'jobs_app_schedulestate' GROUP BY c.oid
"""


def main() -> None:
    options = _arguments()
    with own_databases() as databases:
        _declare()
        _beside_more_schedules(databases, options)
        _at_once(databases, options)


def _declare() -> None:
    from jobs_app import job

    @job(name="tick", subject="tenant")
    def tick(tenant: str) -> None: ...


def _beside_more_schedules(databases: Databases, options: argparse.Namespace) -> None:
    print(f"| schedules | due | jobs made | seconds | index entries read | pages read | MiB grown |\n|{'---|' * 7}")
    for size in options.sizes:
        _fill(databases, f"size_{size}", size, options.due)
        seconds, entries, pages, grown, made = _tick_measured()
        print(
            f"| {size:,} | {options.due:,} | {made:,} | {seconds:.2f} | {entries:,} | {pages:,} | {grown:.1f} |",
            flush=True,
        )


def _at_once(databases: Databases, options: argparse.Namespace) -> None:
    print(f"\n| schedulers at once | due | jobs made | slots twice or lost | seconds |\n|{'---|' * 5}")
    for count in options.schedulers:
        seconds: list[float] = []
        for repeat in range(options.repeat):
            _fill(databases, f"at_once_{count}_{repeat}", options.due_at_once, options.due_at_once)
            seconds.append(_in_processes(count, _tick_until_none_is_due))
            made, slots = run("SELECT count(*), count(DISTINCT (job_type, subject, slot_at)) FROM jobs_app_job")[0]
        wrong = made - slots + options.due_at_once - slots
        print(
            f"| {count} | {options.due_at_once:,} | {made:,} | {wrong} | {statistics.median(seconds):.2f} |", flush=True
        )


def _fill(databases: Databases, name: str, size: int, due: int) -> None:
    databases.make(name)
    databases.use(name)
    run(FILL, {"size": size, "due": due})
    run("VACUUM ANALYZE jobs_app_schedulestate")
    run("CHECKPOINT")


def _tick_measured() -> tuple[float, int, int, float, int]:
    from django.db import connection

    from jobs_app.runtime.memory import rss_bytes
    from jobs_app.scheduler.tick import tick

    tick(connection, job_types=["nothing"])  # whatever is loaded at the first call
    entries, pages = _read_so_far()
    memory, began = rss_bytes(), time.perf_counter()
    made: list[int] = []
    tick(connection, note=lambda batch: made.append(len(batch)))
    seconds, grown = time.perf_counter() - began, (rss_bytes() - memory) / MEBIBYTE
    entries_after, pages_after = _read_so_far()
    return seconds, entries_after - entries, pages_after - pages, grown, sum(made)


def _read_so_far() -> tuple[int, int]:
    run("SELECT pg_stat_force_next_flush()")
    run("SELECT pg_stat_clear_snapshot()")
    entries, pages = run(READ)[0]
    return int(entries), int(pages)


def _in_processes(count: int, act: Callable[[], None]) -> float:
    """Seconds from the moment all may begin until the last has ended."""
    from django.db import connection

    connection.close()
    begin, start = os.pipe()
    children = [_fork(begin, start, act) for _ in range(count)]
    os.close(begin)
    time.sleep(0.5)  # all of them wait at the gate by then
    began = time.perf_counter()
    os.close(start)
    failed = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    seconds = time.perf_counter() - began
    if any(failed):
        raise RuntimeError(f"schedulers ended with {failed}")
    return seconds


def _fork(begin: int, start: int, act: Callable[[], None]) -> int:
    if child := os.fork():
        return child
    code = 1
    try:
        os.close(start)
        run("SELECT 1")
        os.read(begin, 1)  # ends when the parent closes its side
        act()
        code = 0
    finally:
        os._exit(code)


def _tick_until_none_is_due() -> None:
    from django.db import connection

    from jobs_app.scheduler.tick import tick

    while tick(connection).rows:
        pass


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules", description=__doc__)
    numbers: Callable[[str], list[int]] = lambda text: [int(each) for each in text.split(",")]  # noqa: E731
    parser.add_argument("--sizes", type=numbers, default=list(SIZES), help="schedules in the table")
    parser.add_argument("--due", type=int, default=10_000, help="of them due")
    parser.add_argument("--schedulers", type=numbers, default=[1, 2, 4, 8], help="at once")
    parser.add_argument("--due-at-once", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=1, help="runs of each number of schedulers; the median is told")
    return parser.parse_args()


if __name__ == "__main__":
    main()
