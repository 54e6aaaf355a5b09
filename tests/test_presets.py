"""The five presets are what the five kinds of systems do."""

from __future__ import annotations

import dataclasses

import pytest

from jobs_app import presets
from jobs_app.errors import DefinitionInvalid
from jobs_app.presets import LEASE, PAYMENTS, PLANE, PRESETS, RATE, TRANSIENT, Preset

STATUSES = {"queued", "scheduled", "retrying", "running", "succeeded", "failed", "cancelled"}


def test_there_are_five_presets_by_name() -> None:
    assert list(PRESETS) == ["rate", "lease", "plane", "transient", "payments"]
    assert all(PRESETS[name].name == name for name in PRESETS)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
def test_every_preset_has_a_word_for_every_status(preset: Preset) -> None:
    assert set(preset.labels) == STATUSES


@pytest.mark.spec("S3.21", "S4.10")
def test_executions_at_most() -> None:
    assert [preset.max_attempts for preset in PRESETS.values()] == [1, 5, 4, 4, 6]


@pytest.mark.spec("S3.R3")
def test_unknown_errors_are_retried_by_lease_plane_and_payments_only() -> None:
    assert [preset.name for preset in PRESETS.values() if preset.retry_unknown] == ["lease", "plane", "payments"]


def test_a_timeout_is_final_for_rate_and_transient() -> None:
    assert [preset.name for preset in PRESETS.values() if not preset.retry_timeouts] == ["rate", "transient"]


def test_what_a_shutdown_does_to_running_jobs() -> None:
    assert [preset.on_shutdown for preset in PRESETS.values()] == ["fail", "leave", "fail", "release", "release"]


def test_which_jobs_exclude_each_other() -> None:
    assert [preset.policy for preset in PRESETS.values()] == [
        "singleton",
        "standard",
        "standard",
        "standard",
        "exclusive",
    ]


def test_the_lease_preset_gives_three_minutes() -> None:
    assert LEASE.lease == 180


def test_the_transient_preset_gives_four_minutes_to_a_job() -> None:
    assert TRANSIENT.timeout == 240


def test_stale_thresholds() -> None:
    assert (RATE.stale_after, PLANE.stale_after) == (900, 600)
    assert (TRANSIENT.stale_after, TRANSIENT.waiting_stale_after) == (1800, 600)


@pytest.mark.spec("S1.1")
def test_words_of_lease() -> None:
    assert _words(LEASE) == "queued queued queued processing done failed cancelled"


@pytest.mark.spec("S2.7")
def test_words_of_plane() -> None:
    assert _words(PLANE) == "queued queued failed running success failed cancelled"


@pytest.mark.spec("S3.15")
def test_words_of_transient() -> None:
    assert _words(TRANSIENT) == "PENDING PENDING RUNNING RUNNING COMPLETED FAILED CANCELLED"


def test_words_of_payments() -> None:
    assert _words(PAYMENTS) == "PENDING PENDING PENDING PENDING SUCCESS FAILED CANCELLED"


def test_words_of_rate() -> None:
    assert _words(RATE) == "created created retry active completed failed cancelled"


def test_a_word_that_no_preset_knows_is_its_own_label() -> None:
    assert RATE.label("paused") == "paused"


def test_presets_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RATE.max_attempts = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        RATE.labels["queued"] = "x"  # type: ignore[index]


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    assert presets.get("lease") is LEASE
    with pytest.raises(DefinitionInvalid, match=r"no preset 'payment'\. Did you mean 'payments'\?"):
        presets.get("payment")
    with pytest.raises(DefinitionInvalid, match="Known presets: rate, lease"):
        presets.get("xyz")


def _words(preset: Preset) -> str:
    order = ("queued", "scheduled", "retrying", "running", "succeeded", "failed", "cancelled")
    return " ".join(preset.label(status) for status in order)
