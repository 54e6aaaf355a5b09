"""Words on the command line."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

import pytest

from jobs_app.capacity import Demand
from jobs_app.management.arguments import demand, moment, names, period, port, positive, seconds, since


@pytest.mark.parametrize(
    ("text", "found"), [("0", 0), ("90", 90), ("1.5", 1.5), (".5", 0.5), ("30s", 30), ("5m", 300), ("2 h", 7200)]
)
def test_a_length_of_time_is_seconds_or_has_a_unit(text: str, found: float) -> None:
    assert seconds(text) == found


@pytest.mark.parametrize("text", ["", "soon", "-5", "nan", "inf", "1e400", "5 minutes", "1.2.3"])
def test_other_lengths_are_refused_with_a_hint(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="use"):
        seconds(text)


def test_a_period_is_above_zero() -> None:
    assert period("0.1") == 0.1
    with pytest.raises(ArgumentTypeError, match="above 0"):
        period("0")


def test_a_moment_is_of_utc_unless_it_has_a_zone() -> None:
    assert moment("2026-01-31T09:00:00Z") == datetime(2026, 1, 31, 9, tzinfo=UTC)
    assert moment("2026-01-31 09:00+02:00") == datetime(2026, 1, 31, 7, tzinfo=UTC)
    assert moment("2026-01-31T09:00") == datetime(2026, 1, 31, 9, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0", "-1", "65536", "99999999999", "http"])
def test_a_port_is_one_that_there_is(text: str) -> None:
    assert port("65535") == 65535
    with pytest.raises(ArgumentTypeError, match="use a "):
        port(text)


@pytest.mark.parametrize("text", ["2h", "31.01.2026", "tomorrow", ""])
def test_other_moments_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="2026-01-31T09:00:00Z"):
        moment(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2h", timedelta(hours=2)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("20260131", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T09:00", datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T09:00:00+01:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_a_time_to_look_back_to_is_a_length_or_a_moment(text: str, found: object) -> None:
    assert since(text) == found


@pytest.mark.parametrize("text", ["", "yesterday", "7", "2026-13-01", "0001-01-01"])
def test_other_times_are_refused_with_examples_of_both(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"as 2h, or a moment, as 2026-01-31T09:00:00Z"):
        since(text)


def test_names_are_separated_by_commas() -> None:
    assert names("mail, sync.*,,") == ("mail", "sync.*")
    assert names("") == ()


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", ""])
def test_a_count_is_a_whole_number_above_zero(text: str) -> None:
    assert positive("12") == 12
    with pytest.raises(ArgumentTypeError, match="above 0"):
        positive(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("deal:4:5m", Demand("deal", 4, 5)),
        ("deal:0.5:90", Demand("deal", 0.5, 1.5)),
        ("shop:deal:4:0s", Demand("shop:deal", 4, 0)),
    ],
)
def test_a_demand_is_a_type_its_jobs_an_hour_and_the_time_of_each(text: str, found: Demand) -> None:
    assert demand(text) == found


@pytest.mark.parametrize(
    "text", ["", "deal", "deal:4", ":4:5m", "deal:-4:5m", "deal:four:5m", "deal:4:soon", "deal::5m"]
)
def test_other_demands_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="use"):
        demand(text)
