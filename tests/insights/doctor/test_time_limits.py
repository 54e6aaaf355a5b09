"""Time limits of the role, as a session begins with them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights.doctor.finding import Finding
from jobs_app.insights.doctor.pooler import open_session
from jobs_app.insights.doctor.time_limits import time_limits
from tests.insights.doctor.looking import look, on_postgres

pytestmark = [on_postgres, pytest.mark.django_db]


def found_with(**limits: str) -> list[Finding]:
    with open_session(connection) as session:
        options = " ".join(f"-c {name}={value}" for name, value in limits.items())
        session.settings_dict["OPTIONS"] = {**session.settings_dict["OPTIONS"], "options": options}
        return time_limits.findings(session)


def test_a_role_without_limits_is_fine() -> None:
    assert look(time_limits).level == "ok"


def test_a_statement_that_may_not_take_a_lease_is_a_warning() -> None:
    [found] = found_with(statement_timeout="5s")
    assert (found.name, found.level) == ("time_limits", "warning")
    assert found.sentence.startswith("statement_timeout is 5 s for this role: ")
    assert "SET statement_timeout = '30s';" in found.advice
    assert [one.level for one in found_with(statement_timeout="30s")] == ["ok"]


def test_the_lease_in_force_counts(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECONDS": 5}
    assert [one.level for one in found_with(statement_timeout="5s")] == ["ok"]


def test_idle_sessions_that_are_ended_are_a_warning() -> None:
    [found] = found_with(idle_session_timeout="1h")
    assert (found.level, "SET idle_session_timeout = 0;" in found.advice) == ("warning", True)


def test_idle_transactions_matter_to_atomic_jobs_only() -> None:
    assert [one.level for one in found_with(idle_in_transaction_session_timeout="5s")] == ["ok"]

    @job(atomic=True)
    def pay() -> None: ...

    [found] = found_with(idle_in_transaction_session_timeout="5s")
    assert (found.level, "atomic jobs" in found.sentence) == ("warning", True)
