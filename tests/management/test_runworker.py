"""The command: what it takes, what it refuses, what it prints."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jobs_app import job, logs
from jobs_app.management.commands import runworker
from jobs_app.models import Job, JobRun
from jobs_app.scheduler.loop import Scheduler
from jobs_app.worker.loop import WorkerOptions


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """A command may take over the process; a test gives it back."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)
    logs.name_worker("")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command would have started."""
    found: list[Any] = []

    class Supervisor:
        def __init__(self, *given: Any) -> None:
            found.append(("supervisor", *given))

        def run(self) -> int:
            return 0

    def run_worker(options: WorkerOptions, signals: Any, *, beside: Any, shown: Any) -> int:
        found.append(("worker", options, [type(loop) for loop in beside]))
        return 0

    monkeypatch.setattr(runworker, "Supervisor", Supervisor)
    monkeypatch.setattr(runworker, "run_worker", run_worker)
    monkeypatch.setattr(runworker, "require_tables", lambda: None)
    return found


def test_options_reach_the_worker(started: list[Any]) -> None:
    given = "--queues mail,sync.* --exclude x --concurrency 3 --poll 0.5 --lease 60 --grace 0 --on-shutdown fail"
    more = "--max-jobs 100 --max-rss 512 --name w-1 --no-listen --with-scheduler"
    call_command("runworker", *given.split(), *more.split())
    [(kind, options, beside)] = started
    assert (kind, beside) == ("worker", [Scheduler])
    assert options == WorkerOptions(
        queues=("mail", "sync.*"),
        excluded=("x",),
        concurrency=3,
        poll=0.5,
        lease=60,
        grace=0,
        on_shutdown="fail",
        listen=False,
        max_jobs=100,
        max_rss=512 * 1024 * 1024,
        name="w-1",
    )


@pytest.mark.django_db
@pytest.mark.parametrize(("is_debug", "given", "told"), [(True, [], 1), (True, ["--once"], 0), (False, [], 0)])
def test_a_worker_that_is_to_run_for_long_tells_that_debug_is_on(
    is_debug: bool, given: list[str], told: int, started: list[Any], settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DEBUG = is_debug
    call_command("runworker", *given, stdout=StringIO())
    lines = [record.getMessage() for record in caplog.records if getattr(record, "event", "") == "debug_on"]
    assert len(lines) == told
    assert all("(jobs_app.W017)" in line for line in lines)


def test_settings_are_the_defaults(started: list[Any], settings: Any) -> None:
    settings.JOBS = {
        "WORKER_CONCURRENCY": 7,
        "WORKER_POLL_SECONDS": 2,
        "LEASE_SECONDS": 90,
        "GRACE_SECONDS": 5,
        "RECOVER_SECONDS": 1,
        "WORKER_LISTEN": False,
    }
    call_command("runworker")
    [(kind, options, beside)] = started
    assert (kind, beside) == ("worker", [])
    assert (options.concurrency, options.listen, options.on_shutdown) == (7, False, None)
    assert (options.poll_seconds, options.lease_seconds, options.grace_seconds) == (2, 90, 5)
    assert options.recover_seconds == 1


def test_what_is_not_told_follows_the_settings(started: list[Any], settings: Any) -> None:
    call_command("runworker", "--lease", "60")
    [(_, options, _)] = started
    settings.JOBS = {"LEASE_SECONDS": 90, "WORKER_POLL_SECONDS": 3}
    assert (options.lease_seconds, options.poll_seconds) == (60, 3)


def test_several_processes_or_a_reload_need_a_supervisor(started: list[Any], settings: Any) -> None:
    call_command("runworker", "--processes", "3")
    call_command("runworker", "--reload", "--with-scheduler")
    settings.JOBS = {"WORKER_PROCESSES": 2}
    call_command("runworker")
    found = [(kind, processes, reload, beside) for kind, _, processes, _, _, reload, beside, _ in started]
    assert found == [
        ("supervisor", 3, False, []),
        ("supervisor", 1, True, [Scheduler]),
        ("supervisor", 2, False, []),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--concurrency", "0"],
        ["--processes", "-1"],
        ["--lease", "0"],
        ["--lease", "inf"],
        ["--poll", "nan"],
        ["--grace", "-1"],
        ["--max-jobs", "0"],
        ["--on-shutdown", "explode"],
        ["--once", "--processes", "2"],
        ["--once", "--reload"],
        ["--once", "--with-scheduler"],
    ],
)
def test_what_cannot_work_is_refused(arguments: list[str], started: list[Any]) -> None:
    with pytest.raises(CommandError):
        call_command("runworker", *arguments)
    assert started == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S4.6", "S4.18", "S4.20", "A4.4")
def test_once_works_off_what_is_due_and_sums_up(settings: Any) -> None:
    settings.JOBS = {"WORKER_PROCESSES": 4}  # of a worker that stays; once is one

    @job(preset="payments")
    def charge(fails: bool = False) -> None:
        if fails:
            raise ConnectionError("away")

    for number in range(5):
        charge.enqueue(fails=number == 2)
    charge.options(queue="other").enqueue()
    out = StringIO()
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    call_command("runworker", "--once", "--poll", "0.05", "--exclude", "other", "--verbosity", "0", stdout=out)
    assert out.getvalue().splitlines()[-1] == "📊 Worker completed - Processed: 5 | Success: 4 | Retry: 1 | Failed: 0"
    assert (JobRun.objects.count(), Job.objects.count()) == (4, 2)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
