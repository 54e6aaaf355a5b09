"""Who did what, page by page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import control_events as module
from jobs_app.insights.control_events import EventFilter, Place, each, page, remembered
from jobs_app.models import ControlEvent
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


def event(target: str, *, seconds: float = 0, **columns: Any) -> ControlEvent:
    given = {"actor": "ann", "action": "pause", "target_kind": "queue", "target": target}
    made = ControlEvent.objects.create(**given | columns)
    ControlEvent.objects.filter(pk=made.pk).update(at=T + timedelta(seconds=seconds))
    return made


def targets(**filters: Any) -> list[str]:
    with at(3600):
        return [one.target for one in page(connection, EventFilter(**filters)).events]


def test_pages_follow_each_other_both_ways_also_within_one_moment() -> None:
    for number in range(7):
        event(str(number), seconds=number // 3)  # some share a moment
    everything = EventFilter()
    first = page(connection, everything, limit=3)
    assert ([one.target for one in first.events], first.newer) == (["6", "5", "4"], None)
    second = page(connection, everything, older=first.older, limit=3)
    assert [one.target for one in second.events] == ["3", "2", "1"]
    last = page(connection, everything, older=second.older, limit=3)
    assert ([one.target for one in last.events], last.older) == (["0"], None)
    back = page(connection, everything, newer=last.newer, limit=3)
    assert [one.target for one in back.events] == ["3", "2", "1"]
    start = page(connection, everything, newer=back.newer, limit=3)
    assert ([one.target for one in start.events], start.newer) == (["6", "5", "4"], None)


def test_places_are_read_as_they_were_written() -> None:
    place = Place(T + timedelta(microseconds=1), 42)
    assert Place.read(str(place)) == place
    for text in ("", "x", "1", "1.x", "1.-3", "9" * 40 + ".1", f"1.{2**63}"):
        assert Place.read(text) is None


def test_filters_mean_what_they_say() -> None:
    event("mail", seconds=0), event("sync", seconds=60, actor="bob")
    event("acme", seconds=120, target_kind="subject", action="resume")
    assert targets() == ["acme", "sync", "mail"]
    assert targets(actor="bob") == ["sync"]
    assert targets(action="resume") == ["acme"]
    assert targets(target_kind="queue") == ["sync", "mail"]
    assert targets(target_kind="queue", target="mail") == ["mail"]
    assert targets(target="mail", actor="bob") == []
    assert targets(since=T + timedelta(seconds=60)) == ["acme", "sync"]
    assert targets(until=T + timedelta(seconds=60)) == ["mail"]
    assert targets(window="1h") == ["acme", "sync", "mail"]


def test_a_filter_is_read_from_an_address_and_written_there() -> None:
    query = {"actor": " bob ", "window": "7d", "since": "2026-01-31T18:00:00+00:00", "page": "3"}
    wanted, problems = EventFilter.read(query)
    assert problems == {}
    assert wanted.as_query() == {"actor": "bob", "window": "7d", "since": "2026-01-31T18:00:00+00:00"}
    wanted, problems = EventFilter.read({"window": "ever", "since": "tomorrow", "actor": "a\x00", "action": "pause"})
    assert (wanted, set(problems)) == (EventFilter(action="pause"), {"window", "since", "actor"})


def test_what_has_no_index_is_looked_for_among_the_newest_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SEARCHED", 3)
    for number in range(5):
        event(str(number), seconds=number, actor="bob" if number < 3 else "ann")
    found = page(connection, EventFilter(actor="bob"))
    assert ([one.target for one in found.events], found.is_cut) == (["2"], True)
    assert not page(connection, EventFilter(target_kind="queue", target="0")).is_cut
    assert not page(connection, EventFilter()).is_cut


def test_all_are_exported_in_parts_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_PER_READ", 2)
    for number in range(5):
        event(str(number), seconds=number)
    assert [one.target for one in each(connection, EventFilter())] == ["4", "3", "2", "1", "0"]
    assert [one.target for one in each(connection, EventFilter(), most=3)] == ["4", "3", "2"]


def test_a_page_takes_one_query(django_assert_max_num_queries: Any) -> None:
    for number in range(60):
        event(str(number), seconds=number)
    with django_assert_max_num_queries(2):
        page(connection, EventFilter(actor="ann"))


def test_who_acted_lately_is_offered() -> None:
    event("a", actor="bob"), event("b", action="cancel", target_kind="run"), event("c", actor="")
    found = remembered(connection)
    assert (found.actors, found.actions, found.target_kinds) == (["ann", "bob"], ["cancel", "pause"], ["queue", "run"])
