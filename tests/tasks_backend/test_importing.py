"""Periodic rows of other libraries may become schedules of tasks."""

from __future__ import annotations

import pytest

from jobs_app.importing.job_types import payload_of
from jobs_app.registry import registry
from tests.tasks_backend.tasks import add, attempt_of


def test_a_task_takes_its_arguments_by_place() -> None:
    assert payload_of(registry.get(add.module_path), (1, 2), {}) == {"left": 1, "right": 2}


def test_its_context_is_none_of_them() -> None:
    with pytest.raises(ValueError, match="takes none"):
        payload_of(registry.get(attempt_of.module_path), (1,), {})
