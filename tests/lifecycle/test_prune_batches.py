"""Pruning in batches: each is short and whole, whoever dies in between, and one process at a time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.lifecycle import prune as prune_module
from jobs_app.lifecycle.locks import try_lock
from jobs_app.lifecycle.prune import LARGEST_SIZE, SMALLEST_SIZE, WISHED_SECONDS, Pruned, next_size, prune
from jobs_app.models import ControlEvent, JobItem, JobRun
from tests.lifecycle.history import finished, left, nothing_is_half, parts_of
from tests.lifecycle.rows import T
from tests.lifecycle.sessions import sessions

PROCESS = Path(__file__).with_name("pruning_process.py")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> int:
    """Of three rows, whatever time they take."""
    monkeypatch.setattr(prune_module, "FIRST_SIZE", 3)
    monkeypatch.setattr(prune_module, "next_size", lambda size, seconds: size)
    return 3


def times(count: int) -> Callable[[], bool]:
    """Goes on so often."""
    left_over = iter([True] * count)
    return lambda: next(left_over, False)


def old_runs(count: int, **changes: Any) -> list[Any]:
    """The oldest first."""
    return [finished(1000 - n, **changes) for n in range(count)]


def test_each_batch_is_a_transaction_of_its_own(small_batches: int) -> None:
    old_runs(8, attempts=2)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert prune(connection, now=T).runs == 8
    deletes = [query["sql"] for query in queries if "DELETE FROM" in query["sql"] and "jobrun" in query["sql"]]
    assert len(deletes) == 3
    for sql in deletes:
        assert len(set(re.findall(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", sql))) <= small_batches


def test_a_stop_is_obeyed_between_batches_and_the_next_call_goes_on(small_batches: int) -> None:
    runs = old_runs(8, items=1)
    first = prune(connection, now=T, go_on=times(1))
    assert first == Pruned(runs=6, attempts=6, items=6, complete=False)
    assert left() == set(runs[6:])
    assert nothing_is_half()
    assert prune(connection, now=T) == Pruned(runs=2, attempts=2, items=2, complete=True)


def test_runs_that_stay_do_not_keep_later_ones_from_going(small_batches: int) -> None:
    @job(name="work", keep_last=7)
    def work() -> None: ...

    kept = old_runs(7, schedule=1)
    same_moment = [finished(500) for _ in range(5)]
    more = old_runs(2, schedule=2) and [finished(100) for _ in range(4)]
    assert prune(connection, now=T).runs == len(same_moment) + len(more)
    assert left() >= set(kept)
    assert JobRun.objects.count() == 9


def test_rows_of_one_moment_are_passed_one_by_one_when_nothing_is_deleted(small_batches: int) -> None:
    for _ in range(10):
        finished(100)
    for _ in range(4):
        ControlEvent.objects.create(action="pause")
    ControlEvent.objects.update(at=T.replace(year=2000))
    assert prune(connection, now=T, dry_run=True) == Pruned(runs=10, attempts=10, events=4, complete=True)


def test_a_batch_that_fails_leaves_nothing_half(small_batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    old_runs(8, items=1)
    real, calls = prune_module._Pruning._delete, []

    def shaky(self: Any, table: str, ids: Any) -> int:
        calls.append(table)
        if len(calls) == 2:
            raise OperationalError("the server is restarting")
        return real(self, table, ids)

    monkeypatch.setattr(prune_module._Pruning, "_delete", shaky)
    with pytest.raises(OperationalError, match="restarting"):
        prune(connection, now=T)
    assert len(left()) == 5
    assert nothing_is_half()
    assert prune(connection, now=T).runs == 5


def test_a_process_killed_between_batches_leaves_nothing_half(child_environment: dict[str, str]) -> None:
    old_runs(500, items=1)
    command = [sys.executable, PROCESS]
    environment = {**child_environment, "PYTHONPATH": str(PROCESS.parents[2])}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == "asks\n"
        child.stdin.write("on\n")
        child.stdin.flush()
        assert child.stdout.readline() == "asks\n"
        child.kill()
    assert 0 < len(left()) < 500
    assert nothing_is_half()
    assert prune(connection, now=T).complete
    assert left() == set()


def test_a_run_with_very_many_items_is_emptied_in_parts_and_goes_last(small_batches: int) -> None:
    [large] = old_runs(1, items=50)
    limit = prune_module.PARTS_PER_ROW * small_batches
    for emptied in range(1, 5):
        assert not prune(connection, now=T, go_on=times(0)).complete
        assert left() == {large}
        assert parts_of([large]) == (1, 50 - emptied * limit)
    assert prune(connection, now=T) == Pruned(runs=1, attempts=1, items=2, complete=True)
    assert not JobItem.objects.exists()


def test_several_at_once_prune_each_row_once(small_batches: int) -> None:
    old_runs(60, items=1)
    with sessions(3) as workers:
        futures = [worker.start(lambda: prune(connection, now=T)) for worker in workers]
        done = [future.result(timeout=60) for future in futures]
    last = prune(connection, now=T)
    assert last.complete
    assert sum(one.runs for one in [*done, last]) == 60
    assert sum(one.items for one in [*done, last]) == 60
    assert left() == set()


@pytest.mark.usefixtures("on_postgres")
def test_while_another_process_prunes_this_one_does_not_wait() -> None:
    old_runs(3)

    with sessions(1) as [other]:
        other.begin()
        assert other.do(lambda: try_lock(connection, "prune"))
        assert prune(connection, now=T) == Pruned(complete=False, elsewhere=True)
        assert prune(connection, now=T, dry_run=True).runs == 3
        with transaction.atomic():
            assert prune(connection, now=T) == Pruned(complete=False, elsewhere=True)
            finished(0)
        other.commit()
        assert prune(connection, now=T).runs == 3


@pytest.mark.usefixtures("on_postgres")
def test_a_statement_that_takes_too_long_is_cut_and_tried_with_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    old_runs(150)
    slow = "DELETE FROM {table} WHERE id {listed} AND pg_sleep(0.003) IS NOT NULL"  # for each row
    monkeypatch.setattr(prune_module, "DELETE", slow)
    monkeypatch.setattr(prune_module, "LONGEST_STATEMENT", "200ms")
    with CaptureQueriesContext(connection) as queries:
        assert prune(connection, now=T).runs == 150
    assert len([1 for query in queries if "pg_sleep" in query["sql"]]) > 3
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


@pytest.mark.usefixtures("on_postgres")
def test_when_even_the_fewest_rows_take_too_long_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    old_runs(3)
    monkeypatch.setattr(prune_module, "DELETE", "DELETE FROM {table} WHERE id {listed} AND pg_sleep(9) IS NOT NULL")
    monkeypatch.setattr(prune_module, "LONGEST_STATEMENT", "50ms")
    with pytest.raises(OperationalError, match="statement timeout"):
        prune(connection, now=T)
    assert len(left()) == 3


def test_the_size_of_batches_follows_the_time_they_take() -> None:
    assert next_size(1000, WISHED_SECONDS) == 1000
    assert next_size(1000, WISHED_SECONDS * 1.25) == 800
    assert next_size(1000, WISHED_SECONDS / 100) == 2000
    assert next_size(1000, 60) == 500
    assert next_size(LARGEST_SIZE, 0) == LARGEST_SIZE
    assert next_size(SMALLEST_SIZE, 60) == SMALLEST_SIZE


def test_ids_that_retention_reads_sort_by_time() -> None:
    assert all(sooner < later for sooner, later in pairwise(old_runs(5)))
