"""Many sessions over the same few keys at once: none waits for ever, none fails, and every job ends."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from django.db import OperationalError, connection, connections

from jobs_app.lifecycle.admit import Asking, admit
from jobs_app.lifecycle.database import is_conflict, pinned_transaction
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.moves import WAITING, Ended, remove
from jobs_app.lifecycle.recover import recover
from jobs_app.lifecycle.rules import Rules
from jobs_app.limits import QueueRules, Rate
from jobs_app.models import Job
from tests.lifecycle.rows import ended, new_job, take

pytestmark = pytest.mark.django_db(transaction=True)

KEYS = [f"key-{number}" for number in range(6)]
POLICIES = ["singleton", "stately", "short", "standard"]
SECONDS = 3.0
RULES = [
    QueueRules(),
    QueueRules(concurrency_per_key=2, concurrency=8),
    QueueRules(rate_per_key=Rate(500, 1), rate=Rate(5000, 1)),
]


def admits(rules: QueueRules, random: Random) -> None:
    admit(
        connection, "default", Asking(job_types=["work"], rules=Rules({"default": rules}), room=random.randint(0, 10))
    )


def enqueues(rules: QueueRules, random: Random) -> None:
    if Job.objects.count() < 300:
        keys = random.sample(KEYS, 3)
        policy = random.choice(POLICIES)
        enqueue(
            [new_job(policy=policy, key=key, gate=2, priority=random.randint(0, 3), max_attempts=50) for key in keys]
        )


def works(rules: QueueRules, random: Random) -> None:
    """Claims some, and reports them in one batch of all kinds, in any order."""
    jobs = take(random.randint(1, 6), lease=random.choice([30.0, 0.01]))
    random.shuffle(jobs)
    states = random.choices(["succeeded", "failed", "queued"], k=len(jobs))
    finish(connection, [ended(job, state, policy=job.policy) for job, state in zip(jobs, states, strict=True)])


def cancels(rules: QueueRules, random: Random) -> None:
    waiting = list(Job.objects.filter(state="queued").order_by("?").values_list("pk", flat=True)[:5])
    with pinned_transaction(connection):
        gone = [Ended(id=run_id, token=None, state="cancelled", outcome="") for run_id in waiting]
        remove(connection, gone, WAITING)


def recovers(rules: QueueRules, random: Random) -> None:
    recover(connection, random=lambda: 0.0)


ACTS = [admits, admits, enqueues, works, works, works, cancels, recovers]


def drain(rules: QueueRules) -> None:
    for _ in range(2000):
        if not Job.objects.exists():
            return
        recover(connection, random=lambda: 0.0)
        admit(connection, "default", Asking(job_types=["work"], rules=Rules({"default": rules})))
        finish(connection, [ended(job) for job in take(100, lease=30.0)])
    left = Counter(Job.objects.values_list("hold", "state", "policy", "key"))
    raise AssertionError(f"stuck: {left}")


@pytest.mark.parametrize("rules", RULES, ids=["keys", "limits", "rates"])
def test_a_crowd_over_shared_keys_neither_deadlocks_nor_loses_a_job(rules: QueueRules) -> None:
    stop = time.monotonic() + SECONDS
    turns: Counter[str] = Counter()
    lock = threading.Lock()

    def go_on(act: Callable[..., Any], seed: int) -> None:
        random = Random(seed)
        try:
            while time.monotonic() < stop:
                done = _did(act, rules, random)
                with lock:
                    turns[done] += 1
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(ACTS)) as threads:
        going = [threads.submit(go_on, act, seed) for seed, act in enumerate(ACTS)]
        for one in going:
            one.result(SECONDS + 60)
    assert turns.pop("conflict", 0) <= 2
    assert min(turns.values()) > 5, turns
    drain(rules)


def _did(act: Callable[..., Any], rules: QueueRules, random: Random) -> str:
    """Places of short keys are taken by enqueues and retries in one order, and given up by cancels and late reports in
    any: now and then two wait for each other, the database ends one of them, and it comes again, as a worker does."""
    try:
        act(rules, random)
    except OperationalError as error:
        if not is_conflict(error):
            raise
        return "conflict"
    return act.__name__
