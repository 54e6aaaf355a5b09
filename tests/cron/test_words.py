"""Rules in words: never more than is true, in any language."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from jobs_app.cron import words
from jobs_app.timetable import Timetable

EXPRESSIONS = {
    "* * * * *": "every minute",
    "*/5 * * * *": "every 5 minutes",
    "*/7 * * * *": "every hour at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56",
    "5-59/10 * * * *": "every 10 minutes from minute 5 on",
    "0 * * * *": "every hour",
    "15 * * * *": "every hour at minute 15",
    "0 */4 * * *": "every 4 hours",
    "0 */12 * * *": "every day at 00:00 and 12:00",
    "0 */5 * * *": "every day at 00:00, 05:00, 10:00, 15:00 and 20:00",
    "30 */4 * * *": "every day at 00:30, 04:30, 08:30, 12:30, 16:30 and 20:30",
    "30 2 * * *": "every day at 02:30",
    "0 9 * * mon-fri": "at 09:00, on Monday to Friday",
    "0 9 * * 7,1": "at 09:00, on Monday and Sunday",
    "0 9 * * mon#2": "at 09:00, on the second Monday of the month",
    "0 9 * * L5,mon#1": "at 09:00, on the first Monday and the last Friday of the month",
    "0 0 1 * *": "at 00:00, on day 1 of the month",
    "0 0 1,15,L * *": "at 00:00, on days 1 and 15 of the month and on the last day of the month",
    "0 0 L * *": "at 00:00, on the last day of the month",
    "0 0 13 * fri": "at 00:00, on day 13 of the month or on Friday",
    "30 2 * 6-8 *": "every day at 02:30, in June to August",
    "0 0 1 1,7 *": "at 00:00, on day 1 of the month, in January and July",
    "*/15 9-17 * * mon-fri": "every 15 minutes, in hours 9 to 17, on Monday to Friday",
    "* 9 * * *": "every minute, in hour 9",
    "0 9-17 * * *": "every hour from 09:00 to 17:00",
    "0 1,2,4-9 * * *": "at minute 0, in hours 1, 2 and 4 to 9",
    "* * * * * *": "every second",
    "*/10 * * * * *": "every 10 seconds",
    "3-59/20 * * * * *": "every 20 seconds from second 3 on",
    "5 0 9 * * *": "every day at 09:00:05",
    "1,2 0-4 * * * *": "at seconds 1 and 2, in minutes 0 to 4",
    "@weekly": "at 00:00, on Sunday",
}


@pytest.mark.parametrize(("expression", "sentence"), EXPRESSIONS.items())
def test_an_expression_is_a_sentence(expression: str, sentence: str) -> None:
    assert words.expression(expression) == sentence


@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [
        (1, "every second"),
        (15, "every 15 seconds"),
        (0.25, "every 0.25 seconds"),
        (900, "every 15 minutes"),
        (3600, "every hour"),
        (5400, "every 1 hour 30 minutes"),
        (86400, "every day"),
        (90061.5, "every 1 day 1 hour 1 minute 1.5 seconds"),
    ],
)
def test_an_interval_leaves_nothing_out(seconds: float, sentence: str) -> None:
    assert words.interval(seconds) == words.told(Timetable(every=seconds)) == sentence


def test_a_single_moment_is_told_on_the_clock_of_who_reads_it() -> None:
    once = Timetable(at=datetime(2026, 7, 1, 12, tzinfo=UTC))
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert words.told(once) == "once, July 1, 2026, 2 p.m."


def test_a_cron_that_cannot_be_read_is_shown_as_it_is_written() -> None:
    assert words.told(Timetable(cron="now and then")) == "now and then"
    with pytest.raises(ValueError, match="use five fields"):
        words.expression("now and then")


def test_days_and_months_have_the_names_of_the_language_in_use() -> None:
    with translation.override("de"):
        assert "Montag" in words.expression("0 9 * * mon")
        assert "Juli" in words.expression("0 9 * 7 *")
