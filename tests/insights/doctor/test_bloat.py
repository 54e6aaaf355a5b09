"""What keeps PostgreSQL from cleaning up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights.doctor import bloat
from jobs_app.insights.doctor.bloat import (
    autovacuum_off,
    dead_rows,
    old_transactions,
    prepared_transactions,
    replication_slots,
)
from jobs_app.insights.doctor.pooler import open_session
from jobs_app.models import Job
from tests.insights.doctor.looking import look, on_postgres
from tests.lifecycle.rows import stored
from tests.waiting import until

pytestmark = on_postgres


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.fixture
def never_vacuumed(transactional_db: None) -> Iterator[None]:
    execute("ALTER TABLE jobs_app_job SET (autovacuum_enabled = off)")
    yield
    execute("ALTER TABLE jobs_app_job RESET (autovacuum_enabled)")
    execute("VACUUM jobs_app_job")


@pytest.fixture
def idle_in_transaction(transactional_db: None) -> Iterator[int]:
    """The server process of a session that began something, and does nothing."""
    with open_session(connection) as session:
        session.set_autocommit(False)
        with session.cursor() as cursor:
            cursor.execute("SET application_name = 'report'; SELECT pg_backend_pid()")
            cursor.nextset()
            yield cursor.fetchone()[0]
        session.rollback()


@pytest.fixture
def vacuumed(transactional_db: None) -> None:
    """Of what other tests left behind."""
    execute("VACUUM")

    def is_clean() -> bool:
        execute("SELECT pg_stat_clear_snapshot()")
        return look(dead_rows).level == "ok"

    until(is_clean)


@pytest.mark.usefixtures("vacuumed")
def test_a_server_that_cleans_up_is_fine() -> None:
    looks = (dead_rows, autovacuum_off, old_transactions, prepared_transactions, replication_slots)
    assert [look(one).level for one in looks] == ["ok"] * len(looks)


@pytest.mark.usefixtures("never_vacuumed")
def test_many_more_dead_rows_than_live_ones_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bloat, "SPARE_ROWS", 1)
    stored(10)
    Job.objects.all().delete()

    def found() -> Any:
        execute("SELECT pg_stat_clear_snapshot()")
        return look(dead_rows) if look(dead_rows).level != "ok" else None

    told = until(found)
    assert (told.level, "jobs_app_job (" in told.sentence, "VACUUM" in told.advice) == ("warning", True, True)


@pytest.mark.usefixtures("never_vacuumed")
def test_a_table_without_autovacuum_is_a_warning() -> None:
    found = look(autovacuum_off)
    assert (found.level, found.sentence) == ("warning", "Autovacuum is switched off for jobs_app_job.")
    assert "ALTER TABLE jobs_app_job RESET" in found.advice


@pytest.mark.django_db
def test_a_server_without_autovacuum_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's server is shared: what is asked is another switch, which is off."""
    execute("SET LOCAL enable_sort = off")
    monkeypatch.setattr(bloat, "SWITCHES", bloat.SWITCHES.replace("'autovacuum'", "'enable_sort'"))
    found = look(autovacuum_off)
    assert (found.level, "enable_sort is off on the server" in found.sentence) == ("warning", True)


def test_a_transaction_that_is_open_for_long_is_a_warning(
    idle_in_transaction: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert look(old_transactions).level == "ok"
    monkeypatch.setattr(bloat, "OLD_SECONDS", 0.0)
    found = {one.sentence.partition(" has")[0]: one for one in old_transactions.findings(connection)}
    told = found[f"Session {idle_in_transaction} (report)"]
    assert (told.level, "idle in transaction" in told.sentence) == ("warning", True)
    assert f"pg_terminate_backend({idle_in_transaction})" in told.advice


@pytest.mark.usefixtures("idle_in_transaction")
def test_of_many_open_transactions_the_oldest_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bloat, "OLD_SECONDS", 0.0)
    monkeypatch.setattr(bloat, "FEW", 0)
    [found] = old_transactions.findings(connection)
    assert found.sentence.endswith("more sessions have a transaction open for long.")


# The test's server allows no prepared transactions and has no replica, so that what it would show is put in its place.
@pytest.mark.django_db
def test_a_prepared_transaction_that_nobody_ended_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = "(SELECT 'two-phase' AS gid, now() - interval '1 hour' AS prepared, current_database() AS database) AS one"
    monkeypatch.setattr(bloat, "PREPARED", bloat.PREPARED.replace("pg_prepared_xacts", shown))
    found = look(prepared_transactions)
    assert (found.level, "two-phase (1h old)" in found.sentence) == ("warning", True)


@pytest.mark.django_db
def test_a_slot_that_holds_back_the_clean_up_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = "(SELECT 'gone' AS slot_name, false AS active, '3'::xid AS xmin) AS one"
    monkeypatch.setattr(bloat, "SLOTS", bloat.SLOTS.replace("pg_replication_slots", shown))
    found = look(replication_slots)
    assert (found.level, "gone (unused, " in found.sentence) == ("warning", True)
    used = shown.replace("false", "true").replace("'3'::xid", "pg_current_xact_id()::xid")
    monkeypatch.setattr(bloat, "SLOTS", bloat.SLOTS.replace(shown, used))
    assert look(replication_slots).level == "ok"
