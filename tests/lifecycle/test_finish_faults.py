"""What cannot be stored costs the others nothing, and its own outcome is stored all the same."""

from __future__ import annotations

import math
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs_app.lifecycle import finish as module
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.heartbeat import Progress, save_progress
from jobs_app.models import ControlEvent, Job, JobAttempt, JobRun
from tests.lifecycle.rows import attempts_of, ended, one_running, stored, tables, take

pytestmark = pytest.mark.django_db(transaction=True)

NUL, HALF = "a\0b", "a\ud800b"  # what PostgreSQL, and what UTF-8 cannot hold
DEEP = "[" * 100_000 + "]" * 100_000
FAULTS: dict[str, dict[str, Any]] = {
    "NUL in the result": {"result": '"a\\u0000b"'},
    "broken result": {"result": '{"a": '},
    "result that is no JSON": {"result": "NaN"},
    "result too deep": {"result": DEEP},
    "number too large": {"result": "1e1000000"},
    "half a surrogate pair in the result": {"result": f'"{HALF}"'},
    "NUL in the error": {"error": NUL},
    "half a surrogate pair in the error": {"error": HALF},
    "NUL in the log": {"log": NUL},
    "half a surrogate pair in the log": {"log": HALF},
    "NUL in the traceback": {"traceback": NUL},
    "NUL in the class": {"error_class": NUL},
    "class too long": {"error_class": "x" * 500},
    "everything": {"error": HALF, "error_class": NUL * 200, "traceback": HALF, "log": NUL, "result": DEEP},
}


@pytest.mark.parametrize("state", ["succeeded", "failed", "queued"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.spec("S2.21")
def test_one_bad_row_costs_the_others_nothing_and_its_outcome_is_stored(fault: str, state: str) -> None:
    stored(9)
    jobs = take(9)
    reports = [ended(job, result=f'{{"n": {number}}}', log="fine") for number, job in enumerate(jobs)]
    bad = reports[5] = ended(jobs[5], state, **FAULTS[fault])
    assert finish(connection, reports) == {job.id for job in jobs}
    assert [attempt.outcome for attempt in attempts_of(bad.id)] == [bad.outcome]
    found = JobRun.objects.filter(pk=bad.id) if state != "queued" else Job.objects.filter(pk=bad.id)
    assert found.get().state == state
    others = dict(JobRun.objects.exclude(pk=bad.id).values_list("id", "result"))
    assert others == {job.id: {"n": number} for number, job in enumerate(jobs) if number != 5}
    assert set(JobAttempt.objects.exclude(job_id=bad.id).values_list("log_excerpt", flat=True)) == {"fine"}


@pytest.mark.parametrize("fault", ["broken result", "result too deep", "half a surrogate pair in the result"])
def test_the_reason_stands_where_the_result_would_be(fault: str) -> None:
    job = one_running()
    assert finish(connection, [ended(job, **FAULTS[fault])]) == {job.id}
    reason = JobRun.objects.get().result["not_stored"]
    assert reason.startswith("could not be stored: ")
    assert attempts_of(job.id)[0].log_excerpt == f"log, traceback and result {reason}"


def test_a_hosts_transaction_goes_on_after_a_row_that_is_refused() -> None:
    stored(3)
    jobs = take(3)
    with transaction.atomic():
        ControlEvent.objects.create(action="the host's own")
        assert finish(connection, [ended(job, result="{" if job is jobs[1] else "7") for job in jobs]) == {
            job.id for job in jobs
        }
    assert ControlEvent.objects.exists()
    results = dict(JobRun.objects.values_list("id", "result"))
    assert (results[jobs[0].id], results[jobs[2].id]) == (7, 7)
    assert "not_stored" in results[jobs[1].id]


def test_a_batch_in_which_everything_is_bad_is_stored_row_by_row() -> None:
    stored(5)
    jobs = take(5)
    assert len(finish(connection, [ended(job, result="{") for job in jobs])) == 5
    assert all("not_stored" in result for result in JobRun.objects.values_list("result", flat=True))


@pytest.mark.parametrize("delay", [1e12, 1e18, 1e300, math.inf])
def test_a_wait_beyond_all_calendars_is_a_long_wait(delay: float) -> None:
    job = one_running()
    assert finish(connection, [ended(job, "queued", delay=delay)]) == {job.id}
    assert 2100 < Job.objects.get().run_at.year < 2200


def test_what_is_wrong_with_the_server_is_not_blamed_on_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def down(_: Any, ended: list[Any], **options: Any) -> Any:
        tries.append(len(ended))
        raise OperationalError("the database system is shutting down")

    stored(4)
    reports = [ended(job) for job in take(4)]
    before = tables()
    monkeypatch.setattr(module, "_store", down)
    with pytest.raises(OperationalError):
        finish(connection, reports)
    assert tries == [4]
    assert tables() == before


def test_large_results_are_spread_over_more_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    store = module._store

    def noting(connection: Any, ended: list[Any], **options: Any) -> Any:
        sizes.append(sum(len(one.result) for one in ended))
        return store(connection, ended, **options)

    monkeypatch.setattr(module, "_store", noting)
    monkeypatch.setattr(module, "BYTES_PER_STATEMENT", 2500)
    stored(10)
    jobs = take(10)
    assert len(finish(connection, [ended(job, result=f'"{"x" * 998}"') for job in jobs])) == 10
    assert sum(sizes) == 10_000
    assert max(sizes) <= 2500
    huge = one_running()
    assert finish(connection, [ended(huge, result=f'"{"x" * 9998}"')]) == {huge.id}
    assert len(JobRun.objects.get(pk=huge.id).result) == 9998


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    error=st.text(st.characters(exclude_categories=())),
    log=st.text(st.characters(exclude_categories=())),
    result=st.none() | st.text(st.characters(exclude_categories=())),
    state=st.sampled_from(["succeeded", "failed", "queued"]),
)
def test_whatever_a_report_holds_its_state_is_reached(error: str, log: str, result: str | None, state: str) -> None:
    Job.objects.all().delete()
    job = one_running()
    assert finish(connection, [ended(job, state, error=error, log=log, result=result)]) == {job.id}
    [attempt] = attempts_of(job.id)
    assert attempt.outcome == ended(job, state).outcome
    assert tables()


PROGRESS = Progress(id=None, token=None, cursor="c", progress_count=3, result_count=2, target_count=9, message="m")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fault",
    [
        {"cursor": NUL},
        {"cursor": HALF},
        {"message": HALF},
        {"progress_count": 2**70},
        {"meta": "{"},
    ],
    ids=["NUL", "half a surrogate pair", "in the message", "too large a count", "broken meta"],
)
def test_one_bad_word_of_progress_costs_the_others_nothing(fault: dict[str, Any]) -> None:
    stored(5)
    jobs = take(5)
    reports = [PROGRESS._replace(id=job.id, token=job.token) for job in jobs]
    reports[2] = reports[2]._replace(**fault)
    save_progress(connection, reports)
    saved = Job.objects.exclude(pk=jobs[2].id).values_list("cursor", "progress_count", "result_count", "target_count")
    assert list(saved) == [("c", 3, 2, 9)] * 4
    assert Job.objects.get(pk=jobs[2].id).state == "running"
