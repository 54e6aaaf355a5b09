"""Tasks in worker processes: found, run, let finish, recovered."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs_app.models import WorkerState
from jobs_app.tasks_backend.library import TaskResultStatus
from tests.tasks_backend import tasks, views
from tests.waiting import until
from tests.worker.harness import WorkerProcess, working

Start = Callable[..., WorkerProcess]
SETTINGS = "tests.tasks_backend.settings"


@pytest.fixture
def start(child_environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Start `runworker` with these arguments, in a project with the sample tasks."""
    numbers = itertools.count(1)
    processes: list[WorkerProcess] = []
    environment = {**child_environment, "DJANGO_SETTINGS_MODULE": SETTINGS}

    def start_one(*arguments: str) -> WorkerProcess:
        given = ("--poll", "0.1", "--lease", "2", *arguments)
        processes.append(WorkerProcess(given, environment, tmp_path / f"worker-{next(numbers)}.log", []))
        return processes[-1]

    yield start_one
    for process in processes:
        process.end()


def finished(*results: Any) -> list[str]:
    for result in results:
        until(lambda result=result: result.refresh() or result.is_finished, every=0.02)
    return [result.status.value for result in results]


def holding(tmp_path: Path) -> tuple[Any, Path]:
    """A task that has begun, and the gate that it waits for."""
    began, gate = tmp_path / "began", tmp_path / "gate"
    result = tasks.hold.enqueue(str(began), gate=str(gate))
    until(began.exists, every=0.02)
    return result, gate


@pytest.mark.parametrize("processes", ["1", "2"])
def test_what_only_views_import_is_found_in_every_process(processes: str, start: Start) -> None:
    worker = start("--processes", processes)
    results = [
        tasks.add.enqueue(1),
        *(views.beside_view.enqueue() for _ in range(4)),
        views.beside_view_apart.enqueue(),
    ]
    assert finished(*results) == ["SUCCESSFUL"] * 6
    assert results[1].return_value == "seen"
    assert results[-1].return_value not in (worker.pid, os.getpid())
    worker.stop()


def test_every_kind_of_end_in_one_worker(start: Start) -> None:
    results = {name: getattr(tasks, name).enqueue() for name in ("exiting", "interrupted", "failing_async", "noop")}
    results["later"] = tasks.third_time.enqueue()
    results["apart"] = tasks.apart.enqueue("from afar")
    worker = start("--once")
    assert worker.wait() in (0, 1), worker.log()
    assert finished(*results.values()) == ["FAILED"] * 3 + ["SUCCESSFUL"] * 2 + ["FAILED"]
    classes = {name: [error.exception_class for error in result.errors] for name, result in results.items()}
    assert classes == {
        "exiting": [SystemExit],
        "interrupted": [KeyboardInterrupt],
        "failing_async": [ValueError],
        "noop": [],
        "later": [ValueError] * 2,
        "apart": [ValueError],
    }
    assert results["apart"].errors[0].traceback.endswith("ValueError: from afar\n")
    for result in results.values():
        assert worker.log().count(f"{result.id} path={result.task.module_path} state=FAILED") == (
            result.status == "FAILED"
        )


def test_a_stop_lets_a_task_finish(start: Start, tmp_path: Path) -> None:
    worker = start()
    result, gate = holding(tmp_path)
    result.refresh()
    assert (result.status, len(result.worker_ids)) == (TaskResultStatus.RUNNING, 1)
    worker.term()
    until(lambda: WorkerState.objects.filter(draining=True).exists(), every=0.02)
    gate.touch()
    assert worker.wait() == 0
    assert (finished(result), result.return_value, result.attempts) == (["SUCCESSFUL"], "let go", 1)


def test_a_killed_worker_leaves_no_task_running_for_ever(start: Start, tmp_path: Path) -> None:
    worker = start()
    result, _ = holding(tmp_path)
    worker.signal(signal.SIGKILL)
    other = start()
    assert finished(result) == ["FAILED"]
    (error,) = result.errors
    assert error.exception_class_path == "jobs_app.errors.LeaseLost"
    assert "stalled job recovery" in error.traceback
    assert result.attempts == 1
    other.wait_for_log(f"Task id={result.id} path=tests.tasks_backend.tasks.hold state=FAILED")
    other.stop()


@pytest.mark.django_db(transaction=True)
def test_a_process_of_its_own_tells_its_end_by_the_worker(
    heard: Any, child_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", SETTINGS)
    monkeypatch.setenv("DATABASE_URL", child_environment["DATABASE_URL"])
    with working():
        succeeded, failed = tasks.apart.enqueue(), tasks.apart.enqueue("no")
        assert finished(succeeded, failed) == ["SUCCESSFUL", "FAILED"]
        until(lambda: [word for word, _ in heard.words()].count("finished") == 2, every=0.02)
    told = {result.id: result for word, _, result in heard if word == "finished"}
    assert told[succeeded.id].return_value == succeeded.return_value != os.getpid()
    assert told[failed.id].errors == failed.errors


@pytest.mark.django_db(transaction=True)
def test_threads_and_the_event_loop_of_one_worker(heard: Any) -> None:
    with working():
        results = [one.enqueue(number) for number in range(10) for one in (tasks.add, tasks.add_async)]
        results += [tasks.third_time.enqueue() for _ in range(4)]
        assert finished(*results) == ["SUCCESSFUL"] * 24
        until(lambda: [word for word, _ in heard.words()].count("finished") == 24, every=0.02)
    assert [result.return_value for result in results[:4]] == [1, 1, 2, 2]
    told = {result.id: result for word, _, result in heard if word == "finished"}
    for result in results:
        assert (told[result.id].worker_ids, told[result.id].errors) == (result.worker_ids, result.errors)
