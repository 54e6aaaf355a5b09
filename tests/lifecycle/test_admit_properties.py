"""For all sequences of what can happen to jobs: no key, limit or place in a queue is used twice, and all jobs end."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from jobs_app import job
from jobs_app.errors import KeyTaken
from jobs_app.lifecycle.admit import Asking, Turns, admit
from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.conflicts import enqueue_or
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.moves import WAITING, Ended, remove
from jobs_app.lifecycle.recover import recover
from jobs_app.lifecycle.rules import Rules, limits_of
from jobs_app.limits import ONE_RUNNING, QueueRules, Rate, gate
from jobs_app.models import Job
from tests.lifecycle.rows import T, done, new_job, take

# Each policy has a type, and two types share one.
POLICY_OF = {
    "alone": "singleton",
    "alone-too": "singleton",
    "sole": "exclusive",
    "brief": "short",
    "stately": "stately",
    "plain": "standard",
}
TYPES = list(POLICY_OF)
QUEUE_RULES = st.builds(
    QueueRules,
    concurrency=st.sampled_from([None, None, 1, 3]),
    concurrency_per_key=st.sampled_from([None, None, 1, 2]),
    rate=st.sampled_from([None, None, Rate(3, 10)]),
    rate_per_key=st.sampled_from([None, None, Rate(2, 10)]),
    fair_share=st.booleans(),
    ageing=st.sampled_from([None, 30]),
)
EXAMPLES = 15  # of 25 steps each: some seconds
any_number = st.integers(0, 1000)  # chooses one of those that there are


class Life(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._atomic = transaction.atomic()
        self._atomic.__enter__()
        self._now = T
        self._turns = Turns()
        self._claimed: list[ClaimedJob] = []  # what workers believe to have, also with a lost lease
        self._rules = QueueRules()

    def teardown(self) -> None:
        try:
            self._drain()
        finally:
            transaction.set_rollback(True)
            self._atomic.__exit__(None, None, None)

    @initialize(rules=QUEUE_RULES)
    def begin(self, rules: QueueRules) -> None:
        self._rules = rules

    @rule(
        job_type=st.sampled_from(TYPES), key=st.sampled_from(["a", "a", "b"]), late=st.booleans(), first=st.booleans()
    )
    def enqueue(self, job_type: str, key: str, late: bool, first: bool) -> None:
        with frozen_clock(self._now):
            enqueue([self._new(job_type, key, late, first)])

    @rule(jobs=st.lists(st.tuples(st.sampled_from(["alone", "alone-too", "plain"]), st.booleans()), max_size=4))
    def enqueue_together(self, jobs: list[tuple[str, bool]]) -> None:
        with frozen_clock(self._now):
            enqueue([self._new(job_type, "a", False, first) for job_type, first in jobs])

    @rule(key=st.sampled_from(["a", "b"]), late=st.booleans())
    def replace(self, key: str, late: bool) -> None:
        with frozen_clock(self._now), suppress(KeyTaken):  # a job of another type waits there
            enqueue_or(self._new("stately", key, late, first=False), "replace")

    @rule(room=st.integers(0, 4))
    def admit(self, room: int) -> None:
        self._admit(TYPES, room)

    @rule()
    def admit_some_types_only(self) -> None:
        """As a worker does that does not know them, or while they are paused."""
        self._admit(["alone", "plain"], 4)

    @rule(limit=st.integers(1, 4))
    def claim(self, limit: int) -> None:
        with frozen_clock(self._now):
            self._claimed += take(limit, job_types=TYPES)

    @precondition(lambda self: self._claimed)
    @rule(which=any_number, end=st.sampled_from(["succeeded", "failed", "queued", "later", "released", "asked"]))
    def report(self, which: int, end: str) -> None:
        claimed = self._claimed.pop(which % len(self._claimed))
        changes: dict[str, Any] = {"policy": claimed.policy}
        if end == "later":
            changes["delay"] = 20.0
        if end == "released":
            changes |= {"outcome": "interrupted", "free": True}
        with frozen_clock(self._now):
            if end == "asked":
                Job.objects.filter(pk=claimed.id, state="running").update(cancel_requested=True)
            done(claimed, end if end in ("succeeded", "failed") else "queued", **changes)

    @rule(which=any_number)
    def cancel(self, which: int) -> None:
        waiting = list(Job.objects.filter(state="queued").order_by("id").values_list("pk", flat=True))
        if waiting:
            self._cancel(waiting[which % len(waiting)])

    @rule(seconds=st.sampled_from([1, 5, 31]))
    def time_passes(self, seconds: int) -> None:
        """Leases last 30 seconds."""
        self._now += timedelta(seconds=seconds)

    @rule()
    def recover(self) -> None:
        with frozen_clock(self._now):
            recover(connection, random=lambda: 0.0)

    @invariant()
    def nothing_is_used_twice(self) -> None:
        jobs = list(Job.objects.all())
        assert _most(job for job in jobs if job.policy == "exclusive") <= 1
        assert _most(job for job in jobs if job.policy in ("short", "stately") and job.state == "queued") <= 1
        open_ones = [job for job in jobs if job.hold == ""]
        assert _most(job for job in open_ones if job.policy in ONE_RUNNING) <= 1
        assert all(job.hold == "" for job in jobs if job.state == "running")
        gated = [job for job in open_ones if job.gate]
        assert len(gated) <= (self._rules.concurrency or 1000)
        assert _most(gated) <= (self._rules.concurrency_per_key or 1000)
        assert sum(job.job_type == "plain" for job in gated) <= 2

    def _new(self, job_type: str, key: str, late: bool, first: bool) -> Any:
        policy = POLICY_OF[job_type]
        return new_job(
            job_type=job_type,
            policy=policy,
            key=key,
            subject=key,
            gate=gate(policy, self._rules, limits_of(job_type)),
            delay=15 if late else 0,
            priority=5 if first else 0,
            max_attempts=1000,
        )

    def _admit(self, job_types: list[str], room: int) -> None:
        asking = Asking(job_types=job_types, rules=Rules({"default": self._rules}), room=room)
        with frozen_clock(self._now):
            admit(connection, "default", asking, self._turns)

    def _cancel(self, run_id: UUID) -> None:
        with frozen_clock(self._now):
            remove(connection, [Ended(id=run_id, token=None, state="cancelled", outcome="")], WAITING)

    def _drain(self) -> None:
        """With nothing more coming in, every job has its turn."""
        for _ in range(60):
            if not Job.objects.exists():
                return
            self._now += timedelta(seconds=31)
            self.recover()
            for _ in range(4):
                self._admit(TYPES, 4)
            self.nothing_is_used_twice()
            self.claim(4)
            while self._claimed:
                self.report(0, "succeeded")
        raise AssertionError(f"stuck: {list(Job.objects.values_list('job_type', 'key', 'state', 'hold', 'gate'))}")


def _most(jobs: Any) -> int:
    """Of one key."""
    return max(Counter(job.key for job in jobs).values(), default=0)


@pytest.mark.django_db
def test_whatever_happens_keys_and_limits_hold_and_everything_ends() -> None:
    for name, policy in POLICY_OF.items():
        job(name=name, policy=policy, **({"concurrency": 2} if name == "plain" else {}))(lambda: None)
    run_machine(Life, settings=settings(max_examples=EXAMPLES, stateful_step_count=25, deadline=None))
