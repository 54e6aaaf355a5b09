"""One job that comes back by itself."""

from __future__ import annotations

from jobs_app import job


@job(every=0.3)
def beat() -> None: ...
