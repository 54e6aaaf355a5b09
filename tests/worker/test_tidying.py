"""A thread's connections around a job."""

from __future__ import annotations

import logging
import os
import warnings
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, connections, transaction

from jobs_app.worker import tidying


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_was_left_open_is_rolled_back(caplog: pytest.LogCaptureFixture) -> None:
    transaction.atomic().__enter__()
    Group.objects.create(name="uncommitted")
    with caplog.at_level(logging.WARNING):
        tidying.tidy()
    assert not connections["default"].in_atomic_block
    assert not Group.objects.exists()
    assert "left a transaction open on 'default'" in caplog.text


def test_a_connection_that_cannot_be_closed_is_nobodys_problem(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: Any) -> None:
        raise RuntimeError("stuck")

    monkeypatch.setattr(type(connections["default"]), "close_if_unusable_or_obsolete", fail)
    tidying.tidy()
    assert "could not be tidied up" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_forked_process_opens_connections_of_its_own() -> None:
    tidying.install()
    tidying.install()  # again does nothing
    connection.ensure_connection()
    raw = connection.connection
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python itself warns of a fork beside threads
        pid = os.fork()
    if pid == 0:
        try:
            is_new = connections["default"].connection is not raw
            os.write(write, b"new" if is_new else b"old")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 3) == b"new"
    assert connections["default"].connection is raw
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
