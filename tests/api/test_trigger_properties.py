"""Whatever JSON is sent as the payload of a job: exactly one run is stored, or nothing is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs_app import job
from jobs_app.models import Job
from tests.api.speaking import ROOT, Speaker
from tests.api.stored import everything_stored

pytestmark = pytest.mark.django_db

# Any character that JSON can spell, halves of surrogate pairs and NUL among them.
texts = st.text(st.characters(codec=None), max_size=20)
numbers = st.integers() | st.integers(-(10**400), 10**400) | st.floats()
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)
# Some that fit one of the job types, and some that fit none.
fitting = st.fixed_dictionaries({}, optional={"number": numbers, "note": texts, "data": values, "when": texts})
payloads = st.dictionaries(texts, values, max_size=5) | fitting | values

steady = settings(max_examples=50, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def speaker(settings: Any) -> Speaker:
    settings.JOBS = {"API_REQUESTS_PER_MINUTE": 0}

    @job(name="typed")
    def typed(number: int = 0, note: str = "") -> None: ...

    @job(name="open", subject="note")
    def open_to_all(note: str = "", data: Any = None, **others: Any) -> None: ...

    speaker = Speaker("trigger", "read")
    speaker.get("runs")  # so that its use is noted before
    return speaker


def send(speaker: Speaker, path: str, body: dict[str, Any]) -> Any:
    return speaker.client.post(ROOT + path, json.dumps(body).encode(), "application/json")


def what_is_new(before: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    after = everything_stored()
    return {table: len(rows) - len(before[table]) for table, rows in after.items() if rows != before[table]}


@steady
@given(payload=payloads, name=st.sampled_from(["typed", "open"]))
def test_one_run_is_stored_or_nothing_is(payload: Any, name: str, speaker: Speaker) -> None:
    before = everything_stored()
    answer = send(speaker, "functions/trigger-job", {"jobName": name, "payload": payload})
    if answer.status_code == 422:
        assert what_is_new(before) == {}
        return
    assert answer.status_code == 200, answer.content
    assert what_is_new(before) == {"Job": 1, "ControlEvent": 1}
    run = Job.objects.get(pk=answer.json()["runId"])
    assert all(is_same(run.payload[key], value) for key, value in payload.items())
    assert speaker.get(f"runs/{run.pk}").status_code == 200


@steady
@given(many=st.lists(payloads, max_size=4))
def test_of_many_all_are_stored_or_none_is(many: list[Any], speaker: Speaker) -> None:
    before = everything_stored()
    answer = send(speaker, "functions/trigger-jobs", {"jobName": "open", "payloads": many})
    if answer.status_code == 422:
        assert what_is_new(before) == {}
        return
    assert answer.status_code == 200, answer.content
    assert what_is_new(before) == {"Job": len(many), "ControlEvent": 1}
    assert len(set(answer.json()["runIds"])) == len(many)


@steady
@given(body=st.dictionaries(st.sampled_from(["jobName", "payload", "subject", "key", "priority", "reason"]), values))
def test_no_body_stores_half_of_anything(body: dict[str, Any], speaker: Speaker) -> None:
    before = everything_stored()
    status = send(speaker, "functions/trigger-job", {"jobName": "open", **body}).status_code
    assert status in (200, 404, 422)
    assert what_is_new(before) == ({"Job": 1, "ControlEvent": 1} if status == 200 else {})


def is_same(stored: Any, sent: Any) -> bool:
    """Numbers of PostgreSQL's JSON are exact decimals: a large float comes back as the whole number that it names."""
    if isinstance(sent, float) or isinstance(stored, float):
        return float(stored) == float(sent)
    if isinstance(sent, dict):
        return stored.keys() == sent.keys() and all(is_same(stored[key], sent[key]) for key in sent)
    if isinstance(sent, list):
        return len(stored) == len(sent) and all(map(is_same, stored, sent))
    return bool(stored == sent)
