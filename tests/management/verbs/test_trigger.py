"""`jobs trigger`."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from jobs_app import handles, job
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.management.verbs import trigger
from jobs_app.models import Job
from tests.by_hand import HandWorker
from tests.management.calling import jobs, jobs_json

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def greet() -> Any:
    @job(max_attempts=1)
    def greet(name: str = "you") -> dict[str, str]:
        if name == "nobody":
            raise ValueError("there is nobody")
        return {"text": f"Hello, {name}!", "token": "t"}

    return greet


@pytest.fixture
def worked_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker takes the next job while somebody waits."""
    monkeypatch.setattr(handles.time, "sleep", lambda seconds: HandWorker().work())


def test_it_prints_the_id_and_nothing_else() -> None:
    data, words = jobs("trigger", "greet", "--payload", '{"name": "Ada"}')
    stored = Job.objects.get(pk=UUID(data.strip()))
    assert (stored.job_type, stored.payload, words) == ("greet", {"name": "Ada"}, "")


@pytest.mark.spec("S2.29")
def test_options_are_those_of_an_enqueue() -> None:
    with frozen_clock(NOON):
        jobs("trigger", "greet", "--subject=t-1", "--delay=5m", "--priority=-7", "--key=k", "--actor=cli:ada")
        jobs("trigger", "greet", "--at", "2026-02-01T09:00:00+01:00")
    late, later = Job.objects.order_by("run_at")
    assert (late.subject, late.priority, late.key, late.actor) == ("t-1", -7, "k", "cli:ada")
    assert late.run_at == NOON + timedelta(minutes=5)
    assert later.run_at == datetime(2026, 2, 1, 8, tzinfo=UTC)


def test_who_asks_is_the_user_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    jobs("trigger", "greet")
    assert Job.objects.get().actor == "cli:grace"


def test_the_payload_comes_from_a_file_or_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "payload.json").write_text('{"name": "Zoë"}', encoding="utf-8")
    jobs("trigger", "greet", "--payload", f"@{tmp_path / 'payload.json'}")
    assert Job.objects.get().payload == {"name": "Zoë"}
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"name": "Grace"}'))
    assert trigger.read_payload("-") == {"name": "Grace"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gret"], "Did you mean 'greet'"),
        (["greet", "--payload", "{"], "the payload is not JSON"),
        (["greet", "--payload", "[1]"], "is a JSON object"),
        (["greet", "--payload", '{"nam": "x"}'], "nam"),
        (["greet", "--payload", '{"name": 7}'], "name"),
        (["greet", "--payload", "@/no/such/file"], "cannot be read"),
        (["greet", "--priority", "101"], "priority"),
        (["greet", "--delay", "1", "--at", "2026-02-01T09:00:00Z"], "both say when"),
    ],
)
def test_what_cannot_be_enqueued_is_refused_and_nothing_stored(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        jobs("trigger", *arguments)
    assert caught.value.returncode == 1
    assert not Job.objects.exists()


def test_an_idempotency_key_gives_the_same_run_again() -> None:
    first, _ = jobs("trigger", "greet", "--idempotency-key", "k-1")
    second, words = jobs("trigger", "greet", "--idempotency-key", "k-1")
    assert first == second
    assert "used for before" in words
    assert jobs_json("trigger", "greet", "--idempotency-key", "k-1")["created"] is False


def test_json_is_the_run() -> None:
    told = jobs_json("trigger", "greet", "--payload", '{"name": "Ada"}')
    assert (told["schema"], told["created"]) == (1, True)
    assert (told["run"]["status"], told["run"]["payload"]) == ("queued", {"name": "Ada"})


@pytest.mark.usefixtures("worked_off")
def test_waiting_ends_with_the_result_and_secrets_hidden() -> None:
    data, words = jobs("trigger", "greet", "--wait")
    run_id, result = data.splitlines()
    assert UUID(run_id)
    assert json.loads(result) == {"text": "Hello, you!", "token": "[hidden]"}
    assert words.startswith("succeeded after")
    told = jobs_json("trigger", "greet", "--wait")
    assert told["run"]["result"] == {"text": "Hello, you!", "token": "[hidden]"}


@pytest.mark.usefixtures("worked_off")
def test_waiting_for_a_run_that_fails_is_exit_code_6() -> None:
    with pytest.raises(CommandError, match="failed: there is nobody") as caught:
        jobs("trigger", "greet", "--payload", '{"name": "nobody"}', "--wait")
    assert caught.value.returncode == 6


def test_waiting_too_long_is_exit_code_5_and_the_id_is_printed_all_the_same(capsys: Any) -> None:
    with pytest.raises(CommandError, match="is still queued, and goes on") as caught:
        call_command("jobs", "trigger", "greet", "--wait", "--timeout", "0.01")
    assert caught.value.returncode == 5
    assert UUID(capsys.readouterr().out.strip()) == Job.objects.get().pk
