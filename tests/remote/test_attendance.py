"""Who is there, as pulls and reports tell."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence
from jobs_app.models import WorkerKind, WorkerState
from jobs_app.remote import attendance
from jobs_app.remote.attendance import attend, note
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db

WHO = Presence(id="w1@abc", kind=WorkerKind.REMOTE, name="w1", beat_seconds=30)


def test_a_worker_that_reports_is_seen_and_one_that_never_pulled_is_not_made_up() -> None:
    with at(0):
        attend(connection, WHO)
    attendance.forget()
    with at(50):
        note(connection, WHO.id)
        note(connection, "stranger")
    assert [row.seen_at for row in WorkerState.objects.all()] == [T + timedelta(seconds=50)]


def test_a_drain_is_remembered_between_heartbeats_and_asked_again_after_them() -> None:
    attend(connection, WHO)
    control.drain(WHO.id, "ann")
    attendance.forget()
    assert not attend(connection, WHO)
    note(connection, WHO.id)
    assert not attend(connection, WHO)
    WorkerState.objects.update(drain_requested=False)
    attendance.forget()
    assert attend(connection, WHO)


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attendance, "MOST_REMEMBERED", 2)
    for number in range(5):
        note(connection, f"w{number}")
    assert len(attendance._heard) == 2
