"""What a worker makes of the words of a child."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jobs_app import job
from jobs_app.worker.isolation.attempt import Attempt
from tests.worker.flights import flight_of


class Child:
    is_spent = False


@pytest.mark.spec("S0.R16")
def test_a_job_whose_type_the_child_does_not_know_goes_back_and_is_told_by_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @job
    def renamed() -> None: ...

    flight, child = flight_of(renamed), Child()
    told: Any = {"refused": "there is no job 'renamed'"}
    with caplog.at_level(logging.WARNING, "jobs_app"):
        ended = Attempt(flight, child)._hear(told)  # type: ignore[arg-type]
    assert ended is not None
    assert (ended.state, ended.free, child.is_spent) == ("queued", True, True)
    [line] = [vars(record) for record in caplog.records]
    assert (line["event"], line["job"], line["error"]) == ("unknown_job_type", str(flight.job.id), told["refused"])
