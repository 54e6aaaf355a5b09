"""Find what is wrong with this installation, and say what to do next."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.connection import ConnectionDoesNotExist

from jobs_app.insights import doctor
from jobs_app.insights.doctor import Diagnosis
from jobs_app.insights.doctor.database import title
from jobs_app.insights.doctor.finding import Level
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.lifecycle.overrides import keep_up
from jobs_app.management.exit_codes import CHECK_FAILED, DATABASE_UNAVAILABLE
from jobs_app.management.output import Output
from jobs_app.text import one_line

ASKS_DATABASE = False  # it is to help where there is none


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--all", action="store_true", help="tell what is well, too")


def handle(options: dict[str, Any], out: Output) -> None:
    try:
        connection = jobs_connection()
    except ConnectionDoesNotExist as error:
        raise CommandError(f"{error} Correct settings.JOBS['DATABASE'], or settings.DATABASES.") from error
    keep_up()
    diagnosis = doctor.examine(connection)
    server = None if diagnosis.is_database_away else title(connection)
    if out.as_json:
        out.json({"database": connection.alias, "server": server} | _data(diagnosis))
    else:
        _print(diagnosis, out, with_all=options["all"])
        out.line(f"Database {connection.alias} ({server or 'not reached'}): {_sum(diagnosis)}")
    if diagnosis.is_database_away:
        text = f"{len(diagnosis.left_out)} examinations were left out, because the database cannot be reached."
        raise CommandError(text, returncode=DATABASE_UNAVAILABLE)
    if not diagnosis.is_healthy:
        raise CommandError("something is wrong; what is told above says what to do.", returncode=CHECK_FAILED)


def _data(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "is_healthy": diagnosis.is_healthy,
        "examinations": diagnosis.examined,
        "left_out": diagnosis.left_out,
        "findings": [asdict(finding) for finding in diagnosis.findings],
    }


def _print(diagnosis: Diagnosis, out: Output, *, with_all: bool) -> None:
    fine = [finding for finding in diagnosis.findings if finding.level == Level.OK] if with_all else []
    for finding in (*diagnosis.found, *fine):
        out.line(one_line(f"{finding.level.ljust(7)}  {finding.name}: {finding.sentence}"))
        if finding.advice:
            out.line(one_line(f"         {finding.advice}"))


def _sum(diagnosis: Diagnosis) -> str:
    names = {finding.name for finding in diagnosis.found}
    left_out = f", {len(diagnosis.left_out)} left out" if diagnosis.left_out else ""
    return f"{diagnosis.examined} examinations, {len(names)} found something{left_out}"
