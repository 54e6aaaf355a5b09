"""What a token for some queues or job types is not for does not exist for it, and nothing tells of it."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from jobs_app import trigger
from jobs_app.ids import uuid7
from jobs_app.models import Job, JobItem, Pause
from tests.api.operations import OPERATIONS, SAMPLES, ask
from tests.api.speaking import Speaker, items
from tests.api.stored import everything_stored
from tests.api.tenants import Site, Tenant, define

pytestmark = pytest.mark.django_db

KINDS = ("queues", "job_types", "both")
RUN_ACTS = ["get_run", "list_items", "cancel_run", "retry_run"]
SCHEDULE_ACTS = ["pause_schedule", "resume_schedule", "trigger_schedule"]


def speaker_of(tenant: Tenant, kind: str) -> Speaker:
    """With all scopes, for what this tenant has alone."""
    pattern = [f"{tenant.name}.*"]
    chosen = {"queues": pattern, "job_types": pattern}
    return Speaker(name=tenant.name, **(chosen if kind == "both" else {kind: chosen[kind]}))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def red(site: Site, kind: str) -> Speaker:
    return speaker_of(site.red, kind)


@pytest.fixture
def blue(site: Site, kind: str) -> Speaker:
    return speaker_of(site.blue, kind)


def on_run(speaker: Speaker, act: str, run: UUID) -> Any:
    operation = OPERATIONS[act]
    path = operation.path.format(run_id=run)
    return speaker.get(path) if operation.method == "GET" else speaker.post(path)


def on_schedule(speaker: Speaker, act: str, schedule: int) -> Any:
    return speaker.post(OPERATIONS[act].path.format(schedule_id=schedule))


@pytest.mark.parametrize("act", RUN_ACTS)
def test_a_run_of_another_is_as_one_that_never_was(act: str, site: Site, red: Speaker) -> None:
    before = everything_stored()
    for run in site.blue.runs:
        answer, nowhere = on_run(red, act, run), uuid7()
        unknown = on_run(red, act, nowhere)
        assert answer.status_code == unknown.status_code == 404
        assert answer.content.replace(str(run).encode(), b"") == unknown.content.replace(str(nowhere).encode(), b"")
    assert unchanged_since(before)


@pytest.mark.parametrize("act", RUN_ACTS)
def test_a_run_of_its_own_is_there(act: str, site: Site, red: Speaker) -> None:
    assert ask(red, act, SAMPLES[act](site.red)).status_code == 200


@pytest.mark.parametrize("said", [{}, {"done": True}, {"error": "no"}, {"release": True}, {"items": items("a")}])
def test_nobody_reports_on_a_run_of_another_even_with_its_lease_token(
    said: dict[str, Any], site: Site, red: Speaker
) -> None:
    before, nowhere = everything_stored(), uuid7()
    unknown = red.report({"job_id": str(nowhere), "token": str(site.blue.lease)}, **said)
    for run in site.blue.runs:
        answer = red.report({"job_id": str(run), "token": str(site.blue.lease)}, **said)
        assert answer.status_code == unknown.status_code == 404
        assert answer.content.replace(str(run).encode(), b"") == unknown.content.replace(str(nowhere).encode(), b"")
    assert unchanged_since(before)


def test_the_lease_token_of_another_run_reports_nothing(site: Site, red: Speaker) -> None:
    answer = red.report({"job_id": str(site.red.running), "token": str(site.blue.lease)}, done=True)
    assert answer.status_code == 409
    assert Job.objects.get(pk=site.red.running).state == "running"


def test_a_report_on_what_it_has_leased_is_taken(site: Site, red: Speaker) -> None:
    mine = {"job_id": str(site.red.running), "token": str(site.red.lease)}
    assert red.told(mine, items=items("new"))["added"] == 1
    assert JobItem.objects.filter(key="new").values_list("job_id", flat=True).get() == site.red.running


def test_each_pulls_its_own_and_nothing_else(site: Site, red: Speaker, blue: Speaker) -> None:
    assert red.job()["job_id"] == str(site.red.queued)
    assert red.pull()["job"] is None
    assert blue.job()["job_id"] == str(site.blue.queued)
    assert blue.pull()["job"] is None


def test_what_it_asks_for_widens_nothing(site: Site, red: Speaker, kind: str) -> None:
    for queues in (["*"], ["blue.*"], ["b*", "?lue.work"], ["[ab]*"]):
        told = red.pull(queues=queues)["job"]
        assert told is None or told["job_id"] == str(site.red.queued)
    if kind != "job_types":
        assert red.post("pull_job", {"worker_id": "w1", "queues": ["blue.work"]}).status_code == 403
    if kind != "queues":
        assert red.post("pull_job", {"worker_id": "w1", "job_types": ["blue.do"]}).status_code == 403
    assert Job.objects.get(pk=site.blue.queued).state == "queued"


@pytest.mark.parametrize("act", ["trigger_job", "trigger_jobs"])
def test_it_triggers_its_own_alone(act: str, site: Site, red: Speaker) -> None:
    before = everything_stored()
    for more in ({}, {"queue": site.red.queue} if red.token.job_types else {}):
        sample = SAMPLES[act](site.blue)
        assert ask(red, act, sample._replace(body={**(sample.body or {}), **more})).status_code == 403
    assert unchanged_since(before)
    assert ask(red, act, SAMPLES[act](site.red)).status_code == 200


def test_a_trigger_into_the_queue_of_another_is_refused(site: Site, red: Speaker) -> None:
    body = {"jobName": site.red.job_type, "queue": site.blue.queue}
    if red.token.queues:
        assert red.post("functions/trigger-job", body).status_code == 403
    assert not Job.objects.filter(queue=site.blue.queue, job_type=site.red.job_type).exists()


def test_a_job_type_that_is_not_its_own_is_refused_alike_whether_there_is_one_or_not(site: Site) -> None:
    red = speaker_of(site.red, "job_types")
    for path, body in (("functions/trigger-job", {}), ("functions/trigger-jobs", {"payloads": [{}]})):
        answers = [red.post(path, {"jobName": name, **body}) for name in ("blue.do", "nobody.do")]
        assert [answer.status_code for answer in answers] == [403, 403]
    for name in ("blue.do", "nobody.do"):
        answer = red.post("pull_job", {"worker_id": "w1", "job_types": [name]})
        assert (answer.status_code, "blue" in answer.json()["detail"].replace(name, "")) == (403, False)


def test_a_slip_of_the_pen_is_told_no_names_but_its_own(site: Site) -> None:
    red = speaker_of(site.red, "job_types")
    answer = red.post("pull_job", {"worker_id": "w1", "job_types": ["red.doo"]})
    assert answer.status_code == 404
    assert "red.do" in answer.json()["detail"]
    assert "blue" not in answer.json()["detail"]


@pytest.mark.parametrize("act", ["pause", "resume"])
@pytest.mark.parametrize("scope", ["all", "queue", "job_type", "subject"])
def test_it_pauses_no_more_than_it_is_for(act: str, scope: str, site: Site, red: Speaker, kind: str) -> None:
    """A queue has jobs of other types, and a job type may have jobs in other queues."""
    names = {"all": "", "queue": "{0}.slow", "job_type": "{0}.do", "subject": "{0}-subject"}
    before = list(Pause.objects.values())
    assert red.post(act, {"scope": scope, "name": names[scope].format("blue")}).status_code == 403
    own = red.post(act, {"scope": scope, "name": names[scope].format("red")})
    is_its_own = (scope, kind) in {("queue", "queues"), ("job_type", "job_types")}
    assert (own.status_code != 403) == is_its_own
    assert is_its_own or list(Pause.objects.values()) == before


@pytest.mark.parametrize("act", SCHEDULE_ACTS)
def test_schedules_of_another_do_not_exist(act: str, site: Site, red: Speaker, kind: str) -> None:
    """Which queue the jobs of a schedule will be in nobody knows: a token for queues acts on none."""
    before = everything_stored()
    answers = [on_schedule(red, act, each) for each in (site.blue.schedule, site.blue.paused_schedule, 2**40)]
    assert {answer.status_code for answer in answers} == {404 if kind == "job_types" else 403}
    assert unchanged_since(before)
    own = ask(red, act, SAMPLES[act](site.red))
    assert own.status_code == (200 if kind == "job_types" else 403)


LISTS: dict[str, list[dict[str, Any]]] = {
    "list_runs": [
        {},
        *({"queue": queue} for queue in ("blue.work", "red.work", "*", "jobs.system")),
        *({"job_type": name} for name in ("blue.do", "red.do", "*")),
        *({"queue": "red.work", "job_type": "red.do", **more} for more in ({"q": "queue:blue.work type:blue.do"}, {})),
        *({"queue": "red.work", "job_type": "red.do", "window": "all", "q": q} for q in ("blue", "payload.note:blue")),
        {"queue": "red.work", "job_type": "red.do", "subject": "blue-subject"},
    ],
    "list_queues": [{}],
    "stats": [{}],
    "list_schedules": [{}, {"job_type": "blue.do"}, {"job_type": "red.do", "subject": "blue-subject"}],
    "pull_job": [{"worker_id": "w1"}, {"worker_id": "w1", "queues": "*"}],
}


@pytest.mark.parametrize("act", sorted(LISTS))
def test_no_list_no_count_and_no_refusal_tells_of_another(act: str, site: Site, red: Speaker) -> None:
    for query in LISTS[act]:
        answer = red.get(OPERATIONS[act].path, **query)
        told = answer.content.decode()
        for own in re.findall(r"[\w.*]+", " ".join(query.values())):  # what it said itself may be repeated
            told = told.replace(own, "")
        assert answer.status_code in (200, 403), query
        assert "blue" not in told, query


def test_a_list_is_of_its_own_runs_alone(site: Site, red: Speaker) -> None:
    found = ask(red, "list_runs", SAMPLES["list_runs"](site.red)).json()["runs"]
    assert {run["id"] for run in found} == set(map(str, site.red.runs))
    for run in site.blue.runs:
        for query in ({"q": str(run)}, {"parent": str(run)}):
            answer = red.get("runs", queue=site.red.queue, job_type=site.red.job_type, **query)
            assert answer.json()["runs"] == []


def test_numbers_of_queues_are_told_by_queue_to_who_has_the_whole_queue(site: Site, red: Speaker, kind: str) -> None:
    answer = red.get("queues")
    if kind == "queues":
        assert {each["queue"] for each in answer.json()["queues"]} == {"red.work"}
    else:  # they would count jobs of other types
        assert answer.status_code == 403
    assert red.get("stats").status_code == 403


def test_what_a_run_waits_for_tells_nothing_of_other_job_types(site: Site) -> None:
    """They share a queue and a key: the one that waits hears that, and not for whom."""
    for name in ("blue.single", "red.single"):
        define(name, queue="shared", singleton="note")
    first, second = (str(trigger(name, {"note": "k"}).id) for name in ("blue.single", "red.single"))
    unrestricted, red = Speaker(), speaker_of(site.red, "job_types")
    assert unrestricted.job(queues=["shared"])["job_id"] == first
    told = unrestricted.get(f"runs/{second}").json()["waiting_because"]
    assert "blue.single" in str(told)
    told = red.get(f"runs/{second}").json()["waiting_because"]
    assert told
    assert "blue" not in str(told)
    assert first not in str(told)


def test_idempotency_keys_of_two_tokens_have_nothing_to_do_with_each_other(site: Site) -> None:
    one, other = Speaker(queues=["red.*"]), Speaker(queues=["red.work"])
    body = {"jobName": site.red.job_type, "payload": {"number": 1}, "idempotency_key": "order-7"}
    first, second = (speaker.post("functions/trigger-job", body).json() for speaker in (one, other))
    assert first["created"]
    assert second["created"]
    assert first["runId"] != second["runId"]
    assert one.post("functions/trigger-job", body).json() == {**first, "created": False}
    assert one.post("functions/trigger-job", {**body, "payload": {"number": 2}}).status_code == 409


def unchanged_since(before: dict[str, list[dict[str, Any]]]) -> bool:
    """But for the note that the token was used."""
    after = everything_stored()
    for table in (before, after):
        table["ApiToken"] = [{**row, "last_used_at": None} for row in table["ApiToken"]]
    return after == before
