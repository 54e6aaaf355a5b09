"""Everything that can go wrong and be caught by name. A class's docstring says what to do about it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured


class JobsError(Exception):
    """Any error of this app."""


class SettingsInvalid(JobsError, ImproperlyConfigured):
    """`settings.JOBS` has a name or a value that cannot be used. The message names it and the nearest right one."""


class DefinitionInvalid(JobsError, TypeError):
    """A `@job` declaration cannot work as written. The message names the option and the fix."""


class UnknownJobType(JobsError, LookupError):
    """No job of this name is registered. Define it with `@job` in a `jobs.py` of an installed app."""


class JobDisabled(JobsError):
    """The job type is switched off by its `enabled` option. Nothing was stored."""


class OptionInvalid(JobsError, TypeError):
    """An enqueue option is unknown or has a value that cannot be used. Nothing was stored."""


class PayloadInvalid(JobsError, ValueError):
    """The payload does not fit the job type. Nothing was stored; `errors` has a message per field."""

    def __init__(self, message: str, errors: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.errors = errors or {}


class IdempotencyConflict(JobsError):
    """The idempotency key was used before with another payload. Use a new key for new work."""


class KeyTaken(JobsError):
    """Another run has the key and may not be joined or replaced. Nothing was stored; `run_id` says which, if known."""

    def __init__(self, message: str, run_id: UUID | None = None) -> None:
        super().__init__(message)
        self.run_id = run_id


class RunNotFound(JobsError, LookupError):
    """No run has this id: never enqueued, rolled back, or pruned by retention."""


class WaitTimeout(JobsError, TimeoutError):
    """The run did not end in the time given. It goes on; ask again with `refresh()`."""


class EndlessJobs(JobsError, RuntimeError):
    """`run_jobs()` reached its limit and jobs are still due: one of them enqueues itself again and again."""


class TableMissing(JobsError, LookupError):
    """The table of another package is not in this database. Name the one that has it."""


class NotPossible(JobsError):
    """The run is not in a state for this. Nothing was changed; the message says why."""


class NoCurrentJob(JobsError, RuntimeError):
    """`current_job()` was called outside a running job."""


class LeaseLost(JobsError):
    """Another worker may own this job now. What this one did is not recorded; stop as soon as possible."""


class JobTimeout(JobsError):
    """The job's own deadline has passed. Let it pass: the attempt ends as `timeout`."""


class Directive(JobsError):
    """Raised by a handler to say how its attempt ends. Not an error of the app."""

    # Defaults for a subclass of the host's own that does not call up.
    reason: str = ""
    after: float | None = None

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Retry(Directive):
    """Try again, after `after` seconds or the type's own backoff. Counts as a failed attempt."""

    def __init__(self, reason: str = "", *, after: float | timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = as_seconds(after)


class Snooze(Directive):
    """Come back in `seconds`; the attempt is not spent."""

    def __init__(self, seconds: float | timedelta, reason: str = "") -> None:
        super().__init__(reason)
        self.after = as_seconds(seconds)


class Fail(Directive):
    """End as failed now, whatever attempts are left."""


class Cancel(Directive):
    """End as cancelled now."""


class JobCancelled(Cancel):
    """Somebody asked this job to stop, and it does: let it pass, after what must be cleaned up."""


def as_seconds(value: float | timedelta | None) -> float | None:
    if value is None:
        return None
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"a delay is a number of seconds from 0 upwards, not {value!r}")
    return seconds
