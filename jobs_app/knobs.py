"""The knobs of `settings.JOBS` that operators may turn while everything runs, each with its range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from django.utils.translation import gettext_lazy as _

from jobs_app import values
from jobs_app.conf import LONGEST_DAYS, RECONCILABLE, with_overrides
from jobs_app.errors import SettingsInvalid

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Kind = Literal["whole", "seconds", "days", "flag", "kinds"]

MINUTE, HOUR, DAY = 60, 3600, 86400
NO_LIMIT = "none"  # as a row says None: a column with NULL in it has no value at all


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One of them: named as the field of `Settings` that it overrides."""

    name: str
    group: StrOrPromise
    help: StrOrPromise
    kind: Kind = "seconds"
    low: float = 0
    high: float = 0
    may_be_none: bool = False
    choices: tuple[str, ...] = ()

    @property
    def setting(self) -> str:
        """As `settings.JOBS` calls it."""
        return self.name.upper()

    def read(self, value: Any) -> Any:
        """What a person, a form or a row gives, as `Settings` has it; ValueError says what to give instead."""
        if self.may_be_none and value in (None, NO_LIMIT):
            return None
        if self.kind == "flag":
            return values.flag(value)
        if self.kind == "kinds":
            return self._read_kinds(value)
        return self._read_number(value)

    def _read_number(self, value: Any) -> Any:
        if self.kind == "whole":
            return values.whole(value, low=int(self.low), high=int(self.high))
        number = values.seconds(value) if self.kind == "seconds" and isinstance(value, str) else value
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not self.low <= number <= self.high:
            raise ValueError(f"use {self.kind} from {self.low:g} to {self.high:g}")
        return number

    def _read_kinds(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or not all(each in self.choices for each in value):
            raise ValueError(f"use a list of some of {', '.join(self.choices)}")
        return tuple(each for each in self.choices if each in value)


RETRIES, TIMES, WORKERS = _("Retries"), _("Leases and deadlines"), _("Workers and recovery")
SCHEDULER, FAILURES, HISTORY = _("Scheduler"), _("Failures"), _("History")

_KNOBS = (
    Knob(
        name="max_attempts",
        group=RETRIES,
        kind="whole",
        low=1,
        high=1000,
        help=_("Attempts of a job whose type says nothing, counted at its enqueue: what waits keeps what it has."),
    ),
    Knob(
        name="backoff_base_seconds",
        group=RETRIES,
        high=DAY,
        help=_("Doubled with each failed attempt: how long a job whose type says nothing waits for the next."),
    ),
    Knob(name="backoff_max_seconds", group=RETRIES, high=30 * DAY, help=_("The longest of these waits.")),
    Knob(
        name="lease_seconds",
        group=TIMES,
        low=5,
        high=HOUR,
        help=_("Renewed at a third of it. The job of a worker that was killed is due again after it."),
    ),
    Knob(
        name="remote_lease_seconds",
        group=TIMES,
        low=30,
        high=600,
        help=_("The same for what a remote worker pulls, where neither it nor the job type asks for another one."),
    ),
    Knob(
        name="remote_extend_seconds",
        group=TIMES,
        low=60,
        high=600,
        help=_("So long from now on a remote worker has its job after each of its reports, unless it asks otherwise."),
    ),
    Knob(
        name="max_timeout_seconds",
        group=TIMES,
        low=1,
        high=30 * DAY,
        may_be_none=True,
        help=_("The longest timeout of jobs whose type gives no maximum. Empty: as long as the type says."),
    ),
    Knob(
        name="timeout_grace_seconds",
        group=TIMES,
        high=HOUR,
        help=_("From a deadline to the use of force. A success until then still counts."),
    ),
    Knob(
        name="grace_seconds",
        group=WORKERS,
        high=HOUR,
        help=_("How long running jobs may go on when their worker is told to stop."),
    ),
    Knob(
        name="worker_poll_seconds",
        group=WORKERS,
        low=0.05,
        high=MINUTE,
        help=_("How often an idle worker looks for work that nobody told it of."),
    ),
    Knob(
        name="recover_seconds",
        group=WORKERS,
        low=0.5,
        high=5 * MINUTE,
        help=_("How often each worker looks for jobs of workers that went silent."),
    ),
    Knob(
        name="auto_recover",
        group=WORKERS,
        kind="flag",
        help=_("Off: the jobs of silent workers wait for reconciliation."),
    ),
    Knob(
        name="reconcile_applies",
        group=WORKERS,
        kind="kinds",
        choices=RECONCILABLE,
        help=_("The kinds of stale runs that are moved on without a person."),
    ),
    Knob(
        name="scheduler_poll_seconds",
        group=SCHEDULER,
        low=1,
        high=HOUR,
        help=_("How often sources are read, and a schedule that is behind has a turn."),
    ),
    Knob(
        name="catch_up_max",
        group=SCHEDULER,
        kind="whole",
        low=1,
        high=10_000,
        help=_("Slots that a schedule makes up for in one turn, where it says nothing itself."),
    ),
    Knob(
        name="catch_up_spread_seconds",
        group=SCHEDULER,
        high=7 * DAY,
        help=_("The time over which the jobs of these slots are spread."),
    ),
    Knob(
        name="schedule_jitter_seconds",
        group=SCHEDULER,
        high=DAY,
        help=_("The job of a slot starts at random up to so much later."),
    ),
    Knob(
        name="schedule_phase_seconds",
        group=SCHEDULER,
        high=7 * DAY,
        help=_(
            "By which the first slot of a new interval is put off. Schedules that are there already stay as they are."
        ),
    ),
    Knob(
        name="notify_admins",
        group=FAILURES,
        kind="flag",
        help=_("Whether those whom ADMINS of the settings names are told of them by e-mail."),
    ),
    Knob(
        name="notify_every_seconds",
        group=FAILURES,
        low=MINUTE,
        high=DAY,
        help=_("The time between two messages. Each has all that failed meanwhile."),
    ),
    Knob(
        name="retention_days",
        group=HISTORY,
        kind="days",
        high=LONGEST_DAYS,
        help=_("Runs that succeeded or were cancelled go after so long, where their type says nothing. 0: never."),
    ),
    Knob(
        name="retention_failed_days",
        group=HISTORY,
        kind="days",
        high=LONGEST_DAYS,
        help=_("The same for runs that failed."),
    ),
    Knob(
        name="control_event_retention_days",
        group=HISTORY,
        kind="days",
        high=LONGEST_DAYS,
        help=_("How long it is known who did what. 0: for ever."),
    ),
    Knob(
        name="sample_retention_days",
        group=HISTORY,
        kind="days",
        high=LONGEST_DAYS,
        help=_("How long the numbers behind the charts are kept. 0: for ever."),
    ),
    Knob(
        name="prune_every_seconds",
        group=HISTORY,
        low=MINUTE,
        high=DAY,
        help=_("Between two runs of the chore that deletes what is older."),
    ),
    Knob(
        name="idempotency_days",
        group=HISTORY,
        kind="days",
        high=365,
        help=_("How long an idempotency key is known."),
    ),
)
KNOBS: Mapping[str, Knob] = {knob.name: knob for knob in _KNOBS}


class Settled(NamedTuple):
    """What of the stored overrides can be in force together, and why the others cannot."""

    overrides: dict[str, Any]
    problems: dict[str, str]


def settle(stored: Mapping[str, Any]) -> Settled:
    """Rows may have been written by anybody, and code may have changed since: one that cannot be used is left out."""
    wanted: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, value in sorted(stored.items()):
        try:
            wanted[name] = KNOBS[name].read(value)
        except KeyError:
            problems[name] = "no such knob can be turned at run time"
        except ValueError as problem:
            problems[name] = f"{value!r} cannot be used: {problem}"
    chosen, refused = _fitting(wanted)
    return Settled(chosen, problems | refused)


def _fitting(wanted: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Each as soon as the rules allow it beside the others; and those that they never allow, with the reason."""
    chosen: dict[str, Any] = {}
    while left := {name: value for name, value in wanted.items() if name not in chosen}:
        refused: dict[str, str] = {}
        for name, value in left.items():
            try:
                with_overrides({**chosen, name: value})
                chosen[name] = value
            except SettingsInvalid as problem:
                refused[name] = str(problem)
        if len(refused) == len(left):
            return chosen, refused
    return chosen, {}
