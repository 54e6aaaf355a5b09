"""A process that claims and finishes until nothing is left, and prints the ids that it got."""

from __future__ import annotations

import sys
from uuid import uuid4

import django


def main(worker_id: str, limit: int) -> None:
    from django.db import connection

    from jobs_app.lifecycle.database import prepare
    from jobs_app.lifecycle.finish import finish
    from tests.lifecycle.rows import ended, take

    prepare(connection)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    while jobs := take(limit, worker_id=worker_id, token=uuid4()):
        assert len(jobs) <= limit
        accepted = finish(connection, [ended(job, result='{"done": true}') for job in jobs])
        assert accepted == {job.id for job in jobs}
        sys.stdout.writelines(f"{job.id}\n" for job in jobs)


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]))
