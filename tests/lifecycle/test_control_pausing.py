"""Pause and resume by hand: who, why and until when are kept; what waits is parked, what runs goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.errors import OptionInvalid, UnknownJobType
from jobs_app.lifecycle import control, parking
from jobs_app.lifecycle.pause_walks import Walker
from jobs_app.lifecycle.pauses import read_pauses
from jobs_app.models import ControlEvent, Job, Pause
from tests.lifecycle.rows import T, at, done, one_running, stored, taken_ids
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db(transaction=True)  # inside one a pause leaves the work to others

TARGETS = [("all", ""), ("queue", "mail"), ("job_type", "work"), ("subject", "shop-7")]
EACH = pytest.mark.parametrize(("scope", "name"), TARGETS)


@pytest.fixture(autouse=True)
def known_type() -> None:
    @job(name="work")
    def work() -> None: ...


def is_paused(scope: str, name: str) -> bool:
    pauses = read_pauses(connection)
    return {
        "all": pauses.everything,
        "queue": name in pauses.queues,
        "job_type": name in pauses.job_types,
        "subject": name in pauses.subjects,
    }[scope]


def holds() -> set[str]:
    return set(Job.objects.values_list("hold", flat=True))


@EACH
def test_a_pause_is_a_row_with_who_why_and_until_when(scope: str, name: str) -> None:
    until = T + timedelta(hours=1)
    with at(0):
        acted = control.pause(scope, name, "ann", "provider is down", until)
        assert (acted.moved, acted.skipped, acted.note) == ([str(Pause.objects.get())], {}, "")
        assert is_paused(scope, name)
    row = Pause.objects.get()
    assert (row.scope, row.name, row.actor, row.reason, row.until) == (scope, name, "ann", "provider is down", until)
    event = ControlEvent.objects.get()
    assert (event.action, event.target_kind, event.target, event.actor) == ("pause", scope, name, "ann")
    assert (event.reason, event.detail["until"]) == ("provider is down", until.isoformat())


@EACH
def test_it_ends_by_itself_when_its_time_has_come(scope: str, name: str) -> None:
    with at(0):
        control.pause(scope, name, "ann", until=T + timedelta(hours=1))
    with at(3599):
        assert is_paused(scope, name)
    with at(3600):
        assert not is_paused(scope, name)


@EACH
def test_it_ends_at_once_when_someone_resumes_it(scope: str, name: str) -> None:
    control.pause(scope, name, "ann")
    assert control.resume(scope, name, "bob", "is back").moved
    assert not is_paused(scope, name)
    assert control.resume(scope, name, "bob").skipped.popitem()[1] == "is not paused"
    events = ControlEvent.objects.filter(action="resume").order_by("pk")
    assert [(event.actor, event.reason, event.moved, event.skipped) for event in events] == [
        ("bob", "is back", 1, 0),
        ("bob", "", 0, 1),
    ]


@EACH
def test_a_second_pause_replaces_reason_and_end_and_says_so(scope: str, name: str) -> None:
    with at(0):
        control.pause(scope, name, "ann", "first", T + timedelta(hours=1))
        acted = control.pause(scope, name, "bob", "second")
        assert "was paused before" in acted.note
    row = Pause.objects.get()
    assert (row.actor, row.reason, row.until) == ("bob", "second", None)
    assert ControlEvent.objects.order_by("-pk")[0].detail["again"] is True


@EACH
def test_it_can_be_paused_again_after_it_ended(scope: str, name: str) -> None:
    with at(0):
        control.pause(scope, name, "ann", until=T + timedelta(hours=1))
    with at(7200):
        assert control.pause(scope, name, "bob").note == ""
        assert is_paused(scope, name)
        control.resume(scope, name, "bob")
        assert control.pause(scope, name, "bob").note == ""
        assert is_paused(scope, name)


@pytest.mark.spec("S0.R1")
@pytest.mark.parametrize(("scope", "name"), TARGETS[2:])
def test_jobs_of_a_paused_type_or_subject_are_parked_and_come_back(scope: str, name: str) -> None:
    ids = stored(3, subject="shop-7")
    [other] = stored(1, subject="shop-8", job_type="other")
    acted = control.pause(scope, name, "ann")
    assert (acted.jobs, acted.more) == (3, False)
    assert taken_ids(job_types=["work", "other"]) == [other]
    late = stored(2, subject="shop-7")  # parked by the enqueue itself
    assert taken_ids(job_types=["work", "other"]) == []
    acted = control.resume(scope, name, "ann")
    assert (acted.jobs, acted.more) == (5, False)
    assert taken_ids(job_types=["work", "other"]) == sorted(ids + late)
    told = ControlEvent.objects.order_by("pk").values_list("detail", flat=True)
    assert [(detail["jobs"], detail["more"]) for detail in told] == [(3, False), (5, False)]


def test_a_pause_of_everything_or_of_a_queue_parks_nothing() -> None:
    stored(3, queue="mail")
    for scope, name in TARGETS[:2]:
        assert control.pause(scope, name, "ann").jobs == 0
    assert holds() == {""}


def test_what_runs_goes_on() -> None:
    running = one_running(subject="shop-7")
    assert control.pause("subject", "shop-7", "ann").jobs == 0
    assert done(running)


def test_what_two_pauses_hold_waits_for_the_end_of_both() -> None:
    stored(2, subject="shop-7")
    control.pause("subject", "shop-7", "ann")
    control.pause("job_type", "work", "ann")
    assert control.resume("subject", "shop-7", "ann").jobs == 0
    assert holds() == {"pause"}
    assert control.resume("job_type", "work", "ann").jobs == 2
    assert holds() == {""}


def test_the_app_s_own_chores_are_never_paused() -> None:
    stored(1, queue="jobs.system", subject="shop-7")
    for scope, name in TARGETS:
        control.pause(scope, name, "ann")
    assert read_pauses(connection).allows("jobs.system")
    assert not read_pauses(connection).allows("default")
    assert holds() == {""}
    with pytest.raises(OptionInvalid, match="never paused"):
        control.pause("queue", "jobs.system", "ann")


@pytest.mark.parametrize(
    ("scope", "name", "error", "why"),
    [
        ("topic", "x", OptionInvalid, "there is no scope 'topic'"),
        ("queues", "x", OptionInvalid, "Did you mean 'queue'"),
        ("all", "mail", OptionInvalid, "has no name"),
        ("queue", "", OptionInvalid, "cannot be the name of a paused queue"),
        ("queue", "no such name", OptionInvalid, "cannot be the name of a paused queue"),
        ("subject", "", OptionInvalid, "cannot be the name of a paused subject"),
        ("subject", "x" * 201, OptionInvalid, "cannot be the name of a paused subject"),
        ("job_type", "wrk", UnknownJobType, "Did you mean 'work'"),
    ],
)
def test_what_cannot_be_paused_is_refused_with_a_hint(scope: str, name: str, error: Any, why: str) -> None:
    with pytest.raises(error, match=why):
        control.pause(scope, name, "ann")
    assert not Pause.objects.exists()
    assert not ControlEvent.objects.exists()


@pytest.mark.parametrize(
    ("until", "why"), [(T, "passed already"), (T.replace(tzinfo=None), "time zone"), ("1h", "datetime")]
)
def test_an_end_lies_in_the_future(until: Any, why: str) -> None:
    with at(0), pytest.raises(OptionInvalid, match=why):
        control.pause("queue", "mail", "ann", until=until)
    assert not Pause.objects.exists()


def test_a_job_type_that_is_gone_from_code_can_still_be_resumed() -> None:
    Pause.objects.create(scope="job_type", name="gone")
    assert control.resume("job_type", "gone", "ann")


def test_what_takes_longer_than_a_moment_is_left_to_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "ROWS_PER_CHUNK", 2)
    monkeypatch.setattr("jobs_app.lifecycle.control.pausing.PATIENCE_SECONDS", 0.0)
    stored(5, subject="shop-7")
    acted = control.pause("subject", "shop-7", "ann")
    assert (acted.jobs, acted.more) == (2, True)
    assert Walker().go_on(connection, 60) == 3
    acted = control.resume("subject", "shop-7", "ann")
    assert (acted.jobs, acted.more) == (2, True)
    assert Walker().go_on(connection, 60) == 3
    assert holds() == {""}


@pytest.mark.parametrize(("scope", "name"), TARGETS[2:])
def test_inside_a_hosts_transaction_all_of_it_is_left_to_the_workers(scope: str, name: str) -> None:
    """Chunk after chunk would stay locked until the host commits, and nobody else could walk."""
    ids = stored(3, subject="shop-7")
    for act, others_find in ((control.pause, {"pause"}), (control.resume, {""})):
        with transaction.atomic(), CaptureQueriesContext(connection) as queries:
            acted = act(scope, name, "ann")
        assert (acted.moved, acted.jobs, acted.more) == ([str(Pause.objects.get())], 0, True)
        assert not [query["sql"] for query in queries if '"jobs_app_job"' in query["sql"]]
        assert ControlEvent.objects.order_by("-pk")[0].detail == {"jobs": 0, "more": True}
        assert Walker().go_on(connection, 60) == 3
        assert holds() == others_find
    assert taken_ids() == ids


def test_two_people_pause_the_same_at_once() -> None:
    with sessions(2) as (ann, bob):
        ann.begin()
        ann.do(control.pause, "subject", "shop-7", "ann", "first")
        waiting = bob.start(control.pause, "subject", "shop-7", "bob", "second")
        bob.until_blocked(waiting)
        ann.commit()
        assert waiting.result(timeout=60).moved
    row = Pause.objects.get()
    assert (row.actor, row.reason) == ("bob", "second")
    assert ControlEvent.objects.count() == 2


def test_one_pauses_while_another_resumes() -> None:
    stored(2, subject="shop-7")
    control.pause("subject", "shop-7", "ann")
    with sessions(2) as (ann, bob):
        ann.begin()
        ann.do(control.resume, "subject", "shop-7", "ann")
        waiting = bob.start(control.pause, "subject", "shop-7", "bob", "again")
        bob.until_blocked(waiting)
        ann.commit()
        waiting.result(timeout=60)
    assert is_paused("subject", "shop-7")
    Walker().go_on(connection, 60)
    assert holds() == {"pause"}
    control.resume("subject", "shop-7", "bob")
    Walker().go_on(connection, 60)
    assert holds() == {""}
