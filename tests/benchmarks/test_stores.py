"""States on SQLite are copies of one file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from benchmarks.stores import Sqlite


def make_table(store: Sqlite, folder: Path) -> None:
    with sqlite3.connect(folder / "bench.sqlite3") as connection:
        connection.execute("CREATE TABLE job (id integer, state text)")
    store.run("INSERT INTO job VALUES (%(id)s, 'queued')", {"id": 1})


def test_a_state_is_put_back_as_it_was(tmp_path: Path) -> None:
    store = Sqlite(tmp_path)
    make_table(store, tmp_path)
    assert not store.is_kept("one job")
    store.keep("one job")
    store.run("DELETE FROM job", {})
    store.restore("one job")
    assert store.is_kept("one job")
    assert store.count("SELECT count(*) FROM job WHERE state = 'queued'", {}) == 1


def test_parameters_are_named_as_for_postgres(tmp_path: Path) -> None:
    store = Sqlite(tmp_path)
    make_table(store, tmp_path)
    assert store.count("SELECT %(jobs)s - count(*) FROM job", {"jobs": 10, "since": store.now()}) == 9


def test_nothing_is_left_in_the_end(tmp_path: Path) -> None:
    store = Sqlite(tmp_path)
    make_table(store, tmp_path)
    store.keep("one job")
    store.forget_all()
    assert list(tmp_path.iterdir()) == []
