"""Keys and limits with real processes: what may not run at once never does, also when its holders are killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs_app import trigger
from jobs_app.definitions import JobDefinition
from jobs_app.models import Job, JobRun, QueueState
from tests.waiting import until
from tests.worker import keyed_jobs
from tests.worker.aside import SetAside
from tests.worker.harness import Ledger, WorkerProcess, finished

KEYED_TYPES = SetAside(keyed_jobs)


@pytest.fixture
def jobs(samples: Any) -> Any:
    return KEYED_TYPES.register()


@pytest.fixture
def begin(start: Callable[..., WorkerProcess], jobs: Any) -> Callable[..., WorkerProcess]:
    """Start a worker that knows the jobs, with these arguments."""
    return lambda *arguments: start(*arguments, MORE_JOBS="tests.worker.keyed_jobs")


def most_at_once(ledger: Ledger) -> int:
    """Of jobs that note when they begin and end, as one clock for all processes saw it."""
    moments = sorted((line["at"], 1 if line["what"] == "began" else -1) for line in ledger.lines() if "at" in line)
    most = now = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


@pytest.mark.spec("S0.38")
def test_four_processes_never_run_two_jobs_of_a_key_though_holders_are_killed(
    begin: Any, jobs: Any, ledger: Ledger
) -> None:
    supervisor = begin("--processes", "4", "--concurrency", "5")
    supervisor.wait_for_log(" slots\n", 4)
    providers = [f"f0{number}" for number in range(20)]
    for round_number in range(5):
        for number, provider in enumerate(providers):
            kill = round_number == 2 and number % 7 == 0
            jobs.deal.enqueue(provider=provider, seconds=0.02, kill=kill)
            jobs.retrieval.enqueue(provider=provider, seconds=0.01)
    until(lambda: not Job.objects.exists(), seconds=90)
    assert ledger.lines("overlap") == []
    assert Counter(JobRun.objects.values_list("state", flat=True)) == {"succeeded": 200}
    assert {line["key"] for line in ledger.lines("ended")} == set(providers)
    assert len({line["pid"] for line in ledger.lines("ended")}) > 1
    assert JobRun.objects.filter(attempts__gt=1).exists()  # of those who were killed
    assert "a worker process ended with code -9" in supervisor.stop()


@pytest.mark.spec("A0.5", "S0.38")
def test_six_jobs_over_two_keys_run_one_by_one_per_key_and_the_keys_beside_each_other(
    begin: Any, jobs: Any, ledger: Ledger, tmp_path: Path
) -> None:
    workers = [begin("--concurrency", "10").wait_for_start() for _ in range(2)]
    gate = tmp_path / "gate"
    runs = [jobs.deal.enqueue(provider="A", until=str(gate)) for _ in range(3)]
    runs += [jobs.retrieval.enqueue(provider="A", until=str(gate)) for _ in range(2)]
    runs.append(jobs.deal.enqueue(provider="B", until=str(gate)))
    began = ledger.wait("began", 2)
    assert sorted(line["key"] for line in began) == ["A", "B"]  # B runs beside A
    until(lambda: Job.objects.filter(hold="key").count() == 4, every=0.02)
    assert len(ledger.lines("began")) == 2
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 6
    assert ledger.lines("overlap") == []
    assert most_at_once(ledger) == 2
    for worker in workers:
        assert "ERROR" not in worker.stop()


@pytest.mark.spec("A3.5", "S3.18")
def test_triggers_while_an_exclusive_job_runs_add_none_and_one_when_it_has_ended(
    begin: Any, jobs: Any, ledger: Ledger, tmp_path: Path
) -> None:
    begin().wait_for_start()
    gate, second_gate = tmp_path / "gate", tmp_path / "second"
    first = trigger("reconcile", {"until": str(gate)})
    ledger.wait("began")
    again = [trigger("reconcile", {"until": str(second_gate)}) for _ in range(3)]
    assert [(run.id, run.created) for run in again] == [(first.id, False)] * 3
    assert Job.objects.count() == 1
    gate.touch()
    assert finished(first) == ["succeeded"]
    later = [trigger("reconcile", {"until": str(second_gate)}) for _ in range(3)]
    assert [run.created for run in later] == [True, False, False]
    second_gate.touch()
    assert finished(later[0]) == ["succeeded"]
    assert JobRun.objects.count() == 2


def assert_no_more_begin(ledger: Ledger, count: int, ping: JobDefinition[..., Any]) -> None:
    """The workers go on with other jobs, and still these are all."""
    for _ in range(3):
        assert finished(ping.enqueue()) == ["succeeded"]
    assert len(ledger.lines("began")) == count


@pytest.mark.spec("S2.25")
def test_a_type_runs_so_many_at_once_over_all_processes(
    begin: Any, jobs: Any, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    begin("--processes", "2", "--concurrency", "10").wait_for_log(" slots\n", 2)
    runs = jobs.three_at_once.enqueue_many([{"until": str(gate)}] * 8)
    ledger.wait("began", 3)
    assert_no_more_begin(ledger, 3, samples.ping)
    assert Counter(Job.objects.values_list("state", "hold")) == {("running", ""): 3, ("queued", "limit"): 5}
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 8


@pytest.mark.spec("S2.25")
def test_a_type_runs_so_many_at_once_in_each_process(
    begin: Any, jobs: Any, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    begin("--processes", "2", "--concurrency", "10").wait_for_log(" slots\n", 2)
    runs = jobs.two_per_process.enqueue_many([{"until": str(gate)}] * 8)
    began = ledger.wait("began", 4)
    assert_no_more_begin(ledger, 4, samples.ping)
    assert set(Counter(line["pid"] for line in began).values()) == {2}
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 8


@pytest.mark.spec("S0.36")
def test_a_worker_serves_all_its_queues_and_of_one_only_so_many_at_once(
    begin: Any, jobs: Any, samples: Any, ledger: Ledger, tmp_path: Path
) -> None:
    QueueState.objects.create(name="narrow", max_running_per_process=2)
    gate = tmp_path / "gate"
    workers = [begin("--concurrency", "10").wait_for_start() for _ in range(2)]
    runs = jobs.narrow.enqueue_many([{"until": str(gate)}] * 8)
    began = ledger.wait("began", 4)
    assert_no_more_begin(ledger, 4, samples.ping)
    assert Counter(line["pid"] for line in began) == {worker.pid: 2 for worker in workers}
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 8


def test_a_rate_holds_over_all_processes_and_is_used(begin: Any, jobs: Any, ledger: Ledger) -> None:
    begin("--processes", "2").wait_for_log(" slots\n", 2)
    jobs.paced.enqueue_many([{}] * 60)
    until(lambda: not Job.objects.exists(), seconds=60)
    moments = sorted(line["at"] for line in ledger.lines("began"))
    # It counts when a job is let in; how soon it then begins is not the same for each.
    slack = 0.5
    for place, first in enumerate(moments):
        assert sum(first <= moment < first + 1 for moment in moments[place:]) <= 20 * (1 + slack)
    assert moments[-1] - moments[0] < 60 / (0.9 * 20) + 3
