"""What is in force in a process: an operator's override, else what code says."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from jobs_app import Backoff, conf, job
from jobs_app.conf import (
    Settings,
    are_overrides_stale,
    enforce,
    forget_overrides,
    get_settings,
    overrides_in_force,
    settings_of_code,
    with_overrides,
)
from jobs_app.drafts import Drafts
from jobs_app.errors import SettingsInvalid


def override(**values: Any) -> bool:
    return enforce(values, fresh_seconds=60)


def test_without_overrides_code_speaks() -> None:
    assert get_settings() is settings_of_code()


def test_an_override_wins_over_code_until_it_is_gone(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECONDS": 90, "MAX_ATTEMPTS": 3}
    assert override(lease_seconds=60)
    assert (get_settings().lease_seconds, get_settings().max_attempts) == (60, 3)
    assert override()
    assert get_settings() == settings_of_code()


def test_the_object_is_another_one_only_where_a_value_is() -> None:
    override(lease_seconds=60)
    before = get_settings()
    assert not override(lease_seconds=60)
    assert get_settings() is before
    assert override(lease_seconds=61)
    assert get_settings() is not before


def test_a_first_look_does_not_undo_what_another_thread_reads_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_overrides()
    looking, may_end = threading.Event(), threading.Event()
    of_code = settings_of_code()

    def slowly() -> Settings:
        if threading.current_thread() is first:
            looking.set()
            may_end.wait(10)
        return of_code

    monkeypatch.setattr(conf, "settings_of_code", slowly)
    first = threading.Thread(target=get_settings)
    first.start()
    assert looking.wait(10)
    other = threading.Thread(target=override, kwargs={"lease_seconds": 60})
    other.start()
    other.join(0.05)  # it waits for the first, or is done before it
    may_end.set()
    for thread in (first, other):
        thread.join(10)
    assert get_settings().lease_seconds == 60


def test_what_the_rules_do_not_allow_changes_nothing() -> None:
    with pytest.raises(SettingsInvalid, match="BACKOFF_MAX_SECONDS"):
        override(backoff_max_seconds=1)
    assert (get_settings(), dict(overrides_in_force())) == (settings_of_code(), {})
    with pytest.raises(SettingsInvalid):
        with_overrides({"max_attempts": 0})


def test_other_settings_of_django_forget_what_was_read(settings: Any) -> None:
    override(lease_seconds=60)
    settings.JOBS = {"LEASE_SECONDS": 90}
    assert (get_settings().lease_seconds, dict(overrides_in_force())) == (90, {})


def test_what_was_read_gets_stale() -> None:
    enforce({}, fresh_seconds=60)
    assert not are_overrides_stale()
    enforce({}, fresh_seconds=0)
    assert are_overrides_stale()
    forget_overrides(fresh_seconds=60)
    assert not are_overrides_stale()


@pytest.mark.spec("S1.25")
def test_attempts_and_waits_that_code_says_nothing_about_follow() -> None:
    @job
    def plain() -> None: ...

    @job(max_attempts=2, backoff=Backoff(base=1, cap=2))
    def own() -> None: ...

    @job(preset="payments")
    def preset() -> None: ...

    override(max_attempts=9, backoff_base_seconds=7, backoff_max_seconds=70)
    assert plain.job_type.max_attempts == 9
    assert (plain.job_type.backoff.base, plain.job_type.backoff.cap) == (7, 70)
    assert (own.job_type.max_attempts, own.job_type.backoff.base) == (2, 1)
    assert (preset.job_type.max_attempts, preset.job_type.backoff.base) == (6, 60)


@pytest.mark.spec("S1.25")
def test_a_draft_has_the_attempts_in_force_when_it_is_made() -> None:
    @job
    def plain() -> None: ...

    drafts, told = Drafts(plain.job_type, {}), Drafts(plain.job_type, {"max_attempts": 2})
    assert drafts.draft({})[0].max_attempts == 5
    override(max_attempts=9)
    assert [each.draft({})[0].max_attempts for each in (drafts, told)] == [9, 2]


def test_the_chore_that_prunes_comes_as_often_as_the_setting_in_force_says(chores: Any) -> None:
    prune = chores.prune_history.job_type
    assert prune.schedule.timetable.every == 600
    override(prune_every_seconds=120)
    assert prune.schedule.timetable.every == 120
    assert chores.roll_up_minutes.job_type.schedule.timetable.every == 60
