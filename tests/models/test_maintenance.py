"""Rows of maintenance windows are refused by forms where no worker could read them."""

from __future__ import annotations

from datetime import time
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.forms import modelform_factory

from jobs_app.models import MaintenanceWindow
from jobs_app.windows import Window

pytestmark = pytest.mark.django_db

GOOD = {"name": "backup", "start": time(7), "minutes": 20, "timezone": "Europe/Berlin"}


def test_a_row_that_can_be_read_is_valid_and_is_a_window() -> None:
    row = MaintenanceWindow(**GOOD, days=[6], queues=["mail"], job_types=["report"])
    row.full_clean()
    options = {"days": frozenset({6}), "queues": frozenset({"mail"}), "job_types": frozenset({"report"})}
    assert row.as_window() == Window(**GOOD, **options)


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("name", "a\nb", "control characters"),
        ("minutes", 0, "from 1 to 1440"),
        ("minutes", 1441, "from 1 to 1440"),
        ("timezone", "Mars/Base", "use a time zone"),
        ("days", [7], "from 0 to 6"),
        ("days", "monday", "list of days"),
        ("queues", ["jobs.system"], "never stopped"),
        ("queues", [""], "1 to 120 letters"),
        ("job_types", {"report": 1}, "list of names"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_at_its_field(column: str, value: Any, complaint: str) -> None:
    row = MaintenanceWindow(**GOOD | {column: value})
    with pytest.raises(ValidationError) as caught:
        row.full_clean()
    assert list(caught.value.message_dict) == [column]
    assert complaint in caught.value.message_dict[column][0]
    with pytest.raises(ValueError, match=f"{column}=.*{complaint}"):
        row.as_window()


def test_a_field_that_is_missing_is_told_once() -> None:
    form = modelform_factory(MaintenanceWindow, fields=["name", "start", "minutes", "timezone"])({})
    assert list(form.errors) == ["name", "start", "minutes", "timezone"]
    assert {len(each) for each in form.errors.values()} == {1}
