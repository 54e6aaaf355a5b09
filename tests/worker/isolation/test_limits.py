"""Handlers that go beyond their time or their memory: each ends at its limit, and nobody else notices."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jobs_app.models import JobAttempt, JobRun
from tests.waiting import until
from tests.worker.harness import Ledger, finished, is_gone, outcomes
from tests.worker.isolation.conftest import Ground, Keeper


@contextmanager
def bystanders(zoo: Any, samples: Any, ledger: Ledger, gate: Path) -> Iterator[None]:
    """A job in a thread, an async one and one in another process run from before to after, once and well."""
    runs = [each.enqueue(until=str(gate)) for each in (samples.hold, zoo.astay, zoo.stay)]
    ledger.wait("began", 3)
    yield
    assert {run.refresh().status for run in runs} == {"running"}
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 3
    assert [outcomes(run) for run in runs] == [["success"]] * 3


@pytest.mark.spec("S3.6", "S3.9")
def test_a_handler_that_will_not_stop_is_killed_when_the_grace_is_over(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path, short_grace: float
) -> None:
    with keeper.here(), bystanders(zoo, samples, ledger, tmp_path / "gate"):
        runs = [beast.enqueue() for beast in (zoo.ignore_term, zoo.spin, zoo.chatter)]
        assert finished(*runs) == ["failed"] * 3
        assert [is_gone(line["pid"]) for line in ledger.lines("began")[3:]] == [True] * 3
    for run in runs:
        stored, (attempt,) = JobRun.objects.get(pk=run.id), JobAttempt.objects.filter(job_id=run.id)
        assert (stored.outcome, stored.done_reason) == ("timeout", "timeout")
        assert stored.error.startswith("timed out after ")
        assert stored.error.endswith("(limit 1 s); the process was killed")
        assert 1 + short_grace <= (attempt.finished_at - attempt.started_at).total_seconds() < 4
    assert keeper.marked() == []


def test_at_its_deadline_a_handler_may_clean_up(ground: Ground, zoo: Any, ledger: Ledger, settings: Any) -> None:
    settings.JOBS = {"TIMEOUT_GRACE_SECONDS": 20}
    flights = [ground.launch(beast) for beast in (zoo.clean_up, zoo.aclean_up)]
    for flight in flights:
        ended = ground.report(flight).ended
        assert (ended.state, ended.outcome, ended.error_class) == ("failed", "timeout", "jobs_app.errors.JobTimeout")
        assert flight.job.job_type in ended.traceback  # where it was
    cleaned = {line["pid"] for line in ledger.lines("cleaned")}
    assert len(cleaned) == 2
    assert ground.result(zoo.who) in cleaned  # they stayed fit for other jobs


def test_a_timeout_is_tried_again_where_the_type_asks_for_it(
    ground: Ground, zoo: Any, ledger: Ledger, short_grace: float
) -> None:
    ended = ground.fly(zoo.hang_again).ended
    assert (ended.state, ended.outcome, ended.free) == ("queued", "timeout", False)
    assert is_gone(ledger.lines("began")[0]["pid"])


def test_what_a_job_started_ends_with_it(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    with keeper.here(), bystanders(zoo, samples, ledger, tmp_path / "gate"):
        runs = [zoo.fork.enqueue(then=then) for then in ("hang", "crash", "return")]
        assert finished(*runs) == ["failed", "failed", "succeeded"]
        started = [pid for forked in ledger.lines("forked") for pid in [forked["pid"], *forked["pids"]]]
        assert [pid for pid in started if not is_gone(pid)] == []
    assert len(started) == 3 * 5
    assert [outcomes(run) for run in runs] == [["timeout"], ["crashed"], ["success"]]
    assert keeper.marked() == []


def test_a_job_that_eats_too_much_is_killed_with_the_reason(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    with keeper.here(), bystanders(zoo, samples, ledger, tmp_path / "gate"):
        runs = [beast.enqueue() for beast in (zoo.eat, zoo.eat_together)]
        assert finished(*runs) == ["failed"] * 2
    for run in runs:
        (attempt,) = JobAttempt.objects.filter(job_id=run.id)
        assert (attempt.outcome, attempt.error_class) == ("crashed", "MemoryExceeded")
        assert attempt.message == "used more than its 200 MB of memory"
    assert keeper.marked() == []


def test_one_allocation_far_beyond_the_limit_is_an_error_of_the_handler(ground: Ground, zoo: Any) -> None:
    ended = ground.fly(zoo.eat_at_once).ended
    assert (ended.outcome, ended.error_class) == ("error", "MemoryError")
    assert ground.result(zoo.who)


def test_what_threads_could_take_for_their_stacks_is_no_memory(ground: Ground, zoo: Any) -> None:
    assert ground.result(zoo.sleep_in_threads, count=40) == 40  # 320 MB


def test_a_term_that_a_service_manager_sends_to_everybody_stops_no_handler(
    keeper: Keeper, zoo: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    worker = keeper.start()
    run = zoo.stay.enqueue(until=str(gate))
    ledger.wait("began")
    keeper.signal_all()
    worker.wait_for_log("stop")
    began = time.monotonic()
    until(lambda: time.monotonic() - began > 0.5)
    gate.touch()
    assert worker.wait() == 0
    assert finished(run) == ["succeeded"]
    assert keeper.marked() == []
