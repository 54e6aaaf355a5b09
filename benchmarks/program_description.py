"""What the harness knows of a measured program before it runs it. How it is run: `benchmarks/peers/program.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

POSTGRES, SQLITE, REDIS, REDIS_AND_POSTGRES = "postgres", "sqlite", "redis", "redis+postgres"


def always() -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Program:
    name: str
    argv: Callable[[], list[str]]  # how it is started, without the COMMAND; it runs in the root of the checkout
    stores: tuple[str, ...]  # what it can be measured on, one at a time: POSTGRES, SQLITE, REDIS, REDIS_AND_POSTGRES
    remaining: str | None  # SQL: how many jobs are not settled; may use %(jobs)s, the size of the backlog,
    # and %(since)s, the time of the database when the drain began. None: there is no such table.
    redis_remaining: tuple[str, ...] = ()  # lists, sets and sorted sets (or patterns of them) that hold unsettled jobs
    history: tuple[str, ...] = ()  # SQL: store %(n)s finished jobs, cloned from one that is there; empty: it keeps none
    audit: str  # what remains of a job, in a few words for a table
    persists: str = ""  # the same in full
    profiles: Mapping[str, str]  # "tuned" and "default": the settings of each, in words
    backlog_per_profile: bool = False  # what is enqueued differs by profile
    handlers: tuple[str, ...] = ("noop",)  # the BENCH_HANDLER that it knows
    environment: Mapping[str, str] = field(default_factory=dict)  # for its processes, beside BENCH_*
    versions: Callable[[], dict[str, str]] = dict  # of its packages, asked once it is installed
    missing: Callable[[], str] = always  # why it cannot be measured here, "" if it can; it is then skipped by name
