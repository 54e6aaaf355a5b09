"""Several processes as one, whatever each of them does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from jobs_app.health import Health
from jobs_app.metrics.exposure import Exposure
from jobs_app.worker.overview import Overview


@dataclass
class Member:
    number: int
    is_ready: bool = True
    alive: bool = True

    def is_alive(self) -> bool:
        return self.alive


@pytest.fixture
def overview() -> Iterator[Overview]:
    made = Overview(Exposure(), with_scheduler=False)
    yield made
    made._files.close()


def said(overview: Overview, number: int, health: Health) -> Member:
    health.write(overview.health_file(number))
    return Member(number)


def test_one_that_is_ready_is_enough(overview: Overview) -> None:
    members = [said(overview, 0, Health()), said(overview, 1, Health(unready=["it takes no more jobs"]))]
    assert overview.health_of(members).is_ready


def test_one_that_stands_still_is_reason_enough_to_begin_anew(overview: Overview) -> None:
    members = [said(overview, 0, Health()), said(overview, 1, Health(["jobs-claimer stands still"]))]
    assert overview.health_of(members).still == ["jobs-claimer stands still"]


def test_one_that_ends_in_order_has_taken_its_file_along_and_stands_not_still(overview: Overview) -> None:
    assert overview.health_of([Member(0)]) == Health([], ["a process is about to end"])


def test_who_begins_or_is_gone_is_not_asked(overview: Overview) -> None:
    members = [Member(0, is_ready=False), Member(1, alive=False)]
    assert overview.health_of(members) == Health([], ["no process is at work yet"])
