"""Single values: how people may write them, and what is said about those that cannot be used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils.translation import gettext_lazy

from jobs_app import values
from jobs_app.errors import DefinitionInvalid
from jobs_app.presets import LEASE
from jobs_app.retry import Backoff


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (30, 30),
        (0, 0),
        (1.5, 1.5),
        ("30s", 30),
        ("5m", 300),
        ("1h", 3600),
        ("7d", 604800),
        (" 1.5 h ", 5400),
        (timedelta(minutes=2), 120),
    ],
)
def test_a_duration_may_be_seconds_a_timedelta_or_text(written: object, seconds: float) -> None:
    assert values.seconds(written) == seconds


@pytest.mark.parametrize(
    "written", [-1, timedelta(-1), "5 minutes", "-5s", "", "m", True, None, float("nan"), float("inf"), [30], "99999d"]
)
def test_a_duration_that_cannot_be_read_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"seconds|100 years"):
        values.seconds(written)


def test_a_period_is_above_zero() -> None:
    assert values.period("1s") == 1
    with pytest.raises(ValueError, match="above 0"):
        values.period(0)


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("10/minute", (10, 60)),
        ("5/30s", (5, 30)),
        ("1/day", (1, 86400)),
        ("2 / hour", (2, 3600)),
        ("3/second", (3, 1)),
        ((10, 60), (10, 60)),
        ((10, timedelta(hours=1)), (10, 3600)),
    ],
)
def test_a_rate_may_be_text_or_a_pair(written: object, rate: tuple[int, float]) -> None:
    assert values.rate(written) == rate


@pytest.mark.parametrize(
    "written", ["10", "10/fortnight", "0/minute", (10,), (10, 0), (1.5, 60), 10, "x/minute", "1/0s"]
)
def test_a_rate_that_cannot_be_read_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="use "):
        values.rate(written)


@pytest.mark.parametrize("name", ["a", "send-welcome-email", "Report.v2:daily_1", "9to5", "x" * 120])
def test_a_name_is_letters_digits_and_a_few_marks(name: str) -> None:
    assert values.name(name) == name


@pytest.mark.parametrize("name", ["", "-x", "_x", "a b", "x" * 121, "ü", "a/b", "a\n", None, 7])
def test_another_name_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match="use 1 to 120 letters"):
        values.name(name)


@pytest.mark.parametrize("text", ["", "x" * 200, "Zürich, 東京 \u00a0"])
def test_text_may_be_any_that_can_be_stored(text: str) -> None:
    assert values.text(text, longest=200) == text


@pytest.mark.parametrize("text", ["x" * 201, "a\x00b", "line\nbreak", "\ud800", "\x9f", 7, None])
def test_text_that_cannot_be_stored_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="use text"):
        values.text(text, longest=200)


@pytest.mark.parametrize("year", [1, 1899, 3000, 9999])
def test_a_moment_is_one_that_every_clock_can_tell(year: int) -> None:
    with pytest.raises(ValueError, match="use a year from 1900 to 2999"):
        values.moment(datetime(year, 12, 31, 23, 59, tzinfo=UTC))


def test_a_moment_has_a_time_zone() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert values.moment(moment) == moment
    with pytest.raises(ValueError, match=r"has no time zone; use timezone\.now"):
        values.moment(moment.replace(tzinfo=None))
    with pytest.raises(ValueError, match="use a datetime"):
        values.moment("2026-01-01")


def test_a_whole_number_is_no_flag_and_no_fraction() -> None:
    assert values.whole(5, low=1, high=9) == 5
    for wrong in (0, 10, True, 5.0, "5", None):
        with pytest.raises(ValueError, match="use a whole number from 1 to 9"):
            values.whole(wrong, low=1, high=9)


def test_one_exception_class_or_several_become_a_tuple() -> None:
    assert values.errors(OSError) == (OSError,)
    assert values.errors([KeyError, ValueError]) == (KeyError, ValueError)
    for wrong in ("OSError", (ValueError, 1), OSError()):
        with pytest.raises(ValueError, match="use an exception class"):
            values.errors(wrong)


def test_a_preset_goes_by_name_or_by_itself() -> None:
    assert values.preset("lease") is values.preset(LEASE) is LEASE
    with pytest.raises(DefinitionInvalid, match="'lease'"):
        values.preset("leese")


def test_a_label_may_be_translated_later() -> None:
    label = gettext_lazy("Jobs")
    assert values.label(label) is label


def test_a_retention_is_one_time_or_one_for_each_end() -> None:
    week, day = timedelta(days=7), timedelta(days=1)
    assert values.retention("7d") == {"succeeded": week, "failed": week, "cancelled": week}
    assert values.retention({"succeeded": 86400, "failed": week}) == {"succeeded": day, "failed": week}
    assert values.retention({"failed": 0}) == {"failed": timedelta(0)}
    for wrong in ({}, {"done": "7d"}, {"queued": "7d"}, {"failed": "soon"}, {"failed": None}, "soon", -1):
        with pytest.raises(ValueError, match=r"use |from 0"):
            values.retention(wrong)


@pytest.mark.parametrize(
    ("written", "size"),
    [(64 * 1024**2, 64 * 1024**2), ("512MB", 512 * 1024**2), ("2GB", 2 * 1024**3), (" 1.5 GB ", 3 * 512 * 1024**2)],
)
def test_a_memory_may_be_bytes_or_text(written: object, size: int) -> None:
    assert values.memory(written) == size


@pytest.mark.parametrize("written", [0, 1024, "10MB", "512", "512 mb", "1TB", True, 1e9, None])
def test_a_memory_that_cannot_be_meant_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match='such as "512MB"'):
        values.memory(written)


def test_a_backoff_is_a_backoff() -> None:
    assert values.backoff(Backoff(base=1)) == Backoff(base=1)
    with pytest.raises(ValueError, match=r"use a Backoff, such as Backoff\(base=60\)"):
        values.backoff(60)
