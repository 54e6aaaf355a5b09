"""One verb on all the runs that a filter means: no more and no fewer, none twice, and by who may."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import PermissionDenied
from django.db import connection

from jobs_app import get_run, job
from jobs_app.errors import OptionInvalid
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_list import Counted
from jobs_app.insights.run_selection import RunSelection, look, narrowed, select
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import runs as runs_module
from jobs_app.models import ControlEvent, Job, JobRun
from jobs_app.registry import SYSTEM_QUEUE
from jobs_app.testing import run_jobs
from tests.insights.run_rows import ago, ended, running, waiting
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db
BULK = "jobs.bulk"
bulk_module = import_module("jobs_app.lifecycle.control.bulk")  # the package has a function of that name


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


@pytest.fixture(autouse=True)
def types() -> None:
    job(name="work")(lambda: None)
    job(name="guarded", permission="auth.view_user")(lambda: None)


def user(*codenames: str) -> User:
    made = User.objects.create_user(f"user{User.objects.count()}")
    made.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return User.objects.get(pk=made.pk)


def select_now(verb: str, **chosen: Any) -> RunSelection:
    return select(connection, verb, RunFilter(**chosen), T + timedelta(seconds=60))


def bulk(verb: str, actor: Any = "ann", reason: str = "why", **chosen: Any) -> control.Bulked:
    return control.bulk(verb, select_now(verb, **chosen), actor, reason)


def new_runs() -> dict[UUID | None, int]:
    parents = Job.objects.exclude(parent=None).values_list("parent", flat=True)
    return {parent: list(parents).count(parent) for parent in parents}


def test_what_a_filter_means_is_cancelled_and_nothing_else() -> None:
    for queue in ("mail", "mail", "other"):
        waiting(queue=queue)
    runs_on = running(queue="mail")
    acted = bulk("cancel", queue="mail")
    assert (len(acted.moved), acted.asked, acted.skipped, acted.run_id) == (3, [runs_on], {}, None)
    assert JobRun.objects.filter(queue="mail", state="cancelled").count() == 2
    assert Job.objects.filter(queue="other").count() == 1


def test_every_event_has_the_filter_with_its_moment() -> None:
    waiting(queue="mail")
    waiting(queue="mail")
    bulk("cancel", queue="mail")
    event = ControlEvent.objects.get()
    assert (event.action, event.actor, event.reason, event.moved, event.target_kind) == (
        "cancel",
        "ann",
        "why",
        2,
        "runs",
    )
    assert event.detail["filter"] == {
        "state": "live",
        "queue": "mail",
        "until": (T + timedelta(seconds=60)).isoformat(),
    }


@pytest.mark.parametrize("chosen", [{}, {"window": "7d"}, {"since": T, "order": "due"}])
@pytest.mark.parametrize("verb", bulk_module.VERBS)
def test_a_filter_that_chooses_nothing_is_refused(verb: str, chosen: dict[str, Any]) -> None:
    waiting()
    ended(state="failed")
    with pytest.raises(OptionInvalid, match="means every run"):
        bulk(verb, **chosen)
    assert (Job.objects.count(), ControlEvent.objects.count()) == (1, 0)


def test_an_unknown_verb_is_refused() -> None:
    with pytest.raises(OptionInvalid, match="Known are: retry, cancel, abort, fail, requeue"):
        control.bulk("delete", select_now("cancel", queue="mail"), "ann")


@pytest.mark.parametrize("verb", bulk_module.VERBS)
def test_each_verb_asks_for_its_own_permission_before_anything_changes(verb: str) -> None:
    waiting()
    running()
    ended(state="failed")
    others = [other.permission for name, other in bulk_module.VERBS.items() if name != verb]
    with pytest.raises(PermissionDenied):
        bulk(verb, user(*others), job_type="work")
    assert ControlEvent.objects.count() == 0
    bulk(verb, user(bulk_module.VERBS[verb].permission), job_type="work")
    assert ControlEvent.objects.get().action == verb


def test_what_needs_another_permission_is_skipped_and_says_so() -> None:
    ours, guarded = ended(state="failed"), ended(state="failed", job_type="guarded")
    acted = bulk("retry", user("retry_run"), state="failed")
    assert (acted.moved, acted.skipped) == ([ours], {guarded: "needs the permission auth.view_user"})
    assert bulk("retry", user("retry_run", "view_user"), state="failed").moved == [guarded]


@pytest.mark.parametrize(
    ("verb", "state", "meant"),
    [
        ("cancel", "", "live"),
        ("cancel", "retrying", "retrying"),
        ("abort", "running", "running"),
        ("fail", "", "live"),
        ("requeue", "", "running"),
        ("retry", "", "failed"),
        ("retry", "live", "waiting"),
        ("retry", "scheduled", "scheduled"),
        ("retry", "succeeded", "succeeded"),
    ],
)
def test_a_verb_is_about_the_runs_that_it_can_do_something_with(verb: str, state: str, meant: str) -> None:
    chosen = narrowed(verb, RunFilter(state=state, queue="mail"))
    assert (chosen.state, chosen.open) == (meant, meant == "failed")


@pytest.mark.parametrize(
    ("verb", "chosen"),
    [
        ("cancel", {"state": "failed"}),
        ("cancel", {"open": True}),
        ("abort", {"state": "finished"}),
        ("requeue", {"state": "waiting"}),
        ("retry", {"state": "running"}),
    ],
)
def test_a_verb_refuses_runs_that_it_can_do_nothing_with(verb: str, chosen: dict[str, Any]) -> None:
    with pytest.raises(OptionInvalid, match="nothing can be done"):
        narrowed(verb, RunFilter(**chosen))


@pytest.mark.spec("S2.33")
def test_what_failed_is_run_again_with_the_same_payload_once_however_often_it_is_asked_for() -> None:
    failed = [ended(ago(minutes=number), "failed", payload={}) for number in range(3)]
    ended(state="succeeded")
    assert sorted(bulk("retry", job_type="work").moved) == sorted(failed)
    assert bulk("retry", job_type="work").moved == []
    assert new_runs() == dict.fromkeys(failed, 1)
    again = control.bulk_part("retry", RunSelection.of(connection, {"state": "failed"}), "ann")
    assert (again[0].moved, set(again[0].skipped.values())) == ([], {"was run again before"})


def test_what_comes_after_the_confirmation_is_not_touched() -> None:
    waiting(queue="mail")
    selection = select(connection, "cancel", RunFilter(queue="mail"), T + timedelta(seconds=1))
    late = waiting(T + timedelta(seconds=1), queue="mail")
    assert len(control.bulk("cancel", selection, "ann").moved) == 1
    assert Job.objects.get().pk == late


def test_the_apps_own_chores_are_not_touched_unless_they_are_named() -> None:
    waiting(queue=SYSTEM_QUEUE, job_type="jobs.prune")
    assert bulk("cancel", state="live").moved == []
    assert len(bulk("cancel", state="live", queue=SYSTEM_QUEUE).moved) == 1


def test_a_look_changes_nothing_and_tells_how_many_which_and_why_not() -> None:
    newest = [ended(ago(seconds=number), "failed", job_type="work") for number in range(12)]
    ended(ago(minutes=1), "failed", job_type="guarded")
    ended(ago(minutes=1), "failed", job_type="gone")
    found = look(select_now("retry", state="failed"), "retry", user("retry_run"))
    assert (found.counted, [run.pk for run in found.sample], found.is_large) == (Counted(14), newest[:10], False)
    assert found.skipped == {
        "needs the permission auth.view_user": 1,
        "is of job type 'gone', which is not registered": 1,
    }
    assert (Job.objects.count(), ControlEvent.objects.count()) == (0, 0)


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_module, "MOST_AT_ONCE", 4)
    monkeypatch.setattr(bulk_module, "RUNS_PER_CHUNK", 2)
    monkeypatch.setattr(runs_module, "RUNS_PER_CHUNK", 2)


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("verb", ["retry", "cancel"])
def test_parts_follow_each_other_and_each_done_twice_moves_every_run_once(verb: str) -> None:
    make = ended if verb == "retry" else waiting
    made = [
        make(T - timedelta(microseconds=number // 3), **({"state": "failed"} if verb == "retry" else {}))
        for number in range(7)
    ]
    selection, moved = select_now(verb, job_type="work"), []
    place: str | None = ""
    while place is not None:
        for _ in range(2):
            acted, on = control.bulk_part(verb, selection, "ann", place=place)
            moved += acted.moved
        place = on
    assert sorted(moved) == sorted(made)
    assert new_runs() == (dict.fromkeys(made, 1) if verb == "retry" else {})


@pytest.mark.usefixtures("few_at_once", "chores")
@pytest.mark.django_db(transaction=True)
class TestManyRuns:
    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from jobs_app import chores

        monkeypatch.setattr(chores, "BREATH_SECONDS", 0)

    def test_four_are_moved_at_once_and_five_by_a_job_that_tells_how_far_it_is(self) -> None:
        for number in range(5):
            ended(ago(minutes=number), "failed")
        handed = bulk("retry", user("retry_run"), state="failed")
        assert (handed.moved, handed.more) == ([], True)
        assert handed.run_id is not None
        event = ControlEvent.objects.get()
        assert (event.target_kind, event.target, event.reason) == ("run", str(handed.run_id), "why")
        run_jobs(queues=[SYSTEM_QUEUE], raise_errors=False)
        run = get_run(handed.run_id)
        assert (run.status, run.result, run.progress.count) == ("succeeded", {"seen": 5, "moved": 5}, 5)
        assert len(new_runs()) == 5
        parts = ControlEvent.objects.filter(target_kind__in=["runs", "run"]).exclude(pk=event.pk)
        assert sum(each.moved for each in parts) == 5
        assert {each.detail["bulk"] for each in parts} == {str(handed.run_id)}
        assert {each.detail["filter"]["state"] for each in parts} == {"failed"}
        assert {each.actor for each in parts} == {event.actor}

    def test_it_ends_early_where_the_permission_is_gone(self) -> None:
        for number in range(5):
            waiting(ago(minutes=number))
        asks = user("cancel_run")
        handed = bulk("cancel", asks, job_type="work")
        asks.user_permissions.clear()
        run_jobs(queues=[SYSTEM_QUEUE], raise_errors=False)
        assert handed.run_id is not None
        run = get_run(handed.run_id)
        assert (run.status, run.attempts) == ("failed", 1)
        assert "has no permission jobs_app.cancel_run" in run.error
        assert Job.objects.filter(job_type="work").count() == 5

    def test_it_ends_early_where_who_asked_is_gone(self) -> None:
        for number in range(5):
            waiting(ago(minutes=number))
        asks = user("cancel_run")
        handed = bulk("cancel", asks, job_type="work")
        asks.delete()
        run_jobs(queues=[SYSTEM_QUEUE], raise_errors=False)
        assert handed.run_id is not None
        assert "is not there any more" in get_run(handed.run_id).error

    def test_after_a_crash_it_goes_on_where_it_was_and_does_nothing_twice(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The worker dies after a part, before or after it told how far it was."""
        failed = [ended(ago(minutes=number), "failed") for number in range(7)]
        handed = bulk("retry", state="failed")
        real, calls = control.bulk_part, []

        def dies(*args: Any, **kwargs: Any) -> Any:
            calls.append(kwargs["place"])
            done = real(*args, **kwargs)
            if len(calls) == 2:
                raise ConnectionError("the worker is gone")
            return done

        monkeypatch.setattr(control, "bulk_part", dies)
        run_jobs(queues=[SYSTEM_QUEUE], raise_errors=False)
        Job.objects.filter(pk=handed.run_id).update(run_at=T)
        run_jobs(queues=[SYSTEM_QUEUE], raise_errors=False)
        assert handed.run_id is not None
        run = get_run(handed.run_id)
        assert (run.status, run.attempts) == ("succeeded", 2)
        assert calls[1] == calls[2] != ""
        assert new_runs() == dict.fromkeys(failed, 1)

    def test_nobody_but_a_superuser_can_write_such_a_job_by_hand(self) -> None:
        from jobs_app import trigger

        asked = {"verb": "cancel", "query": {"state": "live"}, "actor": "root"}
        with pytest.raises(PermissionDenied, match="act_in_bulk"):
            trigger(BULK, asked, actor=user("trigger_job"))


def test_a_moment_stays_what_it_is_when_it_is_written_down() -> None:
    moment = datetime.fromisoformat(select_now("cancel", queue="mail").as_query()["until"])
    assert moment == T + timedelta(seconds=60)
