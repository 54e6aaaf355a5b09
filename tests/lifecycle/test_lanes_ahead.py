"""Claims ahead begin where claims of any type have been: those left nothing behind for them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs_app.ids import uuid7
from jobs_app.lifecycle.lanes import AHEAD, ANY, BEGINNING, LOOK_BACK, Kind, Lanes, Start
from tests.lifecycle.clock import Clock
from tests.lifecycle.rows import T


@pytest.fixture
def lanes(clock: Clock) -> Lanes:
    known = Lanes(lambda queue: True, clock)
    known.learn([("default", 0)])
    return known


def start(lanes: Lanes, kind: Kind) -> Start:
    [found] = lanes.starts(walk=False, kind=kind)
    return found


def test_the_first_claim_ahead_does_not_walk_over_what_others_have_passed(lanes: Lanes) -> None:
    assert start(lanes, ANY) == Start("default", 0, *BEGINNING)
    passed = (T, uuid7())
    lanes.remember("default", 0, *passed, kind=ANY)
    assert start(lanes, AHEAD) == Start("default", 0, *passed)


def test_whichever_came_further_is_where_a_claim_ahead_begins(lanes: Lanes) -> None:
    passed, ahead = (T, uuid7()), (T + timedelta(seconds=9), uuid7())
    start(lanes, ANY)
    lanes.remember("default", 0, *passed, kind=ANY)
    lanes.remember("default", 0, *ahead, kind=AHEAD)
    assert start(lanes, AHEAD) == Start("default", 0, *ahead)
    assert start(lanes, ANY) == Start("default", 0, *passed)
    lanes.remember("default", 0, T + timedelta(seconds=20), passed[1], kind=ANY)
    assert start(lanes, AHEAD).run_at == T + timedelta(seconds=20)


def test_it_looks_back_when_its_own_time_has_come(lanes: Lanes, clock: Clock) -> None:
    start(lanes, ANY)
    lanes.remember("default", 0, T, uuid7(), kind=ANY)
    assert start(lanes, AHEAD).run_at == T
    clock.now += 2
    assert start(lanes, AHEAD).run_at == T - LOOK_BACK


def test_a_walk_that_took_long_keeps_the_first_claims_ahead_from_looking_back(lanes: Lanes, clock: Clock) -> None:
    lanes.claimed([start(lanes, ANY)], seconds=7, kind=ANY)
    lanes.remember("default", 0, T, uuid7(), kind=ANY)
    clock.now += 60
    assert start(lanes, AHEAD).run_at == T
    clock.now += 100
    assert start(lanes, AHEAD).run_at == T - LOOK_BACK
