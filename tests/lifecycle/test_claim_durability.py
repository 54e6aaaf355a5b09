"""A claim that a crash of the server may forget, and how it becomes one that none can."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection

from jobs_app.lifecycle.claim import Claim, claim, make_durable
from tests.lifecycle.rows import all_lanes, stored, tables

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("on_postgres")]


def asked() -> Claim:
    return Claim(worker_id="worker-1", token=uuid4(), job_types=["work"], limit=10, lease=30, leases={}, durable=False)


def test_a_claim_that_was_not_durable_can_be_made_so() -> None:
    stored(2)
    jobs = claim(connection, asked(), all_lanes())
    before = tables()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn()")
        [written] = cursor.fetchone()
        make_durable(connection, jobs)
        cursor.execute("SELECT pg_current_wal_flush_lsn() >= %s::pg_lsn", [written])
        assert cursor.fetchone() == (True,)
    assert tables() == before
    assert len(jobs) == 2
