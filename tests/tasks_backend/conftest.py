"""The sample tasks, known to the tests of this folder alone."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from jobs_app.registry import JobType, registry
from jobs_app.signals import job_finished, jobs_recovered
from jobs_app.tasks_backend import job_types, telling
from jobs_app.tasks_backend.library import task_enqueued, task_finished, task_started
from tests.tasks_backend import tasks, views  # noqa: F401

KNOWN = dict(job_types._known)
SAMPLES: list[JobType] = [known.definition.job_type for known in KNOWN.values()]


def set_aside() -> None:
    """Other tests have their own jobs, and nobody who hears of ends."""
    for job_type in SAMPLES:
        registry.unregister(job_type.name)
    job_finished.disconnect(telling.finished)
    jobs_recovered.disconnect(telling.recovered)


set_aside()


@pytest.fixture(autouse=True)
def samples(registry_restored: None) -> Iterator[ModuleType]:
    """Known as in every process of a project that has them; what a test defines itself ends with it."""
    for job_type in SAMPLES:
        registry.register(job_type)
    telling.listen()
    yield tasks
    job_types._known.clear()
    job_types._known.update(KNOWN)
    job_finished.disconnect(telling.finished)
    jobs_recovered.disconnect(telling.recovered)


class Heard(list[tuple[str, Any, Any]]):
    """What was told: the signal, its sender, the result as it was then."""

    def words(self) -> list[tuple[str, str]]:
        return [(signal, result.status.value) for signal, _, result in self]


@pytest.fixture
def heard() -> Iterator[Heard]:
    found = Heard()
    signals = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}
    receivers = {
        name: (lambda sender, task_result, name=name, **kwargs: found.append((name, sender, task_result)))
        for name in signals
    }
    for name, signal in signals.items():
        signal.connect(receivers[name])
    yield found
    for name, signal in signals.items():
        signal.disconnect(receivers[name])
