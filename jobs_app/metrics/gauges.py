"""The gauges that come from the database, as Prometheus reads them: one reading for all who ask within seconds."""

from __future__ import annotations

import logging
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

import django
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

import jobs_app
from jobs_app.counters import OTHER, known_queues, label_of_queue, label_of_type
from jobs_app.insights import processes
from jobs_app.insights.budget import budget
from jobs_app.insights.gauges import Gauges, OfType, read
from jobs_app.lifecycle.database import jobs_connection
from jobs_app.logs import event
from jobs_app.models import Scope
from jobs_app.registry import SYSTEM_QUEUE, registry

logger = logging.getLogger("jobs_app.metrics")

KEPT_SECONDS = 10.0  # less than most scrape intervals
SHARE = 0.05  # of the time, at most, goes into reading: with a backlog of millions the numbers get older instead
LONGEST_SECONDS = 8.0  # a scrape is given up after ten
STATUSES = (processes.ALIVE, processes.DRAINING, processes.LATE, processes.LOST)
OF_TYPE = {
    "jobs_queued": ("queued", "Jobs that are due and were never tried"),
    "jobs_scheduled": ("scheduled", "Jobs that are due later and were never tried"),
    "jobs_retry_scheduled": ("retrying", "Jobs that wait for another attempt"),
    "jobs_in_flight": ("in_flight", "Jobs that run"),
    "jobs_paused": ("paused", "Waiting jobs that a pause keeps from starting"),
    "oldest_queued_age_seconds": ("oldest_queued", "Age of the job that is queued for longest"),
    "oldest_in_flight_age_seconds": ("oldest_in_flight", "Age of the attempt that runs for longest"),
}


class DatabaseGauges(Collector):
    def __init__(self, read: Callable[[], Gauges], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._reading = threading.Lock()
        self._kept: Gauges | None = None  # None also where the last reading failed: old numbers would look true
        self._next = float("-inf")
        self._succeeded = 0.0  # when, by the wall clock
        self._is_failing = False

    def describe(self) -> Iterable[Metric]:
        """Nothing: a process that registers this at its start must not ask the database then."""
        return ()

    def collect(self) -> Iterator[Metric]:
        kept = self._current()
        if kept is not None:
            yield from families(kept)
        yield _one("jobs_stats_last_success_timestamp_seconds", "When the gauges were last read", self._succeeded)
        build = GaugeMetricFamily("jobs_build_info", "Versions", labels=["version", "django", "python"])
        build.add_metric([jobs_app.__version__, django.__version__, platform.python_version()], 1)
        yield build

    def _current(self) -> Gauges | None:
        """Whoever comes while they are read gets those of before, if there are any."""
        if self._reading.acquire(blocking=self._kept is None):
            try:
                if self._clock() >= self._next:
                    self._refresh()
            finally:
                self._reading.release()
        return self._kept

    def _refresh(self) -> None:
        began = self._clock()
        try:
            self._kept = self._read()
            self._succeeded, self._is_failing = time.time(), False
        except Exception as error:  # whatever else is scraped with these is still told
            if not self._is_failing:
                logger.warning(
                    "the gauges could not be read: %s", error, extra=event("gauges_failed", error=str(error))
                )
            self._kept, self._is_failing = None, True
        now = self._clock()
        self._next = now + max(KEPT_SECONDS, (now - began) / SHARE)


def families(gauges: Gauges) -> Iterator[Metric]:
    yield from _of_types(gauges)
    yield from _of_queues(gauges)
    yield _by_label("jobs_workers", "Workers", "status", _counted(STATUSES, gauges.workers))
    yield _by_label("jobs_schedulers", "Schedulers", "status", _counted(STATUSES, gauges.schedulers))
    yield _by_label("jobs_pauses", "Pauses in force", "scope", _counted(Scope.values, gauges.paused_scopes))
    yield _by_label("jobs_schedules", "Schedules", "status", gauges.schedules)
    ages = _bounded(gauges.schedule_ages, label_of_type)
    yield _by_label("jobs_schedule_oldest_due_age_seconds", "Since when a slot waits", "job_type", ages)
    yield _one("jobs_stale_runs", "Runs that stand still", gauges.stale)
    if gauges.oldest_transaction is not None:
        text = "Age of the oldest open transaction"
        yield _one("jobs_oldest_transaction_age_seconds", text, gauges.oldest_transaction)
        for name, text in (("live", "rows"), ("dead", "dead rows")):
            values = {table.name: getattr(table, name) for table in gauges.tables}
            yield _by_label(f"jobs_table_{name}_rows", f"About how many {text}", "table", values)
        sizes = {table.name: table.size for table in gauges.tables}
        yield _by_label("jobs_table_bytes", "Size, with indexes", "table", sizes)


def _of_types(gauges: Gauges) -> Iterator[Metric]:
    """Zero for known types with none."""
    found = {job_type.name: OfType() for job_type in registry if job_type.queue != SYSTEM_QUEUE}
    found |= {name: one for name, one in gauges.types.items() if name in found}
    others = [one for name, one in gauges.types.items() if name not in found]
    for name, (attribute, text) in OF_TYPE.items():
        values = {job_type: getattr(one, attribute) for job_type, one in found.items()}
        if others:
            together = max if name.endswith("seconds") else sum
            values[OTHER] = together(getattr(one, attribute) for one in others)
        yield _by_label(name, text, "job_type", values)


def _of_queues(gauges: Gauges) -> Iterator[Metric]:
    known = known_queues() - {SYSTEM_QUEUE}
    ages = dict.fromkeys(known, 0.0) | _bounded(gauges.ready_ages, label_of_queue)
    text = "How long the oldest job waits that may start"
    yield _by_label("jobs_queue_oldest_ready_age_seconds", text, "queue", ages)
    paused = {queue: int(not gauges.pauses.allows(queue)) for queue in known}
    yield _by_label("jobs_queue_paused", "1 while the queue is paused", "queue", paused)


def _bounded(values: Mapping[str, float], label_of: Callable[[str], str]) -> dict[str, float]:
    """What code does not name counts together, as the oldest of it."""
    found: dict[str, float] = {}
    for name, value in values.items():
        label = label_of(name)
        found[label] = max(value, found.get(label, 0.0))
    return found


def _counted(names: Iterable[str], found: Mapping[str, int]) -> dict[str, float]:
    return {str(name): found.get(name, 0) for name in names}


def _by_label(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value_of, value in sorted(values.items()):
        family.add_metric([value_of], value)
    return family


def _one(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _read() -> Gauges:
    """A server that has a thread for each request would leave a connection open in each."""
    connection = jobs_connection()
    was_open = connection.connection is not None
    try:
        with budget(connection, LONGEST_SECONDS):
            return read(connection)
    finally:
        if not was_open:
            connection.close()


database_gauges = DatabaseGauges(_read)
# Alone, for who serves them beside the files of several processes, where collectors are not asked.
ALONE = CollectorRegistry()


def register() -> None:
    """Whatever shows this process's metrics shows them too: django-prometheus's own page, for one."""
    for each in (REGISTRY, ALONE):
        each.register(database_gauges)


def leave_out() -> None:
    """For workers: as many as there are, each would ask the database for the same."""
    with suppress(KeyError):
        REGISTRY.unregister(database_gauges)
