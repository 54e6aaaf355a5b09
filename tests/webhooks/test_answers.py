"""What an answer means, and how long a receiver may ask us to wait."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs_app.webhooks.answers import Answer, advice, seconds_asked

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = [408, 425, 429, 500, 502, 503, 504, 599]
NEVER = [100, 101, 199, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 451, 600]


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_success_is_a_delivery(status: int) -> None:
    assert Answer(status).is_accepted
    assert not Answer(status).is_for_later


@pytest.mark.parametrize("status", LATER)
def test_what_passes_by_itself_is_sent_again(status: int) -> None:
    assert not Answer(status).is_accepted
    assert Answer(status).is_for_later


@pytest.mark.parametrize("status", NEVER)
def test_the_rest_is_not(status: int) -> None:
    assert not Answer(status).is_accepted
    assert not Answer(status).is_for_later
    assert advice(status)


@pytest.mark.parametrize(
    ("status", "told"), [(302, "never followed"), (410, "gone for good"), (401, "secrets"), (404, "correct it")]
)
def test_the_reason_says_what_to_do(status: int, told: str) -> None:
    assert told in advice(status)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("3600", 3600),
        ("86400", 3600),
        ("9" * 5000, 3600),
        ("Thu, 01 Jan 2026 12:02:00 GMT", 120),
        ("Thu, 01 Jan 2026 12:02:00 -0000", 120),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("\u0661", None),
        ("Thu, 99 Jan 2026 12:02:00 GMT", None),
    ],
)
def test_a_wait_that_is_asked_for_is_kept_up_to_an_hour(header: str, seconds: float | None) -> None:
    assert seconds_asked(header, NOW) == seconds
