"""What a failed attempt leads to: pure decisions, values in, values out."""

from __future__ import annotations

import random as random_module
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from jobs_app.errors import Cancel, DefinitionInvalid, Fail, Retry, Snooze
from jobs_app.transience import is_transient

Jitter = Literal["none", "add", "spread"]
Exponent = Literal["attempts", "retries"]
Classes = tuple[type[BaseException], ...]
Random = Callable[[], float]

SHORTEST_SNOOZE = 1.0  # seconds; a snooze costs no attempt, so that nothing else would end a job that never stops
LONGEST_DELAY = 366 * 24 * 3600.0  # seconds; what a backoff without a cap ends at, well within any timestamp


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """How long to wait after a failed attempt: `base * factor ** n` seconds, at most `cap`, plus jitter.

    With `exponent="attempts"` n is the number of attempts made (the first wait is `base * factor`), with
    "retries" it is one less (the first wait is `base`). Jitter "add" adds up to `jitter_ratio` of the capped
    wait, on top of the cap; "spread" takes any wait up to the next step, under the cap.
    """

    base: float = 30
    factor: float = 2
    cap: float | None = 3600
    jitter: Jitter = "add"
    jitter_ratio: float = 0.2
    exponent: Exponent = "attempts"
    max_exponent: int | None = None

    def __post_init__(self) -> None:
        _require(_is_number(self.base) and 0 <= self.base <= LONGEST_DELAY, "base", "seconds from 0 to a year")
        _require(_is_number(self.factor) and 1 <= self.factor <= 1000, "factor", "a number from 1 to 1000")
        _require(self.cap is None or (_is_number(self.cap) and self.cap >= self.base), "cap", "None or at least base")
        _require(self.cap is None or self.cap <= LONGEST_DELAY, "cap", "at most a year of seconds")
        _require(self.jitter in get_args(Jitter), "jitter", f"one of {', '.join(get_args(Jitter))}")
        _require(_is_number(self.jitter_ratio) and 0 <= self.jitter_ratio <= 1, "jitter_ratio", "from 0 to 1")
        _require(self.exponent in get_args(Exponent), "exponent", f"one of {', '.join(get_args(Exponent))}")
        _require(self.max_exponent is None or self.max_exponent >= 0, "max_exponent", "None or 0 and more")

    def delay_after(self, attempts: int, random: Random = random_module.random) -> float:
        """Seconds to wait after attempt number `attempts` failed."""
        ceiling = LONGEST_DELAY if self.cap is None else float(self.cap)
        delay = min(ceiling, self.base * self._growth(attempts))
        if self.jitter == "add":
            return delay + delay * self.jitter_ratio * random()
        if self.jitter == "spread":
            return min(ceiling, delay + delay * (self.factor - 1) * random())
        return delay

    def _growth(self, attempts: int) -> float:
        steps = attempts if self.exponent == "attempts" else max(0, attempts - 1)
        if self.max_exponent is not None:
            steps = min(steps, self.max_exponent)
        try:
            return float(self.factor) ** steps
        except OverflowError:
            return float("inf") if self.base else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How an attempt ends. A `free` attempt is not counted against `max_attempts`."""

    state: Literal["queued", "failed", "cancelled"]
    outcome: Literal["error", "timeout", "snoozed", "cancelled"] = "error"
    delay: float | None = None  # seconds until it is due again; None: it is over
    free: bool = False
    done_reason: Literal["", "exhausted", "permanent", "timeout", "cancelled"] = ""


CANCELLED = Decision(state="cancelled", outcome="cancelled", done_reason="cancelled")


def decide(
    error: BaseException,
    *,
    counted_attempts: int,
    max_attempts: int,
    backoff: Backoff,
    retry_on: Classes = (),
    fail_on: Classes = (),
    retry_unknown: bool = True,
    retry_timeouts: bool = False,
    timed_out: bool = False,
    stop_asked: bool = False,
    random: Random = random_module.random,
) -> Decision:
    """Choose between another attempt and an end. `counted_attempts` includes this one, without the free ones.

    `timed_out` says that the job's own deadline ended the attempt, whatever error came out of it.
    `stop_asked` says that somebody asked the job to stop: then no error brings it back.
    """
    if stop_asked and not isinstance(error, Fail):
        return CANCELLED
    if isinstance(error, (Snooze, Fail, Cancel)):
        return _obey(error)
    outcome: Literal["error", "timeout"] = "timeout" if timed_out else "error"
    if isinstance(error, Retry):
        may_retry = True
    elif timed_out:
        may_retry = retry_timeouts
    else:
        may_retry = classify(error, retry_on=retry_on, fail_on=fail_on, retry_unknown=retry_unknown)
    if not may_retry:
        return Decision(state="failed", outcome=outcome, done_reason="timeout" if timed_out else "permanent")
    if counted_attempts >= max_attempts:
        return Decision(state="failed", outcome=outcome, done_reason="exhausted")
    asked = error.after if isinstance(error, Retry) else None
    delay = backoff.delay_after(counted_attempts, random) if asked is None else asked
    return Decision(state="queued", outcome=outcome, delay=delay)


def classify(error: BaseException, *, retry_on: Classes, fail_on: Classes, retry_unknown: bool) -> bool:
    """May this error be retried? The nearest class that the job type names decides, then what the error is."""
    for ancestor in type(error).__mro__:
        if ancestor in fail_on:
            return False
        if ancestor in retry_on:
            return True
    transient = is_transient(error)
    return retry_unknown if transient is None else transient


def _obey(directive: Snooze | Fail | Cancel) -> Decision:
    if isinstance(directive, Snooze):
        return Decision(state="queued", outcome="snoozed", delay=max(SHORTEST_SNOOZE, directive.after or 0), free=True)
    if isinstance(directive, Cancel):
        return CANCELLED
    return Decision(state="failed", done_reason="permanent")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _require(held: bool, name: str, rule: str) -> None:
    if not held:
        raise DefinitionInvalid(f"Backoff({name}=...) must be {rule}.")
