"""What fails is tried again, four times at most, and costs the others nothing."""

from __future__ import annotations

import pytest

from examples.welcome_mail.jobs import send_welcome_email
from examples.welcome_mail.mailbox import Mailbox
from jobs_app.handles import RunHandle
from tests.examples.site import Site
from tests.examples.welcome_mail.conftest import Joins, address_of, attempts_of, outcomes
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


def ended_without_waiting(run: RunHandle) -> list[int]:
    """Each time it waits to be tried again, somebody presses "Retry now"; the seconds that it would have waited."""
    waits: list[int] = []

    def has_ended() -> bool:
        run.refresh()
        if run.status == "retrying" and run.attempts > len(waits):
            assert run.label == "failed"  # as the preset calls it meanwhile
            waits.append(round((run.run_at - attempts_of(run)[-1].finished_at).total_seconds()))
            run.retry(actor="ann")
        return run.is_finished

    until(has_ended, seconds=60)
    return waits


@pytest.mark.spec("A2.3", "S2.4", "S2.11", "S2.30", "S2.R4")
def test_who_is_hard_to_reach_is_welcomed_at_the_third_try_and_nobody_after_four_is_not(
    site: Site, joins: Joins, mailbox: Mailbox
) -> None:
    fay, nobody = joins("Flaky-Fay"), joins("Nobody")
    site.start_worker()

    assert ended_without_waiting(fay) == [60, 60]
    assert (fay.label, fay.error, outcomes(fay)) == ("success", "", ["error", "error", "success"])
    assert ended_without_waiting(nobody) == [60, 60, 60]
    assert (nobody.label, outcomes(nobody)) == ("failed", ["error"] * 4)
    assert "come back later" in nobody.error
    assert mailbox.taken == [address_of("Flaky-Fay")]


@pytest.mark.spec("S2.R8")
def test_in_a_batch_one_fails_alone_and_what_is_beyond_the_bound_or_not_due_is_left(
    site: Site, joins: Joins, mailbox: Mailbox
) -> None:
    batch, beyond = [joins(name) for name in ("Ada", "Nobody", "Grace")], [joins("Joan"), joins("Karen")]
    later = send_welcome_email.options(delay="1h").enqueue(**batch[0].payload)

    told = site.manage("runworker", "--once", "--max-jobs", "3")
    assert "Processed: 3 | Success: 2 | Retry: 1 | Failed: 0" in told
    assert [(run.refresh().status, outcomes(run)) for run in batch] == [
        ("succeeded", ["success"]),
        ("retrying", ["error"]),
        ("succeeded", ["success"]),
    ]
    assert [(run.refresh().status, run.attempts) for run in beyond] == [("queued", 0)] * 2

    assert "Processed: 2 | Success: 2 | Retry: 0 | Failed: 0" in site.manage("runworker", "--once")
    assert (later.refresh().status, later.attempts) == ("scheduled", 0)
    assert sorted(mailbox.taken) == [address_of(name) for name in ("Ada", "Grace", "Joan", "Karen")]
