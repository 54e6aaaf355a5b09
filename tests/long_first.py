"""The files that take longest begin first, so that at the end no process is left alone with one of them.

`--without-longest` leaves them out, where the same code is tried many times.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

# Those that took more than ten seconds; of the others, the ones with more tests are before those with fewer.
LONGEST = (
    "browser/test_newcomer_path.py",
    "browser/test_accessibility.py",
    "dropin/test_django_61.py",
    "dropin/test_django_52.py",
    "worker/test_policies.py",
    "examples/subscriptions/test_charging.py",
    "worker/test_crashes.py",
    "examples/welcome_mail/test_stopping.py",
    "examples/document_review/test_retrying.py",
    "examples/storage_checks/test_outage.py",
    "examples/lead_scraper/test_hand_over.py",
    "examples/welcome_mail/test_schedule.py",
    "examples/storage_checks/test_registry.py",
    "examples/storage_checks/test_windows.py",
    "examples/document_review/test_reconciling.py",
    "worker/test_supervisor.py",
    "scheduler/test_kills.py",
    "jobsite/test_demo.py",
    "admin/test_matrix.py",
    "admin/test_garbage.py",
    "worker/test_draining.py",
    "worker/test_process.py",
    "browser/test_themes.py",
    "test_pytest_plugin.py",
    "worker/isolation/test_limits.py",
    "worker/isolation/test_crashes.py",
    "worker/test_connections.py",
    "api/test_schema.py",
    "admin/test_hostile.py",
    "worker/test_reserved_slot.py",
    "jobsite/test_localpg.py",
    "management/verbs/test_worker.py",
    "worker/test_exposure.py",
    "worker/test_operations_spec.py",
    "management/test_jobs.py",
    "modes/test_modes.py",
    "browser/test_without_javascript.py",
    "worker/test_portions.py",
    "worker/test_crowd.py",
    "scheduler/test_swarm.py",
    "scheduler/test_process.py",
    "worker/test_stopping.py",
    "cron/test_zones.py",
)
RANKS = {TESTS / name: rank for rank, name in enumerate(LONGEST)}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-longest", action="store_true", help="leave out the files that take longest")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--without-longest"):
        config.hook.pytest_deselected(items=[item for item in items if item.path in RANKS])
        items[:] = [item for item in items if item.path not in RANKS]
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (RANKS.get(item.path, len(RANKS)), -sizes[item.path]))
