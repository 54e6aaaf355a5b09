"""Five named bundles of options, each the manner of one kind of system."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jobs_app.errors import DefinitionInvalid
from jobs_app.retry import Backoff


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Defaults for the job types that name it; an option given to `@job` wins."""

    name: str
    max_attempts: int
    backoff: Backoff
    retry_unknown: bool  # what to do with an error that is neither known to pass nor known to stay
    retry_timeouts: bool
    on_shutdown: str  # release, fail or leave
    labels: Mapping[str, str]  # our seven words -> the words its people know
    policy: str = "standard"
    timeout: float | None = None  # seconds; None: no deadline
    max_timeout: float | None = None  # seconds; None: as the settings say
    lease: float | None = None  # seconds; None: what the worker gives
    stale_after: float | None = None  # seconds a run may stand as running without a live lease
    waiting_stale_after: float | None = None  # seconds a run may stand as queued without a live job

    def label(self, status: str) -> str:
        return self.labels.get(status, status)


def _labels(
    *, waiting: str, retrying: str, running: str, succeeded: str, failed: str, cancelled: str
) -> Mapping[str, str]:
    return MappingProxyType(
        {
            "queued": waiting,
            "scheduled": waiting,
            "retrying": retrying,
            "running": running,
            "succeeded": succeeded,
            "failed": failed,
            "cancelled": cancelled,
        }
    )


RATE = Preset(
    name="rate",
    max_attempts=1,  # the next slot is the retry
    backoff=Backoff(),
    retry_unknown=False,
    retry_timeouts=False,
    on_shutdown="fail",
    policy="singleton",
    stale_after=15 * 60,
    labels=_labels(
        waiting="created",
        retrying="retry",
        running="active",
        succeeded="completed",
        failed="failed",
        cancelled="cancelled",
    ),
)

LEASE = Preset(
    name="lease",
    max_attempts=5,
    backoff=Backoff(base=30, cap=3600, jitter="add", jitter_ratio=0.2, exponent="attempts"),
    retry_unknown=True,
    retry_timeouts=True,
    on_shutdown="leave",
    lease=180,
    labels=_labels(
        waiting="queued",
        retrying="queued",
        running="processing",
        succeeded="done",
        failed="failed",
        cancelled="cancelled",
    ),
)

PLANE = Preset(
    name="plane",
    max_attempts=4,
    backoff=Backoff(base=60, factor=1, cap=None, jitter="none"),
    retry_unknown=True,
    retry_timeouts=True,
    on_shutdown="fail",
    stale_after=10 * 60,
    labels=_labels(
        waiting="queued",
        retrying="failed",
        running="running",
        succeeded="success",
        failed="failed",
        cancelled="cancelled",
    ),
)

TRANSIENT = Preset(
    name="transient",
    max_attempts=4,
    backoff=Backoff(base=60, cap=None, jitter="spread", exponent="retries", max_exponent=16),
    retry_unknown=False,
    retry_timeouts=False,
    on_shutdown="release",
    timeout=4 * 60,
    max_timeout=20 * 60,
    stale_after=30 * 60,
    waiting_stale_after=10 * 60,
    labels=_labels(
        waiting="PENDING",
        retrying="RUNNING",
        running="RUNNING",
        succeeded="COMPLETED",
        failed="FAILED",
        cancelled="CANCELLED",
    ),
)

PAYMENTS = Preset(
    name="payments",
    max_attempts=6,
    backoff=Backoff(base=60, cap=None, jitter="none", exponent="retries"),
    retry_unknown=True,
    retry_timeouts=True,
    on_shutdown="release",
    policy="exclusive",
    labels=_labels(
        waiting="PENDING",
        retrying="PENDING",
        running="PENDING",
        succeeded="SUCCESS",
        failed="FAILED",
        cancelled="CANCELLED",
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {preset.name: preset for preset in (RATE, LEASE, PLANE, TRANSIENT, PAYMENTS)}
)


def get(name: str) -> Preset:
    try:
        return PRESETS[name]
    except (KeyError, TypeError):
        near = difflib.get_close_matches(str(name), PRESETS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known presets: {', '.join(PRESETS)}."
        raise DefinitionInvalid(f"there is no preset {name!r}. {hint}") from None
