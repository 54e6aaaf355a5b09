"""The pages of the admin beside a long history and a short one: how long each takes, and how many queries.

A page must cost what it shows, whatever lies behind. `DATABASE_URL=postgresql://... python -m benchmarks.admin_pages`
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks import admin_history, machine
from benchmarks.databases import Databases, own_databases, run
from benchmarks.figures import percentile, ratio

RESULTS = Path(__file__).resolve().parent / "results" / "admin-pages.json"
SETTINGS = {
    "ALLOWED_HOSTS": ["testserver"],
    "INSTALLED_APPS": [
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        "django.contrib.staticfiles",
        "jobs_app",
    ],
    "MIDDLEWARE": [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    "TEMPLATES": [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    "ROOT_URLCONF": "tests.urls",
    "SECRET_KEY": "not a secret",
    "STATIC_URL": "static/",
}
TARGET = 3.0  # the 95th percentile beside the long history, by that beside the short one
WARMING = 2  # requests that are not measured, in each round
ROUNDS = 5
CUT = b"took too long and was stopped"


@dataclass(frozen=True)
class Case:
    """One address. `is_indexed`: the target holds for it; others read a bounded number of rows and say so."""

    page: str
    arguments: tuple[object, ...] = ()
    query: str = ""
    is_indexed: bool = True
    about: str = ""  # what it shows, where the page alone does not say it

    @property
    def title(self) -> str:
        return f"{self.page} {self.about or self.query}".strip()


@dataclass(frozen=True)
class Measured:
    p50: float  # milliseconds
    p95: float
    queries: int
    slowest_query: float  # milliseconds
    kibibytes: float


def cases() -> list[Case]:
    """Every page that shows, and the lists with each of their filters."""
    failed, succeeded = (str(_newest_run(state)) for state in ("failed", "succeeded"))
    runs = [
        *(f"state={state}" for state in ("live", "running", "waiting", "finished", "succeeded", "failed")),
        *("job_type=type-3", "subject=subject-7", "job_type=type-3&state=failed", "open=1"),
        *(f"window={window}" for window in ("1h", "7d", "30d", "all")),
        *("state=failed&window=all", "job_type=type-3&window=all", "subject=subject-7&window=all", "schedule=7"),
    ]
    sampled = [
        "state=cancelled",
        "queue=queue-1",
        "error=app.Error0",
        "worker=worker-3",
        "attempts=more",
        "longer=4",
        "q=subject-7",
        "q=payload.order:77",
    ]
    return [
        Case("dashboard_changelist"),
        Case("dashboard_stale"),
        Case("dashboard_capacity", is_indexed=False),  # the newest runs of each type, of which a young host has few
        Case("jobdefinition_changelist"),
        Case("jobdefinition_detail", ("type-3",)),
        Case("queuestate_changelist"),
        Case("queuestate_detail", ("queue-1",)),
        Case("schedulestate_changelist"),
        Case("schedulestate_detail", (7,)),
        Case("subject_changelist"),
        Case("subject_detail", ("subject-7",)),
        Case("workerstate_changelist"),
        Case("controlevent_changelist"),
        Case("maintenancewindow_changelist"),
        Case("runtimesetting_changelist"),
        Case("run_detail", (failed,), about="failed"),
        Case("run_detail", (succeeded,), about="succeeded"),
        Case("run_changelist"),
        *(Case("run_changelist", query=query) for query in runs),
        Case("run_changelist", query=f"q={succeeded}", about="search of an id"),
        *(Case("run_changelist", query=query, is_indexed=False) for query in sampled),
    ]


def main() -> int:
    options = _arguments()
    about = machine.facts(os.environ["DATABASE_URL"])
    with own_databases(**SETTINGS) as databases:
        admin_history.declare()
        histories = [_made(databases, size) for size in options.sizes]
        rows = [_compared(case, told) for case, told in _side_by_side(databases, histories, options)]
    _print(rows, options.sizes)
    report = {"machine": about, "sizes": options.sizes, "requests": options.requests, "target": TARGET, "cases": rows}
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any(row["is_missed"] for row in rows) else 0


@dataclass(frozen=True)
class History:
    """One database, somebody who is logged in to it, and what is looked at there."""

    size: int
    client: Any
    cases: list[Case]


def _made(databases: Databases, size: int) -> History:
    from django.contrib.auth import get_user_model
    from django.test import Client

    began = time.perf_counter()
    databases.make(str(size))
    databases.use(str(size))
    admin_history.fill(size)
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ada"))
    _say(f"{size:,} runs took {time.perf_counter() - began:.0f} s to make")
    return History(size, client, cases())


def _side_by_side(
    databases: Databases, histories: Sequence[History], options: argparse.Namespace
) -> Iterator[tuple[Case, dict[int, Measured]]]:
    """Case by case, beside each history in turns: what else the machine does is the same to all of them.

    Ids of runs are others in each of them.
    """
    for place, case in enumerate(histories[0].cases):
        if options.only not in case.title:
            continue
        found = {history.size: Looked() for history in histories}
        for _ in range(ROUNDS):
            for history in histories:
                databases.use(str(history.size))
                found[history.size].look(history.client, history.cases[place], options.requests // ROUNDS)
        told = {size: each.measured() for size, each in found.items()}
        _say(f"{case.title}: " + ", ".join(f"{each.p95:.0f} ms, {each.queries} queries" for each in told.values()))
        yield case, told


class Looked:
    """All answers of one address beside one history."""

    def __init__(self) -> None:
        self._took: list[float] = []
        self._queries: list[dict[str, str]] = []
        self._bytes = 0

    def look(self, client: Any, case: Case, requests: int) -> None:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext
        from django.urls import reverse

        from jobs_app.insights.snapshots import snapshots

        address = f"{reverse(f'admin:jobs_app_{case.page}', args=case.arguments)}?{case.query}"
        for _ in range(WARMING):
            client.get(address)
        snapshots.clear()
        with CaptureQueriesContext(connection) as caught:
            response = client.get(address)
        self._queries = caught.captured_queries  # the next request forgets them
        self._bytes = len(response.content)
        if response.status_code != 200 or CUT in response.content:
            raise RuntimeError(f"{address} answered {response.status_code}, or was cut by its budget")
        self._took += [_timed(client, address) for _ in range(requests)]

    def measured(self) -> Measured:
        return Measured(
            p50=percentile(self._took, 50),
            p95=percentile(self._took, 95),
            queries=len(self._queries),
            slowest_query=max((float(query["time"]) * 1000 for query in self._queries), default=0),
            kibibytes=self._bytes / 1024,
        )


def _timed(client: Any, address: str) -> float:
    """With everything read anew: what the dashboard keeps for a moment would be all that is measured."""
    from jobs_app.insights.snapshots import snapshots

    snapshots.clear()
    began = time.perf_counter()
    client.get(address)
    return (time.perf_counter() - began) * 1000


def _compared(case: Case, told: dict[int, Measured]) -> dict[str, Any]:
    first, *_, last = told.values()
    grown = ratio(last.p95, first.p95)
    is_missed = case.is_indexed and ((grown or 0) > TARGET or last.queries > first.queries)
    row = {"case": case.title, "is_indexed": case.is_indexed, "ratio": grown, "is_missed": is_missed}
    return row | {str(size): asdict(each) for size, each in told.items()}


def _print(rows: Sequence[dict[str, Any]], sizes: Sequence[int]) -> None:
    heads = [f"{what}, {size:,}" for size in sizes for what in ("p50 ms", "p95 ms", "queries", "slowest query ms")]
    print(f"| case | {' | '.join(heads)} | ratio | |\n{'|---' * (len(heads) + 3)}|")
    for row in rows:
        told = [row[str(size)] for size in sizes]
        cells = [
            cell
            for each in told
            for cell in (
                f"{each['p50']:.0f}",
                f"{each['p95']:.0f}",
                f"{each['queries']}",
                f"{each['slowest_query']:.0f}",
            )
        ]
        mark = "MISSED" if row["is_missed"] else "" if row["is_indexed"] else "sample"
        print(f"| {row['case']} | {' | '.join(cells)} | {row['ratio']:.2f} | {mark} |")


def _newest_run(state: str) -> UUID:
    return run("SELECT id FROM jobs_app_jobrun WHERE state = %s ORDER BY queued_at DESC LIMIT 1", [state])[0][0]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.admin_pages", description=__doc__)
    numbers: Callable[[str], list[int]] = lambda text: [int(each) for each in text.split(",")]  # noqa: E731
    parser.add_argument("--sizes", type=numbers, default=[10_000, 10_000_000], help="finished runs, shortest first")
    parser.add_argument("--requests", type=int, default=60, help="to each page")
    parser.add_argument("--only", default="", help="cases with this in their title")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        parser.error("DATABASE_URL must name a PostgreSQL")
    return options


if __name__ == "__main__":
    sys.exit(main())
