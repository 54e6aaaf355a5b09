"""Sources: what code may name, and what a row of one says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from jobs_app import due, job, subjects
from jobs_app.errors import DefinitionInvalid, OptionInvalid
from jobs_app.registry import JobType
from jobs_app.sources import SubjectRow, read_row, sources
from jobs_app.timetable import Timetable

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def declared(**options: Any) -> JobType:
    @job(**options)
    def deal(provider: str = "", limit: int = 0) -> None: ...

    return deal.job_type


def test_a_source_is_named_for_its_job_types() -> None:
    @subjects("deal", "retrieval")
    def providers() -> list[str]:
        return ["f01"]

    source = sources.of("retrieval")
    assert source is not None
    assert (source.job_types, source.kind) == (("deal", "retrieval"), "subjects")
    assert list(source.rows(NOON)) == ["f01"] == providers()
    assert sources.of("metrics") is None
    assert sources.of("deal", "due") is None


def test_a_source_may_name_the_job_itself_and_take_the_time() -> None:
    @job(name="charge")
    def charge() -> None: ...

    @due(charge)
    def due_subscriptions(now: datetime) -> list[str]:
        return [now.isoformat()]

    source = sources.of("charge", "due")
    assert source is not None
    assert list(source.rows(NOON)) == [NOON.isoformat()]


def test_a_job_type_has_one_source() -> None:
    def other() -> list[str]:
        return []

    subjects("deal")(list)
    with pytest.raises(DefinitionInvalid, match="'deal' has two sources"):
        subjects("deal")(other)


@pytest.mark.parametrize("names", [(), ("no such name!",), (7,)])
def test_a_source_without_job_types_is_refused(names: tuple[Any, ...]) -> None:
    with pytest.raises(DefinitionInvalid):
        subjects(*names)(list)


def test_a_plain_row_is_the_subject_and_goes_into_the_payload_field_that_names_it() -> None:
    found = read_row(declared(per_hour=4, subject="provider", payload={"limit": 3}), "f01")
    assert found.subject == "f01"
    assert (found.options.timetable, found.options.payload) == (Timetable(every=900), {"limit": 3, "provider": "f01"})
    assert read_row(declared(per_hour=4), "f01").options.payload is None


@pytest.mark.spec("S0.46", "S0.R3")
@pytest.mark.parametrize(
    ("rate", "seconds"), [(4, 900), (0.25, 14400), (20, 180), (7, 514), (0.001, 3_600_000), (3600, 1)]
)
def test_a_row_may_have_a_rate_and_a_payload_of_its_own(rate: float, seconds: float) -> None:
    row = {"subject": "f01", "per_hour": rate, "payload": {"provider": "f01", "limit": 9}}
    found = read_row(declared(every=60, subject="provider"), row)
    assert found.options.timetable == Timetable(every=seconds)
    assert found.options.payload == {"provider": "f01", "limit": 9}


def test_numbers_uuids_and_model_instances_are_subjects_too() -> None:
    number = UUID(int=7)
    assert read_row(declared(), 7).subject == "7"
    assert read_row(declared(), number).subject == str(number)
    found = read_row(declared(subject="limit", every=60), User(pk=12))
    assert found == SubjectRow("12", found.options)
    assert found.options.payload == {"limit": 12}, "as the number that the field wants"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"per_hour": 4}, "a row needs a subject"),
        ("", "1 to 200 characters"),
        ("x" * 201, "1 to 200 characters"),
        (None, "is no subject"),
        (True, "is no subject"),
        ({"subject": "a", "per_hour": 0}, "per_hour=0 cannot be used"),
        ({"subject": "a", "perhour": 1}, "Did you mean 'per_hour'"),
        ({"subject": "a", "every": 1, "cron": "* * * * *"}, "each say when"),
        ({"subject": "a", "timezone": "Europe/Paris"}, "timezone= is about cron="),
    ],
)
def test_a_row_that_cannot_be_used_says_why(row: Any, said: str) -> None:
    with pytest.raises((ValueError, OptionInvalid), match=said):
        read_row(declared(), row)
