"""Database connections of children: one each while it needs one, whatever pool the project has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.waiting import until
from tests.worker.harness import Ledger, finished
from tests.worker.isolation.conftest import Keeper

NAME = "jobs-app-test-zoo"


def backends() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [NAME])
        return cursor.fetchone()[0]


def test_a_child_has_one_connection_and_none_when_it_is_idle(
    keeper: Keeper, zoo: Any, ledger: Ledger, tmp_path: Path, is_postgres: bool
) -> None:
    if not is_postgres:
        pytest.skip("SQLite has no server that counts connections")
    worker = keeper.start(PGAPPNAME=NAME)
    assert finished(zoo.save.enqueue(name="a"), zoo.asave.enqueue(name="b")) == ["succeeded"] * 2
    until(lambda: backends() == 4, every=0.05)  # the worker's own loops
    gate = tmp_path / "gate"
    runs = [zoo.sit_on_connection.enqueue(until=str(gate)) for _ in range(3)]
    ledger.wait("began", 3)
    assert backends() == 4 + 3
    gate.touch()
    assert finished(*runs) == ["succeeded"] * 3
    until(lambda: backends() == 4, every=0.05)
    worker.stop()
    assert backends() == 0
