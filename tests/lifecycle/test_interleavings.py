"""Two sessions, one job: however their steps fall, the end is as if one had come after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.heartbeat import Held, Progress, extend, save_progress
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobAttempt, JobRun
from tests.lifecycle.rows import at, ended, stored, tables, take
from tests.lifecycle.sessions import Session, sessions

pytestmark = pytest.mark.django_db(transaction=True)

RUN, OURS, THEIRS = UUID(int=7), UUID(int=11), UUID(int=13)
LEASE_LEFT, LEASE_OVER = 20.0, 40.0  # of a lease of 30 seconds


def report(state: str, **changes: Any) -> None:
    finish(connection, [ended(Job(id=RUN, token=OURS), state, **changes)])  # type: ignore[arg-type]


ACTS: dict[str, Callable[[], Any]] = {
    "claim": lambda: take(token=THEIRS, worker_id="worker-2"),
    "finish": lambda: report("succeeded", result='"ours"'),
    "retry": lambda: report("queued", error="busy"),
    "release": lambda: report("queued", outcome="interrupted", free=True),
    "recover": lambda: recover(connection, random=lambda: 0.0),
    "heartbeat": lambda: extend(connection, [Held(RUN, OURS, 30.0)]),
    "progress": lambda: save_progress(connection, [Progress(RUN, OURS, "page-2", 2, 1, None, "")]),
}
PASSING = ("claim", "recover", "heartbeat")  # these pass a row that is being written: the next time will do

Tables = dict[str, list[dict[str, Any]]]


def begin_anew() -> None:
    """One job, claimed by us at T with a lease of 30 seconds."""
    for model in (Job, JobRun, JobAttempt):
        model.objects.all().delete()
    with at(0):
        stored(id=RUN)
        take(token=OURS)


def one_after_another(moment: float, *names: str) -> Tables:
    begin_anew()
    with at(moment):
        for name in names:
            ACTS[name]()
    return tables()


def side_by_side(pair: list[Session], moment: float, first: str, second: str, *, commits: bool) -> Tables:
    """The second acts while the first is not committed; it waits, passes, or sees the job as it was."""
    begin_anew()
    one, other = pair
    with at(moment):
        one.begin()
        one.do(ACTS[first])
        waiting: Future[Any] = other.start(ACTS[second])
        other.until_blocked_or_done(waiting)
        (one.commit if commits else one.rollback)()
        waiting.result(timeout=60)
    return tables()


@pytest.mark.parametrize("moment", [LEASE_LEFT, LEASE_OVER], ids=["lease valid", "lease over"])
@pytest.mark.parametrize("first", ACTS)
def test_two_sessions_end_as_one_after_the_other_would(first: str, moment: float) -> None:
    for second in ACTS:
        orders = [one_after_another(moment, first, second), one_after_another(moment, second, first)]
        if second in PASSING:
            orders.append(one_after_another(moment, first))
        with sessions(2) as pair:
            assert side_by_side(pair, moment, first, second, commits=True) in orders, second


@pytest.mark.parametrize("moment", [LEASE_LEFT, LEASE_OVER], ids=["lease valid", "lease over"])
@pytest.mark.parametrize("first", ACTS)
def test_a_session_that_is_rolled_back_leaves_no_trace(first: str, moment: float) -> None:
    for second in ACTS:
        orders = [one_after_another(moment, second)]
        if second in PASSING:
            orders.append(one_after_another(moment))
        with sessions(2) as pair:
            assert side_by_side(pair, moment, first, second, commits=False) in orders, second


def test_whatever_the_order_there_is_one_outcome_and_one_row_per_attempt() -> None:
    for order in itertools.permutations(["recover", "claim", "finish", "retry", "heartbeat"], 4):
        found = one_after_another(LEASE_OVER, *order)
        [run] = found["jobs"] + found["runs"]
        ended_attempts = run["attempts"] - (run["state"] == "running")
        assert [attempt["number"] for attempt in found["attempts"]] == list(range(1, ended_attempts + 1)), order
