"""The app itself as a measured program."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version

from benchmarks import jobs_app_peer
from benchmarks.program_description import POSTGRES, SQLITE, Program

OURS = Program(
    name="jobs_app",
    argv=lambda: [sys.executable, "-m", "benchmarks.jobs_app_peer"],
    stores=(POSTGRES, SQLITE),
    remaining=jobs_app_peer.REMAINING_SQL,
    history=(jobs_app_peer.HISTORY_SQL,),
    audit=jobs_app_peer.AUDIT,
    persists=jobs_app_peer.PERSISTS,
    profiles=jobs_app_peer.PROFILES,
    handlers=("noop", "sleep", "async_sleep", "query"),
    versions=lambda: {name: version(name) for name in jobs_app_peer.PACKAGES},
)

# The same jobs in the same tables. Only its workers are elsewhere.
OURS_OVER_HTTP = replace(OURS, argv=lambda: [sys.executable, "-m", "benchmarks.http_client"])
