"""A handler inside a transaction of the host's: whatever it does, the transaction is whole afterwards."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, IntegrityError, connection, transaction

from jobs_app.worker.guest import unbroken


def names() -> list[str]:
    return list(Group.objects.order_by("name").values_list("name", flat=True))


@pytest.mark.django_db
def test_what_was_written_stays() -> None:
    with suppress(LookupError), unbroken():
        Group.objects.create(name="written")
        raise LookupError
    assert names() == ["written"]


@pytest.mark.django_db
def test_a_broken_transaction_goes_back_to_where_the_handler_began() -> None:
    Group.objects.create(name="before")
    with suppress(IntegrityError), unbroken():
        Group.objects.create(name="within")
        Group.objects.create(name="before")
    assert names() == ["before"]


@pytest.mark.django_db
def test_so_does_one_that_a_handler_broke_and_said_nothing_of() -> None:
    with unbroken():
        Group.objects.create(name="within")
        with suppress(LookupError), transaction.atomic(savepoint=False):
            raise LookupError
    assert names() == []


@pytest.mark.django_db
def test_a_statement_of_a_plain_cursor_is_noticed(is_postgres: bool) -> None:
    with suppress(DatabaseError), unbroken(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO auth_group (name) VALUES ('within')")
        cursor.execute("SELECT nonsense FROM nowhere")
    # SQLite refuses the statement alone and keeps its transaction.
    assert names() == ([] if is_postgres else ["within"])


@pytest.mark.django_db(transaction=True)
def test_without_a_transaction_nothing_is_done() -> None:
    with suppress(IntegrityError), unbroken():
        Group.objects.create(name="within")
        Group.objects.create(name="within")
    assert names() == ["within"]
    assert not connection.in_atomic_block
