"""Jobs that are odd: of unknown or disabled types, with payloads, transactions or wishes that do not fit."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.db import transaction

from jobs_app import Retry, job
from jobs_app.models import Job, JobRun
from jobs_app.registry import registry
from tests.waiting import until
from tests.worker.harness import finished, outcomes, state, working

pytestmark = pytest.mark.django_db(transaction=True)


def test_unknown_and_disabled_types_stay_queued_and_unspent_while_others_run() -> None:
    switch = [True]

    @job(enabled=lambda: switch[0])
    def switched() -> None: ...

    @job
    def gone() -> None: ...

    @job
    def known() -> None: ...

    kept = [switched.enqueue(), gone.enqueue()]
    switch[0] = False
    registry.unregister("gone")
    with working():
        finished(*known.enqueue_many([{}] * 20))
        assert [(state(run), Job.objects.get(pk=run.id).attempts) for run in kept] == [("queued", 0)] * 2
        switch[0] = True
        registry.register(gone.job_type)
        assert finished(*kept) == ["succeeded"] * 2


def test_a_payload_that_no_longer_fits_fails_with_the_reason_and_is_kept() -> None:
    @job(name="sync")
    def first(page: int) -> None: ...

    run = first.enqueue(page=7)
    registry.unregister("sync")

    @job(name="sync")
    def second(pages: list[int]) -> None: ...

    with working():
        assert finished(run) == ["failed"]
    assert "page" in run.error
    assert (run.payload, run.attempts, JobRun.objects.get().done_reason) == ({"page": 7}, 1, "permanent")


def test_jobs_that_a_job_leaves_inside_a_transaction_do_not_swallow_the_next_ones_writes() -> None:
    @job
    def careless() -> None:
        transaction.atomic().__enter__()
        Group.objects.create(name="uncommitted")

    @job
    def careful() -> None:
        Group.objects.create(name="committed")

    with working(concurrency=1):
        assert finished(careless.enqueue()) == ["succeeded"]
        assert finished(careful.enqueue()) == ["succeeded"]
    assert list(Group.objects.values_list("name", flat=True)) == ["committed"]


def test_a_retry_after_an_absurd_time_is_stored_and_holds_up_nobody() -> None:
    @job
    def absurd() -> None:
        raise Retry("in a while", after=1e15)

    @job
    def sound() -> None: ...

    with working():
        run = absurd.enqueue()
        until(lambda: outcomes(run) == ["error"], every=0.02)
        assert finished(sound.enqueue()) == ["succeeded"]
    assert Job.objects.get(pk=run.id).run_at - run.queued_at > timedelta(days=360)
