"""What a handler gives back, as it is stored."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from jobs_app.worker.results import result_text

ID = UUID(int=7)


class Colour(Enum):
    RED = "red"


@dataclass
class Total:
    amount: Decimal
    days: list[date]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        ({"n": 1, "ok": True, "rest": [1.5, None, "x"]}, {"n": 1, "ok": True, "rest": [1.5, None, "x"]}),
        (Decimal("3.50"), "3.50"),
        (ID, str(ID)),
        (datetime(2026, 1, 31, 9, tzinfo=UTC), "2026-01-31T09:00:00+00:00"),
        (time(9, 30), "09:30:00"),
        (timedelta(minutes=90), "P0DT01H30M00S"),
        ((1, {2}), [1, [2]]),
        (Colour.RED, "red"),
        (Total(Decimal("1.10"), [date(2026, 1, 31)]), {"amount": "1.10", "days": ["2026-01-31"]}),
    ],
    ids=str,
)
def test_types_that_payloads_take_are_stored_as_payloads_store_them(value: Any, stored: Any) -> None:
    text = result_text(ID, value)
    assert (None if text is None else json.loads(text)) == stored


def test_what_cannot_be_stored_is_replaced_by_the_reason_and_said(caplog: pytest.LogCaptureFixture) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with caplog.at_level(logging.WARNING, logger="jobs_app"):
        for value in (object(), float("nan"), endless):
            assert "not_stored" in json.loads(result_text(ID, value) or "")
    assert len(caplog.records) == 3
    assert str(ID) in caplog.text
