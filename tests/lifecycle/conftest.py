"""What the tests of the lifecycle may ask for."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.lifecycle.clock import Clock


@pytest.fixture
def on_postgres() -> None:
    """For what SQLite does not have: rows locked one by one, NOTIFY, a server with a clock and a planner."""
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has it")


@pytest.fixture
def clock() -> Clock:
    return Clock()
