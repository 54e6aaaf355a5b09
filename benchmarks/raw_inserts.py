"""What storing a job costs at least: the same columns of the same table, by psycopg alone."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from uuid import UUID

import psycopg

from benchmarks.peers.program import portions

CONSTANTS = {
    "state": "'queued'",
    "job_type": "'noop'",
    "queue": "'default'",
    "subject": "''",
    "priority": "0",
    "run_at": "now()",
    "queued_at": "now()",
    "expires_at": "NULL",
    "slot_at": "NULL",
    "schedule": "NULL",
    "policy": "'standard'",
    "key": "NULL",
    "max_attempts": "5",
    "meta": "'{}'",
    "actor": "''",
    "parent": "NULL",
    "timeout_seconds": "NULL",
    "gate": "0",
    "hold": "''",
}
COLUMNS = f"id, payload, {', '.join(CONSTANTS)}"
VALUES = ", ".join(CONSTANTS.values())
SINGLE = f"INSERT INTO jobs_app_job ({COLUMNS}) VALUES (%s, %s, {VALUES})"
BULK = f"""
INSERT INTO jobs_app_job ({COLUMNS})
SELECT id, payload, {VALUES} FROM unnest(%s::uuid[], %s::jsonb[]) AS new (id, payload)
"""


def insert_single(url: str, jobs: int) -> float:
    """The seconds that `jobs` transactions of one row take."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        began = time.perf_counter()
        for n in range(jobs):
            connection.execute(SINGLE, [_id(), _payload(n)])
        return time.perf_counter() - began


def insert_bulk(url: str, jobs: int) -> float:
    """The seconds that they take in statements of 1,000 rows."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        began = time.perf_counter()
        for numbers in portions(range(jobs)):
            connection.execute(BULK, [[_id() for _ in numbers], [_payload(n) for n in numbers]])
        return time.perf_counter() - began


def _id() -> UUID:
    """In the order of time, as the ids of jobs are: the index is written at its end."""
    return UUID(int=(time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10)))


def _payload(n: int) -> str:
    return json.dumps({"n": n})
