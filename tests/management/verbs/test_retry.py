"""`jobs retry`; and what it has in common with `cancel` and `abort`."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs_app import job
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import runs as runs_module
from jobs_app.management import wanted_runs
from jobs_app.models import ControlEvent, Job
from tests.insights.run_rows import ago, ended, running, waiting
from tests.lifecycle.rows import at
from tests.management.calling import jobs, jobs_json
from tests.management.ending import ended as ended_with
from tests.management.ending import user_who_may

pytestmark = pytest.mark.django_db

FAILED = ("--state", "failed")
bulk_module = import_module("jobs_app.lifecycle.control.bulk")  # the package has a function of that name


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


@pytest.fixture(autouse=True)
def types() -> None:
    job(name="work")(lambda: None)
    job(name="guarded", permission="auth.view_user")(lambda: None)


def repeated() -> set[UUID | None]:
    return set(Job.objects.exclude(parent=None).values_list("parent", flat=True))


def say(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits at the terminal, and types this."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(text))


def test_by_id_it_tells_the_new_run() -> None:
    run = ended(state="failed")
    data, words = jobs("retry", run, "--reason", "it is back", "--actor", "cli:ann")
    new = Job.objects.get(parent=run)
    assert [line.split() for line in data.splitlines()] == [
        ["RUN", "NOW", "NOTE"],
        [str(run), "retried", "as", str(new.pk)],
    ]
    assert words == ""
    event = ControlEvent.objects.get()
    assert (event.action, event.actor, event.reason, event.moved) == ("retry", "cli:ann", "it is back", 1)


def test_what_is_skipped_is_told_and_exit_code_4() -> None:
    run, busy, nobody = ended(state="failed"), running(), uuid4()
    answer = ended_with("retry", run, busy, nobody)
    assert answer.code == 4
    assert answer.words == "1 retried, 2 skipped: 1 runs on worker worker-1; 1 does not exist."
    assert [line.split()[1] for line in answer.data.splitlines()[1:]] == ["retried", "skipped", "skipped"]
    told = ended_with("retry", run, busy, "--format", "json")
    assert (told.code, told.json["verb"], told.json["dry_run"], told.json["asked"]) == (4, "retry", False, [])
    assert (told.json["moved"], list(told.json["new_runs"])) == ([str(run)], [str(run)])
    assert told.json["skipped"] == {str(busy): "runs on worker worker-1"}


def test_a_filter_repeats_what_failed_and_was_not_run_again_since() -> None:
    again, once, _ = ended(state="failed"), ended(state="failed"), ended()
    control.retry(again, "ann")
    data, words = jobs("retry", *FAILED, "--job-type", "work", "--yes")
    assert (data, words) == ("1 run retried.\n", "")
    assert repeated() == {again, once}
    assert ControlEvent.objects.latest("pk").detail["filter"]["job_type"] == "work"
    assert jobs("retry", *FAILED, "--yes")[0] == "0 runs retried.\n"
    assert jobs_json("retry", *FAILED, "--yes")["moved"] == []


def test_a_filter_is_of_the_last_day_unless_a_time_is_given() -> None:
    ended(ago(days=3), state="failed")
    assert jobs("retry", *FAILED, "--yes")[0] == "0 runs retried.\n"
    assert jobs("retry", *FAILED, "--since", "7d", "--yes")[0] == "1 run retried.\n"


def test_no_more_than_the_limit() -> None:
    for minute in range(5):
        ended(ago(minutes=minute), state="failed")
    assert jobs("retry", *FAILED, "--limit", 2, "--yes")[0] == "2 runs retried.\n"
    assert jobs("retry", *FAILED, "--limit", 9, "--yes")[0] == "3 runs retried.\n"
    assert len(repeated()) == 5


@pytest.mark.parametrize("limit", [None, 5])
def test_many_are_done_part_by_part(limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_module, "RUNS_PER_CHUNK", 2)
    monkeypatch.setattr("jobs_app.management.progress.LINE_SECONDS", 0.0)
    for minute in range(7):
        ended(ago(minutes=minute), state="failed")
    asked = 7 if limit is None else limit
    data, words = jobs("retry", *FAILED, "--yes", *(["--limit", limit] if limit else []))
    assert data == f"{asked} runs retried.\n"
    told = [line.partition(",")[0] for line in words.splitlines()]
    assert told[:2] == [f"Retrying: 2 of {asked}", f"Retrying: 4 of {asked}"]
    assert ControlEvent.objects.filter(action="retry").count() == (asked + 1) // 2


def test_interrupted_it_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [ended(state="failed") for _ in range(3)]
    monkeypatch.setattr(wanted_runs, "RUNS_PER_CHUNK", 1)
    real, calls = runs_module._once, []

    def interrupted(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(runs_module, "_once", interrupted)
    answer = ended_with("retry", *runs)
    assert (answer.code, answer.data) == (130, "")
    assert answer.words == "interrupted: 2 runs retried. The others are as they were."
    assert repeated() == set(runs[:2])


def test_a_dry_run_counts_and_shows_ten() -> None:
    for minute in range(12):
        ended(ago(minutes=minute), state="failed")
    ended(ago(hours=1), state="failed", job_type="gone")
    answer = ended_with("retry", *FAILED, "--dry-run")
    assert (answer.code, len(answer.data.splitlines())) == (0, 11)
    assert answer.words.splitlines() == [
        "13 runs to retry; nothing was changed.",
        "1 would be skipped: is of job type 'gone', which is not registered",
    ]
    told = jobs_json("retry", *FAILED, "--dry-run", "--limit", 3)
    assert (told["dry_run"], told["count"], told["capped"], len(told["sample"])) == (True, 3, False, 3)
    assert told["would_skip"] == {}
    assert repeated() == set()
    assert not ControlEvent.objects.exists()


def test_a_dry_run_of_ids_tells_what_would_be_skipped() -> None:
    told = jobs_json("retry", ended(state="failed"), running(), uuid4(), "--dry-run")
    assert (told["count"], told["would_skip"]) == (2, {"runs on worker worker-1": 1, "does not exist": 1})
    told = jobs_json("cancel", ended(state="failed"), waiting(), "--dry-run")
    assert (told["count"], told["would_skip"]) == (2, {"has already failed": 1})


def test_nothing_there_is_exit_code_3_where_it_matters() -> None:
    assert ended_with("retry", *FAILED, "--yes").code == 0
    for more in ((), ("--dry-run",), ("--format", "json")):
        assert ended_with("retry", *FAILED, "--yes", "--fail-if-empty", *more).code == 3


@pytest.mark.parametrize(
    "arguments", [[], ["--since", "2h"], ["00000000-0000-0000-0000-000000000007", *FAILED], ["--limit", "5"]]
)
def test_an_empty_filter_and_two_ways_at_once_are_wrong_usage(arguments: list[str]) -> None:
    ended(state="failed")
    answer = ended_with("retry", *arguments, "--yes")
    assert (answer.code, answer.data, repeated()) == (2, "", set())
    assert "ids" in answer.words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["x"], "'x' is not the id of a run"), (["--state", "running"], "nothing can be done with runs that are running")],
)
def test_what_cannot_be_is_refused(arguments: list[str], message: str) -> None:
    answer = ended_with("retry", *arguments, "--yes")
    assert answer.code == 1
    assert message in answer.words


def test_a_filter_is_confirmed_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    ended(state="failed")
    say("no\n", monkeypatch)
    answer = ended_with("retry", *FAILED)
    assert (answer.code, answer.words) == (1, "Retry 1 run? Type yes to do it:\nnothing was changed.")
    assert repeated() == set()
    say("yes\n", monkeypatch)
    assert jobs("retry", *FAILED)[0] == "1 run retried.\n"


def test_where_nobody_can_be_asked_it_has_to_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    ended(state="failed")
    answer = ended_with("retry", *FAILED)
    assert (answer.code, repeated()) == (2, set())
    assert "say --yes, or look with --dry-run" in answer.words


def test_a_user_needs_the_permission_also_to_look() -> None:
    run = ended(state="failed")
    user_who_may("cancel_run")
    for arguments in ([run], [*FAILED, "--yes"], [*FAILED, "--dry-run"]):
        answer = ended_with("retry", *arguments, "--actor", "ann")
        assert (answer.code, answer.data) == (1, "")
        assert answer.words == "retry: ann has no permission jobs_app.retry_run."
    assert repeated() == set()


def test_a_user_needs_what_the_job_type_asks_for_too() -> None:
    guarded = ended(state="failed", job_type="guarded")
    user_who_may("retry_run")
    looked = jobs_json("retry", *FAILED, "--dry-run", "--actor", "ann")
    assert looked["would_skip"] == {"needs the permission auth.view_user": 1}
    assert jobs_json("retry", *FAILED, "--dry-run")["would_skip"] == {}
    answer = ended_with("retry", *FAILED, "--yes", "--actor", "ann")
    assert (answer.code, repeated()) == (4, set())
    assert "1 needs the permission auth.view_user" in answer.words
    assert ended_with("retry", guarded).code == 0


def test_who_may_not_see_payloads_cannot_guess_at_them() -> None:
    ended(state="failed", payload={"n": 1})
    user_who_may("retry_run")
    answer = ended_with("retry", "--query", "payload.n:1", "--dry-run", "--actor", "ann")
    assert (answer.code, answer.words) == (1, "retry: ann has no permission jobs_app.view_payload.")
    assert jobs_json("retry", "--query", "payload.n:1", "--dry-run")["count"] == 1
