"""The job that code runs for, in every thread, pool and task of a handler, and never in those of another."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from jobs_app import current_job, job, logs
from jobs_app.current import active
from jobs_app.errors import NoCurrentJob
from jobs_app.worker import propagation
from jobs_app.worker.runner import run, run_async
from tests.worker.flights import context_of, flight_of


@pytest.fixture(autouse=True)
def installed() -> None:
    propagation.install()
    propagation.install()  # again does nothing


def in_thread(call: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def here() -> Any:
    return current_job().id


def test_there_is_no_job_outside_of_one() -> None:
    with pytest.raises(NoCurrentJob):
        current_job()
    assert in_thread(active.get) is None


@pytest.mark.spec("S3.3")
def test_threads_timers_and_pools_of_a_handler_carry_its_job() -> None:
    found: list[Any] = []

    @job
    def spread() -> None:
        found.append(here())
        found.append(in_thread(here))
        found.append(in_thread(lambda: in_thread(here)))
        timer = threading.Timer(0, lambda: found.append(here()))
        timer.start()
        timer.join()
        with ThreadPoolExecutor(2) as pool:
            found.append(pool.submit(here).result())
            found.extend(pool.map(lambda _: here(), range(2)))

    flight = flight_of(spread)
    assert run(flight) is not None
    assert found == [flight.job.id] * 7
    assert active.get() is None


@pytest.mark.spec("S3.3")
def test_tasks_and_threads_of_an_async_handler_carry_its_job() -> None:
    found: list[Any] = []

    async def step() -> None:
        await asyncio.sleep(0)
        found.append(here())

    @job
    async def spread() -> None:
        await asyncio.gather(step(), step())
        found.append(await asyncio.to_thread(here))
        found.append(await sync_to_async(here)())
        found.append(await asyncio.get_running_loop().run_in_executor(None, here))

    flight = flight_of(spread)
    asyncio.run(run_async(flight))  # type: ignore[arg-type]
    assert found == [flight.job.id] * 5


@pytest.mark.spec("A3.6")
def test_a_pool_that_jobs_share_runs_each_call_for_the_job_that_submitted_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        found: dict[Any, Any] = {}

        @job
        def share() -> None:
            found[here()] = pool.submit(here).result()

        flights = [flight_of(share) for _ in range(5)]
        for flight in flights:
            run(flight)
        assert found == {flight.job.id: flight.job.id for flight in flights}
        assert pool.submit(active.get).result() is None


@pytest.mark.spec("S3.4", "A3.6")
def test_a_line_says_worker_and_job_whoever_logs_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(logs.JobFilter())
    logs.name_worker("host1234")
    logger = logging.getLogger("some.library")

    @job
    def nested() -> None:
        logger.warning("deep")
        in_thread(lambda: logger.warning("deeper"))

    try:
        flight = flight_of(nested)
        run(flight)
        logger.warning("outside")
    finally:
        logs.name_worker("")
    where = {record.getMessage(): record.where for record in caplog.records if record.name == "some.library"}
    inside = f"[Worker host1234] [Job {flight.job.id}] "
    assert where == {"deep": inside, "deeper": inside, "outside": "[Worker host1234] "}


@pytest.mark.spec("S3.4")
def test_a_line_has_time_worker_job_and_message() -> None:
    context = context_of()
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "two\nlines", None, None)
    logs.name_worker("host1234")
    try:
        contextvars.copy_context().run(lambda: (active.set(context), logs.JobFilter().filter(record)))
    finally:
        logs.name_worker("")
    line = logs.OneLineFormatter(logs.FORMAT).format(record)
    assert line.endswith(f"] [Worker host1234] [Job {context.id}] INFO two\\nlines")
    assert line.startswith("[20")
