"""`settings.JOBS` as one frozen, validated object, with what operators changed of it since the process started."""

from __future__ import annotations

import difflib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import setting_changed
from django.dispatch import receiver

from jobs_app.errors import SettingsInvalid
from jobs_app.limits import QueueRules, read_queues
from jobs_app.webhook_rules import Webhook
from jobs_app.webhook_rules import from_settings as read_webhooks
from jobs_app.windows import Window, from_settings

ON_SHUTDOWN = ("release", "fail", "leave")
RECONCILABLE = ("expired", "lost", "stuck")  # kinds of stale runs that can be moved on
RETENTIONS = ("retention_days", "retention_failed_days", "control_event_retention_days", "sample_retention_days")
DAY_MINUTES = 24 * 60
LONGEST_FINAL_SCRAPE = 300  # seconds
LONGEST_DAYS = 36500  # earlier moments do not fit every database


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One field per name in `settings.JOBS`, in lower case here, in upper case there."""

    database: str | None = None  # alias of the database that holds the jobs; None: as the routers say
    autodiscover: str = "jobs"  # module looked for in every installed app and the project package; "" switches it off

    eager: bool = False  # for development: what is enqueued runs in this process, as soon as it is committed

    # Defaults of job types
    default_queue: str = "default"
    max_attempts: int = 5
    backoff_base_seconds: float = 30
    backoff_max_seconds: float = 3600
    max_timeout_seconds: float | None = None  # cap of timeout=, but not of a timeout that is listed or asked for

    queues: Mapping[str, QueueRules] = field(default_factory=dict)  # rules of queues, by name

    # Workers
    worker_concurrency: int = 10
    worker_processes: int = 1
    worker_poll_seconds: float = 0.5  # when idle; NOTIFY wakes a worker sooner, but this alone must be enough
    worker_listen: bool = True  # off behind a pooler in transaction mode
    lease_seconds: float = 30  # renewed at a third of it; a killed worker's job is due again after it
    grace_seconds: float = 25
    timeout_grace_seconds: float = 5  # from a deadline to the use of force; a success until then still counts
    isolation_max_jobs: int = 1000  # a process for isolation="process" is replaced after so many
    on_shutdown: str = "release"
    recover_seconds: float = 4  # how often each worker looks for expired leases
    auto_recover: bool = True  # off: jobs of silent workers wait for reconciliation
    reconcile_applies: tuple[str, ...] = ("expired",)  # kinds of stale runs that are moved on without a person

    # Scheduler
    scheduler_enabled: bool = True
    scheduler_poll_seconds: float = 300  # how often sources are read, and a schedule that is behind has a turn
    catch_up_max: int = 10  # slots that a schedule makes up for in one turn
    catch_up_spread_seconds: float = 3 * 3600  # over which their jobs are spread
    schedule_jitter_seconds: float = 0  # a slot's job starts at random up to so much later
    schedule_phase_seconds: float = 0  # by which the first slot of a new interval is put off

    # Maintenance: while a window is open no job that it covers starts
    maintenance_windows: Sequence[Window] = ()  # texts such as "07:00" in UTC, dicts, or one text "07:00,22:00"
    maintenance_window_minutes: int = 20  # of those that say nothing else

    # HTTP: remote workers and other systems
    remote_lease_seconds: float = 180  # of a job that a remote worker pulls, unless it or the job type asks otherwise
    remote_extend_seconds: float = 120  # by which each of its reports extends that, from now
    api_max_body_bytes: int = 2 * 1024 * 1024  # Django's own DATA_UPLOAD_MAX_MEMORY_SIZE, 2.5 MB, holds beside it
    api_requests_per_minute: int = 6000  # of one token, to one web process; 0: any number
    api_max_waiting: int = 50  # pulls that may wait for a job at once in one web process: each holds a thread of it

    # Webhooks: who is told when a run ends
    webhooks: Sequence[Webhook] = ()  # dicts with name, url and secret; which runs: states, job_types, queues
    webhook_private_addresses: bool = False  # may they lead to addresses that the internet does not reach?

    # Failures: who is told of them, grouped
    notify_admins: bool = True  # by e-mail, where Django's ADMINS names somebody
    notify_every_seconds: float = 300  # between two messages; the first failure after a quiet time is told at once
    site_url: str = ""  # such as "https://example.com", for links into the admin

    # Monitoring
    metrics_public: bool = False  # does the web's /metrics answer without a token? For a network of one's own
    final_scrape_seconds: float = 35  # a process that was scraped waits so long at most, when it stops, for a last one

    # Limits
    max_payload_bytes: int = 1024 * 1024
    max_result_bytes: int = 1024 * 1024
    max_log_bytes: int = 64 * 1024
    idempotency_days: float = 7

    # Retention: how long what has ended is kept; 0 keeps it for ever
    retention_days: float = 30  # runs that succeeded or were cancelled, where their job type says nothing
    retention_failed_days: float = 90
    control_event_retention_days: float = 365
    sample_retention_days: float = 90
    prune_every_seconds: float = 600  # between two runs of the chore that deletes what is older

    def __post_init__(self) -> None:
        for name in (
            "worker_concurrency",
            "worker_processes",
            "isolation_max_jobs",
            "max_attempts",
            "max_payload_bytes",
            "max_result_bytes",
            "catch_up_max",
            "api_max_body_bytes",
        ):
            _require(getattr(self, name) >= 1, name, "must be 1 or more")
        for name in (
            "worker_poll_seconds",
            "lease_seconds",
            "recover_seconds",
            "scheduler_poll_seconds",
            "prune_every_seconds",
            "remote_lease_seconds",
            "remote_extend_seconds",
            "notify_every_seconds",
        ):
            _require(getattr(self, name) > 0, name, "must be above 0")
        for name in (
            "grace_seconds",
            "timeout_grace_seconds",
            "backoff_base_seconds",
            "idempotency_days",
            "catch_up_spread_seconds",
            "schedule_jitter_seconds",
            "schedule_phase_seconds",
            "api_requests_per_minute",
            "api_max_waiting",
        ):
            _require(getattr(self, name) >= 0, name, "must be 0 or more")
        _require(self.max_log_bytes >= 0, "max_log_bytes", "must be 0 or more")
        most = self.max_timeout_seconds
        _require(most is None or most > 0, "max_timeout_seconds", "must be above 0")
        _require(
            self.backoff_max_seconds >= self.backoff_base_seconds,
            "backoff_max_seconds",
            "must not be below BACKOFF_BASE_SECONDS",
        )
        minutes = self.maintenance_window_minutes
        _require(1 <= minutes <= DAY_MINUTES, "maintenance_window_minutes", f"must be from 1 to {DAY_MINUTES}")
        for name in RETENTIONS:
            _require(0 <= getattr(self, name) <= LONGEST_DAYS, name, f"must be from 0 (for ever) to {LONGEST_DAYS}")
        _require(self.on_shutdown in ON_SHUTDOWN, "on_shutdown", f"must be one of {', '.join(ON_SHUTDOWN)}")
        is_url = not self.site_url or self.site_url.startswith(("http://", "https://"))
        _require(is_url, "site_url", "must begin with http:// or https://, or be empty")
        wait = self.final_scrape_seconds
        _require(0 <= wait <= LONGEST_FINAL_SCRAPE, "final_scrape_seconds", f"must be from 0 to {LONGEST_FINAL_SCRAPE}")
        known = all(kind in RECONCILABLE for kind in self.reconcile_applies)
        _require(known, "reconcile_applies", f"must have only some of {', '.join(RECONCILABLE)}")


TYPES: dict[str, tuple[type, ...]] = {
    "str | None": (str, type(None)),
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "bool": (bool,),
    "Mapping[str, QueueRules]": (Mapping,),
    "Sequence[Window]": (str, list, tuple),
    "Sequence[Webhook]": (object,),  # its reader says what is wrong, and shows no secret
    "tuple[str, ...]": (tuple, list),
}
READERS: dict[str, Callable[[Any], Any]] = {"QUEUES": read_queues, "WEBHOOKS": read_webhooks}


def parse(values: Mapping[str, Any]) -> Settings:
    """Check names and types of a `JOBS` mapping and build the settings from it."""
    known = {field.name.upper(): field for field in fields(Settings)}
    chosen: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise SettingsInvalid(f"settings.JOBS has no {name!r}.{_hint(name, known)}")
        allowed = TYPES[str(known[name].type)]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise SettingsInvalid(f"settings.JOBS[{name!r}] must be {known[name].type}, not {value!r}.")
        chosen[known[name].name] = READERS[name](value) if name in READERS else value
    windows = chosen.pop("maintenance_windows", ())
    settings = Settings(**chosen)
    return replace(settings, maintenance_windows=from_settings(windows, minutes=settings.maintenance_window_minutes))


@lru_cache(maxsize=1)
def settings_of_code() -> Settings:
    """As `settings.JOBS` says."""
    values = getattr(django_settings, "JOBS", {})
    if not isinstance(values, Mapping):
        raise SettingsInvalid(f"settings.JOBS must be a dict, not {type(values).__name__}.")
    return parse(values)


# What this process knows of the overrides of operators. Whoever may ask the database puts it here: see
# `lifecycle.overrides`. The object is another one only where a value is, so that `is` tells of a change.
_in_force: Settings | None = None
_overrides: Mapping[str, Any] = {}
_fresh_until = 0.0  # by the monotonic clock
_changing = threading.Lock()  # else one thread's first look could undo what another has just read, for good


def get_settings() -> Settings:
    """What is in force in this process: an operator's override, else what code says."""
    return _in_force or _begin()


def settings_or_defaults() -> Settings:
    """For who only declares something. That `settings.JOBS` cannot be read is told by a check (E001), and by whatever
    works with jobs; a traceback from the place where a job is defined would come before both."""
    try:
        return get_settings()
    except SettingsInvalid:
        return Settings()


def with_overrides(overrides: Mapping[str, Any]) -> Settings:
    """What code says, with these in its place; SettingsInvalid where the rules do not allow all of it together."""
    return replace(settings_of_code(), **overrides) if overrides else settings_of_code()


def enforce(overrides: Mapping[str, Any], *, fresh_seconds: float) -> bool:
    """Let these be in force, and be asked for anew after so many seconds. True if anything is other than it was."""
    global _in_force, _overrides, _fresh_until
    with _changing:
        _fresh_until = time.monotonic() + fresh_seconds
        if overrides == _overrides:
            return False
        _in_force = with_overrides(overrides)
        _overrides = dict(overrides)
        return True


def overrides_in_force() -> Mapping[str, Any]:
    return _overrides


def are_overrides_stale() -> bool:
    """Is it time to ask again? Quick to answer: each enqueue wants to know."""
    return time.monotonic() >= _fresh_until


def forget_overrides(*, fresh_seconds: float = 0.0) -> None:
    """Back to what code says, and to a process that has not asked yet; or not to ask for so long."""
    global _in_force, _overrides, _fresh_until
    _in_force, _overrides, _fresh_until = None, {}, time.monotonic() + fresh_seconds


def _begin() -> Settings:
    global _in_force
    with _changing:
        _in_force = _in_force or with_overrides(_overrides)
        return _in_force


@receiver(setting_changed)
def _forget(*, setting: str, **kwargs: Any) -> None:
    global _in_force, _overrides
    if setting == "JOBS":
        settings_of_code.cache_clear()
        _in_force, _overrides = None, {}


def _hint(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name.upper(), known, n=1)
    return f" Did you mean {near[0]!r}?" if near else f" Known names: {', '.join(sorted(known))}."


def _require(held: bool, name: str, rule: str) -> None:
    if not held:
        raise SettingsInvalid(f"settings.JOBS[{name.upper()!r}] {rule}.")
