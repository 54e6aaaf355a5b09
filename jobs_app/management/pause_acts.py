"""What is paused or resumed, and what became of it: everything, a queue, a job type, a subject, a schedule."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from jobs_app.lifecycle.control import Acted
from jobs_app.lifecycle.control.schedule_rows import NOT_FOUND
from jobs_app.management.exit_codes import WRONG_USAGE
from jobs_app.management.output import Output
from jobs_app.models import Scope

SCHEDULE = "schedule"
SCOPES = {"all": Scope.ALL, "queue": Scope.QUEUE, "type": Scope.JOB_TYPE, "subject": Scope.SUBJECT}


def add_target_arguments(parser: CommandParser) -> None:
    parser.add_argument("what", choices=[*SCOPES, SCHEDULE], help="everything, or one of these")
    told = "of the queue, the job type or the subject; the id of the schedule, as manage.py jobs schedules tells it"
    parser.add_argument("name", nargs="?", default="", help=told)


def target_of(options: dict[str, Any]) -> tuple[str, str]:
    """What, as the options say it, and its name."""
    what, name = options["what"], options["name"]
    if what == "all" and name:
        raise CommandError(f"all is everything: leave {name!r} out.", returncode=WRONG_USAGE)
    if what != "all" and not name:
        raise CommandError(f"which {what}? Name it.", returncode=WRONG_USAGE)
    return what, name


def schedule_id(name: str) -> int:
    if name.isascii() and name.isdecimal():
        return int(name)
    raise CommandError(
        f"schedule {name}: name it by its id, as manage.py jobs schedules tells it.", returncode=WRONG_USAGE
    )


def tell(acted: Acted, done: str, jobs_done: str, out: Output) -> None:
    """That nothing had to be done is no error: a script may say it twice."""
    gone = [name for name, why in acted.skipped.items() if why == NOT_FOUND]
    if gone:
        raise CommandError(f"schedule {gone[0]} {NOT_FOUND}. See manage.py jobs schedules.")
    if out.as_json:
        skipped = {str(name): why for name, why in acted.skipped.items()}
        out.json({"moved": acted.moved, "skipped": skipped, "jobs": acted.jobs, "more": acted.more})
        return
    for name in acted.moved:
        out.line(f"{_named(name)} {done}.")
    for name, why in acted.skipped.items():
        out.line(f"{_named(name)} {why}.")
    _tell_jobs(acted, jobs_done, out)


def _tell_jobs(acted: Acted, done: str, out: Output) -> None:
    if acted.note:
        out.note(acted.note)
    if acted.jobs or acted.more:
        more = "; workers go on with more" if acted.more else ""
        out.note(f"{acted.jobs} {'job' if acted.jobs == 1 else 'jobs'} {done}{more}.")


def _named(name: object) -> str:
    return f"schedule {name}" if isinstance(name, int) else str(name)
