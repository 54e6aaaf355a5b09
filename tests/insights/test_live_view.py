"""What somebody watches: read in parts, each in its time."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import counts, dashboard, processes
from jobs_app.insights.budget import OutOfBudget
from jobs_app.insights.live_view import LiveReader
from tests.lifecycle.rows import at, done, one_running, stored

pytestmark = pytest.mark.django_db


def test_all_of_it_is_read() -> None:
    with at(0):
        stored(2, queue="mail")
        done(one_running(queue="sync"), "failed", error="no")
        running = one_running(queue="sync")
        view = LiveReader(connection).read()
    assert view.known.now is not None
    assert view.ended is not None
    assert (view.is_all, view.known.now.waiting, view.known.now.running) == (True, 2, 1)
    assert [each.pk for each in view.running or ()] == [running.id]
    assert [each.state for each in view.failed or ()] == ["failed"]
    assert view.ended.states["failed"] == 1
    assert (view.per_minute_in, view.per_minute_out) == (None, None)  # nobody has rolled up yet


def test_a_part_that_takes_too_long_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(*given: Any, **more: Any) -> Any:
        raise OutOfBudget("too long")

    monkeypatch.setattr(processes, "longest_running", too_long)
    stored(queue="mail")
    view = LiveReader(connection).read()
    assert (view.is_all, view.running, view.known.is_all) == (False, None, True)
    assert [each.name for each in view.queues] == ["mail"]


def test_what_changes_by_the_minute_is_kept_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    for module, name in ((dashboard, "read_now"), (dashboard, "read_stale"), (counts, "ended")):
        original = getattr(module, name)

        def noted(*given: Any, name: str = name, original: Any = original, **more: Any) -> Any:
            read.append(name)
            return original(*given, **more)

        monkeypatch.setattr(module, name, noted)
    reader = LiveReader(connection)
    reader.read(), reader.read()
    assert sorted(read) == ["ended", "read_now", "read_now", "read_stale"]
