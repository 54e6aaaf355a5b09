"""Knobs that operators may turn: their ranges, and what can be in force together."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.conf import Settings, with_overrides
from jobs_app.knobs import KNOBS, settle

ASKED_FOR = {
    *("max_attempts", "backoff_base_seconds", "backoff_max_seconds", "lease_seconds", "max_timeout_seconds"),
    *("grace_seconds", "timeout_grace_seconds", "worker_poll_seconds", "recover_seconds", "auto_recover"),
    *("reconcile_applies", "scheduler_poll_seconds", "catch_up_max", "catch_up_spread_seconds"),
    *("schedule_jitter_seconds", "schedule_phase_seconds", "retention_days", "retention_failed_days"),
    *("control_event_retention_days", "sample_retention_days", "prune_every_seconds", "idempotency_days"),
    *("remote_lease_seconds", "remote_extend_seconds", "notify_admins", "notify_every_seconds"),
}
IN_CODE_ONLY = {"database", "eager", "queues", "worker_concurrency", "worker_processes", "scheduler_enabled"}


def test_each_knob_is_a_setting_and_its_default_is_in_its_range() -> None:
    known = {field.name: field.default for field in fields(Settings)}
    assert set(KNOBS) == ASKED_FOR <= set(known)
    assert not IN_CODE_ONLY & set(KNOBS)
    for name, knob in KNOBS.items():
        assert knob.read(known[name]) == known[name]


@pytest.mark.spec("S1.25")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_attempts", 0),
        ("max_attempts", 1001),
        ("max_attempts", 2.5),
        ("max_attempts", True),
        ("max_attempts", None),
        ("lease_seconds", 4.9),
        ("lease_seconds", 3601),
        ("lease_seconds", math.nan),
        ("lease_seconds", math.inf),
        ("lease_seconds", 10**400),
        ("lease_seconds", "soon"),
        ("backoff_base_seconds", -1),
        ("retention_days", "30d"),
        ("auto_recover", 1),
        ("reconcile_applies", "expired"),
        ("reconcile_applies", ["unserved"]),
        ("reconcile_applies", [["expired"]]),
    ],
)
def test_what_is_out_of_range_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match="use "):
        KNOBS[name].read(value)


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("lease_seconds", "1m", 60),
        ("lease_seconds", 5, 5),
        ("max_timeout_seconds", None, None),
        ("retention_days", 0, 0),
        ("reconcile_applies", ["stuck", "expired"], ("expired", "stuck")),
        ("auto_recover", False, False),
    ],
)
def test_what_fits_is_read_as_the_settings_have_it(name: str, value: Any, found: Any) -> None:
    assert KNOBS[name].read(value) == found


def test_what_cannot_be_used_is_left_out_and_the_others_hold() -> None:
    settled = settle({"lease_seconds": 60, "max_attempts": "many", "queues": {}, "dance": 1})
    assert settled.overrides == {"lease_seconds": 60}
    assert settled.problems == {
        "max_attempts": "'many' cannot be used: use a whole number from 1 to 1000",
        "queues": "no such knob can be turned at run time",
        "dance": "no such knob can be turned at run time",
    }


def test_two_that_only_fit_together_are_taken_together() -> None:
    pair = {"backoff_base_seconds": 5000, "backoff_max_seconds": 6000}
    assert settle(pair) == (pair, {})


def test_of_two_that_never_fit_one_is_left_out_and_the_reason_told() -> None:
    settled = settle({"backoff_base_seconds": 5000, "lease_seconds": 60})
    assert settled.overrides == {"lease_seconds": 60}
    assert "must not be below BACKOFF_BASE_SECONDS" in settled.problems["backoff_base_seconds"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@given(stored=st.dictionaries(st.sampled_from([*KNOBS, "dance"]), JSON | st.integers(0, 4000), max_size=8))
def test_whatever_is_stored_what_is_left_of_it_can_be_in_force(stored: dict[str, Any]) -> None:
    settled = settle(stored)
    assert set(settled.overrides) | set(settled.problems) == set(stored)
    assert not set(settled.overrides) & set(settled.problems)
    with_overrides(settled.overrides)
