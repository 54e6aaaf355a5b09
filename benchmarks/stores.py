"""Where a program keeps its jobs while it is measured: a state is made once and put back before each run."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg

PATIENCE_SECONDS = 10  # for connections of ended workers to be gone


class Store(Protocol):
    kind: str

    def environment(self) -> dict[str, str]: ...
    def clear(self) -> None: ...
    def keep(self, state: str) -> None: ...
    def is_kept(self, state: str) -> bool: ...
    def restore(self, state: str) -> None: ...
    def forget_all(self) -> None: ...
    def settle(self, *, analyze: bool = True) -> None: ...
    def count(self, sql: str, parameters: Mapping[str, Any]) -> int: ...
    def run(self, sql: str, parameters: Mapping[str, Any]) -> None: ...
    def now(self) -> Any: ...


class Postgres:
    """A database of its own beside the one that `url` names. States are databases too, copied as templates."""

    kind = "postgres"

    def __init__(self, url: str) -> None:
        self._home = url
        self._name = f"jobs_app_bench_{os.getpid()}"
        self._kept: dict[str, str] = {}  # state -> database; numbered, for names of databases are short

    @property
    def url(self) -> str:
        return urlsplit(self._home)._replace(path=f"/{self._name}").geturl()

    def environment(self) -> dict[str, str]:
        return {"BENCH_URL": self.url}

    def clear(self) -> None:
        self._copy("template1", self._name)

    def keep(self, state: str) -> None:
        self._kept.setdefault(state, f"{self._name}_{len(self._kept)}")
        self._copy(self._name, self._kept[state])

    def is_kept(self, state: str) -> bool:
        return state in self._kept

    def restore(self, state: str) -> None:
        self._copy(self._kept[state], self._name)

    def forget_all(self) -> None:
        with self._at_home() as home:
            for name in [self._name, *self._kept.values()]:
                home.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        self._kept.clear()

    def settle(self, *, analyze: bool = True) -> None:
        """Nothing is left for a vacuum or a checkpoint to do in the middle of the measurement."""
        with self.connected() as connection:
            if analyze:
                connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")

    def count(self, sql: str, parameters: Mapping[str, Any]) -> int:
        with self.connected() as connection:
            row = connection.execute(sql, parameters).fetchone()
        return int(row[0])

    def run(self, sql: str, parameters: Mapping[str, Any]) -> None:
        with self.connected() as connection:
            connection.execute(sql, parameters)

    def now(self) -> Any:
        with self.connected() as connection:
            return connection.execute("SELECT clock_timestamp()").fetchone()[0]

    @contextmanager
    def connected(self, *, autocommit: bool = True) -> Iterator[psycopg.Connection[Any]]:
        with contextlib.closing(psycopg.connect(self.url, autocommit=autocommit)) as connection:
            yield connection

    def _at_home(self) -> contextlib.closing[psycopg.Connection[Any]]:
        return contextlib.closing(psycopg.connect(self._home, autocommit=True))

    def _copy(self, source: str, target: str) -> None:
        with self._at_home() as home:
            home.execute(f'DROP DATABASE IF EXISTS "{target}" WITH (FORCE)')
            _end_sessions(home, source)
            # Copied as files: written through the log, a large state would leave gigabytes of it for later.
            home.execute(f'CREATE DATABASE "{target}" TEMPLATE "{source}" STRATEGY FILE_COPY')


def _end_sessions(home: psycopg.Connection[Any], database: str) -> None:
    """Of workers that were ended a moment ago: a database with sessions cannot be copied."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        ended = home.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database]
        ).fetchall()
        if not ended:
            return
        time.sleep(0.05)


class Sqlite:
    """One file. States are copies of it."""

    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "bench.sqlite3"

    def environment(self) -> dict[str, str]:
        return {"BENCH_URL": f"sqlite:///{self._path}"}

    def clear(self) -> None:
        for path in self._folder.glob(f"{self._path.name}*"):
            path.unlink()

    def keep(self, state: str) -> None:
        self.settle(analyze=False)
        shutil.copy(self._path, self._file_of(state))

    def is_kept(self, state: str) -> bool:
        return self._file_of(state).exists()

    def restore(self, state: str) -> None:
        self.clear()
        shutil.copy(self._file_of(state), self._path)

    def forget_all(self) -> None:
        self.clear()
        for path in self._folder.glob("kept-*.sqlite3"):
            path.unlink()

    def settle(self, *, analyze: bool = True) -> None:
        with self._connected() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def count(self, sql: str, parameters: Mapping[str, Any]) -> int:
        with self._connected() as connection:
            return int(connection.execute(_with_colons(sql, parameters), parameters).fetchone()[0])

    def run(self, sql: str, parameters: Mapping[str, Any]) -> None:
        with self._connected() as connection:
            connection.execute(_with_colons(sql, parameters), parameters)

    def now(self) -> Any:
        with self._connected() as connection:
            return connection.execute("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')").fetchone()[0]

    def _connected(self) -> contextlib.closing[sqlite3.Connection]:
        return contextlib.closing(sqlite3.connect(self._path, timeout=20, isolation_level=None))

    def _file_of(self, state: str) -> Path:
        return self._folder / f"kept-{state}.sqlite3"


def _with_colons(sql: str, parameters: Mapping[str, Any]) -> str:
    """psycopg's names of parameters as SQLite writes them."""
    for name in parameters:
        sql = sql.replace(f"%({name})s", f":{name}")
    return sql
