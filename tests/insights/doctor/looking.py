"""One examination of the test's database."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs_app.insights.doctor.finding import Examination, Finding

on_postgres = pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL only")
on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite only")


def look(one: Examination) -> Finding:
    """What it finds, which is one thing."""
    [found] = one.findings(connection)
    assert found.name == one.name
    assert bool(found.advice) is (found.level != "ok")
    return found
