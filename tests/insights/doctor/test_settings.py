"""Settings that do not fit, or are not those of the code."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import checks
from django.db import connection

from jobs_app.insights.doctor.settings import debug_mode, overridden_settings, system_checks
from jobs_app.lifecycle import control
from jobs_app.lifecycle.presence import Presence, announce
from jobs_app.models import RuntimeSetting, WorkerKind
from tests.insights.doctor.looking import look

pytestmark = pytest.mark.django_db


def test_what_the_system_checks_say_is_carried_over(settings: Any) -> None:
    assert look(system_checks).level == "ok"
    settings.USE_TZ = False
    found = look(system_checks)
    assert (found.level, found.advice) == ("problem", "Set USE_TZ = True. See docs/checks.md#e003.")
    assert found.sentence.startswith("jobs_app.E003: ")


def test_eager_jobs_are_a_warning_as_in_a_deployment(settings: Any) -> None:
    settings.JOBS = {"EAGER": True}
    found = look(system_checks)
    assert (found.level, found.sentence[:13]) == ("warning", "jobs_app.W006")
    settings.SILENCED_SYSTEM_CHECKS = ["jobs_app.W006"]
    assert look(system_checks).level == "ok"


@pytest.mark.parametrize(
    ("message", "level"), [(checks.Error, "problem"), (checks.Warning, "warning"), (checks.Info, "note")]
)
def test_each_kind_of_message_has_its_level(message: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [message("so it is", hint="do this", id="jobs_app.X001")]
    monkeypatch.setattr("django.core.checks.run_checks", lambda **asked: messages)
    found = look(system_checks)
    assert (found.level, found.sentence, found.advice) == (level, "jobs_app.X001: so it is", "do this")


def test_what_operators_changed_is_a_note() -> None:
    assert look(overridden_settings).level == "ok"
    control.change_setting("lease_seconds", 60, "ann", "slow disk")
    found = look(overridden_settings)
    assert (found.level, "LEASE_SECONDS = 60 (ann)" in found.sentence) == ("note", True)


def test_an_override_that_cannot_be_used_is_a_warning() -> None:
    RuntimeSetting.objects.create(name="lease_seconds", value="soon", actor="ann")
    found = look(overridden_settings)
    assert (found.level, found.sentence.startswith("The override of LEASE_SECONDS is left out: ")) == ("warning", True)


def test_debug_mode_is_a_note_where_workers_live(settings: Any) -> None:
    settings.DEBUG = True
    announce(connection, Presence(id="remote", kind=WorkerKind.REMOTE))
    assert look(debug_mode).level == "ok"
    announce(connection, Presence(id="worker"))
    assert look(debug_mode).level == "note"
    settings.DEBUG = False
    assert look(debug_mode).level == "ok"
