"""The election among the jobs of one key, without a database."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.admission import elect, use_of
from jobs_app.limits import NO_RULES, ONE_RUNNING, POLICIES, Limits, QueueRules, Rate


class One(NamedTuple):
    name: str
    policy: str = "standard"
    job_type: str = "work"
    hold: str = "new"


def elected(
    candidates: list[One], owners: list[One] | None = None, queue: QueueRules = NO_RULES, **of_type: Limits
) -> list[str]:
    chosen = elect(candidates, use_of(owners or []), queue, lambda name: of_type.get(name, Limits()))
    return [one.name for one in chosen]


@pytest.mark.parametrize("policy", ONE_RUNNING)
def test_of_jobs_that_run_alone_the_first_goes_on(policy: str) -> None:
    assert elected([One("a", policy), One("b", policy)]) == ["a"]
    assert elected([One("a", policy)], [One("owner", policy, hold="")]) == []
    assert elected([One("a", policy)], [One("waits for a limit", policy, hold="limit")]) == []


@pytest.mark.parametrize("policy", ["standard", "short"])
def test_the_others_are_not_in_the_way_of_each_other(policy: str) -> None:
    assert elected([One("a", policy), One("b", policy)], [One("owner", "singleton", hold="")]) == ["a", "b"]


def test_jobs_of_all_policies_that_run_alone_exclude_each_other() -> None:
    candidates = [One("a", "stately"), One("b", "singleton", "other"), One("c", "exclusive"), One("d")]
    assert elected(candidates) == ["a", "d"]


def test_a_key_has_places_over_all_types_and_of_each() -> None:
    candidates = [One(str(n), job_type="work" if n % 2 else "other") for n in range(6)]
    assert elected(candidates, queue=QueueRules(concurrency_per_key=3)) == ["0", "1", "2"]
    assert elected(candidates, work=Limits(concurrency_per_key=1)) == ["0", "1", "2", "4"]
    owners = [One("owner", job_type="work", hold="")]
    assert elected(candidates, owners, work=Limits(concurrency_per_key=1)) == ["0", "2", "4"]
    assert elected(candidates, owners, QueueRules(concurrency_per_key=1)) == []


def test_for_the_rate_of_a_key_only_so_many_wait_as_may_start_at_once() -> None:
    candidates = [One(str(n)) for n in range(30)]
    paced = QueueRules(rate_per_key=Rate(100, 1))
    assert len(elected(candidates, queue=paced)) == 11
    assert len(elected(candidates, [One("waits", hold="limit")], queue=paced)) == 10
    assert len(elected(candidates, [One("runs", hold="")], queue=paced)) == 11
    assert len(elected(candidates, work=Limits(rate_per_key=Rate(1, 60)))) == 1


jobs = st.builds(
    One, st.just(""), st.sampled_from(POLICIES), st.sampled_from(["work", "other"]), st.sampled_from(["", "limit"])
)


@given(st.lists(jobs, max_size=10), st.lists(jobs, max_size=4), st.integers(1, 4), st.integers(1, 4))
def test_who_is_elected_never_breaks_a_rule_and_nobody_is_left_out_for_nothing(
    candidates: list[One], owners: list[One], most: int, most_of_type: int
) -> None:
    rules = QueueRules(concurrency_per_key=most)
    limits = Limits(concurrency_per_key=most_of_type)
    chosen = elect(candidates, use_of(owners), rules, lambda _: limits)
    together = owners + chosen
    if chosen:
        assert len(together) <= most
        assert all(sum(one.job_type == each.job_type for one in together) <= most_of_type for each in chosen)
    if any(one.policy in ONE_RUNNING for one in chosen):
        assert sum(one.policy in ONE_RUNNING for one in together) == 1
    assert elect([one for one in candidates if one not in chosen], use_of(together), rules, lambda _: limits) == []
