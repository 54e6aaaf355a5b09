"""Do the settings fit, and who changed them?"""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings as django_settings
from django.core import checks
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.insights import processes
from jobs_app.insights.doctor.finding import Fault, Level, Needs, examination, few, note, warning
from jobs_app.insights.settings import knob_states
from jobs_app.lifecycle.database import database_now
from jobs_app.models import WorkerKind

TAG = "jobs_app"


@examination(fine="The system checks of the app find nothing.", needs=Needs.NOTHING)
def system_checks(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """Those of a deployment too. What the project silenced stays silent."""
    for message in checks.run_checks(tags=[TAG], include_deployment_checks=True):
        if not message.is_silenced():
            yield Fault(_level(message), f"{message.id}: {message.msg}", message.hint or "")


@examination(fine="No setting is overridden.")
def overridden_settings(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    """A row for each knob at most."""
    states = [each for each in knob_states(connection) if each.is_overridden]
    for each in states:
        if each.problem:
            advice = "Set it anew or reset it on the settings page of the admin."
            yield warning(f"The override of {each.knob.setting} is left out: {each.problem}", advice=advice)
    held = [f"{each.knob.setting} = {each.value} ({each.actor or 'nobody'})" for each in states if not each.problem]
    if held:
        advice = "Nothing, if that is meant; the settings page of the admin resets them."
        yield note(f"Operators have overridden settings: {few(held)}.", advice=advice)


@examination(fine="Workers do not run in debug mode.")
def debug_mode(connection: BaseDatabaseWrapper) -> Iterator[Fault]:
    if not django_settings.DEBUG:
        return
    found = processes.all_of(connection, database_now(connection)).living
    if any(each.is_worker and each.row.kind != WorkerKind.REMOTE for each in found):
        advice = "Set DEBUG = False where workers run for long."
        yield note("settings.DEBUG is on, and workers are alive: Django remembers queries, which costs.", advice=advice)


def _level(message: checks.CheckMessage) -> Level:
    if message.level >= checks.ERROR:
        return Level.PROBLEM
    return Level.WARNING if message.level >= checks.WARNING else Level.NOTE
