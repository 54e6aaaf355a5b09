"""What of a payload names the work."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from jobs_app import job
from jobs_app.errors import PayloadInvalid
from jobs_app.payloads import field_of, named, with_defaults


class Region(Enum):
    NORTH = "north"


@pytest.fixture
def sync() -> Any:
    @job(subject=lambda payload: payload["account"], key="region")
    def sync(account: str, region: Region = Region.NORTH, note: str | None = None) -> None: ...

    return sync.job_type


@pytest.mark.parametrize(
    ("source", "payload", "value"),
    [
        ("account", {"account": "a"}, "a"),
        ("region", {"account": "a", "region": "south"}, "south"),
        ("region", {"account": "a"}, "north"),  # the default, as it would be stored
        ("note", {"account": "a"}, None),
        ("note", {"account": "a", "note": None}, None),
        (lambda payload: payload["account"] * 2, {"account": "a"}, "aa"),
        (None, {"account": "a"}, None),
    ],
)
def test_a_field_has_its_default_where_it_was_left_out(sync: Any, source: Any, payload: Any, value: Any) -> None:
    assert field_of(sync, source, payload) == value


def test_what_a_callable_raises_is_told_as_a_payload_that_does_not_fit(sync: Any) -> None:
    assert named(sync, "subject", {"account": "a"}) == "a"
    assert named(sync, "key", {"account": "a"}) == "north"
    with pytest.raises(KeyError):
        field_of(sync, sync.subject, {})
    with pytest.raises(PayloadInvalid, match="job 'sync': its subject cannot be told from this payload: KeyError"):
        named(sync, "subject", {})


def test_a_payload_is_filled_with_the_defaults_that_json_can_hold(sync: Any) -> None:
    assert with_defaults(sync, {"account": "a"}) == {"account": "a", "region": "north", "note": None}
    assert with_defaults(sync, {"account": "a", "region": "south"})["region"] == "south"
    assert with_defaults(sync, {}) == {}  # one that does not fit stays as it is
