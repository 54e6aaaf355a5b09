"""PgQueuer with asyncpg, on PostgreSQL.

Claims and ends are written in batches. The tuned profile makes them 1,000 jobs instead of 10, overlaps them on a pool
of up to 4 connections instead of one, and runs on uvloop. Tables are logged (durable) in both, as they are by default.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from benchmarks.peers import program

BATCH = 1000


class Queue:
    """The asynchronous calls, made from outside of the loop as `program.main` makes them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def connect(self) -> None:
        connection = self._loop.run_until_complete(asyncpg.connect(program.URL))
        self._queries = Queries(AsyncpgDriver(connection))

    def install(self) -> None:
        self.connect()
        self._loop.run_until_complete(self._queries.install())

    def add(self, n: int) -> None:
        self._loop.run_until_complete(self._queries.enqueue("noop", payload(n)))

    def add_many(self, numbers: Sequence[int]) -> None:
        count = len(numbers)
        many = self._queries.enqueue(["noop"] * count, [payload(n) for n in numbers], [0] * count)
        self._loop.run_until_complete(many)


def payload(n: int) -> bytes:
    return json.dumps({"n": n}).encode()


async def work() -> None:
    if program.IS_TUNED:
        pool = await asyncpg.create_pool(program.URL, min_size=2, max_size=4)
        queuer = PgQueuer.from_asyncpg_pool(pool)
    else:
        queuer = PgQueuer.from_asyncpg_connection(await asyncpg.connect(program.URL))

    @queuer.entrypoint("noop")
    async def noop(job: Job) -> None:
        program.record(json.loads(job.payload or b"")["n"])

    await queuer.run(**({"batch_size": BATCH} if program.IS_TUNED else {}))


if __name__ == "__main__":
    queue = Queue()
    run = uvloop.run if program.IS_TUNED else asyncio.run
    program.main(
        setup=queue.install,
        single=queue.add,
        bulk=queue.add_many,
        worker=lambda: run(work()),
        warm=queue.connect,
    )
