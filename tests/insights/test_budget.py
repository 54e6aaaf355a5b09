"""Reading that takes too long is stopped; nothing else changes by it."""

from __future__ import annotations

import pytest
from django.db import InternalError, OperationalError, connection

from jobs_app.insights.budget import OutOfBudget, budget
from jobs_app.models import Pause
from tests.lifecycle.rows import stored

FOREVER = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000000)
SELECT count(*) FROM numbers
"""


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db
def test_what_takes_too_long_is_stopped_and_the_transaction_around_it_goes_on() -> None:
    with pytest.raises(OutOfBudget, match=r"stopped after 0\.05 s"), budget(connection, 0.05):
        execute(FOREVER)
    assert len(stored()) == 1


@pytest.mark.django_db(transaction=True)
def test_it_is_stopped_outside_of_a_transaction_too() -> None:
    with pytest.raises(OutOfBudget), budget(connection, 0.05):
        execute(FOREVER)
    assert not connection.in_atomic_block
    assert len(stored()) == 1


@pytest.mark.django_db
def test_what_is_read_in_time_comes_back_and_leaves_no_limit_behind(is_postgres: bool) -> None:
    with budget(connection, 1):
        assert Pause.objects.count() == 0
    if is_postgres:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("0",)


@pytest.mark.django_db
def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(OperationalError, match="something else"), budget(connection, 1):
        raise OperationalError("something else")


@pytest.mark.django_db(transaction=True)
def test_reading_cannot_write(is_postgres: bool) -> None:
    if not is_postgres:
        pytest.skip("only PostgreSQL has transactions that cannot write")
    with pytest.raises(InternalError, match="read-only"), budget(connection, 1):
        Pause.objects.create(scope="all")
