"""Huey, in an SQLite file if BENCH_URL names one, else in Redis.

The tuned profile does not log lines for each job. On Redis it runs them in 2 threads instead of 1. On SQLite 2 were
measured half as fast as 1; there it keeps 1, and polls every 10 to 50 ms (by default 0.1 s, which grows to 10 s
while nothing comes), and syncs as the Django programs do, at checkpoints of the WAL: Huey itself leaves SQLite's own
default, a sync for each commit, or turns syncs off altogether. There is no bulk enqueue.
"""

from __future__ import annotations

import logging
import sqlite3
from typing import Any

from huey import Huey, RedisHuey, SqliteHuey
from huey.consumer_options import ConsumerConfig

from benchmarks.peers import program

IS_SQLITE = program.URL.startswith("sqlite:")


class SyncedAtCheckpoints(sqlite3.Connection):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.execute("PRAGMA synchronous=NORMAL")


def make_huey() -> Huey:
    if not IS_SQLITE:
        return RedisHuey("bench", url=program.REDIS)
    tuned = {"factory": SyncedAtCheckpoints, "timeout": 20} if program.IS_TUNED else {}
    return SqliteHuey("bench", filename=program.URL.removeprefix("sqlite:///"), **tuned)


def settings() -> dict[str, Any]:
    """For the consumer, as `huey_consumer` takes them from its command line."""
    if not program.IS_TUNED:
        return {}
    of_store = {"initial_delay": 0.01, "max_delay": 0.05} if IS_SQLITE else {"workers": 2}
    return {"verbose": False, **of_store}


def work() -> None:
    config = ConsumerConfig(**settings())
    config.validate()
    config.setup_logger(logging.getLogger("huey"))
    huey.create_consumer(**config.values).run()


huey = make_huey()


@huey.task(name="noop")
def noop(n: int) -> None:
    program.record(n)


if __name__ == "__main__":
    program.main(setup=lambda: None, single=lambda n: noop(n=n), bulk=None, worker=work)
