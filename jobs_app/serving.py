"""Which queues a worker takes jobs from, as it was told: names or patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from jobs_app.registry import SYSTEM_QUEUE


@dataclass(frozen=True)
class Serving:
    """Names or patterns (`mail`, `mail.*`); no queues given means all.

    The app's own chores are not among them: every worker has a slot for those beside its others.
    """

    queues: Sequence[str] = ()
    excluded: Sequence[str] = ()

    def __call__(self, queue: str) -> bool:
        if queue == SYSTEM_QUEUE or any(fnmatchcase(queue, pattern) for pattern in self.excluded):
            return False
        return is_among(queue, self.queues)


def is_among(name: str, patterns: Sequence[str]) -> bool:
    """Does one of them mean it? None at all mean everything."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
