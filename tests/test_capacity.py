"""How much work fits: the formulas, the worked example, and what operators read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.capacity import (
    Demand,
    Load,
    PoolPlan,
    TypeCapacity,
    fitting,
    pool_plan,
    settled,
    subject_load,
    tightest,
    type_capacity,
)

DEAL, RETRIEVAL = Demand("deal", 4, 5), Demand("retrieval", 6, 2)

rates = st.just(0) | st.floats(0.001, 1000)
demands = st.builds(Demand, st.just("work"), rates, rates)
counts = st.integers(0, 1000)


def most(plan: TypeCapacity | PoolPlan) -> float:
    return math.inf if plan.most_subjects is None else plan.most_subjects


@pytest.mark.spec("S0.42", "A0.1", "S0.R17")
def test_the_worked_example() -> None:
    load = subject_load([DEAL, RETRIEVAL])
    assert (load.minutes, load.headroom, load.drains) == (32, 28, True)
    types = [type_capacity(each, processes=5, slots=10) for each in (DEAL, RETRIEVAL)]
    assert [(each.per_hour, each.most_subjects) for each in types] == [(600, 150), (1500, 250)]
    pool = pool_plan([DEAL, RETRIEVAL], subjects=18, processes=5, slots=20)
    assert (pool.most_subjects, pool.slots, pool.slots_needed) == (187, 100, 9.6)
    answer = tightest([*types, pool])
    assert answer == types[0]
    assert most(types[0]) == 150


@pytest.mark.spec("S0.39", "A0.1")
@pytest.mark.parametrize(
    ("deals", "retrievals", "minutes", "headroom", "verdict"),
    [
        ((4, 5), (6, 2), 32, 28, "drains: 32 of 60 minutes an hour are used, 28 are left"),
        ((4, 9), (6, 4), 60, 0, "drains: 60 of 60 minutes an hour are used, 0 are left"),
        ((4, 12), (6, 3), 66, -6, "can never catch up: 66 of 60 minutes an hour are needed, 6 are missing"),
        ((0, 12), (6, 0), 0, 60, "drains: 0 of 60 minutes an hour are used, 60 are left"),
        (
            (4, 15.0002),
            (0, 0),
            60.0008,
            -0.0008,
            "can never catch up: 60.01 of 60 minutes an hour are needed, 0.01 are missing",
        ),
    ],
)
def test_above_sixty_minutes_an_hour_a_subject_never_catches_up(
    deals: tuple[float, float], retrievals: tuple[float, float], minutes: float, headroom: float, verdict: str
) -> None:
    load = subject_load([Demand("deal", *deals), Demand("retrieval", *retrievals)])
    assert (load.minutes, load.headroom, load.verdict) == (minutes, headroom, verdict)
    assert load.drains == (headroom >= 0)


@pytest.mark.spec("S0.39")
@given(intervals=st.lists(st.integers(1, 100_000), min_size=1, max_size=20))
def test_sixty_is_sixty_whatever_floats_make_of_the_rates(intervals: list[int]) -> None:
    share = 60 / len(intervals)
    load = subject_load(Demand("work", 3600 / each, share * each / 3600) for each in intervals)
    assert (load.minutes, load.headroom, load.drains) == (60, 0, True)


def test_a_subject_without_work_has_no_load() -> None:
    assert subject_load([]) == Load(0)


def test_a_load_without_a_budget_is_left_to_the_pool() -> None:
    load = Load(66, None)
    assert (load.drains, load.headroom) == (True, None)
    assert load.verdict == "only the pool limits it: its jobs run beside each other, 66 minutes an hour"


@pytest.mark.spec("S0.40")
@pytest.mark.parametrize(
    ("demand", "slots", "per_hour", "subjects"),
    [
        (Demand("deal", 4, 5), 50, 600, 150),
        (Demand("deal", 4, 7), 50, 428.571428571, 107),
        (Demand("deal", 0, 5), 50, 600, None),
        (Demand("deal", 4, 0), 50, None, None),
        (Demand("deal", 4, 5), 0, 0, 0),
        (Demand("deal", 1e-320, 1e-320), 1, None, None),
    ],
)
def test_a_type_gets_done_what_its_slots_have_minutes_for(
    demand: Demand, slots: int, per_hour: float | None, subjects: int | None
) -> None:
    assert type_capacity(demand, slots=slots) == TypeCapacity(
        job_type="deal", per_hour=per_hour, most_subjects=subjects
    )


@pytest.mark.spec("S0.40")
def test_what_belongs_to_no_subject_goes_first() -> None:
    assert type_capacity(DEAL, slots=50, other_per_hour=200).most_subjects == 100
    assert type_capacity(DEAL, slots=50, other_per_hour=700).most_subjects == 0
    pool = pool_plan([DEAL, RETRIEVAL], subjects=18, slots=100, other_minutes=3000)
    assert (pool.most_subjects, pool.load.minutes) == (93, 3576)


@pytest.mark.spec("S0.40")
@given(intervals=st.integers(1, 100_000), subjects=st.integers(1, 100_000))
def test_no_subject_is_lost_to_rounding(intervals: int, subjects: int) -> None:
    assert fitting(subjects * (3600 / intervals), 3600 / intervals) == subjects


@pytest.mark.spec("S0.41")
def test_the_type_that_dominates_takes_from_the_others() -> None:
    """Each type alone has slots for a hundred subjects and more, both together have not."""
    long, short = Demand("long", 1, 50), Demand("short", 1, 10)
    alone = [type_capacity(each, slots=100) for each in (long, short)]
    assert [each.most_subjects for each in alone] == [120, 600]
    pool = pool_plan([long, short], subjects=110, slots=100)
    assert (pool.load, pool.most_subjects) == (Load(6600, 6000), 100)
    assert not pool.load.drains
    assert tightest([*alone, pool]) == pool


@pytest.mark.spec("S0.41")
@given(several=st.lists(demands, min_size=1, max_size=5), slots=st.integers(1, 100))
def test_slots_of_their_own_put_together_are_never_what_limits_first(several: list[Demand], slots: int) -> None:
    types = [type_capacity(each, slots=slots) for each in several]
    pool = pool_plan(several, subjects=0, slots=slots * len(several))
    assert most(pool) >= min(map(most, types))


@pytest.mark.spec("S0.R17")
@given(several=st.lists(demands, max_size=5), subjects=counts)
def test_slots_needed_are_subjects_times_jobs_times_seconds_over_an_hour(several: list[Demand], subjects: int) -> None:
    needed = pool_plan(several, subjects=subjects, slots=1).slots_needed
    seconds = sum(subjects * each.per_hour * each.minutes * 60 for each in several)
    assert needed == pytest.approx(seconds / 3600, rel=1e-9)


@pytest.mark.spec("S0.R17")
@given(several=st.lists(demands, max_size=5), subjects=counts, slots=counts)
def test_a_pool_drains_when_it_has_the_slots_needed(several: list[Demand], subjects: int, slots: int) -> None:
    plan = pool_plan(several, subjects=subjects, slots=slots)
    assert plan.load.drains == (plan.slots_needed <= slots)
    if plan.most_subjects is not None:
        assert pool_plan(several, subjects=plan.most_subjects, slots=slots).load.drains


@given(several=st.lists(demands, max_size=5), slots=counts, more=counts, other=rates)
def test_more_slots_never_allow_fewer_subjects(several: list[Demand], slots: int, more: int, other: float) -> None:
    for each in several:
        few, many = (type_capacity(each, slots=number, other_per_hour=other) for number in (slots, slots + more))
        assert most(few) <= most(many)
    few, many = (pool_plan(several, subjects=1, slots=number, other_minutes=other) for number in (slots, slots + more))
    assert most(few) <= most(many)


@given(several=st.lists(demands, max_size=5), another=demands)
def test_more_work_never_leaves_more_room(several: list[Demand], another: Demand) -> None:
    before, after = subject_load(several), subject_load([*several, another])
    assert after.minutes >= before.minutes


def test_where_nothing_limits_there_is_no_tightest() -> None:
    assert tightest([]) is None
    assert tightest([type_capacity(Demand("deal", 0, 5), slots=1)]) is None


def test_operators_read_sentences() -> None:
    assert type_capacity(DEAL, slots=50).verdict == "deal, jobs an hour at most: 600, subjects at most: 150"
    assert type_capacity(Demand("ping", 4, 0), slots=50).verdict == (
        "ping, jobs an hour at most: any number, subjects at most: any number"
    )
    assert pool_plan([DEAL, RETRIEVAL], subjects=18, slots=100).verdict == (
        "drains: 576 of 6000 minutes an hour are used, 5424 are left; slots needed: 10 of 100, subjects at most: 187"
    )


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Demand("deal", -1, 5), "per_hour of 'deal' must be a number from 0, not -1"),
        (lambda: Demand("deal", 4, math.nan), "minutes of 'deal' must be a number from 0, not nan"),
        (lambda: Demand("deal", math.inf, 5), "per_hour of 'deal'"),
        (lambda: Load(-1), "minutes of a load"),
        (lambda: type_capacity(DEAL, slots=-1), "slots must be a whole number from 0, not -1"),
        (lambda: type_capacity(DEAL, slots=1, processes=-1), "processes must be"),
        (lambda: type_capacity(DEAL, slots=1, other_per_hour=-1), "other_per_hour must be"),
        (lambda: pool_plan([DEAL], subjects=-18, slots=1), "subjects must be a whole number"),
        (lambda: pool_plan([DEAL], subjects=1.5, slots=1), "subjects must be a whole number"),  # type: ignore[arg-type]
        (lambda: pool_plan([DEAL], subjects=1, slots=1, other_minutes=-1), "other_minutes must be"),
    ],
)
def test_nonsense_is_refused(act: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        act()  # type: ignore[operator]


def test_only_what_floats_leave_behind_is_dropped() -> None:
    assert settled(3600 / 7 * 7 / 60) == 60
    assert settled(60.0001) == 60.0001
