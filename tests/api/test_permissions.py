"""What only a token that names it may start, and what no token may touch."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from jobs_app.models import Job, JobRun, Pause, ScheduleState
from jobs_app.registry import SYSTEM_QUEUE, registry
from tests.api.speaking import Speaker
from tests.api.stored import everything_stored
from tests.api.tenants import define
from tests.lifecycle.rows import done, take

pytestmark = pytest.mark.django_db

NAMED = ["refund"]
NOT_NAMED = [[], ["*"], ["re*"], ["refun?"], ["repay", "re*"]]


@pytest.fixture
def refund() -> Any:
    define("repay", queue="money")
    return define("refund", queue="money", permission="shop.refund")


def schedule_of(job_type: str, **columns: Any) -> ScheduleState:
    now = timezone.now()
    return ScheduleState.objects.create(job_type=job_type, interval_seconds=3600, next_run_at=now, **columns)


def failed(work: Any) -> str:
    work.enqueue()
    [claimed] = take(1, job_types=[work.name])
    done(claimed, "failed")
    return str(claimed.id)


@pytest.mark.parametrize("job_types", NOT_NAMED)
def test_a_job_type_with_a_permission_is_triggered_only_by_a_token_that_names_it(
    job_types: list[str], refund: Any
) -> None:
    speaker = Speaker(job_types=job_types)
    for path, body in (("functions/trigger-job", {}), ("functions/trigger-jobs", {"payloads": [{}]})):
        answer = speaker.post(path, {"jobName": "refund", **body})
        assert answer.status_code == 403
        assert "shop.refund" in answer.json()["detail"]
    assert not Job.objects.exists()


def test_a_token_that_names_it_triggers_it(refund: Any) -> None:
    speaker = Speaker(job_types=NAMED)
    assert speaker.post("functions/trigger-job", {"jobName": "refund"}).status_code == 200
    assert speaker.post("functions/trigger-jobs", {"jobName": "refund", "payloads": [{}]}).status_code == 200


@pytest.mark.parametrize("job_types", [*NOT_NAMED, NAMED])
def test_nor_is_it_run_again_made_due_or_its_schedule_triggered_by_any_other(job_types: list[str], refund: Any) -> None:
    speaker, again = Speaker(job_types=job_types), failed(refund)
    later, row = str(refund.options(delay="1h").enqueue().id), schedule_of("refund")
    may = job_types == NAMED
    for path in (f"runs/{again}/retry", f"runs/{later}/retry", f"schedules/{row.pk}/trigger"):
        answer = speaker.post(path)
        assert answer.status_code == (200 if may else 409), path
        assert may or "shop.refund" in answer.json()["detail"]


def test_what_one_type_permits_is_no_scope(refund: Any) -> None:
    """A permission of the app itself, asked for by a job type, opens nothing but that type."""
    define("odd", queue="money", permission="jobs_app.pause_all")
    speaker = Speaker("trigger", job_types=["odd"])
    assert speaker.post("functions/trigger-job", {"jobName": "odd"}).status_code == 200
    assert speaker.post("pause", {"scope": "all"}).status_code == 403
    assert not Pause.objects.exists()


def chore_speakers() -> list[Speaker]:
    """Whatever their patterns say."""
    return [Speaker(), Speaker(job_types=["*"]), Speaker(queues=["*"]), Speaker(job_types=["j*"], queues=["job*"])]


def test_the_apps_own_chores_are_given_to_no_remote_worker(chores: Any) -> None:
    names = [name for name in registry.names() if name.startswith("jobs.")]
    assert names
    for name in names:
        Job.objects.create(**chore(name))
    for speaker in chore_speakers():
        assert speaker.pull()["job"] is None
        assert speaker.pull(queues=["*"])["job"] is None
        assert speaker.post("pull_job", {"worker_id": "w1", "queues": [SYSTEM_QUEUE]}).status_code == 403
        assert speaker.post("pull_job", {"worker_id": "w1", "job_types": names}).status_code == 403
    assert not Job.objects.exclude(state="queued").exists()


def test_the_apps_own_chores_are_triggered_paused_and_touched_by_no_token(chores: Any) -> None:
    name = next(name for name in registry.names() if name.startswith("jobs."))
    live, row = Job.objects.create(**chore(name)).pk, schedule_of(name, paused=True)
    ended = JobRun.objects.create(
        **chore(name) | {"state": "failed", "finished_at": timezone.now(), "worker_id": "w", "outcome": "error"}
    ).pk
    define("plain")
    before = everything_stored()
    speakers = chore_speakers()
    stored = {**before, "ApiToken": None, "ControlEvent": None}
    for speaker in speakers:
        for path, body in (
            ("functions/trigger-job", {"jobName": name}),
            ("functions/trigger-jobs", {"jobName": name, "payloads": [{}]}),
            ("functions/trigger-job", {"jobName": "plain", "queue": SYSTEM_QUEUE}),
            *((act, {"scope": "queue", "name": SYSTEM_QUEUE}) for act in ("pause", "resume")),
            *((act, {"scope": "job_type", "name": name}) for act in ("pause", "resume")),
        ):
            assert speaker.post(path, body).status_code == 403, path
        for run in (live, ended):
            assert speaker.get(f"runs/{run}").status_code == 404
            assert {speaker.post(f"runs/{run}/{act}").status_code for act in ("cancel", "retry")} == {404}
        for act in ("pause", "resume", "trigger"):
            assert speaker.post(f"schedules/{row.pk}/{act}").status_code in (403, 404)
    assert {**everything_stored(), "ApiToken": None, "ControlEvent": None} == stored


def chore(name: str) -> dict[str, Any]:
    now = timezone.now()
    return {
        "state": "queued",
        "job_type": name,
        "queue": SYSTEM_QUEUE,
        "queued_at": now,
        "run_at": now,
        "max_attempts": 3,
        "payload": {},
    }
