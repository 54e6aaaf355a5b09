"""A flight and its end survive the way through JSON."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from jobs_app import job
from jobs_app.lifecycle.heartbeat import Progress
from jobs_app.lifecycle.moves import Ended
from jobs_app.worker.isolation import parcels
from tests.worker.flights import NOON, claimed, context_of, flight_of


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_a_job_arrives_as_it_left_but_for_the_secret_of_its_claim() -> None:
    sent = claimed(parent=uuid4(), slot_at=NOON, subject="ä", target_count=3, payload='{"a": 1}', timeout_seconds=2.5)
    packed = through_json(parcels.pack_job(sent))
    assert "token" not in packed
    assert parcels.unpack_job(packed) == sent._replace(token=parcels.NO_TOKEN)


def test_a_flight_keeps_its_clock() -> None:
    @job(isolation="process", timeout=5)
    def sample() -> None: ...

    flight = flight_of(sample)
    flight.started, flight.timeout = 1000.5, 5.0
    order = through_json(parcels.order_for(flight))
    landed = parcels.flight_from(order, parcels.unpack_job(order["job"]), context_of())
    assert (landed.deadline, landed.context.deadline, landed.job_type) == (1005.5, 1005.5, sample.job_type)


def test_an_end_is_told_without_what_the_worker_knows_better() -> None:
    work = claimed()
    told = Ended(id=uuid4(), token=None, state="queued", outcome="error", delay=1.5, error="no", log="theirs")
    ended = parcels.unpack_ending(through_json(parcels.pack_ending(told)), work, "ours")
    assert (ended.id, ended.token, ended.log) == (work.id, work.token, "ours")
    assert (ended.state, ended.outcome, ended.delay, ended.error) == ("queued", "error", 1.5, "no")


def test_words_are_about_the_workers_claim() -> None:
    work = claimed()
    said = Progress(work.id, parcels.NO_TOKEN, "c", 1, 2, None, "under way", '{"self": 1}')
    assert parcels.unpack_words(through_json(parcels.pack_words(said)), work) == said._replace(token=work.token)
