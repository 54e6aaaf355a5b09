"""What every test may ask for."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlencode

import hypothesis
import pytest
from django.db import connection

from jobs_app.signals import job_finished
from tests.waiting import until

# Sessions on the test's database beside our own.
OTHERS = (
    "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)

pytest_plugins = ["tests.needing_database", "tests.long_first", "tests.spec_report"]
pytest_plugins += ["tests.browser.notice", "tests.dropin.notice"]

hypothesis.settings.register_profile("steady", deadline=None, print_blob=True)
hypothesis.settings.load_profile("steady")

# A suite that was started in the background ignores Ctrl-C, and so would every process that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _set_aside() -> list[Any]:
    """Out of the registry before any module of tests defines jobs of its own, which may have the same names. Nor do the
    examples hear how those end."""
    from jobs_app.registry import registry

    for module in _listening():
        job_finished.disconnect(dispatch_uid=module.__package__)
    found = [job_type for job_type in registry if job_type.function.__module__.startswith("examples.")]
    for job_type in found:
        registry.unregister(job_type.name)
    return found


def _listening() -> list[ModuleType]:
    from examples.document_review import endings
    from examples.subscriptions import failures

    return [endings, failures]


EXAMPLE_TYPES = _set_aside()


@pytest.fixture(autouse=True)
def registry_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """Job types that a test defines end with it. The app's own are there for the tests that ask for `chores`, the
    examples' were set aside."""
    from jobs_app.registry import SYSTEM_NAMES, registry

    known = list(registry)
    for job_type in known:
        if job_type.name.startswith(SYSTEM_NAMES) and "chores" not in request.fixturenames:
            registry.unregister(job_type.name)
    yield
    for name in registry.names():
        registry.unregister(name)
    for job_type in known:
        registry.register(job_type)


@pytest.fixture(autouse=True)
def sources_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """And so do sources."""
    from jobs_app.sources import sources

    known = list(sources)
    for source in known:
        if source.name.startswith("examples.") and "examples" not in request.fixturenames:
            sources.remove(source.name)
    yield
    for source in list(sources):
        sources.remove(source.name)
    for source in known:
        sources.add(source)


@pytest.fixture(autouse=True)
def nothing_read_before() -> Iterator[None]:
    """And so does what the pages keep for a few seconds."""
    from jobs_app.insights.snapshots import snapshots

    yield
    snapshots.clear()


@pytest.fixture(autouse=True)
def no_remote_workers_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And so does what a web process knows of remote workers. Meanwhile they may look as often as they like, however
    slow a busy machine makes that."""
    from jobs_app.api.throttling import buckets
    from jobs_app.remote import attendance
    from jobs_app.remote.desks import desks
    from jobs_app.remote.rounds import rounds
    from jobs_app.remote.waiting import room
    from jobs_app.worker.ration import Ration

    class Plenty(Ration):
        def allows(self) -> bool:
            return True

    monkeypatch.setattr("jobs_app.remote.desks.Ration", Plenty)
    desks.clear()
    yield
    room.close()
    desks.clear()
    attendance.forget()
    rounds.forget()
    buckets.clear()


@pytest.fixture
def chores(registry_restored: None) -> Any:
    """The app's own job types, registered as in every process."""
    from jobs_app import chores

    return chores


@pytest.fixture
def examples(registry_restored: None) -> Iterator[None]:
    """By its name: the job types, sources and receivers of the examples, as in the demo site."""
    from jobs_app.registry import registry

    for job_type in EXAMPLE_TYPES:
        registry.register(job_type)
    for module in _listening():
        module.listen()
    yield
    for module in _listening():
        job_finished.disconnect(dispatch_uid=module.__package__)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """PostgreSQL waits five seconds for others before it drops a database. What killed processes left on a busy server
    may take longer to end; whoever is still there after half a minute is told of, and sent away."""
    yield
    gc.collect()  # connections of threads that ended
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            try:
                until(_are_we_alone, seconds=30)
            except AssertionError:
                with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
                    _send_others_away()
        connection.close()


def _send_others_away() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT state, backend_start, state_change, left(query, 200), pg_terminate_backend(pid) {OTHERS}"
        )
        for state, began, changed, query, _ in cursor.fetchall():
            sys.stderr.write(f"A SESSION WAS LEFT BEHIND, of {began}, {state} since {changed}: {query}\n")
    until(_are_we_alone)


def _are_we_alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {OTHERS}")
        return cursor.fetchone() == (0,)


@pytest.fixture
def is_postgres() -> bool:
    return connection.vendor == "postgresql"


@pytest.fixture
def child_environment(transactional_db: None) -> dict[str, str]:
    """The environment in which another process works on this test's database."""
    return {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "DATABASE_URL": url_of_test_database()}


def url_of_test_database() -> str:
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    user, password = quote(database["USER"] or "", safe=""), quote(database["PASSWORD"] or "", safe="")
    address = f"{database['HOST']}:{database['PORT']}".rstrip(":")
    options = urlencode({name: value for name, value in database["OPTIONS"].items() if isinstance(value, str)})
    return f"postgresql://{user}:{password}@{address}/{database['NAME']}?{options}"


@pytest.fixture
def uncollected() -> Iterator[None]:
    """What goes away now goes by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
