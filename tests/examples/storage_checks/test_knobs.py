"""What the environment may say of the checks, and what it is told where it may not."""

from __future__ import annotations

from collections.abc import Callable

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from examples.storage_checks.knobs import Knobs, read
from tests.examples.site import Site


def of(**variables: str) -> Knobs:
    env = environ.Env()
    env.ENVIRON = variables
    return read(env)


@pytest.mark.spec("S0.R4", "S0.46", "S0.R3")
def test_each_has_a_default() -> None:
    knobs = of()
    assert (knobs.deals_per_sp_per_hour, knobs.retrievals_per_sp_per_hour, knobs.metrics_per_hour) == (4, 6, 2)
    assert (knobs.deal_timeout_seconds, knobs.retrieval_timeout_seconds) == (360, 60)
    assert knobs.job_catchup_spread_hours == 3
    assert knobs.use_only_approved_providers
    assert not knobs.disable_chain


@pytest.mark.spec("S0.R4", "S0.R3")
@pytest.mark.parametrize(
    ("variable", "value", "hint"),
    [
        (
            "DEALS_PER_SP_PER_HOUR",
            "0",
            "must be from 0.001 to 20, not 0. A fraction is fine: 0.25 is every four hours.",
        ),
        ("DEALS_PER_SP_PER_HOUR", "21", "must be from 0.001 to 20, not 21."),
        ("DEALS_PER_SP_PER_HOUR", "nan", "must be a number, not 'nan'."),
        ("RETRIEVALS_PER_SP_PER_HOUR", "20.5", "must be from 0.001 to 20"),
        ("METRICS_PER_HOUR", "4", "must be from 0.001 to 3"),
        ("DEAL_TIMEOUT_SECONDS", "119", "must be 120 or more, not 119. A sound provider may need so long."),
        ("RETRIEVAL_TIMEOUT_SECONDS", "59", "must be 60 or more"),
        ("JOB_CATCHUP_SPREAD_HOURS", "-1", "must be 0 or more, not -1. 0 does not spread."),
        ("METRICS_KEEP_DAYS", "0", "must be 1 or more"),
        ("METRICS_PER_HOUR", "two", "must be a number, not 'two'."),
    ],
)
def test_what_is_out_of_range_is_refused_with_a_hint(variable: str, value: str, hint: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        of(**{variable: value})
    assert f"{variable} {hint}" in str(refused.value)


@pytest.mark.spec("S0.R4")
def test_the_smallest_and_the_largest_are_taken() -> None:
    knobs = of(DEALS_PER_SP_PER_HOUR="0.001", METRICS_PER_HOUR="3", DEAL_TIMEOUT_SECONDS="120", DISABLE_CHAIN="true")
    assert (knobs.deals_per_sp_per_hour, knobs.metrics_per_hour, knobs.deal_timeout_seconds) == (0.001, 3, 120)
    assert knobs.disable_chain


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S0.R4")
def test_no_process_starts_and_all_that_is_wrong_is_told_at_once(make_checks: Callable[..., Site]) -> None:
    site = make_checks(DEALS_PER_SP_PER_HOUR="50", DEAL_TIMEOUT_SECONDS="5")
    told = site.manage("runscheduler", "--once", code=1)
    assert "DEALS_PER_SP_PER_HOUR must be from 0.001 to 20, not 50." in told
    assert "DEAL_TIMEOUT_SECONDS must be 120 or more, not 5." in told
