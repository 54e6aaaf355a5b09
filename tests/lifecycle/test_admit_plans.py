"""How PostgreSQL reads for admission: little, by index and in order, whatever waits in front."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from jobs_app.lifecycle import claim
from jobs_app.lifecycle.admit import MOST_TURNED_AWAY, ROWS_PER_STEP, Asking, admit
from jobs_app.lifecycle.claim import Claim, claim_parameters
from jobs_app.lifecycle.database import pinned_transaction
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.forsaken import wake_forsaken
from jobs_app.lifecycle.gated import gated_queues
from jobs_app.lifecycle.keys import Key, wake_next
from jobs_app.lifecycle.lanes import Start
from jobs_app.lifecycle.rules import Rules
from jobs_app.limits import QueueRules, Rate
from jobs_app.models import Job, Pause, QueueState
from tests.lifecycle.plans import Plans, plans_of, rows_read_by
from tests.lifecycle.rows import new_job, stored
from tests.lifecycle.test_plans import assert_reads_in_order, explained

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]

BATCH = 200
OPEN = 5
JOBS = """
INSERT INTO jobs_app_job (id, state, job_type, queue, subject, priority, run_at, queued_at, max_attempts, payload, meta,
                          policy, key, gate, hold, token, lease_expires_at)
SELECT gen_random_uuid(), {state}, 'work', 'default', 'subject-' || n %% 50, 0, now() - n * interval '1 s', now(), 5,
       '{{}}', '{{}}', {policy}, {key}, {gate}, {hold}, {token}, {lease}
  FROM generate_series(1, %s) AS n
"""
SIZES = [10_000, pytest.param(100_000, marks=pytest.mark.slow)]


def fill(count: int, *, runs: bool = False, **columns: Any) -> None:
    given: dict[str, Any] = {"policy": "'singleton'", "key": "'busy'", "gate": 2, "hold": "''", "state": "'queued'"}
    given |= {"token": "NULL", "lease": "NULL"} | columns
    if runs:
        given |= {"state": "'running'", "token": "gen_random_uuid()", "lease": "now() + interval '1 hour'"}
    with connection.cursor() as cursor:
        cursor.execute(JOBS.format(**given), [count])


def begin_with_fresh_files() -> None:
    """What earlier tests wrote and took back is still in the files, and a plan depends on how large an index is."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE jobs_app_job")


def analyse() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_app_job")


@pytest.fixture(params=["analysed while empty", "analysed"])
def statistics(request: pytest.FixtureRequest, on_postgres: None, db: None) -> Any:
    """To be called when the tables are full: the planner has seen them so, or empty, as a queue often is."""
    begin_with_fresh_files()
    if request.param == "analysed":
        return analyse
    fill(10_000, gate=0, policy="'standard'")
    Job.objects.all().delete()
    analyse()
    return lambda: None


def step(*, room: int = BATCH, **rules: Any) -> Plans:
    asking = Asking(
        job_types=["work", "other"],
        rules=Rules({"default": QueueRules(**rules)}),
        room=room,
        paused_subjects=["p", "q"],
    )
    return plans_of(lambda: admit(connection, "default", asking))


def assert_reads_little(plans: Plans, most: int) -> None:
    assert plans.disorder() == []
    assert plans.sorted_rows() <= OPEN  # to be counted by type
    assert plans.rows <= most, plans.rows


@pytest.mark.parametrize("count", SIZES)
def test_a_step_does_not_read_who_waits_for_a_saturated_key(count: int, statistics: Any) -> None:
    fill(1, runs=True)
    fill(count, hold="'key'")
    fill(BATCH, key="'free-' || n", hold="'new'")
    statistics()
    assert_reads_little(step(), 4 * BATCH)
    assert Job.objects.filter(hold="", state="queued").count() == BATCH


@pytest.mark.parametrize("count", SIZES)
def test_a_step_over_a_flood_of_one_key_looks_at_a_batch_of_it(count: int, statistics: Any) -> None:
    fill(1, runs=True)
    fill(count, hold="'new'")
    statistics()
    batch = ROWS_PER_STEP + MOST_TURNED_AWAY
    assert_reads_little(step(), 2 * batch + 5)
    assert Job.objects.filter(hold="key").count() == batch


@pytest.mark.parametrize("count", SIZES)
def test_a_step_over_a_flood_of_many_taken_keys_looks_at_a_batch_of_it(count: int, statistics: Any) -> None:
    fill(count, runs=True, key="'taken-' || n")
    fill(count, key="'taken-' || n", hold="'new'")
    statistics()
    batch = ROWS_PER_STEP + MOST_TURNED_AWAY
    assert_reads_little(step(), 3 * batch + 5)
    assert Job.objects.filter(hold="key").count() == batch


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("hold", ["key", "new"])
def test_a_step_over_very_many_keys_is_bounded(count: int, hold: str, statistics: Any) -> None:
    fill(count, key="'waits-' || n", hold=f"'{hold}'")
    fill(BATCH, key="'waits-' || n", hold="'new'")
    statistics()
    assert_reads_little(step(concurrency_per_key=1), 5 * ROWS_PER_STEP)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize(
    "rules",
    [
        {"concurrency": 5},
        {"concurrency": 1000},
        {"rate": Rate(10, 60)},
        {"rate_per_key": Rate(10, 60)},
        {"fair_share": True, "concurrency": 1000},
        {"ageing": 60},
    ],
    ids=str,
)
def test_a_step_reads_what_it_opens_and_not_what_waits_for_a_limit(
    count: int, rules: dict[str, Any], statistics: Any
) -> None:
    room = 10
    fill(OPEN, runs=True, key="'busy-' || n", policy="'standard'")
    fill(count, hold="'limit'", key="'waits-' || n %% 100", policy="'standard'")
    fill(count, hold="'key'", key="'waits-' || n %% 100", policy="'standard'")
    statistics()
    # Fair share reads a few of each subject.
    assert_reads_little(step(room=room, **rules), 30 * room if "fair_share" in rules else 10 * room)


@pytest.mark.parametrize("count", SIZES)
def test_a_claim_passes_everything_that_is_held(count: int, statistics: Any) -> None:
    fill(1, runs=True)
    for hold in ("'key'", "'new'", "'limit'", "'pause'"):
        fill(count // 4, hold=hold, policy="'standard'")
    fill(2 * BATCH, key="'free-' || n")
    statistics()
    asked = Claim(
        worker_id="w",
        token=uuid4(),
        job_types=["work", "other"],
        limit=BATCH,
        lease=30,
        leases={},
        paused_subjects=["subject-7", *(f"paused-{n}" for n in range(100))],
    )
    nodes = explained(claim.POSTGRES, claim_parameters(connection, asked, [Start("default", 0), Start("default", 5)]))
    assert_reads_in_order(nodes, 4 * BATCH)


@pytest.mark.parametrize("count", SIZES)
def test_waking_reads_one_row_for_each_key(count: int, statistics: Any) -> None:
    fill(count, key="'key-' || n %% 10", hold="'key'")
    statistics()

    def wake() -> None:
        with pinned_transaction(connection):
            wake_next(connection, [Key("default", f"key-{n}") for n in range(10)])

    plans = plans_of(wake)
    assert_reads_little(plans, 4 * 10)
    assert Job.objects.filter(hold="new").count() == 10


@pytest.mark.parametrize("count", SIZES)
def test_the_net_below_the_waking_reads_a_row_or_two_for_each_key(count: int, statistics: Any) -> None:
    fill(count, key="'key-' || n %% 10", hold="'key'")
    statistics()
    plans = plans_of(lambda: wake_forsaken(connection))
    assert_reads_little(plans, 8 * 10)


@pytest.mark.parametrize("count", SIZES)
def test_queues_with_something_before_a_gate_are_found_by_a_few_steps(count: int, statistics: Any) -> None:
    fill(count, hold="'new'")
    fill(count, hold="'key'", key="'waits-' || n")
    statistics()
    assert plans_of(lambda: gated_queues(connection)).rows <= 5


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("policy", ["exclusive", "short", "stately"])
def test_an_enqueue_finds_rules_pauses_and_the_holder_of_its_key_by_index(
    count: int, policy: str, statistics: Any
) -> None:
    QueueState.objects.bulk_create([QueueState(name=f"queue-{n}", max_running=n) for n in range(1000)])
    Pause.objects.bulk_create([Pause(scope="subject", name=f"subject-{n}") for n in range(1000)])
    fill(count, policy=f"'{policy}'", key="'waits-' || n", hold="'new'")
    fill(count, policy="'standard'", hold="'key'")
    statistics()
    stored(policy=policy, key="mine")
    again = new_job(policy=policy, key="mine", subject="subject-7")
    plans = plans_of(lambda: enqueue([again]))
    assert plans.disorder() == []
    assert plans.rows <= 5
    assert [rows_read_by(lambda: enqueue([again])) <= 5 for _ in range(10)] == [True] * 10  # a plan is kept by then
    assert rows_read_by(lambda: stored(subject="subject-8")) <= 5
    assert rows_read_by(stored) <= 5
    assert rows_read_by(lambda: list(Pause.objects.all())) >= 1000  # they are counted
