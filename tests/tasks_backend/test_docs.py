"""The examples of docs/django-tasks.md run, as the files that they are said to be."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.test import override_settings

from jobs_app.registry import registry
from jobs_app.tasks_backend import job_types
from jobs_app.tasks_backend.library import IS_DJANGO, TaskResultStatus
from jobs_app.testing import run_jobs

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "django-tasks.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
SETTINGS, TASKS, ENQUEUE, OPTIONS, MORE_TASKS, USING = BLOCKS

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop() -> Iterator[ModuleType]:
    """The module `shop.tasks`, as the page has it."""
    module = sys.modules["shop.tasks"] = ModuleType("shop.tasks")
    yield module
    del sys.modules["shop.tasks"]
    for name in [name for name in registry.names() if name.startswith("shop.tasks.")]:
        job_types.forget(name)


def load(module: ModuleType, code: str) -> None:
    exec(code if IS_DJANGO else code.replace("django.tasks", "django_tasks"), module.__dict__)


def read(code: str) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)
    return names["TASKS"]


def test_the_first_example_is_enqueued_and_done(shop: ModuleType) -> None:
    with override_settings(TASKS=read(SETTINGS)):
        load(shop, TASKS)
        load(shop, ENQUEUE)
        assert shop.result.status == TaskResultStatus.READY
        shop.build_report.enqueue("2026-11")
        assert [run.result for run in run_jobs()] == [
            {"month": "2026-11", "attempt": 1},
            "sent to 7",
        ]  # the urgent one first


def test_options_of_the_backend_and_of_a_task_are_those_of_its_job_type(shop: ModuleType) -> None:
    with override_settings(TASKS=read(OPTIONS)):
        load(shop, TASKS)
        load(shop, MORE_TASKS)
        load(shop, USING)

    assert registry.get("shop.tasks.build_report").max_attempts == 5
    assert registry.get("shop.tasks.build_report").timeout == 600
    assert registry.get("shop.tasks.charge").policy == "exclusive"
    assert registry.get("shop.tasks.morning_report").schedule.timetable is not None
