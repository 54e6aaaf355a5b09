"""Enqueue a job by the name of its type; print the id of its run."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app import durations
from jobs_app.errors import WaitTimeout
from jobs_app.handles import RunHandle
from jobs_app.insights import runs
from jobs_app.insights.run_documents import run_data
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.arguments import moment, period, seconds
from jobs_app.management.exit_codes import AWAITED_RUN_FAILED, WAIT_TIMED_OUT
from jobs_app.management.output import Output, shown
from jobs_app.redaction import redact
from jobs_app.strict_json import loads
from jobs_app.triggering import trigger

WAIT_SECONDS = 60.0
OPTIONS = {"subject": "subject", "at": "run_at", "delay": "delay", "priority": "priority", "key": "key"}
OPTIONS |= {"idempotency_key": "idempotency_key", "actor": "actor", "reason": "reason"}  # name here: name in Python


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("name", help="the name of the job type")
    add("--payload", default="{}", metavar="JSON", help="a JSON object, @file to read it from, or - for standard input")
    add("--subject", help="what the job is about")
    add("--at", type=moment, metavar="TIME", help="not before this time, as 2026-01-31T09:00:00Z")
    add("--delay", type=seconds, help="not before so many seconds from now; also 5m, 1h")
    add("--priority", type=int, help="from -100 to 100, higher is sooner")
    add("--key", help="jobs with the same key are subject to the type's policy together")
    add("--idempotency-key", metavar="KEY", help="used before: give that run instead of a new one")
    add_act_arguments(parser)
    add("--wait", action="store_true", help="until the run has ended; exit code 6 if it did not succeed")
    add("--timeout", type=period, default=WAIT_SECONDS, help="how long to --wait, %(default)g s; then exit code 5")


def handle(options: dict[str, Any], out: Output) -> None:
    payload = read_payload(options["payload"])
    chosen: Any = {theirs: options[ours] for ours, theirs in OPTIONS.items()}
    run = trigger(options["name"], payload, **chosen)
    if not out.as_json:
        out.line(str(run.id))
    if not run.created:
        out.note("This is the run that its key or idempotency key was used for before; nothing new was stored.")
    if options["wait"]:
        _wait(run, options["timeout"])
    if out.as_json:
        out.json({"created": run.created, "run": run_data(runs.get(run.id))})
    if options["wait"]:
        _tell_end(run, out)


def read_payload(text: str) -> dict[str, Any]:
    """JSON as it is given, from a file (`@name`) or from standard input (`-`)."""
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the payload cannot be read: {error}") from None
    payload = loads(text)
    if not isinstance(payload, dict):
        raise CommandError(f'the payload is a JSON object, as {{"user_id": 7}}, not {text[:50]!r}.')
    return payload


def _wait(run: RunHandle, timeout: float) -> None:
    with suppress(WaitTimeout):  # told by the state the run is left in
        run.wait(timeout)


def _tell_end(run: RunHandle, out: Output) -> None:
    if not run.is_finished:
        text = f"run {run.id} is still {run.status}, and goes on. See it with manage.py jobs show {run.id}"
        raise CommandError(text, returncode=WAIT_TIMED_OUT)
    if run.status != "succeeded":
        raise CommandError(f"run {run.id} {run.status}: {run.error}", returncode=AWAITED_RUN_FAILED)
    if run.finished_at is not None:
        out.note(f"succeeded after {durations.rough((run.finished_at - run.queued_at).total_seconds())}")
    if run.result is not None and not out.as_json:
        out.line(shown(redact(run.result)))
