"""Admission beside the end of a key's owner, in every order: the word that the key is free is never lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle.admit import Admitted, Asking, admit
from jobs_app.lifecycle.database import pinned_transaction
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.moves import WAITING, Ended, remove
from jobs_app.lifecycle.parking import BEGINNING, park_chunk
from jobs_app.lifecycle.pauses import Pauses
from jobs_app.lifecycle.recover import recover
from jobs_app.lifecycle.rules import Rules
from jobs_app.models import Job
from tests.lifecycle.rows import at, ended, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("on_postgres")]

OWNER, SECOND, THIRD = UUID(int=1), UUID(int=2), UUID(int=3)
TOKEN = UUID(int=11)
LEASE_OVER = 40.0  # of a lease of 30 seconds


def look() -> Admitted:
    return admit(connection, "default", Asking(job_types=["work"], rules=Rules()))


def keyed(run_id: UUID, **changes: Any) -> None:
    stored(id=run_id, policy="singleton", key="k", gate=2, **changes)


def report(state: str, **changes: Any) -> None:
    finish(connection, [ended(Job(id=OWNER, token=TOKEN), state, **changes)])  # type: ignore[arg-type]


def cancel(run_id: UUID) -> None:
    with pinned_transaction(connection):
        remove(connection, [Ended(id=run_id, token=None, state="cancelled", outcome="")], WAITING)


def park() -> None:
    with pinned_transaction(connection):
        park_chunk(connection, Pauses(subjects=frozenset(["paused"])), BEGINNING)


# What ends the owner's hold on its key, and whether it must run for that.
ACTS: dict[str, tuple[Callable[[], Any], bool]] = {
    "finish": (lambda: report("succeeded"), True),
    "retry": (lambda: report("queued", delay=600, error="busy"), True),
    "recover": (lambda: recover(connection, random=lambda: 0.0), True),
    "cancel": (lambda: cancel(OWNER), False),
    "park": (park, False),
}


def holds() -> dict[UUID, str]:
    return dict(Job.objects.values_list("pk", "hold"))


def owner_and_others(*, runs: bool) -> None:
    """The owner of the key, one that waits for it, and one that admission has not looked at yet."""
    with at(0):
        keyed(OWNER, subject="paused")
        look()
        keyed(SECOND)
        look()
        keyed(THIRD)
        if runs:
            [claimed] = take(token=TOKEN)
            assert claimed.id == OWNER
    assert holds() == {OWNER: "", SECOND: "key", THIRD: "new"}


def assert_all_have_their_turn() -> None:
    """Whatever came before: from now on each admit opens one, and each end frees the key."""
    seen: list[UUID] = []
    for _ in range(4):
        look()
        open_ones = list(Job.objects.filter(hold="").values_list("pk", flat=True))
        assert len(open_ones) <= 1, holds()
        for run_id in open_ones:
            seen.append(run_id)
            Job.objects.filter(pk=run_id).update(state="queued", token=None, lease_expires_at=None)
            cancel(run_id)
    assert {SECOND, THIRD} <= set(seen), f"nobody wakes {holds()}"


@pytest.mark.parametrize("ends", ["commit", "rollback"])
@pytest.mark.parametrize("name", ACTS)
def test_admission_looks_while_the_end_of_the_owner_is_not_committed(name: str, ends: str) -> None:
    act, runs = ACTS[name]
    owner_and_others(runs=runs)
    with at(LEASE_OVER), sessions(2) as (ender, admitter):
        ender.begin()
        ender.do(act)
        admitted = admitter.do(look)  # it never waits
        assert (admitted.opened, admitted.is_more) == (0, True)
        assert holds()[THIRD] == "new"  # who would wake it, if it went to wait for the key now?
        getattr(ender, ends)()
        look()
        if ends == "commit":
            assert "" in (holds()[SECOND], holds()[THIRD])
        assert_all_have_their_turn()


@pytest.mark.parametrize("ends", ["commit", "rollback"])
@pytest.mark.parametrize("name", ACTS)
def test_the_owner_ends_while_admission_is_not_committed(name: str, ends: str) -> None:
    act, runs = ACTS[name]
    owner_and_others(runs=runs)
    with at(LEASE_OVER), sessions(2) as (ender, admitter):
        admitter.begin()
        admitter.do(look)
        ending = ender.start(act)
        ender.until_blocked_or_done(ending)  # recovery and parking pass a row that is in use
        getattr(admitter, ends)()
        ending.result(30)
        if OWNER in holds() and holds()[OWNER] == "":
            act()
        look()
        assert "" in (holds()[SECOND], holds()[THIRD])
        assert_all_have_their_turn()


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_claim_of_the_owner_that_is_not_committed_lets_nobody_in(ends: str) -> None:
    owner_and_others(runs=False)
    with at(1), sessions(2) as (claimer, admitter):
        claimer.begin()
        claimer.do(lambda: take(token=TOKEN))
        assert admitter.do(look).opened == 0
        getattr(claimer, ends)()
        assert look().opened == 0
        assert holds() == {OWNER: "", SECOND: "key", THIRD: "key"}
        assert_all_have_their_turn()


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_the_one_that_waits_is_cancelled_while_the_owner_ends(ends: str) -> None:
    owner_and_others(runs=True)
    with at(1), sessions(2) as (canceller, ender):
        canceller.begin()
        canceller.do(cancel, SECOND)
        ending = ender.start(report, "succeeded")
        ender.until_blocked_or_done(ending)
        getattr(canceller, ends)()
        ending.result(30)
        assert look().opened == 1
        assert (SECOND in holds()) == (ends == "rollback")


def test_the_next_one_that_was_woken_and_not_committed_is_not_sent_to_wait_again() -> None:
    owner_and_others(runs=True)
    with at(1), sessions(2) as (ender, admitter):
        ender.begin()
        ender.do(report, "succeeded")
        admitter.do(look)
        ender.commit()
        assert set(holds().values()) == {"new"}
        assert look().opened == 1


def test_two_admit_steps_of_one_queue_are_one_after_another() -> None:
    owner_and_others(runs=True)
    with at(1), sessions(2) as (first, second):
        report("succeeded")
        first.begin()
        assert first.do(look).opened == 1
        assert second.do(look) == Admitted(is_more=True)
        first.commit()
        assert second.do(look).opened == 0
    assert sorted(holds().values()) == ["", "key"]


def test_a_step_that_fails_changes_nothing() -> None:
    owner_and_others(runs=True)
    with at(1), sessions(1) as [admitter]:
        report("succeeded")
        before = holds()
        admitter.begin()
        admitter.do(look)
        admitter.rollback()
        assert holds() == before
        assert look().opened == 1
