"""One run: where it is, what it waits for, what it was given, every attempt, its result or its error."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from jobs_app.insights import attempts, runs
from jobs_app.insights.run_documents import attempt_data, run_data, waiting_data
from jobs_app.insights.waiting import waiting_because
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.management.output import Output
from jobs_app.management.runs import attempt_rows, run_fields
from jobs_app.models import JobAttempt
from jobs_app.text import one_line


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("id", help="the id of the run")
    parser.add_argument("--log", action="store_true", help="with the log and the traceback of each attempt")


def handle(options: dict[str, Any], out: Output) -> None:
    run: Any = runs.get(options["id"])
    tries = attempts.of_run(run.pk)
    with timezone.override(UTC):  # as every moment is told here
        reasons = waiting_because(jobs_connection(), run, run.read_at)
    if out.as_json:
        told = [attempt_data(each, with_log=options["log"]) for each in tries]
        out.json({"run": run_data(run), "attempts": told, "waiting_because": waiting_data(reasons)})
        return
    out.fields(run_fields(run_data(run)))
    for reason in reasons:
        out.line(one_line(f"Waits because {reason.sentence}"))
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
