"""A worker that is told to stop, or is killed, and what becomes of the mails that it was sending."""

from __future__ import annotations

import signal

import pytest

from examples.welcome_mail.mailbox import Mailbox
from jobs_app.models import Job
from tests.examples.site import PATIENCE_SECONDS, Site
from tests.examples.welcome_mail.conftest import Joins, address_of, attempts_of, outcomes
from tests.management.calling import jobs_json
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

LITTLE = ("--grace", "0.2")  # seconds


@pytest.mark.spec("A2.5", "S2.20", "S2.23", "S2.31")
def test_a_stop_gives_up_the_own_runs_as_the_worker_was_told_and_no_other(
    site: Site, joins: Joins, mailbox: Mailbox
) -> None:
    mailbox.door.clear()
    fails = site.start_worker("--concurrency", "2", *LITTLE)  # as the preset of these jobs says
    failed = [joins("Ada"), joins("Grace")]
    until(lambda: len(mailbox.asked) == 2)
    releases = site.start_worker("--concurrency", "2", *LITTLE, "--on-shutdown", "release")
    released = [joins("Joan"), joins("Karen")]
    until(lambda: len(mailbox.asked) == 4)
    first, second = (runs[0].refresh().worker_id for runs in (failed, released))
    assert [run.refresh().worker_id for run in (*failed, *released)] == [first, first, second, second]

    assert releases.end() == 0
    rows = Job.objects.filter(pk__in=[run.id for run in released])
    assert [(row.state, row.attempts - row.free_attempts) for row in rows] == [("queued", 0)] * 2
    assert [(run.refresh().status, run.worker_id) for run in failed] == [("running", first)] * 2

    assert fails.end() == 0
    told = f"Worker shutdown (job interrupted on {first})"
    assert [(run.refresh().label, run.error) for run in failed] == [("failed", told)] * 2
    assert [run.refresh().status for run in released] == ["retrying"] * 2

    mailbox.door.set()
    site.manage("runworker", "--once")
    assert [outcomes(run) for run in (*failed, *released)] == [["interrupted"]] * 2 + [["interrupted", "success"]] * 2
    assert sorted(mailbox.taken) == [address_of("Joan"), address_of("Karen")]


@pytest.mark.spec("S2.R8", "S2.20")
def test_a_worker_that_stops_lets_a_mail_be_sent_within_its_grace_and_begins_no_other(
    site: Site, joins: Joins, mailbox: Mailbox
) -> None:
    mailbox.door.clear()
    worker = site.start_worker("--grace", "50")
    begun = joins("Ada")
    until(lambda: mailbox.asked)

    worker.signal(signal.SIGTERM)
    worker.wait_for_log("stopping: 1 job runs, it has up to 50 s")
    waiting = joins("Grace")
    mailbox.door.set()

    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert (begun.refresh().status, outcomes(begun)) == ("succeeded", ["success"])
    assert (waiting.refresh().status, waiting.attempts) == ("queued", 0)


@pytest.mark.spec("S2.18", "S2.19", "S2.22", "S2.32")
def test_the_run_of_a_killed_worker_is_found_and_the_next_worker_takes_it_over(
    site: Site, joins: Joins, mailbox: Mailbox
) -> None:
    mailbox.door.clear()
    run, killed = joins("Ada"), site.start_worker()
    until(lambda: mailbox.asked)
    gone = run.refresh().worker_id
    killed.kill()

    [stale] = until(lambda: jobs_json("reconcile", "--dry-run")["stale"])
    assert (stale["id"], stale["kind"] in ("lost", "expired"), stale["moved"]) == (str(run.id), True, False)
    assert run.refresh().status == "running"

    site.start_worker()
    until(lambda: len(mailbox.asked) == 2)
    assert jobs_json("reconcile", "--dry-run")["stale"] == []  # it runs on a worker that is alive
    mailbox.door.set()
    until(lambda: run.refresh().is_finished)
    assert (run.status, outcomes(run)) == ("succeeded", ["lost", "success"])
    text = f"Worker crashed or timed out (stalled job recovery, was on {gone})"
    assert attempts_of(run)[0].message == text
    assert mailbox.taken == [address_of("Ada")]
