"""One run: where it is, what it waits for, what it was given, every attempt, its result or its error."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobs_app.insights import attempts, pauses, runs, windows
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.management.output import Output
from jobs_app.management.pauses import pause_text, pauses_data
from jobs_app.management.runs import attempt_data, attempt_rows, run_data, run_fields
from jobs_app.management.windows import deferral_data, deferral_text
from jobs_app.models import JobAttempt


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("id", help="the id of the run")
    parser.add_argument("--log", action="store_true", help="with the log and the traceback of each attempt")


def handle(options: dict[str, Any], out: Output) -> None:
    run: Any = runs.get(options["id"])
    tries = attempts.of_run(run.pk)
    held_by = pauses.holding(jobs_connection(), run, run.read_at)
    deferred = windows.holding(jobs_connection(), run, run.read_at)
    if out.as_json:
        told = [attempt_data(each, with_log=options["log"]) for each in tries]
        waits_for = {"pauses": pauses_data(held_by), "deferred": deferral_data(deferred)}
        out.json({"run": run_data(run), "attempts": told, **waits_for})
        return
    out.fields(run_fields(run_data(run)))
    for pause in held_by:
        out.line(pause_text(pause))
    if deferred:
        out.line(deferral_text(deferred))
    if tries:
        out.line()
        out.table(("ATTEMPT", "OUTCOME", "STARTED", "TOOK", "MESSAGE"), attempt_rows(tries))
    if options["log"]:
        for each in tries:
            _print_log(each, out)


def _print_log(attempt: JobAttempt, out: Output) -> None:
    for what, text in (("log", attempt.log_excerpt), ("traceback", attempt.traceback)):
        if text:
            out.line()
            out.line(f"{what} of attempt {attempt.number}:")
            out.line(text.rstrip())
