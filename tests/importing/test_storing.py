"""Plans become schedules, by the acts of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import update_wrapper
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection

from jobs_app import job
from jobs_app.declarations import declare
from jobs_app.errors import OptionInvalid
from jobs_app.importing.found import Found, When
from jobs_app.importing.job_types import JobTypes
from jobs_app.importing.plans import Wish, plan
from jobs_app.importing.storing import Import, compare, store
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.models import ControlEvent, Job, Origin, ScheduleState
from jobs_app.registry import registry
from jobs_app.scheduler.tick import tick
from jobs_app.tasks_backend.calls import CallSchema
from jobs_app.timetable import Timetable
from tests.importing.foreign import NOW
from tests.management.ending import user_who_may

pytestmark = pytest.mark.django_db

SOON, MISSED = NOW + timedelta(minutes=5), NOW - timedelta(days=1)
HOURLY, NINE = Timetable(every=3600), Timetable(cron="0 9 * * *", timezone="Europe/Berlin")


@pytest.fixture(autouse=True)
def sync() -> Iterator[None]:
    @job(name="sync")
    def sync(number: int = 0) -> None: ...

    with frozen_clock(NOW):
        yield


def found(name: str, timetable: Timetable = HOURLY, *, stands_at: Any = SOON, **given: Any) -> Found:
    when = When(timetable=timetable, stands_at=stands_at)
    return Found(old_name=name, name=name, task="sync", when=when, **given)


def imported(*rows: Found, actor: Any = "cli:ann", update: bool = False, **wish: Any) -> list[Import]:
    return store(looked_at(*rows, **wish), actor, "we move", update=update)


def looked_at(*rows: Found, **wish: Any) -> list[Import]:
    plans = plan(rows, JobTypes(registry, {}), Wish(now=NOW, **wish))
    return compare(connection, plans)


def states(imports: list[Import]) -> list[str]:
    return [each.state for each in imports]


def row(name: str) -> ScheduleState:
    return ScheduleState.objects.get(job_type="sync", subject="", name=name)


def test_rows_become_schedules_that_stand_where_they_stood() -> None:
    made = imported(found("a", kwargs={"number": 7}), found("b", NINE, stands_at=NOW.replace(hour=7)))
    assert states(made) == ["made", "made"]
    assert [each.id for each in made] == [row("a").pk, row("b").pk]
    assert (row("a").interval_seconds, row("a").next_run_at, row("a").payload) == (3600, SOON, {"number": 7})
    assert (row("b").cron, row("b").timezone, row("b").next_run_at) == (
        *("0 9 * * *", "Europe/Berlin"),
        NOW.replace(hour=7),
    )
    assert {row("a").origin, row("b").origin} == {Origin.ADMIN}
    assert not row("a").paused


def test_each_leaves_the_event_of_an_operator_with_what_was_written_about_it() -> None:
    imported(found("a", description="for the boss"))
    event = ControlEvent.objects.get()
    assert (event.action, event.actor, event.reason) == ("add", "cli:ann", "we move: for the boss")


def test_a_slot_that_was_missed_becomes_one_job_and_the_next_comes_in_time() -> None:
    imported(found("a", stands_at=NOW - timedelta(minutes=150)))
    tick(connection)
    assert [made.slot_at for made in Job.objects.all()] == [NOW - timedelta(minutes=30)]
    assert row("a").next_run_at == NOW + timedelta(minutes=30)


def test_the_call_of_a_task_is_stored_as_it_is() -> None:
    def add(left: int, /, *others: int, scale: int = 1) -> None: ...

    handler = update_wrapper(lambda args, kwargs: None, add)
    registry.register(declare(handler, {"name": "add"}, schema=CallSchema(add, takes_context=False)))
    called = replace(found("a"), task="add", args=(1, (2, 3)), kwargs={"scale": 2})
    assert states(imported(called)) == ["made"]
    assert ScheduleState.objects.get().payload == {"*args": [1, [2, 3]], "scale": 2}
    assert states(imported(called)) == ["already there"]


def test_disabled_ones_are_paused() -> None:
    imported(found("a"), found("b", is_enabled=False, stands_at=None))
    assert (row("a").paused, row("b").paused) == (False, True)


def test_again_they_are_there_already_whatever_became_of_them_since() -> None:
    once = found("once", Timetable(at=SOON))
    imported(found("a"), once, found("b", is_enabled=False, stands_at=None))
    ScheduleState.objects.filter(name="a").update(next_run_at=NOW + timedelta(days=1), last_run_at=NOW)
    ScheduleState.objects.filter(name="once").update(next_run_at=None, last_run_at=NOW)
    events = ControlEvent.objects.count()
    with frozen_clock(SOON + timedelta(hours=1)):
        assert states(imported(found("a"), once, found("b", is_enabled=False, stands_at=None))) == ["already there"] * 3
    assert ControlEvent.objects.count() == events


def test_what_is_there_tells_the_slots_that_it_has_here() -> None:
    missed = found("a", stands_at=NOW - timedelta(hours=2))
    [made] = imported(missed)
    assert (made.slots(NOW, 1), len(made.notes)) == ([NOW - timedelta(hours=2)], 1)
    ScheduleState.objects.filter(name="a").update(next_run_at=NOW + timedelta(hours=1), last_run_at=NOW)
    [there] = looked_at(missed)
    assert (there.state, there.slots(NOW, 1), there.notes) == ("already there", [NOW + timedelta(hours=1)], ())


def test_what_differs_stays_until_it_shall_change() -> None:
    imported(found("a"), found("b"))
    tomorrow = NOW.replace(hour=7) + timedelta(days=1)
    changed = found("a", NINE, kwargs={"number": 2}, stands_at=tomorrow), found("b", is_enabled=False)
    [one, two] = imported(*changed)
    assert (one.state, one.differences) == ("differs", ("when", "payload", "next slot"))
    assert (two.state, two.differences) == ("differs", ("paused",))
    assert (row("a").cron, row("b").paused) == ("", False)

    assert states(imported(*changed, update=True)) == ["updated", "updated"]
    assert (row("a").cron, row("a").payload, row("a").next_run_at) == ("0 9 * * *", {"number": 2}, tomorrow)
    assert row("b").paused
    assert states(imported(*changed)) == ["already there", "already there"]


def test_paused_ones_go_on_later_from_where_they_stand_by_then() -> None:
    imported(found("a"), paused=True)
    assert (row("a").paused, row("a").next_run_at) == (True, SOON)
    later = found("a", stands_at=SOON + timedelta(hours=1))
    assert looked_at(later)[0].differences == ("paused", "next slot")
    imported(later, update=True)
    assert (row("a").paused, row("a").next_run_at) == (False, SOON + timedelta(hours=1))
    assert states(imported(later)) == ["already there"]


def test_one_that_ran_here_and_was_paused_goes_on_from_now() -> None:
    imported(found("a"))
    ScheduleState.objects.filter(name="a").update(paused=True, last_run_at=NOW, next_run_at=NOW - timedelta(days=3))
    imported(found("a"), update=True)
    assert (row("a").paused, row("a").next_run_at) == (False, NOW)


def overdue(moment: datetime = MISSED, **given: Any) -> Found:
    return found("once", Timetable(at=moment), stands_at=moment, **given)


def test_a_single_moment_that_was_missed_is_made_up_for_once() -> None:
    [one] = imported(overdue())
    assert (one.state, one.slots(NOW, 2), row("once").next_run_at) == ("made", [MISSED], MISSED)
    assert "which is made up for at once" in one.notes[0]
    assert states(imported(overdue())) == ["already there"]
    for _ in range(2):
        tick(connection)
    assert [made.slot_at for made in Job.objects.all()] == [MISSED]
    assert row("once").next_run_at is None
    assert states(imported(overdue(), update=True)) == ["already there"]


def test_a_single_moment_that_was_missed_may_be_left_out() -> None:
    [one] = imported(overdue(), skip_missed=True)
    assert (one.state, one.why) == ("left out", "its moment has passed: 2026-06-09 12:00:00Z")
    assert not ScheduleState.objects.exists()


def test_a_single_moment_that_was_missed_while_paused_comes_when_it_goes_on() -> None:
    imported(overdue(), paused=True)
    tick(connection)
    assert not Job.objects.exists()
    assert looked_at(overdue())[0].differences == ("paused",)
    imported(overdue(), update=True)
    tick(connection)
    assert [made.slot_at for made in Job.objects.all()] == [MISSED]


@pytest.mark.parametrize("has_run", [False, True])
def test_a_single_moment_that_was_moved_there_and_missed_comes_once_more(has_run: bool) -> None:
    imported(overdue(MISSED - timedelta(days=1)))
    if has_run:
        tick(connection)
    ScheduleState.objects.update(once_at=MISSED - timedelta(days=1))
    assert states(imported(overdue(), update=True)) == ["updated"]
    with frozen_clock(NOW + timedelta(minutes=2)):
        tick(connection)
    assert Job.objects.count() == (2 if has_run else 1)
    assert states(imported(overdue())) == ["already there"]


OVER = Found(old_name="once", name="once", task="sync", problem="is for one run, and is over", is_needless=True)


def test_what_is_over_there_and_still_to_run_here_is_told() -> None:
    imported(found("once", Timetable(at=SOON)))
    [one] = imported(OVER, update=True)
    assert (one.state, one.id) == ("left out", row("once").pk)
    assert one.notes == (f"its schedule here, {one.id}, has not run and still will: delete it, or it may run twice",)


@pytest.mark.parametrize("columns", [{"paused": True}, {"last_run_at": NOW}, {"next_run_at": None}])
def test_what_will_not_run_here_either_needs_no_word(columns: dict[str, Any]) -> None:
    imported(found("once", Timetable(at=SOON)))
    ScheduleState.objects.update(**columns)
    assert [each.notes for each in looked_at(OVER)] == [()]


def test_what_is_over_there_takes_no_name_from_another_row() -> None:
    assert states(imported(OVER, found("once", Timetable(at=SOON)))) == ["left out", "made"]


def test_the_rest_is_made_where_some_cannot_be_or_are_left_out() -> None:
    broken = Found(old_name="x", name="x", task="sync", problem="it follows the sun")
    made = imported(broken, replace(broken, name="y", is_needless=True), found("a"))
    assert states(made) == ["cannot be imported", "left out", "made"]
    assert ScheduleState.objects.count() == 1


def test_an_error_takes_back_all_of_it() -> None:
    look = looked_at(found("a"), found("b"))
    control.add_schedule("sync", "somebody else", name="b", every="1d")
    with pytest.raises(OptionInvalid, match="there is a schedule sync b already"):
        store(look, "cli:ann", "", update=False)
    assert list(ScheduleState.objects.values_list("name", flat=True)) == ["b"]
    assert not ControlEvent.objects.filter(actor="cli:ann").exists()


def test_a_user_needs_the_permission_for_each_act() -> None:
    ann = user_who_may("add_schedulestate")
    imported(found("a"), actor=ann)
    with pytest.raises(PermissionDenied, match="pause_schedule"):
        imported(found("b"), actor=ann, paused=True)
    assert list(ScheduleState.objects.values_list("name", flat=True)) == ["a"]
