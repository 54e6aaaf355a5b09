"""`jobs prune`."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app.lifecycle import prune as pruning
from jobs_app.management.verbs import prune
from jobs_app.models import ControlEvent
from tests.lifecycle.history import finished, left
from tests.lifecycle.rows import at
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended, user_who_may

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(prune, "BREATH_SECONDS", 0.0)
    monkeypatch.setattr(pruning, "FIRST_SIZE", 2)
    monkeypatch.setattr(pruning, "SMALLEST_SIZE", 2)
    monkeypatch.setattr(pruning, "LARGEST_SIZE", 2)
    with at(0):
        yield


def test_what_is_old_goes_and_the_sums_are_told() -> None:
    kept = finished(1)
    finished(40, attempts=2, items=3)
    finished(100, "failed")
    data, words = jobs("prune", "--reason", "disk is full", "--actor", "cli:ann")
    assert [line.split() for line in data.splitlines()] == [
        ["WHAT", "ROWS"],
        ["runs", "2"],
        ["attempts", "3"],
        ["items", "3"],
        ["events", "0"],
        ["samples", "0"],
    ]
    assert (words, left()) == ("", {kept})
    event = ControlEvent.objects.get()
    assert (event.actor, event.action, event.reason, event.target_kind) == (
        "cli:ann",
        "prune",
        "disk is full",
        "history",
    )
    assert (event.moved, event.detail) == (8, {"runs": 2, "attempts": 3, "items": 3})


def test_a_dry_run_only_counts() -> None:
    finished(40, attempts=2)
    data, words = jobs("prune", "--dry-run")
    assert data.splitlines()[1].split() == ["runs", "1"]
    assert words == "Nothing was deleted: leave --dry-run out to do it.\n"
    told = jobs_json("prune", "--dry-run")
    assert (told["dry_run"], told["runs"], told["attempts"], told["complete"]) == (True, 1, 2, True)
    assert len(left()) == 1
    assert not ControlEvent.objects.exists()


def test_it_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.management.progress.LINE_SECONDS", 0.0)
    for _ in range(4):
        finished(40)
    _, words = jobs("prune")
    told = [line.partition(",")[0] for line in words.splitlines()]
    assert told[:2] == ["Pruning: 4", "Pruning: 8"]


def test_its_time_is_over_and_the_next_one_goes_on() -> None:
    for _ in range(5):
        finished(40)
    answer = ended("prune", "--max-time", "0.000001")
    assert (answer.code, len(left())) == (0, 3)
    assert answer.words == "The time is over and there is more: the next one goes on.\n"
    assert jobs_json("prune", "--max-time", "0.000001")["complete"] is False
    assert jobs_json("prune")["complete"] is True
    assert left() == set()


def test_where_another_process_prunes_that_is_told_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "try_lock", lambda *_: False)
    finished(40)
    answer = ended("prune")
    assert (answer.code, answer.words) == (0, "Another process prunes at this moment: it does the rest.\n")
    told = jobs_json("prune")
    assert (told["runs"], told["complete"], told["elsewhere"]) == (0, False, True)


def test_interrupted_it_says_how_far_it_came_and_so_does_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):
        finished(40)

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(prune.time, "sleep", interrupt)
    answer = ended("prune")
    assert (answer.code, answer.words) == (130, "interrupted: 4 rows were deleted.")
    assert (len(left()), ControlEvent.objects.get().detail) == (2, {"runs": 2, "attempts": 2})


def test_a_user_needs_the_permission_also_to_look() -> None:
    finished(40)
    user_who_may("retry_run")
    for more in ((), ("--dry-run",)):
        answer = ended("prune", "--actor", "ann", *more)
        assert (answer.code, answer.data) == (1, "")
        assert answer.words == "prune: ann has no permission jobs_app.prune_history."
    assert len(left()) == 1
    user_who_may("prune_history", name="bob")
    assert jobs_json("prune", "--actor", "bob")["runs"] == 1
    assert ControlEvent.objects.get().actor == "bob"
