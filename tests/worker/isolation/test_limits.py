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
from tests.worker.isolation.conftest import Keeper


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
@pytest.mark.parametrize("beast", ["ignore_term", "spin", "chatter"])
def test_a_handler_that_will_not_stop_is_killed_when_the_grace_is_over(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path, beast: str
) -> None:
    worker = keeper.start()
    with bystanders(zoo, samples, ledger, tmp_path / "gate"):
        run = getattr(zoo, beast).enqueue()
        assert finished(run) == ["failed"]
    stored, (attempt,) = JobRun.objects.get(pk=run.id), JobAttempt.objects.filter(job_id=run.id)
    assert (stored.outcome, stored.done_reason) == ("timeout", "timeout")
    assert stored.error.startswith("timed out after ")
    assert stored.error.endswith("(limit 1 s); the process was killed")
    assert 2 <= (attempt.finished_at - attempt.started_at).total_seconds() < 4  # a timeout of 1 s, a grace of 1 s
    assert is_gone(ledger.lines("began")[-1]["pid"])
    worker.stop()
    assert keeper.marked() == []


@pytest.mark.parametrize("beast", ["clean_up", "aclean_up"])
def test_at_its_deadline_a_handler_may_clean_up(keeper: Keeper, zoo: Any, ledger: Ledger, beast: str) -> None:
    worker = keeper.start(TIMEOUT_GRACE_SECONDS="20")
    run = getattr(zoo, beast).enqueue()
    assert finished(run) == ["failed"]
    (cleaned,), (attempt,) = ledger.lines("cleaned"), JobAttempt.objects.filter(job_id=run.id)
    assert (attempt.outcome, attempt.error_class) == ("timeout", "jobs_app.errors.JobTimeout")
    assert beast in attempt.traceback  # where it was
    again = zoo.who.enqueue()
    assert finished(again) == ["succeeded"]
    assert again.result == cleaned["pid"]  # it stayed fit for other jobs
    worker.stop()


def test_a_timeout_is_tried_again_where_the_type_asks_for_it(keeper: Keeper, zoo: Any, ledger: Ledger) -> None:
    keeper.start()
    run = zoo.hang_again.enqueue()
    assert finished(run) == ["failed"]
    assert (outcomes(run), run.error[:10]) == (["timeout", "timeout"], "timed out ")
    assert len({line["pid"] for line in ledger.lines("began")}) == 2


@pytest.mark.parametrize(
    ("then", "status", "outcome"),
    [("hang", "failed", "timeout"), ("crash", "failed", "crashed"), ("return", "succeeded", "success")],
)
def test_what_a_job_started_ends_with_it(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path, then: str, status: str, outcome: str
) -> None:
    worker = keeper.start()
    with bystanders(zoo, samples, ledger, tmp_path / "gate"):
        run = zoo.fork.enqueue(then=then)
        assert finished(run) == [status]
        (forked,) = ledger.lines("forked")
        assert [pid for pid in [forked["pid"], *forked["pids"]] if not is_gone(pid)] == []
    assert outcomes(run) == [outcome]
    worker.stop()
    assert keeper.marked() == []


@pytest.mark.parametrize("beast", ["eat", "eat_together"])
def test_a_job_that_eats_too_much_is_killed_with_the_reason(
    keeper: Keeper, zoo: Any, samples: Any, ledger: Ledger, tmp_path: Path, beast: str
) -> None:
    worker = keeper.start()
    with bystanders(zoo, samples, ledger, tmp_path / "gate"):
        run = getattr(zoo, beast).enqueue()
        assert finished(run) == ["failed"]
    (attempt,) = JobAttempt.objects.filter(job_id=run.id)
    assert (attempt.outcome, attempt.error_class) == ("crashed", "MemoryExceeded")
    assert attempt.message == "used more than its 200 MB of memory"
    worker.stop()
    assert keeper.marked() == []


def test_one_allocation_beyond_the_limit_is_an_error_of_the_handler(keeper: Keeper, zoo: Any) -> None:
    worker = keeper.start()
    run = zoo.eat_at_once.enqueue()
    assert finished(run) == ["failed"]
    (attempt,) = JobAttempt.objects.filter(job_id=run.id)
    assert (attempt.outcome, attempt.error_class) == ("error", "MemoryError")
    assert finished(zoo.who.enqueue()) == ["succeeded"]
    worker.stop()


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
