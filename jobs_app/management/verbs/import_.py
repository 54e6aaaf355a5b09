"""Turn the periodic tasks of django-celery-beat or django-q2 into schedules."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, connections

from jobs_app.importing import celery_beat, django_q2
from jobs_app.importing.job_types import JobTypes
from jobs_app.importing.plans import Plan, Wish, plan
from jobs_app.importing.storing import CANNOT, DIFFERS, LEFT_OUT, MADE, NEW, THERE, UPDATED, Import, compare, store
from jobs_app.lifecycle.control.acting import begin
from jobs_app.lifecycle.database import database_now, jobs_connection
from jobs_app.management.acts import add_act_arguments
from jobs_app.management.exit_codes import PARTLY_DONE, WRONG_USAGE
from jobs_app.management.imports import data, tell
from jobs_app.management.output import Output
from jobs_app.options import did_you_mean
from jobs_app.registry import registry

SOURCES = {"celery-beat": celery_beat.read, "django-q2": django_q2.read}
STOP = {"celery-beat": "celery beat", "django-q2": "qcluster"}


def add_arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("source", choices=list(SOURCES), help="whose tables are read; the package itself need not be installed")
    told = "the job type NEW for the task or function OLD; may be said again. Else the one of that name or function"
    add("--map", type=_pair, action="append", default=[], metavar="OLD=NEW", help=told)
    add("--database", default=DEFAULT_DB_ALIAS, metavar="ALIAS", help="where these tables are, %(default)s")
    add("--dry-run", action="store_true", help="only tell what would become of each row")
    add("--paused", action="store_true", help="make all of them paused, also those that are on there")
    add("--update", action="store_true", help="also change schedules of an earlier import that differ now")
    add("--skip-missed", action="store_true", help="begin with slots to come, without one that was due and not run")
    add_act_arguments(parser)


def handle(options: dict[str, Any], out: Output) -> None:
    source, is_dry, actor = options["source"], options["dry_run"], options["actor"]
    begin("import", "add_schedulestate", actor, options["reason"])
    now = database_now(jobs_connection())
    plans = _plans(options, Wish(now=now, paused=options["paused"], skip_missed=options["skip_missed"]), out)
    found = compare(jobs_connection(), plans)
    if not is_dry:
        found = store(found, actor, options["reason"] or f"imported from {source}", update=options["update"])
    counts = Counter(each.state for each in found)
    if out.as_json:
        listed = [data(each, now) for each in found]
        out.json({"source": source, "dry_run": is_dry, "schedules": listed, "counts": counts})
    else:
        tell(found, now, out)
        out.note(_told(counts))
        _tell_next(options, found, out)
    if undone := _undone(counts, is_dry=is_dry, update=options["update"]):
        raise CommandError(undone, returncode=PARTLY_DONE)


def _plans(options: dict[str, Any], wish: Wish, out: Output) -> list[Plan]:
    rows = SOURCES[options["source"]](_connection(options["database"]), wish.now)
    mapped = dict(options["map"])
    for new in mapped.values():
        registry.get(new)
    for old in sorted(mapped.keys() - {row.task for row in rows}):
        out.note(f"--map {old}: no row has this task.{did_you_mean(old, {row.task for row in rows}) if rows else ''}")
    return plan(rows, JobTypes(registry, mapped), wish)


def _connection(alias: str) -> Any:
    if alias not in connections:
        hint = did_you_mean(alias, connections)
        raise CommandError(f"--database: the settings have no database {alias!r}.{hint}", returncode=WRONG_USAGE)
    return connections[alias]


def _pair(text: str) -> tuple[str, str]:
    old, _, new = (part.strip() for part in text.partition("="))
    if not old or not new:
        raise argparse.ArgumentTypeError(f"use the old name and the job type, as shop.tasks.send=send, not {text!r}")
    return old, new


def _told(counts: Counter[str]) -> str:
    known = (MADE, UPDATED, NEW, THERE, DIFFERS, CANNOT, LEFT_OUT)
    return ", ".join(f"{counts[state]} {state}" for state in known if counts[state]) + "." if counts else "No row."


def _undone(counts: Counter[str], *, is_dry: bool, update: bool) -> str:
    differing = 0 if is_dry and update else counts[DIFFERS]
    parts = [f"{counts[CANNOT]} cannot be imported: see why above"] if counts[CANNOT] else []
    parts += [f"{differing} left as here, though different there: change with --update"] if differing else []
    return "; ".join(parts)


def _tell_next(options: dict[str, Any], found: Sequence[Import], out: Output) -> None:
    """What is left to do, so that everything runs once."""
    source, other = options["source"], STOP[options["source"]]
    if options["dry_run"]:
        out.note("Nothing was changed: leave --dry-run out to do it.")
    elif not any(each.state in (MADE, UPDATED) for each in found):
        return
    elif options["paused"]:
        out.note(
            f"All of these are paused. Next: stop {other}; then manage.py jobs import {source} --update lets those go "
            "on that are on there, from where they stand by then. One by one: manage.py jobs resume schedule ID."
        )
    else:
        out.note(f"Next: stop {other} if it still runs, or each run comes twice; and start manage.py runscheduler.")
