"""The test helpers as pytest fixtures. Nothing of Django is imported before a test asks for one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

NEVER = float("inf")

if TYPE_CHECKING:
    from jobs_app.handles import RunHandle
    from jobs_app.testing import Clock, RanJobs


@pytest.fixture
def run_jobs(db: Any) -> Callable[..., RanJobs]:
    """`jobs_app.testing.run_jobs`: run what is due, inside the test."""
    from jobs_app import testing

    return testing.run_jobs


@pytest.fixture
def enqueued_jobs(db: Any) -> Callable[..., list[RunHandle]]:
    """`jobs_app.testing.enqueued_jobs`: what waits, and fits."""
    from jobs_app import testing

    return testing.enqueued_jobs


@pytest.fixture
def jobs_clock(db: Any) -> Iterator[Clock]:
    """The clock of all jobs, standing still from now on: `jobs_clock.move("5m")`, `jobs_clock.move_to(moment)`."""
    from jobs_app import testing

    with testing.freeze_clock() as clock:
        yield clock


@pytest.fixture(autouse=True)
def _jobs_settings_as_in_code() -> Iterator[None]:
    """What a test overrides as an operator ends with it. And who counts queries meets none that asks for overrides."""
    conf = sys.modules.get("jobs_app.conf")
    if conf is not None:
        conf.forget_overrides(fresh_seconds=NEVER)
    yield
    if conf is not None:
        conf.forget_overrides(fresh_seconds=NEVER)
