"""Read runs, and act on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from ninja import Body, Path, Query, Router

from jobs_app.api.access import Bearer, Caller, caller_of
from jobs_app.api.answers import answers
from jobs_app.api.problems import Problem
from jobs_app.api.run_shapes import (
    ActBody,
    ActOut,
    ItemOut,
    ItemPageOut,
    ItemQuery,
    RetryBody,
    RunDetail,
    RunPageOut,
    RunQuery,
    RunSummary,
)
from jobs_app.api.shapes import Id
from jobs_app.errors import OptionInvalid, RunNotFound
from jobs_app.insights import attempts, items, run_list
from jobs_app.insights import runs as run_insights
from jobs_app.insights.budget import budget
from jobs_app.insights.run_documents import attempt_data, run_data, run_summary, waiting_data
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_order import Key
from jobs_app.insights.waiting import Reason, waiting_because
from jobs_app.lifecycle import control
from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.redaction import redact

LIST_SECONDS = 5.0
# Reasons to wait that may tell of other job types, and of other queues.
OF_OTHER_TYPES = ("key_busy", "key_limit", "queue_limit", "line")
OF_OTHER_QUEUES = ("type_limit",)

router = Router(tags=["runs"])


@router.get("/runs", auth=Bearer("read"), response=answers(RunPageOut), operation_id="list_runs")
def list_runs(request: HttpRequest, asked: Query[RunQuery]) -> RunPageOut:
    """Live and finished runs, newest first, by the page. A token for some queues or job types names one of them."""
    chosen = RunFilter.from_query(asked.model_dump(exclude={"older", "limit"}))
    caller_of(request).require_choice(queue=chosen.queue, job_type=chosen.job_type)
    connection = jobs_connection()
    with budget(connection, LIST_SECONDS):
        found = run_list.page(connection, chosen, older=_place(asked.older), size=asked.limit)
    return RunPageOut(
        runs=[RunSummary.model_validate(run_summary(run)) for run in found.runs],
        older=None if found.older is None else str(found.older),
        searched_to=found.searched_to,
    )


@router.get("/runs/{run_id}", auth=Bearer("read"), response=answers(RunDetail, 404), operation_id="get_run")
def get_run(request: HttpRequest, run_id: Path[Id]) -> RunDetail:
    """One run: where it is, what it was given, each attempt, and what it waits for."""
    caller = caller_of(request)
    run: Any = _own_run(caller, run_id)
    with timezone.override(UTC):  # as every moment is told here
        reasons = _for(caller, waiting_because(jobs_connection(), run, run.read_at))
    tried = [attempt_data(each, with_log=False) for each in attempts.of_run(run.pk)]
    return RunDetail.model_validate({"run": run_data(run), "attempts": tried, "waiting_because": waiting_data(reasons)})


@router.get("/runs/{run_id}/items", auth=Bearer("read"), response=answers(ItemPageOut, 404), operation_id="list_items")
def list_items(request: HttpRequest, run_id: Path[Id], asked: Query[ItemQuery]) -> ItemPageOut:
    """What workers reported for a run."""
    run = _own_run(caller_of(request), run_id)
    found = items.page(jobs_connection(), run.pk, after=asked.after, limit=asked.limit)
    told = [ItemOut(key=item.key, data=redact(item.data), reported_at=item.reported_at) for item in found.items]
    return ItemPageOut(items=told, after=found.after or None)


@router.post(
    "/runs/{run_id}/cancel",
    auth=Bearer("operate"),
    response=answers(ActOut, 404, 409, body=True),
    operation_id="cancel_run",
)
def cancel_run(request: HttpRequest, run_id: Path[Id], told: Body[ActBody] = ActBody()) -> ActOut:  # noqa: B008
    """End what waits; ask what runs to stop."""
    caller = caller_of(request)
    run = _own_run(caller, run_id)
    return _done(run.pk, control.cancel(run.pk, caller, told.reason))


@router.post(
    "/runs/{run_id}/retry",
    auth=Bearer("operate"),
    response=answers(ActOut, 404, 409, body=True),
    operation_id="retry_run",
)
def retry_run(request: HttpRequest, run_id: Path[Id], told: Body[RetryBody] = RetryBody()) -> ActOut:  # noqa: B008
    """Make what waits due now; run again what has ended."""
    caller = caller_of(request)
    run = _own_run(caller, run_id)
    return _done(run.pk, control.retry(run.pk, caller, told.reason, told.payload))


def _own_run(caller: Caller, run_id: str) -> Any:
    """One that the token is for; any other does not exist for it."""
    run = run_insights.get(run_id)
    if not caller.may(run.queue, run.job_type):
        raise RunNotFound(f"no run has the id {run.pk}: never enqueued, rolled back, or pruned by retention.")
    return run


def _for(caller: Caller, reasons: Sequence[Reason]) -> list[Reason]:
    """Why a run waits; to a token for some queues or job types without a word of whom it waits for."""
    hidden = (OF_OTHER_TYPES if caller.token.job_types else ()) + (OF_OTHER_QUEUES if caller.token.queues else ())
    return [replace(each, sentence="others go first", target=None) if each.kind in hidden else each for each in reasons]


def _place(text: str) -> Key | None:
    try:
        return Key.read(text) if text else None
    except ValueError as problem:
        raise OptionInvalid(f"older: {problem}.") from None


def _done(run_id: UUID, acted: Acted) -> ActOut:
    if not acted:
        why = acted.skipped.get(run_id, "is not in a state for it")
        raise Problem(409, f"nothing was changed: run {run_id} {why}.")
    note = "it runs on until it notices" if acted.asked else ""
    return ActOut(moved=len(acted.moved), run_id=acted.new_runs.get(run_id), note=note)
