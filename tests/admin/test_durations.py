"""Lengths of time as people type them."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from jobs_app.admin.durations import DurationField, typed_as
from jobs_app.admin.schedule_fields import with_secrets_of


@pytest.mark.parametrize(
    ("typed", "seconds"), [("30s", 30), ("5m", 300), ("1.5h", 5400), ("7d", 604800), ("90", 90), ("0", 0), ("", None)]
)
def test_a_time_is_read_with_its_unit_or_as_seconds(typed: str, seconds: float | None) -> None:
    assert DurationField(required=False).clean(typed) == seconds


@pytest.mark.parametrize("typed", ["soon", "-1", "nan", "inf", "1e400", "40000d", "5 minutes"])
def test_what_is_no_length_of_time_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError, match="such as 30s"):
        DurationField().clean(typed)


@pytest.mark.parametrize("seconds", [0, 0.25, 15, 90, 5400, 86400, 90061.5, 0.001])
def test_what_is_shown_can_be_typed_again(seconds: float) -> None:
    assert DurationField().clean(typed_as(seconds)) == seconds
    assert DurationField().prepare_value(seconds) == typed_as(seconds)


def test_hidden_secrets_are_put_back_at_any_depth_and_nothing_else_is() -> None:
    present = {"token": "a", "list": [{"password": "b", "n": 1}], "note": "c"}
    typed = {"token": "[hidden]", "list": [{"password": "[hidden]", "n": 2}], "note": "[hidden]"}
    assert with_secrets_of(present, typed) == {"token": "a", "list": [{"password": "b", "n": 2}], "note": "[hidden]"}
    assert with_secrets_of({}, {"token": "[hidden]"}) == {"token": "[hidden]"}
    assert with_secrets_of(present, None) is None
