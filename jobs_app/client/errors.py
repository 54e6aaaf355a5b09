"""What a call may raise, what a handler may raise, and how an error is reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .text import one_line, storable

PASSING = (429, 502, 503, 504)  # statuses that get better by themselves
CLASS_CHARS = 200  # what servers take


class ClientError(Exception):
    """Any error of this client."""

    is_passing = False
    retry_after = 0  # seconds that the server asks for


class Unreachable(ClientError):
    """No answer, for as long as it was worth trying. Look at the address, the network and the server."""

    is_passing = True


class Refused(ClientError):
    """The server said no. The message is its own and says what to do next; `problem` is all that it answered."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: int = 0) -> None:
        super().__init__(f"{status}: {one_line(problem.get('detail') or problem.get('title') or 'no reason given')}")
        self.status, self.problem, self.retry_after = status, problem, retry_after
        self.is_passing = status in PASSING


class LeaseLost(ClientError):
    """Another worker may have this job now, and nothing of the report was kept. Let it pass: the job is dropped."""


class JobEnded(ClientError):
    """The job needs no more work: its target is reached, or somebody ended it. Let it pass: it is a normal end."""


class JobCancelled(ClientError):
    """Somebody asked this job to stop. Let it pass, after what must be cleaned up: the run ends as cancelled."""


class Permanent(Exception):
    """Raised by a handler: the job fails now, whatever attempts are left."""


class RetryLater(Exception):
    """Raised by a handler: a failed attempt, tried again after `after` seconds or the job type's own backoff."""

    def __init__(self, reason: str = "", *, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Release(Exception):
    """Raised by a handler that sees `job.stopping`: the job goes back unspent, and on from its cursor elsewhere."""


def failure(error: BaseException) -> dict[str, Any]:
    """The fields of the report that an attempt failed by this error."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    told: dict[str, Any] = {"error": storable(error) or name, "error_class": name[:CLASS_CHARS]}
    if isinstance(error, Permanent):
        told["permanent"] = True
    if isinstance(error, RetryLater) and error.after is not None:
        told["retry_after_sec"] = error.after
    return told
