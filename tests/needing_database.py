"""`--needing-database` leaves out the tests that use none: a suite that ran on one database need not repeat them on
another."""

from __future__ import annotations

import pytest

OPTION = "--needing-database"
FIXTURES = {"db", "transactional_db", "django_db_setup"}


def needs_database(item: pytest.Item) -> bool:
    return any(item.iter_markers("django_db")) or not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, action="store_true", help="only the tests that use the database")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption(OPTION):
        return
    others = [item for item in items if not needs_database(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if needs_database(item)]
