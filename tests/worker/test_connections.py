"""Database connections of a worker process: few, its own, and replaced when a server cuts them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from jobs_app import job
from jobs_app.models import Job, JobAttempt, JobRun
from tests.waiting import until
from tests.worker.harness import Ledger, WorkerProcess, finished, outcomes, working

Start = Callable[..., WorkerProcess]
NAME = "jobs-app-test-worker"
OURS = "FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def needs_a_server(is_postgres: bool) -> None:
    if not is_postgres:
        pytest.skip("SQLite has no server that counts or cuts connections")


def backends() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pid {OURS}", [NAME])
        return [pid for (pid,) in cursor.fetchall()]


def cut() -> int:
    """Close every connection of the worker, from the server's side."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s", [NAME]
        )
        return len(cursor.fetchall())


def holding() -> Any:
    """What the test enqueued and runs; the app's own chores come and go."""
    return Job.objects.filter(queue="default")


@pytest.mark.spec("S1.3", "S3.R7")
def test_busy_connections_keep_no_lease_from_being_extended_and_there_are_few_of_them(
    start: Start, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    worker = start("--concurrency", "4", "--lease", "1", "--with-scheduler", PGAPPNAME=NAME).wait_for_start()
    finished(*samples.query.enqueue_many([{}] * 50), samples.aping.enqueue())
    runs = samples.use_connection.enqueue_many([{"until": str(gate)}] * 4)
    ledger.wait("began", 4)
    first = {row.id: row.lease_expires_at for row in holding()}
    most = 0

    def kept_for_three_leases() -> bool:
        nonlocal most
        most = max(most, len(backends()))
        return all((row.lease_expires_at - first[row.id]).total_seconds() > 3 for row in holding())

    until(kept_for_three_leases, every=0.05)
    # Threads, our own loops, the scheduler; for a moment the janitor, and the reserved slot with the chore in it.
    assert 0 <= most - (4 + 4 + 1) <= 3
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 4
    assert [outcomes(run) for run in runs] == [["success"]] * 4
    until(lambda: len(backends()) == 4 + 1, every=0.05)
    worker.stop()
    until(lambda: backends() == [], every=0.02)


@pytest.mark.spec("S3.R7")
def test_a_worker_whose_connections_are_cut_again_and_again_goes_on(start: Start, samples: Any, ledger: Ledger) -> None:
    worker = start("--concurrency", "4", PGAPPNAME=NAME).wait_for_start()
    runs = []
    rounds = 15
    for _ in range(rounds):
        runs += samples.ping.enqueue_many([{}] * 20)
        until(backends, every=0.01)
        cut()
    assert set(finished(*runs)) == {"succeeded"}
    assert JobRun.objects.count() == JobAttempt.objects.filter(success=True).count() == 20 * rounds
    assert {line["job"] for line in ledger.lines("ran")} == {str(run.id) for run in runs}
    log = worker.stop()
    assert 1 <= log.count("does not answer") <= 4 * rounds  # once for each loop and cut, and never a line for each try
    assert "ERROR" not in log


def test_a_job_never_meets_a_connection_that_went_stale_between_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", None)
    monkeypatch.setitem(connections.settings["default"], "CONN_HEALTH_CHECKS", True)

    @job(max_attempts=1)
    def which() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return cursor.fetchone()[0]

    with working(concurrency=1):
        first, second = which.enqueue(), which.enqueue()
        finished(first, second)
        assert first.result == second.result  # kept, as the host asked for
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [first.result])
        third = which.enqueue()
        assert finished(third) == ["succeeded"]
        assert third.result != first.result


def test_a_server_that_is_away_is_waited_for_in_silence(start: Start, samples: Any) -> None:
    """Refused connections: the process stays, says so once per loop, and works when it is let in again."""
    worker = start(PGAPPNAME=NAME).wait_for_start()
    finished(samples.ping.enqueue())
    database = connection.settings_dict["NAME"]
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
        try:
            cut()
            worker.wait_for_log("does not answer", 3)  # claimer, heartbeat and listener
            began = time.monotonic()
            until(lambda: time.monotonic() - began > 1, every=0.1)
            speakers = re.findall(r"(\w+): the database does not answer", worker.log())
            assert len(speakers) == len(set(speakers))  # a loop with a chore just then speaks as well, also once
        finally:
            cursor.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')
    assert finished(samples.ping.enqueue()) == ["succeeded"]
    worker.wait_for_log("works again", 3)
    worker.stop()
