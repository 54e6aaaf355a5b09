"""What monitoring costs: a scrape beside a long history and beside a long backlog, and what a worker pays to count.

`DATABASE_URL=postgresql://... python -m benchmarks.metrics`
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import admin_history, machine
from benchmarks.databases import Databases, own_databases, run
from benchmarks.figures import percentile

RESULTS = Path(__file__).resolve().parent / "results" / "metrics.json"
ROUNDS = 5
BATCH, BATCHES = 500, 40  # reports that a finisher stores together

# More of what waits, as `admin_history` has it: of two types, so that one is behind a million of the other.
BACKLOG = f"""
INSERT INTO jobs_app_job (id, state, job_type, queue, subject, run_at, queued_at, attempts, max_attempts, payload, meta)
SELECT {admin_history.ID.format(at="now()", number="n + (1::bigint << 41)")}, 'queued',
       CASE WHEN n < 3 THEN 'type-4' ELSE 'type-0' END, 'queue-0', '', now() - interval '1 second', now(), 0, 3,
       jsonb_build_object('order', n), '{{}}'
  FROM generate_series(0, %s - 1) AS n
"""


def main() -> int:
    options = _arguments()
    about = machine.facts(os.environ["DATABASE_URL"])
    with own_databases() as databases:
        admin_history.declare()
        histories = [(size, 0) for size in options.sizes]
        made = [
            _made(databases, *each) for each in [*histories, *((options.sizes[0], more) for more in options.backlogs)]
        ]
        rows = _measured(databases, made, options.scrapes)
        counting = _counting()
    _print(rows, counting)
    report = {"machine": about, "scrapes": rows, "counting_us_per_job": counting}
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def _made(databases: Databases, runs: int, backlog: int) -> tuple[int, int]:
    began = time.perf_counter()
    databases.make(_name(runs, backlog))
    databases.use(_name(runs, backlog))
    admin_history.fill(runs)
    run(BACKLOG, [backlog])
    run("VACUUM ANALYZE jobs_app_job")
    _say(f"{runs:,} runs and a backlog of {backlog:,} took {time.perf_counter() - began:.0f} s to make")
    return runs, backlog


def _name(runs: int, backlog: int) -> str:
    return f"{runs}_{backlog}"


def _measured(databases: Databases, made: Sequence[tuple[int, int]], scrapes: int) -> list[dict[str, Any]]:
    """In turns: what else the machine does is the same to all of them."""
    took: dict[tuple[int, int], list[float]] = {each: [] for each in made}
    told: dict[tuple[int, int], dict[str, Any]] = {}
    for _ in range(ROUNDS):
        for each in made:
            databases.use(_name(*each))
            told[each] = _looked_at()
            took[each] += [_milliseconds(_scrape_anew) for _ in range(scrapes // ROUNDS)]
    return [
        {"runs": runs, "backlog": backlog, "p50": percentile(took[runs, backlog], 50)}
        | {"p95": percentile(took[runs, backlog], 95), **told[runs, backlog]}
        for runs, backlog in made
    ]


def _looked_at() -> dict[str, Any]:
    """The first one after a change of the database, which is not timed: what it asks, and how long its answer is."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as caught:
        page = _scrape_anew()
    slowest = max(float(query["time"]) for query in caught.captured_queries) * 1000
    kept = _milliseconds(_scrape)
    return {"queries": len(caught), "slowest_query": slowest, "kept": kept, "kibibytes": len(page) / 1024}


def _scrape_anew() -> bytes:
    """What is kept for ten seconds would be all that is measured."""
    from jobs_app.metrics.gauges import database_gauges

    database_gauges._next = float("-inf")
    return _scrape()


def _scrape() -> bytes:
    from prometheus_client import generate_latest

    from jobs_app.metrics.gauges import ALONE

    return generate_latest(ALONE)


def _milliseconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _counting() -> float:
    """Microseconds for each job, of a finisher that stores batches of one type."""
    from jobs_app.worker.counting import Counting

    counting, took = Counting(10), []
    for _ in range(BATCHES):
        batch = _batch()
        began = time.perf_counter()
        counting.ended(batch, batch)
        took.append((time.perf_counter() - began) / BATCH * 1e6)
    return percentile(took, 50)


def _batch() -> list[Any]:
    from datetime import UTC, datetime
    from uuid import uuid4

    from jobs_app.lifecycle.claim import ClaimedJob
    from jobs_app.lifecycle.moves import Ended
    from jobs_app.worker.flight import Report, board

    now, reports = datetime.now(UTC), []
    known = {"job_type": "type-0", "queue": "queue-0", "run_at": now, "queued_at": now, "started_at": now}
    for _ in range(BATCH):
        values = dict.fromkeys(ClaimedJob._fields) | known | {"id": uuid4(), "token": uuid4(), "attempts": 1}
        flight = board(ClaimedJob(**values), worker="w", worker_id="w", lease=30)
        ended = Ended(id=flight.job.id, token=flight.job.token, state="succeeded", outcome="success")
        reports.append(Report(flight, ended, flight.claimed, flight.claimed + 0.001))
    return reports


def _print(rows: Sequence[dict[str, Any]], counting: float) -> None:
    print(
        "| finished runs | backlog | p50 ms | p95 ms | queries | slowest query ms | kept, ms | KiB |\n"
        + "|---" * 8
        + "|"
    )
    for row in rows:
        times = " | ".join(f"{row[name]:.1f}" for name in ("p50", "p95"))
        rest = f"{row['queries']} | {row['slowest_query']:.0f} | {row['kept']:.1f} | {row['kibibytes']:.0f}"
        print(f"| {row['runs']:,} | {row['backlog']:,} | {times} | {rest} |")
    print(f"\nA worker that counts pays {counting:.2f} us for each job; one that nobody reads pays nothing.")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.metrics", description=__doc__)
    numbers: Callable[[str], list[int]] = lambda text: [int(each) for each in text.split(",")]  # noqa: E731
    parser.add_argument("--sizes", type=numbers, default=[10_000, 10_000_000], help="finished runs, shortest first")
    parser.add_argument("--backlogs", type=numbers, default=[100_000, 1_000_000], help="beside the shortest of them")
    parser.add_argument("--scrapes", type=int, default=50, help="of each")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        parser.error("DATABASE_URL must name a PostgreSQL")
    return options


if __name__ == "__main__":
    sys.exit(main())
